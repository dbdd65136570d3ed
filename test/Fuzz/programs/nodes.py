"""Expressions while a program is drawn: their text, their range, and the error bound of an
evaluation in their types against f64.

Discontinuous operations (rounding to integers, comparisons) are only applied to values that both
evaluations compute exactly: integers, floats on a grid (multiples of 2^-grid that the type
represents), and quotients of small integers.
"""

import dataclasses
import math

#: The relative error of an operation: twice the rounding error.
EPSILON = {"f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7, "f64": 2.0**-23}
#: The dtype of integers used as floats: the result has the other operand's dtype.
WEAK = "weak"
#: Bits that a number may have to be exact.
BITS = {"f32": 24, "f16": 11, "bf16": 8, "f64": 24}
INTEGERS = {"i8": 8, "u8": 8, "i16": 16, "i32": 32, "i64": 64}
#: Numbers up to this divide to the right integer in f32.
SMALL = 1 << 11
#: Larger scores say nothing more.
LARGEST = 1e4
#: A score that is off by more would hide errors.
MOST_ERROR = 0.02


@dataclasses.dataclass(frozen=True)
class Node:
    text: str
    kind: str  # "int", "float", "bool"
    low: float = 0
    high: float = 0
    #: For floats: the value is a multiple of 2^-grid; None if unknown.
    grid: int = None
    #: For floats: the maximum absolute error against f64.
    error: float = 0.0
    #: A quotient of small integers, to be rounded to an integer or compared.
    quotient: bool = False
    dtype: str = "f32"
    #: No constant: something to call functions of.
    traced: bool = True
    #: Depends on the score.
    scored: bool = False

    @property
    def magnitude(self):
        return max(abs(self.low), abs(self.high))

    @property
    def exact(self):
        return self.kind != "float" or self.grid is not None

    @property
    def decidable(self):
        """Whether it may be rounded to an integer, or compared."""
        return self.exact or self.quotient


def constant_float(value):
    grid = next((bits for bits in range(12) if float(value * 2**bits).is_integer()), None)
    text = repr(float(value))
    return Node(text if value >= 0 else f"({text})", "float", value, value, grid, traced=False)


def constant_int(value):
    return Node(str(value) if value >= 0 else f"({value})", "int", value, value, dtype="i64", traced=False)


def wider(a, b):
    """The dtype of a result; constants don't count, and of integers among floats only that
    they are no constants."""
    traced = [node for node in (a, b) if node.traced] or [a]
    names = {node.dtype for node in traced if node.kind == traced[0].kind}
    names = names - {WEAK} or {"f32"}
    if len(names) == 1:
        return names.pop()
    if names <= set(INTEGERS):
        if "u8" in names and names <= {"u8", "i8"}:
            return "i16"
        return max(names, key=INTEGERS.__getitem__)
    return "f32"


def as_float_node(node, text=None):
    """An integer or boolean as a float."""
    if node.kind == "float":
        return node
    low, high = (0, 1) if node.kind == "bool" else (node.low, node.high)
    exact = max(abs(low), abs(high)) <= 1 << 24
    error = 0.0 if exact else max(abs(low), abs(high)) * 2.0**-24
    return Node(text or node.text, "float", low, high, 0 if exact else None, error, dtype="f32" if text else WEAK,
                traced=node.traced)


def rounded(text, low, high, grid, error, dtype, scored, quotient=False):
    """The error of an operation's result if its operands have the error `error`."""
    magnitude = max(abs(low), abs(high))
    dtype = "f32" if dtype == WEAK else dtype
    if grid is not None and (grid > 20 or magnitude * 2.0**grid > 2 ** BITS[dtype]):
        grid = None
    if grid is not None:
        error = 0.0
    else:
        error += magnitude * EPSILON[dtype]
    return Node(text, "float", low, high, grid, error, quotient, dtype, True, scored)


def sensible(node):
    """Whether a float may go into a score."""
    return math.isfinite(node.magnitude) and node.magnitude <= LARGEST and node.error <= MOST_ERROR * max(
        1.0, node.magnitude / 100)
