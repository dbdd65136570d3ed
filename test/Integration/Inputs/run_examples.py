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

from reporting import report

# Sizes that leave ragged tiles and blocks, and several tiles for each CTA of a
# persistent kernel.
SIZES = {"B": 2, "Hq": 4, "Hkv": 2, "Sq": 300, "Skv": 430}
SPECIAL = {
    "bitmask": {"capture0.0": 2, "capture0.1": 300, "capture0.2": 14},
    "block_mask": {"partial_index.3": 4, "full_index.3": 5},
    "block_sparse": {"partial_index.3": 3},
    "alibi": {"capture0.0": 4},
    "gqa_decode": {"Hq": 32, "Hkv": 8, "Sq": 1},
    "documents": {"capture0.0": 2, "capture0.1": 430},
    # Rows of whole 16 bytes, for tensor maps.
    "logit_bias": {"capture0.0": 4, "capture0.1": 300, "capture0.2": 432},
    "packed": {"B": 1, "N+1": 5},
    "prefix_lm": {"capture0.0": 2},
    "relative_bias": {"capture0.0": 4},
    "soft_cap_window_gqa": {"B": 1, "Hq": 32, "Hkv": 16, "Sq": 140, "Skv": 200},
    "tree_mask": {"Hq": 32, "Hkv": 8, "Sq": 16, "capture0.0": 2},
}


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
        sizes = {**SIZES, **SPECIAL.get(program.stem, {})}
        dims = ",".join(f"{name}={size}" for name, size in sizes.items())
        command = [fovea_run, f"--level={arguments[0]}", "--random=1", f"--dims={dims}", "--integers=0:430", "--check"]
        command, result = run(command, program, arguments)
        failed |= report(program.stem, command, result)
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
