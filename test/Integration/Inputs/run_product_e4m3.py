"""Runs a product of 8-bit elements, a tile program with c = a b^T, on difficult shapes.

    run_product_e4m3.py FOVEA_RUN PROGRAM LEVEL [SEEDS]

Elements of c are compared with f64; the tolerance is half a unit of bf16 plus the error of f32
sums. Prints a line for each shape; exits with 1 if one is wrong.
"""

import pathlib
import subprocess
import sys

import numpy as np
from eight_bits import decode
from run_products import main, read

# M, N, K. Rows of matrices begin at multiples of 16 bytes.
SHAPES = {
    "one": (1, 8, 16),
    "no depth": (70, 16, 0),
    "one step": (128, 128, 128),
    "two steps": (64, 24, 144),
    "ragged": (150, 264, 208),
    "many tiles": (600, 264, 16),
    "many steps": (40, 48, 1008),
}


def run(tool, program, level, seeds, shape, folder):
    """Runs one shape; returns an error message or an empty string."""
    m, n, k = shape
    output = folder / "c.out.npy"
    command = [tool, program, f"--level={level}", "--random=1", f"--dims=M={m},N={n},K={k}", f"--save-inputs={folder}"]
    if level == "ptx":
        command.append("--target=sm_90a")
    elif level == "warp":
        command.append(f"--seeds={seeds}")
    result = subprocess.run([*command, "--outputs", str(output)], capture_output=True, text=True, check=False)
    if result.returncode:
        return (result.stderr + result.stdout).strip()
    five = "E5M2" in pathlib.Path(program).read_text()
    a, b = (decode(np.load(folder / f"{name}.npy"), *((5, 2) if five else (4, 3))) for name in "ab")
    found, meaning = read(output), a @ b.T
    wrong = ~(np.abs(found - meaning) <= 1e-5 * (np.abs(a) @ np.abs(b).T) + 2.0**-8 * np.abs(meaning) + 1e-38)
    if wrong.any():
        place = tuple(int(index) for index in np.argwhere(wrong)[0])
        return f"{wrong.sum()} elements are wrong, the first at {place}: {found[place]} instead of {meaning[place]}"
    return ""


if __name__ == "__main__":
    sys.exit(main(SHAPES, run))
