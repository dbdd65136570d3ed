"""Compares outputs of fovea-run with attention in numpy, in f64.

    attention.py FOLDER O LSE [name=value...]

FOLDER contains q.npy, k.npy, v.npy and captured tensors, as --save-inputs writes
them. Names: layout=bshd, scale=S, mask=EXPR, score=EXPR, tolerance=T. The
expressions see s, b, h, i, j, n (the number of keys) and `load(name)`.
"""

import sys

import numpy as np
from npy import load as load_file

folder, o_file, lse_file = sys.argv[1:4]
options = dict(argument.split("=", 1) for argument in sys.argv[4:])


def load(name):
    return load_file(f"{folder}/{name}.npy")


def tensor(path):
    array = load_file(path).astype(np.float64)
    return array.transpose(0, 2, 1, 3) if options.get("layout") == "bshd" else array


q, k, v = (tensor(f"{folder}/{name}.npy") for name in "qkv")
o, lse = tensor(o_file), load_file(lse_file)
group = q.shape[1] // k.shape[1]
k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
n = k.shape[2]
b, h, i, j = np.ogrid[: q.shape[0], : q.shape[1], : q.shape[2], :n]
names = dict(np=np, load=load, b=b, h=h, i=i, j=j, n=n)
s = np.einsum("bhid,bhjd->bhij", q, k) * float(options.get("scale", q.shape[3] ** -0.5))
s = eval(options.get("score", "s"), dict(names, s=s))
s = np.where(eval(options.get("mask", "True"), names), s, -np.inf)
m = s.max(-1, keepdims=True)
p = np.exp(s - np.where(np.isinf(m), 0, m))
total = p.sum(-1, keepdims=True)
with np.errstate(divide="ignore"):
    expected_lse = np.where(np.isinf(m), -np.inf, m + np.log(total))[..., 0]
expected = np.einsum("bhij,bhjd->bhid", p / np.maximum(total, 1e-300), v)

tolerance = float(options.get("tolerance", 1e-6))
assert o.shape == expected.shape, (o.shape, expected.shape)
np.testing.assert_allclose(o, expected, rtol=tolerance, atol=tolerance)
np.testing.assert_allclose(lse, expected_lse, rtol=1e-6, atol=1e-6)
print("agrees with numpy, empty rows:", int(np.isinf(expected_lse).sum()))
