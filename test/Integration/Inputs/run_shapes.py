"""Runs every example as PTX on difficult shapes, with several seeds each.

    run_shapes.py FOVEA_COMPILE FOVEA_RUN EXAMPLES TARGET [SCHEDULE EXAMPLE...]

Each example (or the named ones, with that schedule) is compiled once and launched on: one query and
one key, ragged tiles with all query heads on one key head, more queries than keys (rows without
visible keys if the mask is aligned to the bottom right), and many short heads. Prints a line for
each; exits with 1 if one is wrong.
"""

import pathlib
import subprocess
import sys
import tempfile

from example_sizes import dims
from reporting import report

# Sizes and seeds.
SHAPES = {
    "one": ((1, 1, 1, 1, 1), 1),
    "ragged": ((1, 4, 1, 65, 129), 3),
    "empty rows": ((2, 2, 2, 140, 20), 1),
    "many heads": ((3, 6, 3, 17, 40), 1),
}


def main(compiler, runner, examples, target, schedule="auto", *chosen):
    failed = False
    programs = sorted(pathlib.Path(examples).glob("*.mlir"))
    for program in programs:
        if chosen and program.stem not in chosen:
            continue
        with tempfile.TemporaryDirectory() as folder:
            ptx, metadata = f"{folder}/kernel.ptx", f"{folder}/kernel.json"
            command = [compiler, str(program), f"--target={target}", f"--schedule={schedule}", "-o", ptx]
            subprocess.run([*command, f"--metadata={metadata}"], check=True)
            for shape, (sizes, seeds) in SHAPES.items():
                given = dims(program, dict(zip(("B", "Hq", "Hkv", "Sq", "Skv"), sizes)))
                command = [runner, "--level=ptx", str(program), f"--kernel={ptx}", f"--metadata={metadata}", f"--target={target}"]
                command += [f"--dims={given}", f"--integers=0:{sizes[4] - 1}", f"--seeds={seeds}", "--random=3", "--check"]
                result = subprocess.run(command, capture_output=True, text=True)
                failed |= report(f"{program.stem} {shape}", command, result)
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
