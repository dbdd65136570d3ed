"""Functions for score_mod and mask_mod.

They accept traced values, Python numbers and numpy arrays, so that the same score_mod can
be evaluated on arrays. Traced floats are f32, traced integers have 64 bits. Angles are in
radians.
"""

from __future__ import annotations

import math
import sys
from typing import Any, Callable

from .frontend import _trace
from .frontend._signatures import of_one, of_three, of_two
from .frontend._trace import NUMPY, Traced, current_region, is_traced

__all__ = [
    "where", "minimum", "maximum", "clip", "abs", "exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt",
    "sigmoid", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "erf", "erfc", "signbit", "floor", "ceil", "trunc", "round", "logical_and", "logical_or",
    "logical_xor", "logical_not", "as_float", "as_int", "query_length", "key_length", "and_masks", "or_masks",
]


def _numpy(*values: Any) -> Any:
    """The module numpy if one of the values is a numpy array, else None."""
    numpy = sys.modules.get("numpy")
    return numpy if numpy and any(isinstance(value, (numpy.ndarray, numpy.generic)) for value in values) else None


def _unary(name: str, number: Callable, array: str, x: Any) -> Any:
    if is_traced(x):
        return _trace.unary(name, x) if isinstance(x, Traced) else x._whole()
    numpy = _numpy(x)
    return getattr(numpy, array)(x) if numpy else number(x)


@of_three
def where(condition: Any, a: Any, b: Any) -> Any:
    """Selects `a` where `condition` is true, else `b`. Both are evaluated."""
    if is_traced(condition, a, b):
        return _trace.where(condition, a, b)
    numpy = _numpy(condition, a, b)
    return numpy.where(condition, a, b) if numpy else (a if condition else b)


@of_two
def minimum(a: Any, b: Any) -> Any:
    """The minimum, NaN if an operand is NaN. Use it in place of min(a, b)."""
    if is_traced(a, b):
        return _trace.extremum("min", a, b)
    numpy = _numpy(a, b)
    return numpy.minimum(a, b) if numpy else (a if a != a else min(a, b) if b == b else b)


@of_two
def maximum(a: Any, b: Any) -> Any:
    """The maximum, NaN if an operand is NaN. Use it in place of max(a, b)."""
    if is_traced(a, b):
        return _trace.extremum("max", a, b)
    numpy = _numpy(a, b)
    return numpy.maximum(a, b) if numpy else (a if a != a else max(a, b) if b == b else b)


@of_three
def clip(x: Any, low: Any, high: Any) -> Any:
    """Clamps `x` to [`low`, `high`]."""
    return minimum(maximum(x, low), high)


@of_one
def abs(x: Any) -> Any:
    """The absolute value; an integer for an integer."""
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
    """exp(x) - 1, accurate near 0."""
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
    """log(1 + x), accurate near 0."""
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
    """The sine."""
    return _unary("sin", math.sin, "sin", x)


@of_one
def cos(x: Any) -> Any:
    """The cosine."""
    return _unary("cos", math.cos, "cos", x)


@of_one
def tan(x: Any) -> Any:
    """The tangent."""
    return _unary("tan", math.tan, "tan", x)


@of_one
def asin(x: Any) -> Any:
    """The inverse sine, from -pi/2 to pi/2."""
    return _unary("asin", math.asin, "arcsin", x)


@of_one
def acos(x: Any) -> Any:
    """The inverse cosine, from 0 to pi."""
    return _unary("acos", math.acos, "arccos", x)


@of_one
def atan(x: Any) -> Any:
    """The inverse tangent, from -pi/2 to pi/2."""
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
    """The inverse hyperbolic sine."""
    return _unary("asinh", math.asinh, "arcsinh", x)


@of_one
def acosh(x: Any) -> Any:
    """The inverse hyperbolic cosine."""
    return _unary("acosh", math.acosh, "arccosh", x)


@of_one
def atanh(x: Any) -> Any:
    """The inverse hyperbolic tangent."""
    return _unary("atanh", math.atanh, "arctanh", x)


@of_one
def signbit(x: Any) -> Any:
    """Whether the sign bit is set; true for -0.0."""
    if is_traced(x):
        return _trace.float_binary("copysign", 1.0, x) < 0.0
    numpy = _numpy(x)
    return numpy.signbit(x) if numpy else math.copysign(1.0, x) < 0


@of_one
def erf(x: Any) -> Any:
    """The error function, for traced values and numbers; arrays are not supported."""
    return _trace.unary("erf", x) if isinstance(x, Traced) else math.erf(x)


@of_one
def erfc(x: Any) -> Any:
    """1 - erf(x), accurate where that is near 0, for traced values and numbers; arrays are
    not supported."""
    return _trace.unary("erfc", x) if isinstance(x, Traced) else math.erfc(x)


@of_one
def floor(x: Any) -> Any:
    """Rounds down to an integer, as a float."""
    return _unary("floor", lambda v: float(math.floor(v)), "floor", x)


@of_one
def ceil(x: Any) -> Any:
    """Rounds up to an integer, as a float."""
    return _unary("ceil", lambda v: float(math.ceil(v)), "ceil", x)


@of_one
def trunc(x: Any) -> Any:
    """Rounds towards 0 to an integer, as a float."""
    return _unary("trunc", lambda v: float(math.trunc(v)), "trunc", x)


@of_one
def round(x: Any) -> Any:
    """Rounds to the nearest integer, ties to even, as a float."""
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
    """True if both operands are true; a number is true if it is not 0."""
    return _logical("and", "logical_and", a, b)


@of_two
def logical_or(a: Any, b: Any) -> Any:
    """True if an operand is true."""
    return _logical("or", "logical_or", a, b)


@of_two
def logical_xor(a: Any, b: Any) -> Any:
    """True if exactly one operand is true."""
    return _logical("xor", "logical_xor", a, b)


@of_one
def logical_not(a: Any) -> Any:
    """True if the operand is false."""
    return _logical("not", "logical_not", a)


@of_one
def as_float(x: Any) -> Any:
    """Converts to a float; a boolean becomes 0.0 or 1.0. Use it in place of float(x)."""
    if is_traced(x):
        return _trace.as_float(x)
    return x.astype("float32") if _numpy(x) else float(x)


@of_one
def as_int(x: Any) -> Any:
    """Converts to an integer, rounding towards 0. Use it in place of int(x)."""
    if is_traced(x):
        return _trace.as_int(x)
    return x.astype("int64") if _numpy(x) else int(x)


def query_length() -> Traced:
    """The number of queries of the sequence, an integer. Callable only in a traced function."""
    region = current_region()
    return Traced(region, region.query_length())


def key_length() -> Traced:
    """The number of keys of the sequence, an integer. Callable only in a traced function."""
    region = current_region()
    return Traced(region, region.key_length())


def and_masks(*masks: Callable[..., Any]) -> Callable[..., Any]:
    """The intersection of mask_mods: a mask_mod that is true where all of `masks`,
    functions of (b, h, q_idx, kv_idx), are true."""

    def both(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        result: Any = True
        for mask in masks:
            result = logical_and(result, mask(b, h, q_idx, kv_idx))
        return result

    return both


def or_masks(*masks: Callable[..., Any]) -> Callable[..., Any]:
    """The union of mask_mods: a mask_mod that is true where one of `masks`, functions of (b,
    h, q_idx, kv_idx), is true."""

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
