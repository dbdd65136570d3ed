"""ATen functions composed of builder ops. PyTorch's decompositions of them end in ops outside
ATen, or overflow."""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, Sequence

import torch

from ...frontend._builder import RegionBuilder, Value, is_float
from ._aten import apply, check_divisor, emitter, floor_divide, reduce
from ._expressions import Expression
from ._promotion import Kind
from ._tracer import Tracer


@emitter("copysign")
def _copysign(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    return apply(tracer, lambda a, b: tracer.region.binary("copysign", a, b), args[:2], Kind.INT_TO_FLOAT)


def odd(region: RegionBuilder, a: Value, function: Callable[[Value], Value]) -> Value:
    """An odd function: `function` of the magnitude, with the sign of `a`. It uses selects, as
    the derivatives of abs and copysign at 0 are 0."""
    negative = region.compare("lt", a, region.constant(0.0, a.type))
    result = function(region.select(negative, region.unary("neg", a), a))
    return region.select(negative, region.unary("neg", result), result)


@emitter("fmod")
def _fmod(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region = tracer.region

    def compute(a: Value, b: Value) -> Value:
        if not is_float(a.type):
            check_divisor(b)
            return region.binary("rem", a, b)
        return odd(region, a, lambda magnitude: floor_divide(tracer, magnitude, region.unary("abs", b))[1])

    return apply(tracer, compute, args[:2])


@emitter("hypot")
def _hypot(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    """Computed from the ratio of the smaller to the larger operand, as squares could overflow."""
    region = tracer.region

    def compute(a: Value, b: Value) -> Value:
        zero, one = region.constant(0.0, a.type), region.constant(1.0, a.type)
        a, b = region.unary("abs", a), region.unary("abs", b)
        larger, smaller = region.binary("max", a, b), region.binary("min", a, b)
        part = region.binary("div", smaller, region.select(region.compare("eq", larger, zero), one, larger))
        length = region.unary("sqrt", region.binary("add", region.binary("mul", part, part), one))
        # Infinity if an operand is infinite, even if the other is NaN.
        infinity = region.constant(math.inf, a.type)
        infinite = region.binary("or", region.compare("eq", a, infinity), region.compare("eq", b, infinity))
        return region.select(infinite, infinity, region.binary("mul", larger, length))

    return apply(tracer, compute, args[:2])


@emitter("logaddexp", "logaddexp2")
def _logaddexp(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region = tracer.region

    def compute(a: Value, b: Value) -> Value:
        larger, smaller = region.binary("max", a, b), region.binary("min", a, b)
        # The difference of two infinities would be NaN. Equal operands get half of the derivative each, from the maximum.
        apart = region.select(region.compare("eq", a, b), region.constant(0.0, a.type), region.binary("sub", smaller, larger))
        more = region.unary("log1p", region.unary("exp2" if name == "logaddexp2" else "exp", apart))
        if name == "logaddexp2":
            more = region.binary("mul", more, region.constant(math.log2(math.e), a.type))
        return region.binary("add", larger, more)

    return apply(tracer, compute, args[:2])


@emitter("xlogy", "special_xlog1py")
def _xlogy(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    """0 if a is 0 and the logarithm is not finite; otherwise the derivative at a = 0 is the logarithm."""
    region = tracer.region

    def compute(a: Value, b: Value) -> Value:
        zero = region.constant(0.0, a.type)
        function, least = ("log", zero) if name == "xlogy" else ("log1p", region.constant(-1.0, a.type))
        unlike = region.binary("or", region.compare("le", b, least), region.compare("eq", b, region.constant(math.inf, a.type)))
        nothing = region.binary("and", region.compare("eq", a, zero), unlike)
        return region.select(nothing, zero, region.binary("mul", a, region.unary(function, b)))

    return apply(tracer, compute, args[:2], Kind.INT_TO_FLOAT)


@emitter("sinc")
def _sinc(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region = tracer.region

    def compute(a: Value) -> Value:
        one, angle = region.constant(1.0, a.type), region.binary("mul", a, region.constant(math.pi, a.type))
        # Here sinc is 1 and constant, and the square in its derivative would underflow to 0.
        near = region.compare("lt", region.unary("abs", a), region.constant(1e-18, a.type))
        return region.select(near, one, region.binary("div", region.unary("sin", angle), angle))

    return apply(tracer, compute, args[:1], Kind.INT_TO_FLOAT)


# --- Activations with bounds ----------------------------------------------------
# Their derivative at a bound is 0, as in PyTorch; that of clamp is 1.


def _between(region: RegionBuilder, a: Value, low: Value, high: Value, below: Value, within: Value, above: Value) -> Value:
    """Selects by range; NaN counts as within."""
    return region.select(region.compare("le", a, low), below, region.select(region.compare("ge", a, high), above, within))


@emitter("hardtanh")
def _hardtanh(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region = tracer.region
    given = (*args[1:], *(-1.0, 1.0)[len(args) - 1:])
    bounds = [kwargs.get(key, bound) for key, bound in zip(("min_val", "max_val"), given)]

    def compute(a: Value) -> Value:
        low, high = (region.constant(bound if is_float(a.type) else int(bound), a.type) for bound in bounds)
        return _between(region, a, low, high, low, a, high)

    return apply(tracer, compute, args[:1])


@emitter("hardsigmoid", "hardswish")
def _hardsigmoid(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region = tracer.region

    def compute(a: Value) -> Value:
        zero, three, six = (region.constant(n, a.type) for n in (0.0, 3.0, 6.0))
        part = _between(region, a, region.unary("neg", three), three, zero, region.binary("add", a, three), six)
        return region.binary("div", region.binary("mul", a, part) if name == "hardswish" else part, six)

    return apply(tracer, compute, args[:1], Kind.INT_TO_FLOAT)


@emitter("mean")
def _mean(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    """The mean; for 16-bit floats sum and quotient are f32."""
    source = tracer.expression(args[0])
    dtype = kwargs.get("dtype") or source.dtype
    wide = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    total = reduce(tracer, "sum", args, {**kwargs, "dtype": wide})
    count = math.prod(source.shape) // max(1, math.prod(total.shape))
    mean = apply(tracer, lambda a, b: tracer.region.binary("div", a, b), [tracer.symbol(total), float(count)])
    return tracer.converted(mean, dtype)
