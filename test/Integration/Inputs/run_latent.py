"""Runs latent attention, a tile program with tensors q, k, o and lse, on several shapes.

    run_latent.py FOVEA_RUN PROGRAM LEVEL [SEEDS]

The values are the first columns of k. Results are compared with f64; the tolerance of o is that of
P and o in bf16. Prints a line for each shape; exits with 1 if one is wrong.
"""

import pathlib
import subprocess
import sys

import numpy as np
from run_products import main, read

# M, N.
SHAPES = {
    "one": (1, 1),
    "one block": (64, 64),
    "two tiles": (70, 200),
    "many blocks": (20, 640),
    "no keys": (40, 0),
}
SCALE = 0.0416666667


def check(name, found, meaning, tolerance):
    if found.shape != meaning.shape:
        return f"{name} has shape {found.shape}, expected {meaning.shape}"
    with np.errstate(invalid="ignore"):
        wrong = ~((np.abs(found - meaning) <= tolerance) | (found == meaning))
    if not wrong.any():
        return ""
    place = tuple(int(index) for index in np.argwhere(wrong)[0])
    return f"{wrong.sum()} elements of {name} are wrong, the first at {place}: {found[place]} instead of {meaning[place]}"


def run(tool, program, level, seeds, shape, folder):
    """Runs one shape; returns an error message or an empty string."""
    m, n = shape
    outputs = [folder / "o.out.npy", folder / "lse.out.npy"]
    command = [tool, program, f"--level={level}", "--random=1", f"--dims=M={m},N={n}", f"--save-inputs={folder}"]
    if level == "ptx":
        target = pathlib.Path(program).read_text().split('target("')[1].split('"')[0]
        command.append(f"--target={target}")
    elif level == "warp":
        command.append(f"--seeds={seeds}")
    result = subprocess.run([*command, "--outputs", *map(str, outputs)], capture_output=True, text=True, check=False)
    if result.returncode:
        return (result.stderr + result.stdout).strip()
    q, k = read(folder / "q.npy"), read(folder / "k.npy")
    scores = SCALE * q @ k.T
    with np.errstate(divide="ignore", invalid="ignore"):
        lse = np.log(np.exp(scores).sum(axis=1))
        p = np.exp(scores - lse[:, None])
    found, found_lse = map(read, outputs)
    v = k[:, : found.shape[1]]
    o = p @ v
    bound = 2.0**-8 * (p @ np.abs(v) + np.abs(o)) + 1e-6
    return check("o", found, o, bound) or check("lse", found_lse, lse, 1e-4)


if __name__ == "__main__":
    sys.exit(main(SHAPES, run))
