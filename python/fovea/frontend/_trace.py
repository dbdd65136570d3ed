"""Traces plain Python functions into regions of ``attn.forward``.

A function is called once, with symbolic values for the score and its coordinates, which
record the operations on them. There are three types, as in Python: floats (f32),
integers and booleans. Mixed operands are converted as in Python and numpy.
"""

from __future__ import annotations

import inspect
import linecache
import os
import sys
import threading
from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence, Tuple

from ._builder import Place, RegionBuilder, Value, full_range, place_of
from ._suggestions import Advice, explained
from .._files import PACKAGE
from ..errors import TraceAttributeError, TraceError

_RANK = {"i1": 0, "index": 1, "f32": 2}
_KIND = {"i1": "a boolean", "index": "an integer", "f32": "a float"}
_state = threading.local()
#: Parameters of the functions, as messages show them.
SIGNATURES = {"score_mod": "(score, b, h, q_idx, kv_idx)", "mask_mod": "(b, h, q_idx, kv_idx)"}
_ADVICE = Advice(
    captures="declare it, captures={'NAME': ARRAY}, and take it as a parameter of that name",
    lists="declare an array of its numbers in captures, and take that as a parameter",
    functions="use the functions of fovea (fovea.where, fovea.exp, ...)",
    extrema="use fovea.maximum and fovea.minimum",
    arrays=("numpy", "torch", "jax", "jaxlib", "cupy"),
    libraries=("torch", "numpy", "math", "cmath", "jax"),
)


# --- Places and errors --------------------------------------------------------


def user_place() -> Place:
    """The position in the user's code that is being executed."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(PACKAGE) and f"{os.sep}numpy{os.sep}" not in name:
            return place_of(frame)
        frame = frame.f_back  # type: ignore[assignment]
    return Place("", 0)


def fail(message: str, place: Optional[Place] = None, kind: type = TraceError) -> NoReturn:
    """Raises a TraceError that names the user's line."""
    filename, line = (place or user_place())[:2]
    raise kind(message, filename, line, linecache.getline(filename, line).strip())


# The end of a message on a value that Python's control flow needs.
_CONTROL = (
    "is not known while the function is traced, so 'if', 'while', 'and', 'or', 'not', 'in' and chained "
    "comparisons can't depend on it; use &, |, ~ of comparisons in parentheses, (a >= b) & (c < d), and fovea.where(condition, a, b)"
)


# --- Values -------------------------------------------------------------------


class Traced:
    """A number that is known only when the kernel runs: an argument of a traced function,
    or a result computed from one. It has arithmetic, comparisons, bit operators and the
    functions of ``fovea.math``. ``&``, ``|`` and ``~`` combine booleans. It is the type of
    the arguments and the result of a score_mod and a mask_mod."""

    __slots__ = ("_region", "_value")
    __array_priority__ = 1000.0

    def __init__(self, region: RegionBuilder, value: Value):
        self._region, self._value = region, value

    def __repr__(self) -> str:
        return f"<traced {_KIND[self._value.type][2:].lstrip()}>"

    def __format__(self, spec: str) -> str:
        return repr(self)

    def _called(self) -> str:
        """The value in messages: "a traced float"."""
        return f"a traced {_KIND[self._value.type][2:].lstrip()}"

    # Conversions that need a known number.

    def __bool__(self) -> bool:
        fail(f"the truth value of {self._called()} {_CONTROL}")

    def _number(self, what: str) -> NoReturn:
        fail(
            f"{what} needs a number, found {self._called()}; use the functions of fovea (fovea.exp, fovea.as_int, ...) "
            "in place of the module math, int() and float()"
        )

    def __int__(self) -> int:
        self._number("int()")

    def __float__(self) -> float:
        self._number("a conversion to float")

    def __complex__(self) -> complex:
        self._number("complex()")

    def __index__(self) -> int:
        fail(f"an index into an object that is not captured, or the end of a range(), needs a number, found {self._called()}; "
             "capture an array in place of a list, and use comparisons in place of a loop")

    def __hash__(self) -> int:
        fail("a traced value can't be a key of a dictionary or a member of a set; captured tensors can be indexed by it")

    def __len__(self) -> int:
        fail("a traced value is a single number and has no length")

    def __iter__(self) -> Any:
        fail("a traced value is a single number and can't be iterated over")

    def __contains__(self, item: Any) -> bool:
        fail("a traced value is a single number and contains nothing")

    def __getitem__(self, index: Any) -> Any:
        fail("a traced value is a single number and can't be indexed; captured tensors can")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        fail("a traced value can't be called")

    def __getattr__(self, name: str) -> Any:
        fail(f"a traced value has no '{name}'; see the functions of fovea", kind=TraceAttributeError)

    # Arithmetic.

    def __add__(self, other: Any) -> Traced:
        return binary("add", self, other)

    def __radd__(self, other: Any) -> Traced:
        return binary("add", other, self)

    def __sub__(self, other: Any) -> Traced:
        return binary("sub", self, other)

    def __rsub__(self, other: Any) -> Traced:
        return binary("sub", other, self)

    def __mul__(self, other: Any) -> Traced:
        return binary("mul", self, other)

    def __rmul__(self, other: Any) -> Traced:
        return binary("mul", other, self)

    def __truediv__(self, other: Any) -> Traced:
        return binary("div", self, other)

    def __rtruediv__(self, other: Any) -> Traced:
        return binary("div", other, self)

    def __floordiv__(self, other: Any) -> Traced:
        return binary("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Traced:
        return binary("floordiv", other, self)

    def __mod__(self, other: Any) -> Traced:
        return binary("mod", self, other)

    def __rmod__(self, other: Any) -> Traced:
        return binary("mod", other, self)

    def __divmod__(self, other: Any) -> Tuple[Traced, Traced]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Tuple[Traced, Traced]:
        return other // self, other % self

    def __pow__(self, other: Any) -> Traced:
        return power(self, other)

    def __rpow__(self, other: Any) -> Traced:
        return power(other, self)

    def __matmul__(self, other: Any) -> Traced:
        fail("a traced value is a single number and has no matrix product; * multiplies numbers")

    __rmatmul__ = __matmul__

    def __neg__(self) -> Traced:
        return unary("neg", self)

    def __pos__(self) -> Traced:
        return self

    def __abs__(self) -> Traced:
        return unary("abs", self)

    def __round__(self, digits: Any = None) -> Traced:
        return self._integer("round") if digits is None else fail("round() takes no digits while it is traced")

    def __floor__(self) -> Traced:
        return self._integer("floor")

    def __ceil__(self) -> Traced:
        return self._integer("ceil")

    def __trunc__(self) -> Traced:
        return self._integer("trunc")

    def _integer(self, name: str) -> Traced:
        return as_int(unary(name, self)) if self._value.type == "f32" else as_int(self)

    # Bits and booleans.

    def __and__(self, other: Any) -> Traced:
        return bitwise("and", self, other)

    def __rand__(self, other: Any) -> Traced:
        return bitwise("and", other, self)

    def __or__(self, other: Any) -> Traced:
        return bitwise("or", self, other)

    def __ror__(self, other: Any) -> Traced:
        return bitwise("or", other, self)

    def __xor__(self, other: Any) -> Traced:
        return bitwise("xor", self, other)

    def __rxor__(self, other: Any) -> Traced:
        return bitwise("xor", other, self)

    def __lshift__(self, other: Any) -> Traced:
        return shift("shl", self, other)

    def __rlshift__(self, other: Any) -> Traced:
        return shift("shl", other, self)

    def __rshift__(self, other: Any) -> Traced:
        return shift("shr", self, other)

    def __rrshift__(self, other: Any) -> Traced:
        return shift("shr", other, self)

    def __invert__(self) -> Traced:
        if self._value.type == "f32":
            fail("~ needs a boolean or an integer, found a float")
        self._region.place = user_place()
        return Traced(self._region, self._region.unary("not", self._value))

    # Comparisons.

    def __eq__(self, other: Any) -> Traced:  # type: ignore[override]
        return compare("eq", self, other)

    def __ne__(self, other: Any) -> Traced:  # type: ignore[override]
        return compare("ne", self, other)

    def __lt__(self, other: Any) -> Traced:
        return compare("lt", self, other)

    def __le__(self, other: Any) -> Traced:
        return compare("le", self, other)

    def __gt__(self, other: Any) -> Traced:
        return compare("gt", self, other)

    def __ge__(self, other: Any) -> Traced:
        return compare("ge", self, other)

    # numpy dispatches its functions to these.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return self._numpy(ufunc.__name__, inputs, options if method == "__call__" else {"method": method})

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        return self._numpy(function.__name__, inputs, options)

    @staticmethod
    def _numpy(name: str, inputs: Any, options: Dict[str, Any]) -> Any:
        known = NUMPY.get(name)
        if known is None or options:
            fail(f"numpy.{name}{' with options' if known else ''} can't be traced; see the functions of fovea")
        return known(*inputs)


class TracedTensor:
    """A captured tensor while a function is traced. ``t[i, j]`` reads an element.
    Indices are integers in [0, size), traced or not; negative constants count from the
    end. With fewer indices than dimensions the result is a tensor. ``shape`` has the
    sizes."""

    __slots__ = ("_region", "_tensor", "_name", "_indices")
    __array_ufunc__ = None

    def __init__(self, region: RegionBuilder, tensor: Value, name: str, indices: Tuple[Value, ...] = ()):
        self._region, self._tensor, self._name, self._indices = region, tensor, name, indices

    def __repr__(self) -> str:
        return f"<captured {self._name}: {self._tensor.type}>"

    @property
    def ndim(self) -> int:
        """The number of dimensions without an index."""
        return len(self._tensor.shape) - len(self._indices)

    @property
    def shape(self) -> Tuple[Any, ...]:
        """The sizes: numbers, or traced integers for sizes that each call determines."""
        rank, taken = len(self._tensor.shape), len(self._indices)
        return tuple(
            size if size is not None else Traced(self._region, self._region.size(self._tensor, dim))
            for dim, size in list(enumerate(self._tensor.shape))[taken:rank]
        )

    def __len__(self) -> int:
        size = self._tensor.shape[len(self._indices)]
        if size is None:
            fail(f"the length of '{self._name}' is not known while the function is traced; use its .shape")
        return size

    # With fewer indices than dimensions this returns a TracedTensor; type checkers see the type of an element.
    def __getitem__(self, index: Any) -> Traced:
        region = self._region
        region.place = user_place()
        indices = index if isinstance(index, tuple) else (index,)
        if len(indices) > self.ndim:
            fail(f"captured '{self._name}' has {_count(self.ndim, 'dimension')} left to index, found "
                 f"{_count(len(indices), 'index', 'indices')}")
        found = list(self._indices)
        for one in indices:
            found.append(self._index(one, len(found)))
        if len(found) < len(self._tensor.shape):
            return TracedTensor(region, self._tensor, self._name, tuple(found))  # type: ignore[return-value]
        return Traced(region, widen(region, region.extract(self._tensor, found)))

    def _index(self, index: Any, dim: int) -> Value:
        region, size = self._region, self._tensor.shape[dim]
        index = _scalar(index)
        if isinstance(index, Traced):
            if index._value.type != "index":
                fail(f"an index into '{self._name}' must be an integer, found {_KIND[index._value.type]}; "
                     "// divides to integers, fovea.as_int converts")
            return index._value
        if isinstance(index, bool) or not isinstance(index, int):
            fail(f"an index into '{self._name}' must be an integer, found {type(index).__name__}: elements are "
                 "read one by one")
        if size is not None and not -size <= index < size:
            fail(f"index {index} is out of range for dimension {dim} of '{self._name}', which has {size} elements")
        if index >= 0 or size is not None:
            return region.constant(index + size if index < 0 else index, "index")  # type: ignore[operator]
        return region.binary("add", region.size(self._tensor, dim), region.constant(index, "index"))

    def __setitem__(self, index: Any, value: Any) -> None:
        fail(f"captured '{self._name}' can't be written")

    def __iter__(self) -> Any:
        fail(f"captured '{self._name}' can't be iterated over while the function is traced")

    def __bool__(self) -> bool:
        fail(f"captured '{self._name}' is a tensor and has no truth value")

    def __getattr__(self, name: str) -> Any:
        fail(f"captured '{self._name}' has no '{name}' while it is traced; its elements can be read by indices",
             kind=TraceAttributeError)

    def _whole(self, *_: Any) -> NoReturn:
        rank, given = len(self._tensor.shape), len(self._indices)
        found = f", found {given}" if given else ""
        fail(f"captured '{self._name}' is a tensor; read an element of it, {self._name}[...], which takes "
             f"{_count(rank, 'index', 'indices')}{found}")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _whole
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = __abs__ = __invert__ = _whole
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rshift__ = _whole
    __lt__ = __le__ = __gt__ = __ge__ = _whole
    __eq__ = __ne__ = _whole  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


# --- Operations ---------------------------------------------------------------


def is_traced(*values: Any) -> bool:
    return any(isinstance(value, (Traced, TracedTensor)) for value in values)


def _scalar(value: Any) -> Any:
    """A Python number for a numpy scalar; other values unchanged."""
    if is_traced(value) or getattr(value, "shape", None) != () or not hasattr(value, "item"):
        return value
    return value.item()


def _region_of(*values: Any) -> RegionBuilder:
    regions = [value._region for value in values if isinstance(value, Traced)]
    for value in values:
        if isinstance(value, TracedTensor):
            value._whole()
    region = regions[0]
    if any(other is not region for other in regions) or getattr(_state, "region", None) is not region:
        fail("a traced value is used outside of the function that it was traced in")
    region.place = user_place()
    return region


def lift(region: RegionBuilder, value: Any) -> Value:
    """Returns a value of one of the three types for a Python or numpy number."""
    value = _scalar(value)
    if isinstance(value, Traced):
        return value._value
    if isinstance(value, bool):
        return region.constant(value, "i1")
    if isinstance(value, int):
        low, high = full_range("index")
        if not low <= value <= high:
            fail(f"the integer {value} does not fit 64 bits")
        return region.constant(value, "index")
    if isinstance(value, float):
        return region.constant(value, "f32")
    hint = "; name it in captures" if hasattr(value, "shape") or hasattr(value, "__array__") else ""
    fail(f"expected a number or a traced value, found {type(value).__name__}{hint}")


def widen(region: RegionBuilder, value: Value) -> Value:
    """Converts an element of any type to one of the three types."""
    if value.type in _RANK:
        return value
    return region.cast(value, "f32" if value.type in ("f16", "bf16") else "index")


def convert(region: RegionBuilder, value: Value, type: str) -> Value:
    return region.cast(value, type)


def _operands(region: RegionBuilder, a: Any, b: Any, least: str = "i1") -> List[Value]:
    """Both operands, converted to the wider of their types."""
    values = [lift(region, a), lift(region, b)]
    wide = max([least, *(value.type for value in values)], key=_RANK.__getitem__)
    return [convert(region, value, wide) for value in values]


def binary(name: str, a: Any, b: Any) -> Traced:
    region = _region_of(a, b)
    x, y = _operands(region, a, b, "f32" if name == "div" else "index")
    if name in ("floordiv", "mod") and y.constant == 0 and y.type == "index":
        fail("division by zero")
    return Traced(region, region.binary(name, x, y))


def float_binary(name: str, a: Any, b: Any) -> Traced:
    region = _region_of(a, b)
    return Traced(region, region.binary(name, *_operands(region, a, b, "f32")))


def extremum(name: str, a: Any, b: Any) -> Traced:
    region = _region_of(a, b)
    x, y = _operands(region, a, b, "index")
    return Traced(region, region.binary(name, x, y))


def bitwise(name: str, a: Any, b: Any) -> Traced:
    region = _region_of(a, b)
    x, y = _operands(region, a, b)
    if x.type == "f32":
        fail(f"'{name}' needs booleans or integers, found a float")
    return Traced(region, region.binary(name, x, y))


def shift(name: str, a: Any, b: Any) -> Traced:
    region = _region_of(a, b)
    x, y = _operands(region, a, b, "index")
    if x.type == "f32":
        fail("shifts need integers, found a float")
    if not 0 <= y.low <= y.high < 64:
        found = y.constant if y.constant is not None else "an integer without such bounds; fovea.clip(n, 0, 63) and n % 64 have them"
        fail(f"a shift must be by 0 to 63 bits, found {found}" + ("; 2 ** n takes any n that is not negative" if name == "shl" else ""))
    return Traced(region, region.binary(name, x, y))


def compare(predicate: str, a: Any, b: Any) -> Traced:
    region = _region_of(a, b)
    if a is None or b is None:
        fail("a traced value can't be compared with None")
    return Traced(region, region.compare(predicate, *_operands(region, a, b)))


def unary(name: str, a: Any) -> Traced:
    """neg and abs keep integers; the other functions convert to floats."""
    region = _region_of(a)
    value = convert(region, a._value, "index") if a._value.type == "i1" else a._value
    if name not in ("neg", "abs"):
        value = convert(region, value, "f32")
    return Traced(region, region.unary(name, value))


def where(condition: Any, a: Any, b: Any) -> Traced:
    region = _region_of(condition, a, b)
    test = lift(region, condition)
    return Traced(region, region.select(convert(region, test, "i1"), *_operands(region, a, b)))


def as_float(a: Any) -> Traced:
    region = _region_of(a)
    return Traced(region, convert(region, a._value, "f32"))


def as_int(a: Any) -> Traced:
    region = _region_of(a)
    return Traced(region, convert(region, a._value, "index"))


def as_bool(region: RegionBuilder, a: Any) -> Value:
    return convert(region, lift(region, a), "i1")


def logical(name: str, *values: Any) -> Traced:
    region = _region_of(*values)
    booleans = [as_bool(region, value) for value in values]
    result = region.unary("not", booleans[0]) if name == "not" else region.binary(name, *booleans)
    return Traced(region, result)


def power(base: Any, exponent: Any) -> Traced:
    """Exact for constant integer bases with integer exponents, and for constant integer
    exponents up to 64; other powers are C's pow."""
    region = _region_of(base, exponent)
    base, exponent = _scalar(base), _scalar(exponent)
    if not isinstance(exponent, Traced):
        if float(exponent).is_integer() and abs(exponent) <= 64:
            result = _repeat(base, abs(int(exponent)))
            if isinstance(exponent, float):
                result = result * 1.0
            return result if exponent >= 0 else 1.0 / result
        if exponent == 0.5:
            return unary("sqrt", base)
        if exponent == -0.5:
            return unary("rsqrt", base)
        return float_binary("pow", base, float(exponent))
    if isinstance(base, int) and exponent._value.type == "index":
        if exponent._value.low >= 0 or base in (-1, 1):
            return _integer_power(base, exponent)
        # For base 2 exp2 below is exact.
        if base > 2:
            return _float_power(base, exponent)
    if isinstance(base, Traced) or not base > 0:
        if exponent._value.type == "f32" or lift(region, base).type == "f32":
            return float_binary("pow", base, exponent)
        fail("a power of integers with a traced exponent must have a positive constant base, or an exponent that can't be "
             "negative; fovea.as_float() of either makes it a float")
    import math

    return unary("exp2", exponent if base == 2 else binary("mul", exponent, float(math.log2(base))))


#: Larger powers of integers are clamped to this, so that sums of two fit 64 bits.
_MOST = 1 << 62


def _by_bits(factors: Sequence[float], exponent: Traced) -> Traced:
    """The product of the factors whose bits are set in the exponent."""
    chosen = [where((exponent >> bit) & 1 == 1, factor, 1) for bit, factor in enumerate(factors)]
    result = chosen[0]
    for factor in chosen[1:]:
        result = result * factor
    return result


def _integer_power(base: int, exponent: Traced) -> Traced:
    """An integer power, as in Python: masks compute remainders with it."""
    if base < 0:
        result = _integer_power(-base, exponent)
        return where(exponent % 2 == 1, -result, result)
    if base < 2:
        return where(exponent == 0, 1, base)
    last = 0
    while base ** (last + 1) <= _MOST:
        last += 1
    if base > _MOST:
        return where(exponent == 0, 1, _MOST)
    known = extremum("min", exponent, last)
    result = shift("shl", 1, known) if base == 2 else _by_bits([base ** (1 << bit) for bit in range(last.bit_length())], known)
    return result if exponent._value.high <= last else where(exponent > last, _MOST, result)


def _float_power(base: int, exponent: Traced) -> Traced:
    """A float power, since the exponent may be negative. Results that are integers and fit a
    float are exact, which those of an exponential would not be."""
    factors = [float(base) ** (1 << bit) if (1 << bit) * base.bit_length() <= 128 else float("inf") for bit in range(8)]
    result = _by_bits(factors, extremum("min", unary("abs", exponent), 255))
    return where(exponent < 0, 1.0 / result, result)


def _repeat(base: Traced, exponent: int) -> Traced:
    """A power by squaring."""
    result: Any = None
    while exponent:
        if exponent & 1:
            result = base if result is None else result * base
        exponent >>= 1
        base = base * base if exponent else base
    if result is None:
        return Traced(base._region, base._region.constant(1, "f32" if base._value.type == "f32" else "index"))
    return result


#: Operations that can be traced, by numpy's names; ``fovea.math`` adds its functions.
NUMPY: Dict[str, Callable] = {
    "add": lambda a, b: binary("add", a, b),
    "subtract": lambda a, b: binary("sub", a, b),
    "multiply": lambda a, b: binary("mul", a, b),
    "divide": lambda a, b: binary("div", a, b),
    "true_divide": lambda a, b: binary("div", a, b),
    "floor_divide": lambda a, b: binary("floordiv", a, b),
    "remainder": lambda a, b: binary("mod", a, b),
    "power": power,
    "float_power": power,
    "negative": lambda a: unary("neg", a),
    "positive": lambda a: a,
    "equal": lambda a, b: compare("eq", a, b),
    "not_equal": lambda a, b: compare("ne", a, b),
    "less": lambda a, b: compare("lt", a, b),
    "less_equal": lambda a, b: compare("le", a, b),
    "greater": lambda a, b: compare("gt", a, b),
    "greater_equal": lambda a, b: compare("ge", a, b),
    "bitwise_and": lambda a, b: bitwise("and", a, b),
    "bitwise_or": lambda a, b: bitwise("or", a, b),
    "bitwise_xor": lambda a, b: bitwise("xor", a, b),
    "invert": lambda a: ~a,
    "left_shift": lambda a, b: shift("shl", a, b),
    "right_shift": lambda a, b: shift("shr", a, b),
}


def current_region() -> RegionBuilder:
    """The region that is being traced in this thread."""
    region = getattr(_state, "region", None)
    if region is None:
        fail("query_length() and key_length() can be called only while a function is traced")
    region.place = user_place()
    return region


# --- Functions ----------------------------------------------------------------


def _where_defined(function: Callable) -> Place:
    code = getattr(inspect.unwrap(getattr(function, "func", function)), "__code__", None)
    return Place(code.co_filename, code.co_firstlineno, function=code.co_name) if code else Place("", 0)


def _count(number: int, one: str, more: str = "") -> str:
    return f"{number} {one if number == 1 else more or one + 's'}"


def _among(captures: Dict[str, Any]) -> str:
    return f" ({', '.join(captures)})" if captures else ""


def _binding_advice(role: str, name: str, parameters: Sequence[str], captures: Dict[str, Any]) -> str:
    """Advice for a parameter whose name is not that of a captured tensor."""
    coordinates = len(SIGNATURES[role].split(","))
    early = [one for one in parameters[:coordinates] if one in captures]
    if early:
        return f", which come last: '{early[0]}' is among the first {coordinates} parameters"
    if role == "mask_mod" and len(parameters) == len(SIGNATURES["score_mod"].split(",")) and parameters[-1] == name:
        return "; a function of a score is a score_mod"
    return f", captures={{'{name}': (dtype, shape)}}"


def _bind(function: Callable, role: str, positional: Sequence[Any], captures: Dict[str, Any]) -> Dict[str, Any]:
    """The captured tensors that the function takes as parameters, by name."""
    place = _where_defined(function)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return {}
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return {}
    plain = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(plain) < len(positional):
        is_mask = role == "score_mod" and len(plain) == len(SIGNATURES["mask_mod"].split(","))
        fail(f"{role} takes {len(plain)} parameter{'s' * (len(plain) != 1)}, is called with {len(positional)}, {SIGNATURES[role]}"
             + (f"; a mask_mod takes {SIGNATURES['mask_mod']}, and is passed as mask_mod=" if is_mask else ""), place)
    result = {}
    for parameter in [*plain[len(positional):], *(p for p in parameters if p.kind is p.KEYWORD_ONLY)]:
        if parameter.name in captures:
            result[parameter.name] = captures[parameter.name]
        elif parameter.default is parameter.empty:
            fail(f"{role} takes '{parameter.name}', which is not among captures{_among(captures)}; "
                 f"it is called with {SIGNATURES[role]} and captures by name"
                 + _binding_advice(role, parameter.name, [p.name for p in plain], captures), place)
    return result


def trace(function: Callable, role: str, region: RegionBuilder, coordinates: int, names: Sequence[str]) -> None:
    """Calls `function` on the region's first `coordinates` arguments and on captured
    tensors, which are the other arguments, called `names`. Its result ends the region: an
    f32 for "score_mod", an i1 for "mask_mod"."""
    wrapped: List[Any] = [Traced(region, value) for value in region.arguments[:coordinates]]
    captures: Dict[str, Any] = {}
    place = _where_defined(function)
    previous, _state.region = getattr(_state, "region", None), region
    try:
        for name, value in zip(names, region.arguments[coordinates:]):
            captures[name] = (
                TracedTensor(region, value, name) if value.shape else Traced(region, widen(region, value))
            )
        bound = _bind(function, role, wrapped, captures)
        try:
            result = function(*wrapped, **bound)
        except Exception as error:
            told = explained(error, _ADVICE)
            if told is None:
                raise
            message, filename, line = told
            fail(message, Place(filename, line))
        region.place = place if place[0] else None
        region.finish(_result(region, role, result, place))
    finally:
        _state.region = previous


def _result(region: RegionBuilder, role: str, result: Any, place: Place) -> Value:
    result = _scalar(result)
    kind = "a boolean" if role == "mask_mod" else "a number"
    if isinstance(result, TracedTensor):
        fail(f"{role} must return {kind}, found captured '{result._name}', a tensor; read an element of it", place)
    if result is None:
        fail(f"{role} must return {kind}, found None: is there a 'return'?", place)
    if not isinstance(result, (Traced, bool, int, float)):
        fail(f"{role} must return {kind}, found {type(result).__name__}", place)
    value = lift(region, result)
    if role == "score_mod" and value.type == "i1":
        fail("score_mod must return a number, found a boolean; return booleans from a mask_mod", place)
    if role == "mask_mod" and value.type != "i1":
        fail(f"mask_mod must return a boolean, found {_KIND[value.type]}; a comparison gives one; a "
             "score_mod changes scores", place)
    return convert(region, value, "i1" if role == "mask_mod" else "f32")
