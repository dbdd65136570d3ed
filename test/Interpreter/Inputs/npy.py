"""Writes and prints .npy files for tests.

    npy.py write FILE TYPE EXPRESSION   the expression's value (numpy is `np`)
    npy.py print FILE...                shape and elements, one row per line

bf16 is stored as numpy's raw two-byte type, as ml_dtypes saves it.
"""

import sys

import numpy as np


def to_bf16(values):
    bits = np.asarray(values, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    nan = np.isnan(np.asarray(values, np.float32))
    return np.where(nan, 0x7FC0, rounded).astype(np.uint16).view("V2")


def load(path):
    array = np.load(path)
    if array.dtype == np.dtype("V2"):
        return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return array


def write(path, kind, expression):
    value = eval(expression, {"np": np})
    types = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i1": np.bool_}
    if kind == "bf16":
        np.save(path, to_bf16(value))
    else:
        np.save(path, np.asarray(value, types.get(kind) or np.dtype("int" + kind[1:])))


def show(path):
    array = load(path)
    print("shape", *array.shape)
    rows = array.reshape(-1, array.shape[-1] if array.ndim else 1)
    for row in rows:
        print(" ".join("%.10g" % element if array.dtype.kind == "i" else "%g" % element for element in row))


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(*sys.argv[2:])
    else:
        for name in sys.argv[2:]:
            show(name)
