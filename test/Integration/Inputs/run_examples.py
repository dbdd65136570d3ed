"""Runs every example and checks the numbers.

    run_examples.py FOVEA_RUN EXAMPLES attn FOVEA_OPT
        as it is written, with the claims of the mask analysis on blocks
    run_examples.py FOVEA_RUN EXAMPLES tile TARGET
    run_examples.py FOVEA_RUN EXAMPLES warp TARGET SEEDS [PART/PARTS]
        lowered to that level; every so many-th example, if there are parts
    run_examples.py FOVEA_RUN EXAMPLES ptx TARGET SEEDS [PART/PARTS]
        compiled and launched on the driver that executes PTX

Prints a line for each example; exits with 1 if one is wrong.
"""

import pathlib
import subprocess
import sys

from example_sizes import dims
from reporting import report

# Sizes that leave ragged tiles and blocks, and several tiles for each CTA of a
# persistent kernel.
SIZES = {"B": 2, "Hq": 4, "Hkv": 2, "Sq": 300, "Skv": 430}
# Many heads: fewer rows.
SMALLER = {"soft_cap_window_gqa": {"B": 1, "Sq": 140, "Skv": 200}}


def run(command, program, arguments):
    """The result of a run; at level attn of the program with its claims."""
    level, *rest = arguments[:3]
    if level == "attn":
        analysis = [*rest, str(program), "--attn-analyze-mask"]
        analysed = subprocess.run(analysis, capture_output=True, text=True, check=True).stdout
        command = [*command, "-", "--check-kv-bounds=64", "--check-kv-classify=64x64"]
        return command, subprocess.run(command, input=analysed, capture_output=True, text=True)
    options = [f"--{name}={value}" for name, value in zip(("target", "seeds"), rest)]
    command = [*command, str(program), *options]
    return command, subprocess.run(command, capture_output=True, text=True)


def main(fovea_run, examples, *arguments):
    failed = False
    programs = sorted(pathlib.Path(examples).glob("*.mlir"))
    assert programs, f"no examples in {examples}"
    part, parts = map(int, arguments[3].split("/")) if len(arguments) > 3 else (0, 1)
    programs = programs[part::parts]
    for program in programs:
        sizes = dims(program, {**SIZES, **SMALLER.get(program.stem, {})})
        command = [fovea_run, f"--level={arguments[0]}", "--random=1", f"--dims={sizes}", "--integers=0:430", "--check"]
        command, result = run(command, program, arguments)
        failed |= report(program.stem, command, result)
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
