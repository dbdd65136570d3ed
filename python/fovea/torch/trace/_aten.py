"""Emits MLIR for ATen ops, with PyTorch's rules for type promotion and rounding."""

from __future__ import annotations

import math
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch

from ...frontend._builder import RegionBuilder, Value, is_float
from ._expressions import TYPES, Expression, constant, elementwise, reindexed, scalar, typed
from ._extents import arange_count, sliced
from ._promotion import Kind, broadcast, promoted
from ._tracer import EMITTERS, Emitter, Tracer, fail

#: Maximum number of elements of a reduction, which is unrolled.
LONGEST_REDUCTION = 256


def emitter(*names: str) -> Callable[[Emitter], Emitter]:
    def add(function: Emitter) -> Emitter:
        for name in names:
            EMITTERS[name] = function
        return function

    return add


# --- Types --------------------------------------------------------------------


def apply(tracer: Tracer, function: Callable[..., Value], operands: Sequence[Any], kind: Kind = Kind.DEFAULT
          ) -> Expression:
    """Emits an elementwise op with PyTorch's type promotion: operands are converted to the
    computation dtype (f32 for 16-bit floats), the result to the promoted dtype."""
    computation, result = promoted(operands, kind)
    if computation not in TYPES or result not in TYPES:
        fail(f"a kernel can't compute with {computation}")
    if kind is Kind.ALWAYS_BOOL:
        # Operands are compared in their common dtype.
        common = promoted(operands)[1]
    else:
        common = computation
    wanted = TYPES[computation]
    expressions = [tracer.converted(tracer.converted(tracer.expression(one), common), computation) for one in operands]

    def compute(*values: Value) -> Value:
        return typed(tracer.region, function(*(tracer.region.cast(value, wanted) for value in values)), result)

    return elementwise(tracer.region, compute, expressions, result)


# --- Arithmetic ---------------------------------------------------------------


def _plain(names: Sequence[str], builder_name: str, kind: Kind = Kind.DEFAULT) -> None:
    """Registers ops that map to one op of the builder."""

    def emit(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
        region = tracer.region
        if len(args) == 1:
            return apply(tracer, lambda a: region.unary(builder_name, a), args, kind)
        return apply(tracer, lambda a, b: region.binary(builder_name, a, b), args[:2], kind)

    emitter(*names)(emit)


def _comparison(names: Sequence[str], predicate: str) -> None:
    def emit(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
        return apply(tracer, lambda a, b: tracer.region.compare(predicate, a, b), args[:2], Kind.ALWAYS_BOOL)

    emitter(*names)(emit)


_plain(["maximum"], "max")
_plain(["minimum"], "min")
_plain(["bitwise_and", "__and__", "__iand__"], "and")
_plain(["bitwise_or", "__or__", "__ior__"], "or")
_plain(["bitwise_xor", "__xor__", "__ixor__"], "xor")
_plain(["atan2"], "atan2", Kind.INT_TO_FLOAT)
for _name in ("exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt", "erf", "erfc", "sin", "cos", "tan", "asin", "acos",
              "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"):
    _plain([_name], _name, Kind.INT_TO_FLOAT)
for _aten, _mine in (("eq", "eq"), ("ne", "ne"), ("lt", "lt"), ("le", "le"), ("gt", "gt"), ("ge", "ge")):
    _comparison([_aten], _mine)


@emitter("add", "sub", "rsub", "subtract")
def _add(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region = tracer.region
    alpha = kwargs.get("alpha", args[2] if len(args) > 2 else 1)
    a, b = args[:2] if name != "rsub" else (args[1], args[0])
    operation = "add" if name == "add" else "sub"

    # The factor is applied in the common dtype.
    def compute(x: Value, y: Value, *factor: Value) -> Value:
        if x.type == "i1":  # booleans add up to a boolean; they can't be subtracted
            return region.binary("or", x, y)
        return region.binary(operation, x, region.binary("mul", y, factor[0]) if factor else y)

    return apply(tracer, compute, [a, b] if alpha == 1 else [a, b, alpha])


@emitter("mul", "multiply")
def _mul(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region = tracer.region
    return apply(tracer, lambda a, b: region.binary("and" if a.type == "i1" else "mul", a, b), args[:2])


def check_divisor(value: Value) -> None:
    if value.constant == 0 and value.type not in ("f16", "bf16", "f32", "f64"):
        fail("division of integers by zero")


def floor_divide(tracer: Tracer, a: Value, b: Value) -> Tuple[Value, Value]:
    """Quotient and remainder with Python's rounding. A float quotient that was rounded up to
    an integer is too large by one, which the remainder by a fused multiply-add reveals."""
    region = tracer.region
    check_divisor(b)
    if a.type not in ("f16", "bf16", "f32", "f64"):
        return region.binary("floordiv", a, b), region.binary("mod", a, b)
    zero, one = region.constant(0.0, a.type), region.constant(1.0, a.type)
    divided = region.unary("floor", region.binary("div", a, b))

    def remainder(quotient: Value) -> Value:
        left = region.fused_multiply_add(region.unary("neg", quotient), b, a)
        # 0 times an infinite divisor would be NaN, and -0 would lose its sign.
        return region.select(region.compare("eq", quotient, zero), a, left)

    left = remainder(divided)
    opposite = region.binary("xor", region.compare("lt", left, zero), region.compare("lt", b, zero))
    wrong = region.binary("and", region.compare("ne", left, zero), opposite)
    quotient = region.select(wrong, region.binary("sub", divided, one), divided)
    left = region.select(wrong, remainder(quotient), left)
    # For an infinite dividend the quotient is NaN.
    exists = region.binary("or", region.compare("eq", left, left), region.compare("eq", b, zero))
    return region.select(exists, quotient, region.constant(math.nan, a.type)), left


def _truncated(tracer: Tracer, a: Value, b: Value) -> Value:
    region = tracer.region
    check_divisor(b)
    if a.type in ("f16", "bf16", "f32", "f64"):
        return region.unary("trunc", region.binary("div", a, b))
    return region.binary("truncdiv", a, b)


@emitter("div", "divide", "true_divide")
def _div(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    mode = kwargs.get("rounding_mode")
    if mode == "floor":
        return apply(tracer, lambda a, b: floor_divide(tracer, a, b)[0], args[:2])
    if mode == "trunc":
        return apply(tracer, lambda a, b: _truncated(tracer, a, b), args[:2])
    return apply(tracer, lambda a, b: tracer.region.binary("div", a, b), args[:2], Kind.INT_TO_FLOAT)


@emitter("floor_divide")
def _floordiv(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    return apply(tracer, lambda a, b: floor_divide(tracer, a, b)[0], args[:2])


@emitter("remainder")
def _remainder(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    return apply(tracer, lambda a, b: floor_divide(tracer, a, b)[1], args[:2])


@emitter("neg", "negative")
def _neg(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    return apply(tracer, lambda a: tracer.region.unary("neg", a), args[:1])


@emitter("abs", "absolute")
def _abs(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    return apply(tracer, lambda a: a if a.type == "i1" else tracer.region.unary("abs", a), args[:1])


@emitter("floor", "ceil", "trunc", "round")
def _round(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region, decimals = tracer.region, kwargs.get("decimals", 0)

    def compute(a: Value) -> Value:
        if not is_float(a.type):
            return a
        if not decimals:
            return region.unary(name, a)
        # As in PyTorch, whose products are rounded, too.
        scale = region.constant(10.0 ** abs(decimals), a.type)
        scaled = region.unary(name, region.binary("mul" if decimals > 0 else "div", a, scale))
        return region.binary("div" if decimals > 0 else "mul", scaled, scale)

    return apply(tracer, compute, args[:1])


@emitter("sign", "sgn")
def _sign(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region = tracer.region

    def compute(a: Value) -> Value:
        if a.type == "i1":
            return a
        zero, one, less = (region.constant(n, a.type) for n in (0, 1, -1))
        below = region.select(region.compare("lt", a, zero), less, zero)
        return region.select(region.compare("gt", a, zero), one, below)

    return apply(tracer, compute, args[:1])


@emitter("reciprocal")
def _reciprocal(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region = tracer.region
    return apply(tracer, lambda a: region.binary("div", region.constant(1.0, a.type), a), args[:1], Kind.INT_TO_FLOAT)


@emitter("sigmoid")
def _sigmoid(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region = tracer.region

    def compute(a: Value) -> Value:
        one = region.constant(1.0, a.type)
        return region.binary("div", one, region.binary("add", one, region.unary("exp", region.unary("neg", a))))

    return apply(tracer, compute, args[:1], Kind.INT_TO_FLOAT)


@emitter("log10")
def _log10(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region = tracer.region
    factor = math.log10(2.0)
    return apply(
        tracer, lambda a: region.binary("mul", region.unary("log2", a), region.constant(factor, a.type)), args[:1],
        Kind.INT_TO_FLOAT,
    )


@emitter("relu")
def _relu(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region = tracer.region

    def compute(a: Value) -> Value:
        zero = region.constant(0, a.type)
        if a.type not in ("f16", "bf16", "f32", "f64"):
            return region.binary("max", a, zero)
        # A select, since the derivative of a maximum at 0 would be a half.
        return region.select(region.compare("le", a, zero), zero, a)

    return apply(tracer, compute, args[:1])


@emitter("clamp", "clip", "clamp_min", "clamp_max")
def _clamp(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region = tracer.region
    low, high = kwargs.get("min"), kwargs.get("max")
    if name == "clamp_min":
        low = args[1] if len(args) > 1 else low
    elif name == "clamp_max":
        high = args[1] if len(args) > 1 else high
    else:
        low = args[1] if len(args) > 1 else low
        high = args[2] if len(args) > 2 else high
    bounds = [bound for bound in (low, high) if bound is not None]

    def compute(a: Value, *found: Value) -> Value:
        rest = list(found)
        return region.clamp(a, None if low is None else rest.pop(0), None if high is None else rest.pop(0))

    return apply(tracer, compute, [args[0], *bounds])


@emitter("fmax", "fmin")
def _fmax(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    """A number for NaN and a number. For equal operands the derivative goes to the first."""
    region = tracer.region
    return apply(tracer, lambda a, b: region.binary(name[1:] + "num" if is_float(a.type) else name[1:], a, b), args[:2])


# --- Booleans and bits --------------------------------------------------------


@emitter("logical_and", "logical_or", "logical_xor")
def _logical(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region, operation = tracer.region, name[len("logical_"):]
    booleans = [tracer.converted(tracer.expression(one), torch.bool) for one in args[:2]]
    return elementwise(region, lambda a, b: region.binary(operation, a, b), booleans, torch.bool)


@emitter("logical_not")
def _logical_not(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    boolean = tracer.converted(tracer.expression(args[0]), torch.bool)
    return elementwise(tracer.region, lambda a: tracer.region.unary("not", a), [boolean], torch.bool)


@emitter("bitwise_not")
def _bitwise_not(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    return apply(tracer, lambda a: tracer.region.unary("not", a), args[:1])


@emitter("bitwise_left_shift", "__lshift__", "bitwise_right_shift", "__rshift__")
def _shift(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region, operation = tracer.region, "shl" if "left" in name or "lshift" in name else "shr"

    def compute(a: Value, b: Value) -> Value:
        if not 0 <= b.low <= b.high < 64:
            found = b.constant if b.constant is not None else "an integer without such bounds; n.clamp(0, 63) and n % 64 have them"
            fail(f"a shift must be by 0 to 63 bits, found {found}")
        return region.binary(operation, a, b)

    return apply(tracer, compute, args[:2])


@emitter("signbit")
def _signbit(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    """The sign bit, also for -0.0."""
    region = tracer.region

    def compute(a: Value) -> Value:
        sign = region.binary("copysign", region.constant(1.0, a.type), a) if is_float(a.type) else a
        return region.constant(False, "i1") if a.type == "i1" else region.compare("lt", sign, region.constant(0, a.type))

    return apply(tracer, compute, args[:1], Kind.ALWAYS_BOOL)


@emitter("isnan", "isinf", "isfinite")
def _classify(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region = tracer.region

    def compute(a: Value) -> Value:
        if a.type not in ("f16", "bf16", "f32", "f64"):
            return region.constant(name == "isfinite", "i1")
        if name == "isnan":
            return region.compare("ne", a, a)
        infinity = region.constant(math.inf, a.type)
        return region.compare("eq" if name == "isinf" else "lt", region.unary("abs", a), infinity)

    return apply(tracer, compute, args[:1], Kind.ALWAYS_BOOL)


@emitter("where")
def _where(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    if len(args) != 3:
        fail("torch.where needs three operands in a kernel")
    return _select(tracer, *args)


def _select(tracer: Tracer, condition: Any, a: Any, b: Any) -> Expression:
    region = tracer.region
    test = tracer.converted(tracer.expression(condition), torch.bool)
    dtype = promoted((a, b), Kind.NO_OPMATH)[1]
    values = [tracer.converted(tracer.expression(one), dtype) for one in (a, b)]
    return elementwise(region, region.select, [test, *values], dtype)


@emitter("masked_fill")
def _masked_fill(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    source, mask, value = args
    result = _select(tracer, mask, value, source)
    return tracer.converted(result, tracer.expression(source).dtype)


# --- Copies and constants -----------------------------------------------------


@emitter("clone", "alias", "contiguous", "lift_fresh_copy", "view_of")
def _same(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    return tracer.expression(args[0])


@emitter("detach", "detach_copy")
def _detach(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    return tracer.without_derivative(tracer.expression(args[0]))


@emitter("_to_copy", "to", "convert_element_type")
def _to_copy(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    dtype = args[1] if len(args) > 1 else kwargs.get("dtype")
    source = tracer.expression(args[0])
    return source if dtype is None else tracer.converted(source, dtype)


@emitter("lift_fresh")
def _lift_fresh(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    """A tensor that the function creates from numbers."""
    tensor = args[0]
    if tensor.dim() == 0 and tensor.dtype in TYPES:
        return constant(tracer.region, tensor.item(), tensor.dtype)
    return tracer.capture(tensor, made_here=True)


def _filled(tracer: Tracer, shape: Sequence[int], number: Any, dtype: Optional[torch.dtype]) -> Expression:
    if isinstance(number, torch.Tensor):
        source = tracer.expression(number)
    else:
        source = tracer.expression(number)
    made = tracer.converted(source, dtype or source.dtype)
    return reindexed(made, shape, lambda _: ()) if tuple(shape) else made


@emitter("full", "new_full")
def _full(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    if name == "new_full":
        return _filled(tracer, args[1], args[2], kwargs.get("dtype") or args[0].dtype)
    return _filled(tracer, args[0], args[1], kwargs.get("dtype"))


@emitter("full_like", "zeros_like", "ones_like", "new_zeros", "new_ones")
def _like(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    number = args[1] if name == "full_like" else float("ones" in name)
    shape = args[1] if name.startswith("new") else args[0].shape
    return _filled(tracer, shape, number, kwargs.get("dtype") or args[0].dtype)


@emitter("zeros", "ones")
def _zeros(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    return _filled(tracer, args[0], float(name == "ones"), kwargs.get("dtype") or torch.get_default_dtype())


@emitter("scalar_tensor")
def _scalar_tensor(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    return _filled(tracer, (), args[0], kwargs.get("dtype") or torch.get_default_dtype())


@emitter("arange")
def _arange(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region = tracer.region
    start, end, step = {1: (0, *args, 1), 2: (*args, 1), 3: tuple(args)}[len(args)]
    step = kwargs.get("step", step)
    dtype = kwargs.get("dtype") or (
        torch.get_default_dtype() if any(isinstance(n, (float, torch.SymFloat)) for n in (start, end, step)) else torch.int64)
    kind = TYPES[dtype]
    first, by = (tracer.converted(tracer.expression(one), dtype).read(()) for one in (start, step))

    def read(indices: Tuple[Value, ...]) -> Value:
        value = region.cast(indices[0], kind)
        return region.binary("add", region.binary("mul", value, by), first)

    return Expression((arange_count(start, end, step),), dtype, read)


# --- Views and elements -------------------------------------------------------


def _dimension(rank: int, dim: int) -> int:
    return dim + rank if dim < 0 else dim


def _wrapped(tracer: Tracer, index: Value, extent: int) -> Value:
    """The index, counted from the end if it is negative."""
    region = tracer.region
    if index.low >= 0:
        return index
    shifted = region.binary("add", index, tracer.index(extent))
    if index.high < 0:
        return shifted
    return region.select(region.compare("lt", index, region.constant(0, "index")), shifted, index)


@emitter("index")
def _index(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    """Indexing by tensors. If all indices are scalars, as in ``bias[h, q_idx]``, the result has
    the dimensions without an index."""
    region = tracer.region
    source = tracer.expression(args[0])
    given: List[Any] = [*args[1], *([None] * (len(source.shape) - len(args[1])))]
    chosen = [dim for dim, one in enumerate(given) if one is not None]
    found = {dim: tracer.expression(given[dim]) for dim in chosen}
    for index in found.values():
        if index.dtype not in (torch.int64, torch.int32, torch.int16, torch.int8):
            fail(f"a tensor is indexed by {index.dtype} in a kernel, expected integers")
    shape = broadcast(*(index.shape for index in found.values()))
    # The indices' dimensions replace the indexed ones if those are adjacent; otherwise they come first.
    together = chosen == list(range(chosen[0], chosen[0] + len(chosen)))
    lead = chosen[0] if together else 0
    kept = [dim for dim, one in enumerate(given) if one is None]
    full = [source.shape[dim] for dim in kept]
    result = [*full[:lead], *shape, *full[lead:]]

    def read(indices: Tuple[Value, ...]) -> Value:
        own = indices[lead:lead + len(shape)]
        rest = iter(indices[:lead] + indices[lead + len(shape):])
        places = []
        for dim, extent in enumerate(source.shape):
            if dim in found:
                where = region.cast(found[dim].at(region, own), "index")
                places.append(_wrapped(tracer, where, extent))
            else:
                places.append(next(rest))
        return source.read(tuple(places))

    return Expression(result, source.dtype, read) if result else scalar(read(()), source.dtype)


@emitter("select")
def _select_one(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    source, dim, index = tracer.expression(args[0]), args[1], args[2]
    dim = _dimension(len(source.shape), dim)
    extent = source.shape[dim]
    at = tracer.expression(index)
    value = _wrapped(tracer, tracer.region.cast(at.read(()), "index"), extent)
    shape = source.shape[:dim] + source.shape[dim + 1:]
    return reindexed(source, shape, lambda own: own[:dim] + (value,) + own[dim:])


@emitter("index_select")
def _index_select(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    source, dim = tracer.expression(args[0]), args[1]
    dim = _dimension(len(source.shape), dim)
    index = args[2]
    if not index.dim():
        found = tracer.expression(index)
        index = tracer.symbol(reindexed(found, (1,), lambda _: ()))
    return _index(tracer, name, (args[0], [None] * dim + [index]), {})


@emitter("slice")
def _slice(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region, source = tracer.region, tracer.expression(args[0])
    dim = _dimension(len(source.shape), args[1] if len(args) > 1 else 0)
    bounds = [args[place] if len(args) > place else None for place in (2, 3, 4)]
    if bounds[0] in (None, 0) and bounds[1] in (None, sys.maxsize) and bounds[2] in (None, 1):
        return source  # does not read the size, which may be a symbol of torch.compile
    start, count, step = sliced(*bounds, source.shape[dim])
    shape = source.shape[:dim] + (count,) + source.shape[dim + 1:]

    def place(own: Tuple[Value, ...]) -> Tuple[Value, ...]:
        scaled = region.binary("mul", own[dim], region.constant(step, "index")) if step != 1 else own[dim]
        moved = scaled if isinstance(start, int) and not start else region.binary("add", scaled, tracer.index(start))
        return own[:dim] + (moved,) + own[dim + 1:]

    return reindexed(source, shape, place)


@emitter("permute", "transpose", "t", "numpy_T")
def _permute(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    source = tracer.expression(args[0])
    rank = len(source.shape)
    if name == "permute":
        order = [_dimension(rank, dim) for dim in args[1]]
    else:
        order = list(range(rank))
        a, b = (_dimension(rank, dim) for dim in args[1:3]) if name == "transpose" else (0, rank - 1)
        order[a], order[b] = order[b], order[a]
    inverse = [order.index(dim) for dim in range(rank)]
    return reindexed(source, [source.shape[dim] for dim in order], lambda own: tuple(own[dim] for dim in inverse))


@emitter("flip")
def _flip(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region, source = tracer.region, tracer.expression(args[0])
    dims = {_dimension(len(source.shape), dim) for dim in args[1]}

    def place(own: Tuple[Value, ...]) -> Tuple[Value, ...]:
        return tuple(region.binary("sub", tracer.index(extent - 1), index) if dim in dims else index
                     for dim, (index, extent) in enumerate(zip(own, source.shape)))

    return reindexed(source, source.shape, place)


@emitter("roll")
def _roll(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region, source = tracer.region, tracer.expression(args[0])
    shifts, dims = ([one] if isinstance(one, int) else list(one) for one in (args[1], args[2] if len(args) > 2 else ()))
    if not dims:
        flat = tracer.symbol(_view(tracer, "view", (args[0], [-1]), {}))
        rolled = tracer.symbol(_roll(tracer, name, (flat, shifts, [0]), {}))
        return _view(tracer, "view", (rolled, list(source.shape)), {})
    by: Dict[int, int] = {}
    for dim, shift in zip(dims, shifts):
        dim = _dimension(len(source.shape), dim)
        by[dim] = by.get(dim, 0) + shift

    def place(own: Tuple[Value, ...]) -> Tuple[Value, ...]:
        places = list(own)
        for dim, shift in by.items():
            extent = max(source.shape[dim], 1)
            moved = region.binary("add", own[dim], tracer.index(-shift % extent))
            places[dim] = region.binary("mod", moved, tracer.index(extent))
        return tuple(places)

    return reindexed(source, source.shape, place)


@emitter("stack", "cat")
def _cat(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    """Concatenation: selects each element among those of all tensors."""
    region = tracer.region
    dtype = promoted(args[0], Kind.NO_OPMATH)[1]
    parts = [tracer.converted(tracer.expression(one), dtype) for one in args[0]]
    rank = len(parts[0].shape) + (name == "stack")
    dim = _dimension(rank, args[1] if len(args) > 1 else kwargs.get("dim", 0))
    if name == "stack":
        parts = [reindexed(one, one.shape[:dim] + (1,) + one.shape[dim:], lambda own: own[:dim] + own[dim + 1:])
                 if one.shape else Expression((1,), dtype, lambda _, one=one: one.read(())) for one in parts]
    parts = [one for one in parts if one.shape != (0,)]
    if len(parts) > LONGEST_REDUCTION:
        fail(f"{name} has {len(parts)} tensors, expected at most {LONGEST_REDUCTION}: a kernel selects one for every score")
    ends = [sum(one.shape[dim] for one in parts[:count + 1]) for count in range(len(parts))]

    def read(own: Tuple[Value, ...]) -> Value:
        result: Optional[Value] = None
        for one, end in reversed(list(zip(parts, ends))):
            start = end - one.shape[dim]
            within = region.binary("sub", own[dim], tracer.index(start))
            # Outside of this part the element is not selected, so any existing one may be read.
            within = region.binary("max", region.binary("min", within, tracer.index(max(one.shape[dim] - 1, 0))),
                                   region.constant(0, "index"))
            element = one.read(own[:dim] + (within,) + own[dim + 1:])
            before = region.compare("lt", own[dim], tracer.index(end))
            result = element if result is None else region.select(before, element, result)
        assert result is not None
        return result

    return Expression(parts[0].shape[:dim] + (ends[-1],) + parts[0].shape[dim + 1:], dtype, read)


@emitter("unsqueeze")
def _unsqueeze(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    source = tracer.expression(args[0])
    dim = _dimension(len(source.shape) + 1, args[1])
    return reindexed(source, source.shape[:dim] + (1,) + source.shape[dim:], lambda own: own[:dim] + own[dim + 1:])


@emitter("squeeze")
def _squeeze(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    source = tracer.expression(args[0])
    rank = len(source.shape)
    dims = range(rank) if len(args) < 2 else ([args[1]] if isinstance(args[1], int) else args[1])
    gone = {_dimension(rank, dim) for dim in dims if source.shape[dim] == 1}
    zero = tracer.region.constant(0, "index")

    def place(own: Tuple[Value, ...]) -> Tuple[Value, ...]:
        rest = iter(own)
        return tuple(zero if dim in gone else next(rest) for dim in range(rank))

    return reindexed(source, [extent for dim, extent in enumerate(source.shape) if dim not in gone], place)


@emitter("expand", "broadcast_to")
def _expand(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    source = tracer.expression(args[0])
    added = len(args[1]) - len(source.shape)
    shape = [source.shape[dim - added] if extent == -1 else extent for dim, extent in enumerate(args[1])]
    region = tracer.region
    if not shape:
        return source
    return Expression(shape, source.dtype, lambda own: source.at(region, own))


@emitter("view", "reshape", "_unsafe_view", "_reshape_alias")
def _view(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region, source = tracer.region, tracer.expression(args[0])
    if args[1] and not isinstance(args[1], (list, tuple)):
        fail(f"{name} to another dtype can't be part of a kernel")
    count, shape = math.prod(source.shape), list(args[1])
    if -1 in shape:
        shape[shape.index(-1)] = count // max(1, -math.prod(shape))

    def place(own: Tuple[Value, ...]) -> Tuple[Value, ...]:
        flat = region.constant(0, "index")
        for extent, index in zip(shape, own):
            flat = region.binary("add", region.binary("mul", flat, tracer.index(extent)), index)
        result: List[Value] = []
        for extent in reversed(source.shape):
            size = tracer.index(max(extent, 1))
            result.append(region.binary("mod", flat, size))
            flat = region.binary("floordiv", flat, size)
        return tuple(reversed(result))

    return reindexed(source, shape, place)


# --- Reductions ---------------------------------------------------------------

_REDUCTIONS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "any": "or", "all": "and"}


def _in_equal_parts(region: RegionBuilder, values: Sequence[Value], extremum: Value) -> Value:
    """An extremum whose derivative is split equally among all equal elements, as torch.amax
    does. A chain of binary maxima would give half of it to the last element."""
    extremum = region.without_derivative(extremum)
    zero, one = region.constant(0.0, extremum.type), region.constant(1.0, extremum.type)
    apart, count = zero, zero  # `apart` is 0 in value, and carries the derivatives of all
    for value in values:
        chosen = region.compare("eq", value, extremum)
        apart = region.binary("add", apart, region.select(chosen, region.binary("sub", value, extremum), zero))
        count = region.binary("add", count, region.select(chosen, one, zero))
    share = region.binary("div", apart, count)
    # It is NaN if the extremum is infinite or NaN.
    share = region.select(region.compare("eq", share, share), share, zero)
    return region.binary("add", extremum, share)


@emitter(*_REDUCTIONS)
def reduce(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    """A reduction, unrolled."""
    region, source = tracer.region, tracer.expression(args[0])
    rank = len(source.shape)
    given = args[1] if len(args) > 1 else kwargs.get("dim")
    keep = args[2] if len(args) > 2 else kwargs.get("keepdim", False)
    dims = sorted({_dimension(rank, d) for d in ([given] if isinstance(given, int) else given or range(rank))})
    count = math.prod(source.shape[dim] for dim in dims)
    if not 0 < count <= LONGEST_REDUCTION:
        fail(f"{name} reduces {count} elements, expected 1 to {LONGEST_REDUCTION}: a kernel repeats it for every score")
    if name in ("any", "all"):
        dtype = torch.bool
    elif name in ("sum", "prod"):
        dtype = kwargs.get("dtype") or (source.dtype if source.dtype.is_floating_point else torch.int64)
    else:
        dtype = source.dtype
    operand = tracer.converted(source, dtype)
    # 16-bit floats are summed in f32.
    wide = "f32" if dtype in (torch.float16, torch.bfloat16) else TYPES[dtype]

    def read(own: Tuple[Value, ...]) -> Value:
        total: Optional[Value] = None
        values: List[Value] = []
        for number in range(count):
            rest = iter(own if not keep else (index for dim, index in enumerate(own) if dim not in dims))
            places: List[Value] = []
            left = number
            taken = {}
            for dim in reversed(dims):
                left, taken[dim] = divmod(left, source.shape[dim])
            for dim in range(rank):
                places.append(region.constant(taken[dim], "index") if dim in taken else next(rest))
            value = region.cast(operand.read(tuple(places)), wide)
            values.append(value)
            total = value if total is None else region.binary(_REDUCTIONS[name], total, value)
        assert total is not None
        # A binary maximum of two elements already splits the derivative equally.
        if name in ("amax", "amin") and tracer.derived and is_float(wide) and count > 2:
            total = _in_equal_parts(region, values, total)
        return typed(region, total, dtype)

    shape = [1 if dim in dims else extent for dim, extent in enumerate(source.shape) if keep or dim not in dims]
    return Expression(shape, dtype, read) if shape else scalar(read(()), dtype)
