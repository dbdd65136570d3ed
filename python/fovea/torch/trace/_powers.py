"""Powers, with PyTorch's rules for signs, zeros and integers, and common divisors."""

from __future__ import annotations

import math
from typing import Any, Dict, Optional, Sequence

from ...frontend._builder import Value, is_float
from ._aten import apply, emitter
from ._expressions import Expression
from ._tracer import Tracer, fail


@emitter("pow", "float_power")
def _pow(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region = tracer.region
    base, exponent = args[:2]
    known_base, known_exponent = tracer.expression(base).number, tracer.expression(exponent).number
    if isinstance(known_exponent, bool):
        known_exponent = None

    def compute(a: Value, b: Value) -> Value:
        if a.type == "f64":  # the dtype of float_power; kernels compute in f32
            return region.cast(compute(region.cast(a, "f32"), region.cast(b, "f32")), "f64")
        if known_exponent is not None:
            result = _known_power(tracer, a, known_exponent)
            return region.binary("pow", a, b) if result is None else result
        if not is_float(a.type):
            return _integer_power(tracer, a, b)
        if known_base is not None and known_base > 0:
            scaled = b if known_base == 2 else region.binary("mul", b, region.constant(math.log2(known_base), b.type))
            return region.unary("exp2", scaled)
        return region.binary("pow", a, b)

    return apply(tracer, compute, [base, exponent])


def _known_power(tracer: Tracer, a: Value, exponent: float) -> Optional[Value]:
    """A power by multiplications or a square root; None if it needs a logarithm."""
    region = tracer.region
    if not is_float(a.type):
        if exponent < 0:
            fail(f"an integer can't be raised to a negative power, found {exponent}; make either a float")
        return _by_squaring(tracer, a, int(exponent))
    if float(exponent).is_integer() and abs(exponent) <= 64:
        if exponent < 0:  # before squaring: the reciprocal of an infinite power would have the derivative 0 times infinity
            a = region.binary("div", region.constant(1.0, a.type), a)
        return _by_squaring(tracer, a, abs(int(exponent)))
    if abs(exponent) == 0.5:
        return region.unary("sqrt" if exponent > 0 else "rsqrt", a)
    return None


def _by_squaring(tracer: Tracer, a: Value, exponent: int) -> Value:
    region = tracer.region
    result, square, left, first = region.constant(1, a.type), a, exponent, True
    while left:
        if left & 1:
            result, first = (square, False) if first else (region.binary("mul", result, square), False)
        left >>= 1
        square = region.binary("mul", square, square) if left else square
    return result


def _integer_power(tracer: Tracer, a: Value, b: Value) -> Value:
    """A power by squaring: each bit of the exponent selects whether a square is a factor."""
    region = tracer.region
    zero, one = (region.constant(number, a.type) for number in (0, 1))
    result, square = one, a
    for bit in range(max(b.high, 0).bit_length()):
        if bit:
            square = region.binary("mul", square, square)
        mask = region.constant(1 << bit, b.type)
        has_bit = region.compare("ne", region.binary("and", b, mask), zero)
        result = region.select(has_bit, region.binary("mul", result, square), result)
    if b.low >= 0:
        return result
    # 1 / a, rounded towards 0.
    odd = region.compare("ne", region.binary("and", b, one), zero)
    has_inverse = region.compare("eq", region.unary("abs", a), one)
    inverse = region.select(has_inverse, region.select(odd, a, one), zero)
    return region.select(region.compare("lt", b, zero), inverse, result)


# --- Common divisors ----------------------------------------------------------


def _common_divisor(tracer: Tracer, a: Value, b: Value) -> Value:
    """Stein's algorithm: the odd parts' difference is even. It subtracts at most once for
    each bit of the larger number (Knuth, The Art of Computer Programming, 4.5.2)."""
    region = tracer.region
    zero = region.constant(0, a.type)
    a, b = region.unary("abs", a), region.unary("abs", b)
    steps = max(a.high, b.high).bit_length()
    both = region.binary("or", a, b)

    def odd_part(value: Value) -> Value:
        # 0 has no trailing zeros to remove, and a shift by all bits is undefined.
        zeros = region.unary("trailing_zeros", value)
        return region.binary("shr", value, region.select(region.compare("eq", value, zero), zero, zeros))

    twos = region.unary("trailing_zeros", both)
    x, y = odd_part(a), odd_part(b)
    # If one operand is 0, the other one is the divisor.
    x, y = region.select(region.compare("eq", x, zero), y, x), region.select(region.compare("eq", y, zero), x, y)
    for _ in range(steps):
        smaller, larger = region.binary("min", x, y), region.binary("max", x, y)
        rest = odd_part(region.binary("sub", larger, smaller))
        x, y = smaller, region.select(region.compare("eq", rest, zero), smaller, rest)
    none = region.compare("eq", both, zero)
    result = region.binary("shl", x, region.select(none, zero, twos))
    result.low, result.high = 0, max(a.high, b.high)
    return result


@emitter("gcd", "lcm")
def _gcd(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region = tracer.region

    def compute(a: Value, b: Value) -> Value:
        kind = a.type
        if kind == "index":
            # i32 needs half of the registers, if it holds both operands.
            least, most = min(a.low, b.low), max(a.high, b.high)
            narrow = "i32" if -(1 << 31) < least and most < 1 << 31 else "i64"
        else:
            narrow = kind
        divisor = _common_divisor(tracer, region.cast(a, narrow), region.cast(b, narrow))
        divisor = region.cast(divisor, kind)
        if name == "gcd":
            return divisor
        zero, one = region.constant(0, kind), region.constant(1, kind)
        none = region.compare("eq", divisor, zero)
        part = region.binary("truncdiv", a, region.select(none, one, divisor))
        return region.unary("abs", region.binary("mul", part, b))

    return apply(tracer, compute, args[:2])

