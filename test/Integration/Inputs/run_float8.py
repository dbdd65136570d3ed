"""Runs a sum of 8-bit floats on all pairs of encodings with random partners.

    run_float8.py FOVEA_RUN PROGRAM LEVEL

The rounded sums must be exact. Prints a line; exits with 1 if one is wrong.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from eight_bits import decode

LARGEST, HALFWAY = 448, 464


def encode(value):
    """The nearest values, ties to even, of an array of f64; NaN beyond the largest."""
    finite = decode(np.arange(127, dtype=np.uint8))
    size = np.abs(value)
    above = np.clip(np.searchsorted(finite, size), 1, len(finite) - 1)
    low, high = finite[above - 1], finite[above]
    odd = (above - 1) % 2 == 1
    up = (size - low > high - size) | ((size - low == high - size) & odd)
    rounded = np.where(size >= LARGEST, LARGEST, np.where(up, high, low))
    return np.where(size <= HALFWAY, np.copysign(rounded, value), np.nan)


def main():
    tool, program, level = sys.argv[1:4]
    generator = np.random.default_rng(1)
    a = np.repeat(np.arange(256, dtype=np.uint8), 16).reshape(-1, 64)
    b = generator.integers(0, 256, a.shape, dtype=np.uint8)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        np.save(folder / "a.npy", a)
        np.save(folder / "b.npy", b)
        command = [tool, program, f"--level={level}", "--target=sm_90a", "--outputs", str(folder / "c.npy")]
        command[2:2] = ["--inputs", str(folder / "a.npy"), str(folder / "b.npy")]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            print((result.stderr + result.stdout).strip())
            return 1
        found, meaning = decode(np.load(folder / "c.npy")), encode(decode(a) + decode(b))
    wrong = ~((found == meaning) | (np.isnan(found) & np.isnan(meaning)))
    print(f"{wrong.sum()} of {wrong.size} sums are wrong, {np.isnan(meaning).sum()} are NaN")
    return int(wrong.any())


if __name__ == "__main__":
    sys.exit(main())
