"""Compares o.npy in a folder with straightforward attention on f16 tensors."""

import sys

import numpy as np

folder = sys.argv[1]
q, k, v, o = (np.load(f"{folder}/{name}.npy") for name in "qkvo")
s = np.einsum("bhid,bhjd->bhij", q.astype(np.float32), k.astype(np.float32)) * np.float32(q.shape[3] ** -0.5)
p = np.exp(s - s.max(-1, keepdims=True))
p = (p / p.sum(-1, keepdims=True)).astype(np.float16)
expected = np.einsum("bhij,bhjd->bhid", p.astype(np.float32), v.astype(np.float32)).astype(np.float16)
# Sums in another order may round to the adjacent number; a probability that is
# rounded differently changes the result by less than that.
ulp = np.maximum(np.abs(np.spacing(expected)), np.float16(2**-14))
print("largest difference in ulp: %d" % np.max(np.abs(o - expected) / ulp))
