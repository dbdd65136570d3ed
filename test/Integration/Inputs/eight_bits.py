"""Decodes arrays of 8-bit floats."""

import numpy as np


def decode(array, exponent_bits=4, fraction_bits=3):
    """The values of f8E4M3FN (or f8E5M2 with other bits, without its infinities) as f64."""
    bits = array.view(np.uint8).reshape(array.shape).astype(np.int64)
    fraction = bits & ((1 << fraction_bits) - 1)
    exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    normal = exponent > 0
    value = np.ldexp(fraction + (normal << fraction_bits), np.maximum(exponent, 1) - bias - fraction_bits)
    value = np.where((bits & 0x7F) == 0x7F, np.nan, value)
    return np.where(bits & 0x80, -value, value)
