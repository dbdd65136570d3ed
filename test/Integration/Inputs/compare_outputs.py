"""Checks that two outputs are equal up to rounding to bf16: compare_outputs.py A.npy B.npy"""

import sys

import numpy as np

a, b = ((np.load(path).view(np.uint16).astype(np.uint32) << 16).view(np.float32) for path in sys.argv[1:])
assert a.shape == b.shape, f"shapes differ: {a.shape}, {b.shape}"
error = np.abs(a - b).max()
print(f"shape {a.shape}, largest value {np.abs(a).max():.2f}, largest difference {error:.4f}")
print("same" if error <= 2**-6 else "different")
