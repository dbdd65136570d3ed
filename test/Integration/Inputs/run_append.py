"""Runs a program with updated tensors at every level and compares the bits with the attn level.

    run_append.py FOVEA_RUN PROGRAM ENTRY INPUT...

Exits with 1 if a level gives other bits.
"""

import pathlib
import subprocess
import sys
import tempfile

LEVELS = (
    ("--level=attn",), ("--level=tile", "--target=sm_80"), ("--level=warp", "--target=sm_80"), ("--level=warp", "--target=sm_90a"),
    ("--device=ptx", "--target=sm_80"), ("--device=ptx", "--target=sm_90a"),
)


def main(runner, program, entry, *inputs):
    outputs = 2 if entry == "slots" else 1
    expected = None
    with tempfile.TemporaryDirectory() as folder:
        for options in LEVELS:
            names = [str(pathlib.Path(folder) / f"{n}.npy") for n in range(outputs)]
            subprocess.run([runner, program, f"--entry={entry}", *options, "--inputs", *inputs, "--outputs", *names], check=True)
            found = [pathlib.Path(name).read_bytes() for name in names]
            expected = expected or found
            if found != expected:
                print(f"{entry}: {' '.join(options)} gives other bits than the attn level")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
