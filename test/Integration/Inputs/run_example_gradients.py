"""Runs all gradients of every example, including those of captured tensors, and checks the results.

    run_example_gradients.py FOVEA_OPT FOVEA_RUN EXAMPLES LEVEL:TARGET...

Prints a line for each example and run; exits with 1 if one is wrong. At level attn, the reference
for kernels, gradients are compared with finite differences.
"""

import pathlib
import re
import subprocess
import sys

from example_sizes import dims
from reporting import report
from run_examples import SIZES, SMALLER

# Documents, chunks and windows of which some blocks see nothing, tiles that divide
# neither queries nor keys.
LONGER = {**SIZES, "B": 1, "Hq": 2, "Hkv": 1}


def make_gradient(fovea_opt, program):
    made = subprocess.run([fovea_opt, str(program), "--attn-make-gradient", "--attn-differentiate"],
                          capture_output=True, text=True, check=True).stdout
    return made, re.search(r"func.func @(\w+_backward)\(", made)[1]


def main(fovea_opt, fovea_run, examples, *runs):
    failed = False
    programs = sorted(pathlib.Path(examples).glob("*.mlir"))
    assert programs, f"no examples in {examples}"
    for program in programs:
        if " paged(" in program.read_text():
            continue  # no gradients: sequences may share a page
        made, entry = make_gradient(fovea_opt, program)
        smaller = SMALLER.get(program.stem, {})
        # Captured tensors with more heads than the program: unused elements have the gradient 0.
        sizes = dims(program, {**LONGER, **smaller}, captures_for={**SIZES, **smaller})
        for run in runs:
            level, target = run.split(":")
            command = [fovea_run, "-", f"--entry={entry}", f"--level={level}", f"--target={target}", "--random=1",
                       f"--dims={sizes}", "--integers=0:430", "--check=differences" if level == "attn" else "--check"]
            result = subprocess.run(command, input=made, capture_output=True, text=True)
            failed |= report(f"{program.stem} {run}", command, result)
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
