"""Inputs of attention's backward pass, and a check of what a program makes of them.

    backward.py inputs FOLDER full|causal [SIZE]
    backward.py check FOLDER full|causal [SIZE]

Errors are relative to the largest element of each gradient; products of bf16
leave some thousandths.
"""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / "Interpreter" / "Inputs"))
import npy  # noqa: E402

DIM, TOLERANCE = 64, 1e-2


def evaluate(q, k, v, do, masked):
    """Output, log-sum-exp and gradients of one head, in f64."""
    scale = DIM**-0.5
    scores = scale * q @ k.T
    if masked:
        scores[np.triu_indices(len(q), 1)] = -np.inf
    lse = np.log(np.exp(scores).sum(1))
    p = np.exp(scores - lse[:, None])
    out = p @ v
    delta = (do * out).sum(1)
    ds = p * (do @ v.T - delta[:, None])
    return lse, delta, {"dq": scale * ds @ k, "dk": scale * ds.T @ q, "dv": p.T @ do}


def main():
    command, folder, kind, *size = sys.argv[1:]
    size = int(size[0]) if size else 256
    folder = pathlib.Path(folder)
    names = ["q", "k", "v", "do"]
    if command == "inputs":
        folder.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(1)
        for name in names:
            np.save(folder / f"{name}.npy", npy.to_bf16(random.standard_normal((1, 1, size, DIM))))
    inputs = [npy.load(folder / f"{name}.npy")[0, 0].astype(np.float64) for name in names]
    lse, delta, gradients = evaluate(*inputs, kind == "causal")
    if command == "inputs":
        np.save(folder / "lse.npy", np.float32(lse[None, None]))
        np.save(folder / "delta.npy", np.float32(delta[None, None]))
        return
    for name, expected in gradients.items():
        found = npy.load(folder / f"{name}.npy")[0, 0]
        error = np.abs(found - expected).max() / np.abs(expected).max()
        print(name, "passed" if error <= TOLERANCE else f"failed: {error}")


main()
