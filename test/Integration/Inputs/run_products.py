"""Runs a product, a tile program with tensors a, b and c, on difficult shapes.

    run_products.py FOVEA_RUN PROGRAM LEVEL [SEEDS]

Elements of c are compared with f64, c = a b or, with bias and scale, c = scale gelu(a b + bias).
The tolerance is half a unit of bf16 plus the error of f32 sums (and of the GPU's tanh). Prints a
line for each shape; exits with 1 if one is wrong.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np

# M, N, K. Rows of matrices begin at multiples of 16 bytes.
SHAPES = {
    "one": (1, 8, 8),
    "no depth": (70, 16, 0),
    "one step": (128, 256, 64),
    "two steps": (64, 24, 72),
    "ragged": (150, 520, 200),
    "many tiles": (1160, 264, 16),
    "many steps": (40, 48, 1000),
}


def read(path):
    array = np.load(path)
    if array.dtype == np.float32:
        return array.astype(np.float64)
    return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(array.shape).astype(np.float64)


def get_meaning(folder, rounded):
    """The exact c and its tolerance."""
    a, b = read(folder / "a.npy"), read(folder / "b.npy")
    x, error = a @ b, 1e-5 * (np.abs(a) @ np.abs(b))
    if (folder / "bias.npy").exists():
        x += read(folder / "bias.npy")
        scale = read(folder / "scale.npy")[:, None]
        error = np.abs(scale) * (1.2 * error + 2.0**-15 * np.abs(x))
        x = scale * x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x, error + (2.0**-8 * np.abs(x) if rounded else 0) + 1e-38


def run(tool, program, level, seeds, shape, folder):
    """Runs one shape; returns an error message or an empty string."""
    m, n, k = shape
    output = folder / "c.out.npy"
    command = [tool, program, f"--level={level}", "--random=1", f"--dims=M={m},N={n},K={k}", f"--save-inputs={folder}"]
    if level == "ptx":
        target = pathlib.Path(program).read_text().split('target("')[1].split('"')[0]
        command.append(f"--target={target}")
    else:
        command += [f"--seeds={seeds}"] if level == "warp" else []
    result = subprocess.run([*command, "--outputs", str(output)], capture_output=True, text=True, check=False)
    if result.returncode:
        return (result.stderr + result.stdout).strip()
    found, (meaning, most) = read(output), get_meaning(folder, np.load(output).dtype != np.float32)
    if found.shape != meaning.shape:
        return f"shape {found.shape}, expected {meaning.shape}"
    wrong = ~(np.abs(found - meaning) <= most)
    if wrong.any():
        place = tuple(int(index) for index in np.argwhere(wrong)[0])
        return f"{wrong.sum()} elements are wrong, the first at {place}: {found[place]} instead of {meaning[place]}"
    return ""


def main(shapes, run_shape):
    """Runs all shapes; returns the exit code."""
    tool, program, level = sys.argv[1:4]
    seeds = sys.argv[4] if len(sys.argv) > 4 else "1"
    failures = 0
    for name, shape in shapes.items():
        with tempfile.TemporaryDirectory() as folder:
            said = run_shape(tool, program, level, seeds, shape, pathlib.Path(folder))
        print(f"{name}: {'failed: ' + said if said else 'passed'}")
        failures += bool(said)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main(SHAPES, run))
