"""Runs a compiled example on the PTX driver, through libFoveaRuntime.

    run_on_driver.py RUNTIME DRIVER PTX METADATA CAPABILITY [causal]

Results must satisfy the row rule (docs/Guides/Debugging.md) against attention in f64 and be equal
for all seeds.
"""

import ctypes
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "GPU"))

import fovea_runtime  # noqa: E402
from numpy_tensors import Tensor, from_bf16, to_bf16  # noqa: E402

BATCH, HEADS, QUERIES, KEYS, SEEDS = 1, 2, 70, 70, 3


def attention(q, k, v, causal, real, weights):
    """With sums in `real`, the weights as `weights` makes them."""
    scores = (q.astype(real) @ k.astype(real).swapaxes(-1, -2)) / np.sqrt(real(q.shape[-1]))
    if causal:
        scores = np.where(np.tri(QUERIES, KEYS, dtype=bool), scores, -np.inf)
    most = scores.max(-1, keepdims=True)
    e = np.exp(scores - most)
    total = e.sum(-1, keepdims=True)
    return (weights(e / total) @ v.astype(real)), (most + np.log(total))[..., 0]


def check_rows(found, meaning, plain):
    error = np.linalg.norm(found - meaning, axis=-1)
    # bf16 has 8 bits.
    ulp = 2.0 ** (np.floor(np.log2(np.abs(meaning).max(-1))) - 7)
    bound = 3 * np.linalg.norm(plain - meaning, axis=-1) + 2 * ulp * np.sqrt(found.shape[-1])
    worst = (error / bound).max()
    assert worst <= 1, f"a row is off by {worst:.3g} times its tolerance"


def main(library, driver, ptx, metadata, capability, causal=None):
    runtime = fovea_runtime.Runtime(library, driver)
    emulator = ctypes.CDLL(driver)

    def set_option(name, value):
        assert emulator.foveaPTXDriverSet(name, ctypes.c_uint64(value)) == 0, name

    set_option(b"capability", int(capability))
    # Device properties are queried when a device is opened.
    runtime.reopen()
    info = runtime.device_info()
    assert 10 * info["major"] + info["minor"] == int(capability), info
    kernel = runtime.load(ptx, metadata)
    width = next(t for t in kernel.metadata["tensors"] if t["name"] == "q")["shape"][-1]
    random = np.random.default_rng(1)
    bits = [to_bf16(random.standard_normal((BATCH, HEADS, rows, width))) for rows in (QUERIES, KEYS, KEYS)]
    values = [from_bf16(array) for array in bits]
    meaning, lse = attention(*values, causal, np.float64, lambda w: w)
    plain, _ = attention(*values, causal, np.float32, lambda w: from_bf16(to_bf16(w)))
    first = None
    for seed in range(SEEDS):
        set_option(b"seed", seed)
        q, k, v = (Tensor(runtime, array.copy()) for array in bits)
        o = Tensor(runtime, np.zeros_like(bits[0]), written=False)
        sums = Tensor(runtime, np.zeros(bits[0].shape[:-1], np.float32), written=False)
        outputs = {"o": o, "lse": sums}
        names = {tensor["name"] for tensor in kernel.metadata["tensors"]}
        kernel(q=q, k=k, v=v, **{name: tensor for name, tensor in outputs.items() if name in names})
        found = o.read().copy()
        check_rows(from_bf16(found).astype(np.float64), meaning, from_bf16(to_bf16(plain)).astype(np.float64))
        if "lse" in names:
            assert np.abs(sums.read() - lse).max() < 1e-3
        assert first is None or (first == found).all(), f"seeds 0 and {seed} differ"
        first = found
    print(f"{kernel.metadata['kernel']} on {info['name'].decode()}: {SEEDS} seeds agree")


if __name__ == "__main__":
    main(*sys.argv[1:])
