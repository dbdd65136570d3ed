"""Functions of numbers that can be used in score_mod and mask_mod.

They take what is traced, and numbers and numpy arrays too, so that the same
score_mod can be evaluated on arrays. Traced floats are f32; integers have 64
bits; angles are in radians.
"""

from __future__ import annotations

import math
import sys
from typing import Any, Callable

from . import _trace
from ._signatures import of_one, of_three, of_two
from ._trace import NUMPY, Traced, current_region, is_traced

__all__ = [
    "where", "minimum", "maximum", "clip", "abs", "exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt",
    "sigmoid", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "erf", "erfc", "signbit", "floor", "ceil", "trunc", "round", "logical_and", "logical_or",
    "logical_xor", "logical_not", "as_float", "as_int", "query_length", "key_length", "and_masks", "or_masks",
]


def _numpy(*values: Any) -> Any:
    """numpy, if one of the values is an array of its."""
    numpy = sys.modules.get("numpy")
    return numpy if numpy and any(isinstance(value, (numpy.ndarray, numpy.generic)) for value in values) else None


def _unary(name: str, number: Callable, array: str, x: Any) -> Any:
    if is_traced(x):
        return _trace.unary(name, x) if isinstance(x, Traced) else x._whole()
    numpy = _numpy(x)
    return getattr(numpy, array)(x) if numpy else number(x)


@of_three
def where(condition: Any, a: Any, b: Any) -> Any:
    """`a` where `condition` holds, else `b`. Both are evaluated."""
    if is_traced(condition, a, b):
        return _trace.where(condition, a, b)
    numpy = _numpy(condition, a, b)
    return numpy.where(condition, a, b) if numpy else (a if condition else b)


@of_two
def minimum(a: Any, b: Any) -> Any:
    """The smaller one; NaN if one is NaN. In place of min(a, b)."""
    if is_traced(a, b):
        return _trace.extremum("min", a, b)
    numpy = _numpy(a, b)
    return numpy.minimum(a, b) if numpy else (a if a != a else min(a, b) if b == b else b)


@of_two
def maximum(a: Any, b: Any) -> Any:
    """The larger one; NaN if one is NaN. In place of max(a, b)."""
    if is_traced(a, b):
        return _trace.extremum("max", a, b)
    numpy = _numpy(a, b)
    return numpy.maximum(a, b) if numpy else (a if a != a else max(a, b) if b == b else b)


@of_three
def clip(x: Any, low: Any, high: Any) -> Any:
    """`x` between `low` and `high`."""
    return minimum(maximum(x, low), high)


@of_one
def abs(x: Any) -> Any:
    """The magnitude; of an integer an integer."""
    return x.__abs__()


@of_one
def exp(x: Any) -> Any:
    """e to the power of x."""
    return _unary("exp", math.exp, "exp", x)


@of_one
def exp2(x: Any) -> Any:
    """2 to the power of x."""
    return _unary("exp2", lambda v: 2.0**v, "exp2", x)


@of_one
def expm1(x: Any) -> Any:
    """exp(x) - 1, also near 0."""
    return _unary("expm1", math.expm1, "expm1", x)


@of_one
def log(x: Any) -> Any:
    """The natural logarithm."""
    return _unary("log", math.log, "log", x)


@of_one
def log2(x: Any) -> Any:
    """The logarithm to base 2."""
    return _unary("log2", math.log2, "log2", x)


@of_one
def log1p(x: Any) -> Any:
    """log(1 + x), also near 0."""
    return _unary("log1p", math.log1p, "log1p", x)


@of_one
def sqrt(x: Any) -> Any:
    """The square root."""
    return _unary("sqrt", math.sqrt, "sqrt", x)


@of_one
def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)."""
    return _trace.unary("rsqrt", x) if isinstance(x, Traced) else 1.0 / sqrt(x)


@of_one
def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return _unary("tanh", math.tanh, "tanh", x)


@of_one
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + exp(-x))


@of_one
def sin(x: Any) -> Any:
    """The sine of an angle in radians."""
    return _unary("sin", math.sin, "sin", x)


@of_one
def cos(x: Any) -> Any:
    """The cosine of an angle in radians."""
    return _unary("cos", math.cos, "cos", x)


@of_one
def tan(x: Any) -> Any:
    """The tangent of an angle in radians."""
    return _unary("tan", math.tan, "tan", x)


@of_one
def asin(x: Any) -> Any:
    """The angle from -pi/2 to pi/2 that has the sine x."""
    return _unary("asin", math.asin, "arcsin", x)


@of_one
def acos(x: Any) -> Any:
    """The angle from 0 to pi that has the cosine x."""
    return _unary("acos", math.acos, "arccos", x)


@of_one
def atan(x: Any) -> Any:
    """The angle from -pi/2 to pi/2 that has the tangent x."""
    return _unary("atan", math.atan, "arctan", x)


@of_two
def atan2(y: Any, x: Any) -> Any:
    """The angle of the point (x, y), from -pi to pi."""
    if is_traced(y, x):
        return _trace.float_binary("atan2", y, x)
    numpy = _numpy(y, x)
    return numpy.arctan2(y, x) if numpy else math.atan2(y, x)


@of_one
def sinh(x: Any) -> Any:
    """The hyperbolic sine."""
    return _unary("sinh", math.sinh, "sinh", x)


@of_one
def cosh(x: Any) -> Any:
    """The hyperbolic cosine."""
    return _unary("cosh", math.cosh, "cosh", x)


@of_one
def asinh(x: Any) -> Any:
    """The number that has the hyperbolic sine x."""
    return _unary("asinh", math.asinh, "arcsinh", x)


@of_one
def acosh(x: Any) -> Any:
    """The number, not negative, that has the hyperbolic cosine x."""
    return _unary("acosh", math.acosh, "arccosh", x)


@of_one
def atanh(x: Any) -> Any:
    """The number that has the hyperbolic tangent x."""
    return _unary("atanh", math.atanh, "arctanh", x)


@of_one
def signbit(x: Any) -> Any:
    """Whether the number has a minus sign: also -0.0."""
    if is_traced(x):
        return _trace.float_binary("copysign", 1.0, x) < 0.0
    numpy = _numpy(x)
    return numpy.signbit(x) if numpy else math.copysign(1.0, x) < 0


@of_one
def erf(x: Any) -> Any:
    """The error function; of traced values and numbers, not of arrays."""
    return _trace.unary("erf", x) if isinstance(x, Traced) else math.erf(x)


@of_one
def erfc(x: Any) -> Any:
    """1 - erf(x), also where that is near 0; of traced values and numbers, not of arrays."""
    return _trace.unary("erfc", x) if isinstance(x, Traced) else math.erfc(x)


@of_one
def floor(x: Any) -> Any:
    """The integer below, as a float."""
    return _unary("floor", lambda v: float(math.floor(v)), "floor", x)


@of_one
def ceil(x: Any) -> Any:
    """The integer above, as a float."""
    return _unary("ceil", lambda v: float(math.ceil(v)), "ceil", x)


@of_one
def trunc(x: Any) -> Any:
    """The integer towards 0, as a float."""
    return _unary("trunc", lambda v: float(math.trunc(v)), "trunc", x)


@of_one
def round(x: Any) -> Any:
    """The nearest integer, ties to even, as a float."""
    return _unary("round", lambda v: float(v.__round__()), "round", x)


def _logical(name: str, array: str, *values: Any) -> Any:
    if is_traced(*values):
        return _trace.logical(name, *values)
    numpy = _numpy(*values)
    if numpy:
        return getattr(numpy, array)(*values)
    a, b = bool(values[0]), bool(values[-1])
    return {"and": a and b, "or": a or b, "xor": a != b, "not": not a}[name]


@of_two
def logical_and(a: Any, b: Any) -> Any:
    """Whether both hold; numbers hold if they are not 0."""
    return _logical("and", "logical_and", a, b)


@of_two
def logical_or(a: Any, b: Any) -> Any:
    """Whether one holds."""
    return _logical("or", "logical_or", a, b)


@of_two
def logical_xor(a: Any, b: Any) -> Any:
    """Whether exactly one holds."""
    return _logical("xor", "logical_xor", a, b)


@of_one
def logical_not(a: Any) -> Any:
    """Whether it does not hold."""
    return _logical("not", "logical_not", a)


@of_one
def as_float(x: Any) -> Any:
    """The number as a float; a boolean as 0.0 or 1.0. In place of float(x)."""
    if is_traced(x):
        return _trace.as_float(x)
    return x.astype("float32") if _numpy(x) else float(x)


@of_one
def as_int(x: Any) -> Any:
    """The number as an integer, floats rounded towards 0. In place of int(x)."""
    if is_traced(x):
        return _trace.as_int(x)
    return x.astype("int64") if _numpy(x) else int(x)


def query_length() -> Traced:
    """How many queries the sequence has, an integer. Only while tracing."""
    region = current_region()
    return Traced(region, region.query_length())


def key_length() -> Traced:
    """How many keys the sequence has, an integer. Only while tracing."""
    region = current_region()
    return Traced(region, region.key_length())


def and_masks(*masks: Callable[..., Any]) -> Callable[..., Any]:
    """A mask_mod that holds where all of `masks`, functions of (b, h, q_idx,
    kv_idx), hold."""

    def both(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        result: Any = True
        for mask in masks:
            result = logical_and(result, mask(b, h, q_idx, kv_idx))
        return result

    return both


def or_masks(*masks: Callable[..., Any]) -> Callable[..., Any]:
    """A mask_mod that holds where one of `masks`, functions of (b, h, q_idx,
    kv_idx), holds."""

    def any_of(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        result: Any = False
        for mask in masks:
            result = logical_or(result, mask(b, h, q_idx, kv_idx))
        return result

    return any_of


NUMPY.update({
    "where": where, "minimum": minimum, "maximum": maximum, "fmin": minimum, "fmax": maximum, "clip": clip,
    "absolute": abs, "fabs": abs, "exp": exp, "exp2": exp2, "expm1": expm1, "log": log, "log2": log2, "log1p": log1p,
    "sqrt": sqrt, "sin": sin, "cos": cos, "tan": tan, "arcsin": asin, "arccos": acos, "arctan": atan, "arctan2": atan2,
    "sinh": sinh, "cosh": cosh, "tanh": tanh, "arcsinh": asinh, "arccosh": acosh, "arctanh": atanh, "signbit": signbit, "floor": floor, "ceil": ceil, "trunc": trunc, "rint": round,
    "round": round, "logical_and": logical_and, "logical_or": logical_or, "logical_xor": logical_xor,
    "logical_not": logical_not,
})
