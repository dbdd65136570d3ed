"""Writes invalid .npy files of all kinds into a folder."""

import sys

import numpy as np

folder = sys.argv[1]
good = open(f"{folder}/q.npy", "rb").read()


def put(name, data):
    open(f"{folder}/{name}.npy", "wb").write(data)


def header(text, data=b""):
    text = text.ljust(117) + "\n"
    return b"\x93NUMPY\1\0" + len(text).to_bytes(2, "little") + text.encode() + data


def save(name, shape, kind="V2", order="C"):
    np.save(f"{folder}/{name}.npy", np.zeros(shape, kind, order))


save("f32", (1, 2, 10, 32), "f4")
save("u16", (1, 2, 10, 32), "u2")
save("big", (1, 2, 10, 32), ">f2")
save("fortran", (1, 2, 10, 32), "V2", "F")
save("rank", (2, 10, 32))
save("depth", (1, 2, 10, 16))
save("heads", (1, 3, 10, 32))
save("empty", (1, 2, 0, 32))
put("short", good[:-5])
put("long", good + b"12345")
put("header", good[:40])
put("text", b"1 2 3\n")
put("malformed", header("{'descr': '|V2', 'shape': (1, -2, 10, 32)}"))
put("huge", header("{'descr': '|V2', 'fortran_order': False, 'shape': (1000000, 1000000, 10, 32), }", bytes(64)))
