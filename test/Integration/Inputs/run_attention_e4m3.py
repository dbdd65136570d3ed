"""Runs attention on 8-bit elements, a tile program with tensors q, k, v, o and lse, on several shapes.

    run_attention_e4m3.py FOVEA_RUN PROGRAM LEVEL [SEEDS]

Results are compared with f64; the tolerance of o is that of P in f8E4M3FN and of o in bf16. Prints
a line for each shape; exits with 1 if one is wrong.
"""

import pathlib
import subprocess
import sys

import numpy as np
from eight_bits import decode
from run_latent import check
from run_products import main, read

# M, N.
SHAPES = {
    "one": (1, 1),
    "one block": (128, 64),
    "two tiles": (140, 200),
    "many blocks": (20, 640),
    "no keys": (40, 0),
}
SCALE = 0.0883883476


def run(tool, program, level, seeds, shape, folder):
    """Runs one shape; returns an error message or an empty string."""
    m, n = shape
    outputs = [folder / "o.out.npy", folder / "lse.out.npy"]
    command = [tool, program, f"--level={level}", "--random=1", f"--dims=M={m},N={n}", f"--save-inputs={folder}"]
    if level == "ptx":
        command.append("--target=sm_90a")
    elif level == "warp":
        command.append(f"--seeds={seeds}")
    result = subprocess.run([*command, "--outputs", *map(str, outputs)], capture_output=True, text=True, check=False)
    if result.returncode:
        return (result.stderr + result.stdout).strip()
    q, k, v = (decode(np.load(folder / f"{name}.npy")) for name in "qkv")
    scores = SCALE * q @ k.T
    with np.errstate(divide="ignore", invalid="ignore"):
        largest = scores.max(axis=1, initial=-np.inf)
        lse = np.log(np.exp(scores).sum(axis=1))
        p = np.exp(scores - lse[:, None])
        # P of the row's maximum is 1 before the division by the sum; subnormals have an absolute error.
        least = np.where(np.isfinite(lse), 2.0**-10 * np.exp(largest - lse), 0)
    found, found_lse = map(read, outputs)
    o = p @ v
    bound = 2.0**-4 * (p @ np.abs(v)) + least[:, None] * np.abs(v).sum(axis=0) + 2.0**-8 * np.abs(o) + 1e-6
    return check("o", found, o, bound) or check("lse", found_lse, lse, 1e-4)


if __name__ == "__main__":
    sys.exit(main(SHAPES, run))
