"""exact_sums.py make|check PREFIX: inputs of Tile/scatter-exact.mlir, and a check of its exact sums.

The contribution of each element is compared bin by bin with an independent rule, written
with fractions. Columns sum small integers, whose f32 sums are exact in any order."""

import fractions
import math
import pathlib
import struct
import sys

import numpy as np

BINS, EXPONENTS, CTAS = 33, 8, 2


def numbers():
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2 ** 32, 512, dtype=np.uint64).astype(np.uint32)
    bits[:12] = [0, 0x80000000, 1, 0x807fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
                 0xffc00001, 0x3f800000]
    small = rng.integers(-40, 40, 512).astype(np.float32)
    return np.stack([bits.view(np.float32), small]).reshape(2, 32, 16)


def expected(x):
    """The integers of one number, which each of the CTAs adds."""
    bins = [0] * BINS
    if math.isnan(x) or math.isinf(x):
        bins[-1] = (0 if x < 0 and math.isinf(x) else 1) + (0 if x > 0 and math.isinf(x) else 2 ** 32)
    elif x:
        exponent = max(struct.unpack("<I", struct.pack("<f", x))[0] >> 23 & 255, 1)
        k = exponent // EXPONENTS
        multiple = fractions.Fraction(x) / fractions.Fraction(2) ** (EXPONENTS * k - 150)
        assert multiple.denominator == 1
        bins[k] = int(multiple)
    return [CTAS * one for one in bins]


def check(prefix):
    x = np.load(prefix + ".x.npy")
    each = np.load(prefix + ".all.npy")
    wrong = [n for n, one in enumerate(x[0].ravel()) if expected(float(one)) != each[:, n].tolist()]
    print("each right" if not wrong else f"each wrong: {[(float(x[0].ravel()[n]), each[:, n].tolist()) for n in wrong[:3]]}")
    # A warp's rows are summed before, as f32.
    columns = np.load(prefix + ".columns.npy")
    found = [sum(fractions.Fraction(int(n)) * fractions.Fraction(2) ** (EXPONENTS * k - 150) for k, n in enumerate(column[:-1]))
             for column in columns.T]
    wanted = [CTAS * int(one) for one in x[1].sum(0)]
    print("columns of small integers right" if found == wanted else f"columns wrong: {found} {wanted}")


if __name__ == "__main__":
    what, prefix = sys.argv[1:]
    if what == "make":
        np.save(pathlib.Path(prefix + ".x.npy"), numbers())
    else:
        check(prefix)
