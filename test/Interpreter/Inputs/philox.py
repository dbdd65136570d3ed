"""Compares a tile of random numbers with Philox 4x32-7 in Python.

    philox.py FILE KEY STREAM ROW COLUMN DIM
"""

import sys

import numpy as np

import npy

MASK = 0xFFFFFFFF


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(7):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & MASK, a >> 32 ^ c[3] ^ k[1], a & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def number(key, stream, i, j):
    counter = j // 8, i, stream & MASK, stream >> 32 & MASK
    word = philox(counter, (key & MASK, key >> 32 & MASK))[j % 8 // 2]
    return word >> 16 if j % 2 else word & 0xFFFF


def main():
    key, stream, row, column, dim = map(int, sys.argv[2:])
    found = npy.load(sys.argv[1])
    for (r, c), value in np.ndenumerate(found):
        i, j = (row + r, column + c)[:: 1 if dim == 1 else -1]
        expected = number(key, stream, i, j)
        assert value == expected, f"({r}, {c}) is {value}, expected {expected}"


main()
