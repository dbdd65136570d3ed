"""Builds the regions of ``attn.forward`` op by op, and prints them as MLIR.

Both front ends use it: the tracer of plain Python functions (``_trace``) and that of
PyTorch functions (``fovea.torch``). It has MLIR's types and ops, but no promotion rules:
operands of an op have the same type, and casts are explicit.

    region = RegionBuilder([("s", "f32"), ("b", "index"), ("h", "index"), ("i", "index"), ("j", "index")])
    s, b, h, i, j = region.arguments
    region.finish(region.select(region.compare("ge", i, j), s, region.constant(0.0, "f32")))

Integers have a known range, which decides how they are converted and divided. Equal ops
are built once.
"""

from __future__ import annotations

import itertools
import math
import struct
from types import FrameType
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

Number = Union[bool, int, float]

#: The longest sequence of the attn dialect, a bound of all coordinates.
MAX_SEQUENCE = 1 << 30

FLOATS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
INTEGERS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 64}

# Formats for floats without a decimal literal: infinities and NaN.
_PACK = {"f64": ("<d", "<Q", 16), "f32": ("<f", "<I", 8), "f16": ("<e", "<H", 4)}

_INTEGER_BINARY = {
    "add": "arith.addi", "sub": "arith.subi", "mul": "arith.muli", "floordiv": "arith.floordivsi",
    "min": "arith.minsi", "max": "arith.maxsi", "and": "arith.andi", "or": "arith.ori", "xor": "arith.xori",
    "shl": "arith.shli", "shr": "arith.shrsi", "truncdiv": "arith.divsi", "rem": "arith.remsi",
}
_FLOAT_BINARY = {
    "add": "arith.addf", "sub": "arith.subf", "mul": "arith.mulf", "div": "arith.divf",
    "min": "arith.minimumf", "max": "arith.maximumf",
    "minnum": "arith.minnumf", "maxnum": "arith.maxnumf", "atan2": "math.atan2", "copysign": "math.copysign",
    "pow": "math.powf",
}
_FLOAT_UNARY = {
    "neg": "arith.negf", "abs": "math.absf", "exp": "math.exp", "exp2": "math.exp2", "expm1": "math.expm1",
    "log": "math.log", "log2": "math.log2", "log1p": "math.log1p", "sqrt": "math.sqrt", "rsqrt": "math.rsqrt",
    "sin": "math.sin", "cos": "math.cos", "tan": "math.tan", "asin": "math.asin", "acos": "math.acos", "atan": "math.atan",
    "sinh": "math.sinh", "cosh": "math.cosh", "tanh": "math.tanh",
    "asinh": "math.asinh", "acosh": "math.acosh", "atanh": "math.atanh", "erf": "math.erf", "erfc": "math.erfc",
    "floor": "math.floor", "ceil": "math.ceil", "trunc": "math.trunc", "round": "math.roundeven",
    "cbrt": "math.cbrt",
}
_INTEGER_PREDICATES = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
# NaN differs from every number, itself included.
_FLOAT_PREDICATES = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}


def is_float(type: str) -> bool:
    return type in FLOATS


def full_range(type: str) -> Tuple[int, int]:
    """The smallest and the largest number of an integer type; i1 is 0 or 1."""
    bits = INTEGERS[type]
    return (0, 1) if bits == 1 else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def tensor_type(shape: Sequence[Optional[int]], element: str) -> str:
    """A tensor type in MLIR; None is a dynamic size."""
    return f"tensor<{''.join('?x' if size is None else f'{size}x' for size in shape)}{element}>"


def float_literal(value: float, type: str) -> str:
    """A float literal in MLIR that parses to exactly this number."""
    if math.isfinite(value):
        text = repr(float(value))
        mantissa, e, exponent = text.partition("e")
        return (mantissa if "." in mantissa else mantissa + ".0") + e + exponent
    if type == "bf16":
        return f"0x{struct.unpack('<I', struct.pack('<f', value))[0] >> 16:04X}"
    code, integer, digits = _PACK[type]
    return f"0x{struct.unpack(integer, struct.pack(code, value))[0]:0{digits}X}"


class Place(NamedTuple):
    """A position in a Python file. Line and column count from 1."""

    file: str
    line: int
    column: int = 1
    function: str = ""

    def location(self) -> str:
        """The MLIR location after an op; "" if the file is unknown."""
        if not self.file:
            return ""
        place = f'"{_escape(self.file)}":{self.line}:{self.column}'
        # Not a NameLoc: printed SSA names come from those.
        return f' loc(fused<"{_escape(self.function)}">[{place}])' if self.function else f" loc({place})"


def place_of(frame: FrameType) -> Place:
    """The position that a frame is executing."""
    code = frame.f_code
    positions = getattr(code, "co_positions", None)  # from Python 3.11 on
    column = None
    if positions is not None:
        column = next(itertools.islice(positions(), frame.f_lasti // 2, None))[2]
    return Place(code.co_filename, frame.f_lineno, (column or 0) + 1, code.co_name)


class Value:
    """An SSA value of a region. ``low`` and ``high`` bound an integer."""

    __slots__ = ("name", "type", "low", "high", "constant", "shape", "element")

    def __init__(self, name: str, type: str, low: int = 0, high: int = 0, constant: Optional[Number] = None,
                 shape: Tuple[Optional[int], ...] = (), element: str = ""):
        self.name, self.type, self.low, self.high, self.constant = name, type, low, high, constant
        self.shape, self.element = shape, element

    def __repr__(self) -> str:
        return f"{self.name} : {self.type}"


class RegionBuilder:
    """One region of ``attn.forward``. An argument is (name, type); arguments of type index
    are coordinates. A tensor argument is (name, shape, element type).

    ``place`` is the source position of the next ops, for diagnostics and line tables.
    """

    def __init__(self, arguments: Sequence[Tuple]):
        self.arguments: List[Value] = []
        self.ops: List[Tuple[str, Optional[Place]]] = []
        self.place: Optional[Place] = None
        self.result: Optional[Value] = None
        self._known: Dict[Tuple, Value] = {}
        for argument in arguments:
            self.add_argument(argument)

    def add_argument(self, argument: Tuple) -> Value:
        """Appends an argument."""
        name, rest = "%" + argument[0], argument[1:]
        if len(rest) == 2:
            shape, element = tuple(rest[0]), rest[1]
            value = Value(name, tensor_type(shape, element), shape=shape, element=element)
        elif rest[0] == "index":
            value = Value(name, "index", 0, MAX_SEQUENCE)
        else:
            value = self._ranged(Value(name, rest[0]))
        self.arguments.append(value)
        return value

    # --- ops -----------------------------------------------------------------

    @staticmethod
    def _ranged(value: Value) -> Value:
        if value.type in INTEGERS:
            value.low, value.high = full_range(value.type)
        return value

    def op(self, text: str, type: str, bounds: Optional[Tuple[int, int]] = None) -> Value:
        """Adds an op with one result, from its text without the result and the result's
        type. ``bounds`` is the range of an integer result, if known."""
        known = self._known.get((text, type))
        if known is not None:
            return known
        value = self._ranged(Value(f"%{len(self.ops)}", type))
        if bounds is not None:
            low, high = full_range(type)
            # A result that may wrap around has no bounds.
            if low <= bounds[0] and bounds[1] <= high:
                value.low, value.high = bounds
        self.ops.append((f"{value.name} = {text}", self.place))
        self._known[(text, type)] = value
        return value

    def constant(self, value: Number, type: str) -> Value:
        """A constant. Raises OverflowError for an integer that does not fit."""
        if is_float(type):
            value = float(value)
            result = self.op(f"arith.constant {float_literal(value, type)} : {type}", type)
        elif type == "i1":
            value = int(bool(value))
            result = self.op(f"arith.constant {'true' if value else 'false'}", type, (value, value))
        else:
            low, high = full_range(type)
            if not low <= value <= high:
                raise OverflowError(f"{value} does not fit {type}")
            result = self.op(f"arith.constant {int(value)} : {type}", type, (int(value), int(value)))
        result.constant = value
        return result

    def unary(self, name: str, a: Value) -> Value:
        """neg, abs; for floats also exp, exp2, expm1, log, log2, log1p, sqrt, rsqrt, cbrt,
        erf, erfc, floor, ceil, trunc, round (to even), the trigonometric and hyperbolic
        functions and their inverses (asinh); for integers not, and trailing_zeros except
        for i1."""
        if is_float(a.type):
            return self.op(f"{_FLOAT_UNARY[name]} {a.name} : {a.type}", a.type)
        if name == "not" and a.type == "i1":
            return self.binary("xor", a, self.constant(True, "i1"))
        if name == "not":
            return self.binary("xor", a, self.constant(-1, a.type))
        if name == "trailing_zeros":
            return self.op(f"math.cttz {a.name} : {a.type}", a.type, (0, INTEGERS[a.type]))
        negative = self.binary("sub", self.constant(0, a.type), a)
        if name == "neg":
            return negative
        if name != "abs":
            raise KeyError(name)
        result = self.binary("max", a, negative)
        if result.low < 0 <= a.low:
            result.low = a.low
        return result

    def binary(self, name: str, a: Value, b: Value) -> Value:
        """add, sub, mul, min, max; for floats minnum, maxnum, div, floordiv, mod, atan2,
        copysign, pow; for integers floordiv and mod (rounded as in Python), truncdiv and
        rem (as in C), and, or, xor, shl, shr. Both operands have the same type. min and
        max of floats propagate NaN; minnum and maxnum return the other operand."""
        assert a.type == b.type, f"{name} of {a} and {b}"
        if name == "mod":
            return self._mod(a, b)
        if is_float(a.type):
            if name == "floordiv":
                return self.unary("floor", self.binary("div", a, b))
            return self.op(f"{_FLOAT_BINARY[name]} {a.name}, {b.name} : {a.type}", a.type)
        return self.op(f"{_INTEGER_BINARY[name]} {a.name}, {b.name} : {a.type}", a.type, _bounds(name, a, b))

    def _mod(self, a: Value, b: Value) -> Value:
        """The remainder with the divisor's sign."""
        if not is_float(a.type) and a.low >= 0 and b.low > 0:
            return self.binary("rem", a, b)
        result = self.binary("sub", a, self.binary("mul", self.binary("floordiv", a, b), b))
        if not is_float(a.type):
            if b.low > 0:
                result.low, result.high = 0, b.high - 1
            elif b.high < 0:
                result.low, result.high = b.low + 1, 0
        return result

    def compare(self, predicate: str, a: Value, b: Value) -> Value:
        """eq, ne, lt, le, gt, ge of operands of the same type; the result is an i1."""
        assert a.type == b.type, f"{predicate} of {a} and {b}"
        if is_float(a.type):
            return self.op(f"arith.cmpf {_FLOAT_PREDICATES[predicate]}, {a.name}, {b.name} : {a.type}", "i1")
        signed = _INTEGER_PREDICATES[predicate]
        if a.type == "i1":  # as a signed number it would be -1
            signed = signed.replace("s", "u", 1) if signed[0] == "s" else signed
        return self.op(f"arith.cmpi {signed}, {a.name}, {b.name} : {a.type}", "i1")

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        assert condition.type == "i1" and a.type == b.type, f"select of {condition}, {a}, {b}"
        bounds = (min(a.low, b.low), max(a.high, b.high)) if a.type in INTEGERS else None
        return self.op(f"arith.select {condition.name}, {a.name}, {b.name} : {a.type}", a.type, bounds)

    def cast(self, a: Value, type: str) -> Value:
        """Converts to another type. An i1 becomes 0 or 1; conversion to i1 compares with 0.
        Floats are rounded to integers towards 0. Integers wrap around in narrower types."""
        if a.type == type:
            return a
        if a.constant is not None and not (is_float(a.type) and not is_float(type)):
            if is_float(type) or type == "i1" or full_range(type)[0] <= a.constant <= full_range(type)[1]:
                return self.constant(a.constant, type)
        if type == "i1":
            return self.compare("ne", a, self.constant(0, a.type))
        if a.type == "i1":
            return self.select(a, self.constant(1, type), self.constant(0, type))
        bounds = (a.low, a.high)
        if is_float(a.type) and FLOATS.get(type) == FLOATS[a.type]:
            return self.cast(self.cast(a, "f32"), type)  # f16 and bf16 hold different numbers
        if is_float(a.type) and is_float(type):
            return self._cast("extf" if FLOATS[type] > FLOATS[a.type] else "truncf", a, type)
        if is_float(a.type):
            if type == "index":
                return self.cast(self.cast(a, "i64"), "index")
            return self._cast("fptosi", a, type)
        if is_float(type):
            if a.type == "index":
                low, high = full_range("i32")
                a = self.cast(a, "i32" if low <= a.low and a.high <= high else "i64")
            return self._cast("sitofp", a, type)
        if a.type == "index" and not (full_range(type)[0] <= a.low and a.high <= full_range(type)[1]):
            # MLIR folds an index_cast and its inverse, also where the narrow type has lost bits.
            return self.cast(self.cast(a, "i64"), type)
        if "index" in (a.type, type):
            return self._cast("index_cast", a, type, bounds)
        return self._cast("extsi" if INTEGERS[type] > INTEGERS[a.type] else "trunci", a, type, bounds)

    def _cast(self, name: str, a: Value, type: str, bounds: Optional[Tuple[int, int]] = None) -> Value:
        return self.op(f"arith.{name} {a.name} : {a.type} to {type}", type, bounds)

    def extract(self, tensor: Value, indices: Sequence[Value]) -> Value:
        """An element of a captured tensor; indices are of type index."""
        names = ", ".join(index.name for index in indices)
        return self.op(f"tensor.extract {tensor.name}[{names}] : {tensor.type}", tensor.element)

    def without_derivative(self, a: Value) -> Value:
        """The same float, without a derivative: bitcast to an integer and back, since
        integers have no derivatives."""
        bits = f"i{FLOATS[a.type]}"
        return self.op(f"arith.bitcast {self.op(f'arith.bitcast {a.name} : {a.type} to {bits}', bits).name} : {bits} to {a.type}", a.type)

    def clamp(self, a: Value, low: Optional[Value], high: Optional[Value]) -> Value:
        """Clamps as torch.clamp does: NaN if an operand is NaN; the derivative at a bound is
        1."""
        if not is_float(a.type):
            a = a if low is None else self.binary("max", a, low)
            return a if high is None else self.binary("min", a, high)
        low = self.constant(-math.inf, a.type) if low is None else low
        high = self.constant(math.inf, a.type) if high is None else high
        return self.op(f"math.clampf {a.name} to [{low.name}, {high.name}] : {a.type}", a.type)

    def fused_multiply_add(self, a: Value, b: Value, c: Value) -> Value:
        """a * b + c for floats, rounded once."""
        return self.op(f"math.fma {a.name}, {b.name}, {c.name} : {a.type}", a.type)

    def size(self, tensor: Value, dim: int) -> Value:
        """The size of a dimension of a captured tensor, an index."""
        known = tensor.shape[dim]
        if known is not None:
            return self.constant(known, "index")
        number = self.constant(dim, "index")
        return self.op(f"tensor.dim {tensor.name}, {number.name} : {tensor.type}", "index", (0, (1 << 31) - 1))

    def query_length(self) -> Value:
        """The number of queries of the sequence, an index."""
        return self.op("attn.query_length", "index", (0, MAX_SEQUENCE))

    def key_length(self) -> Value:
        """The number of keys of the sequence, an index."""
        return self.op("attn.key_length", "index", (0, MAX_SEQUENCE))

    def finish(self, result: Value) -> None:
        """Ends the region, which yields `result`."""
        self.result = result

    # --- text ----------------------------------------------------------------

    def text(self, keyword: str, indent: str = "    ", locations: bool = False) -> str:
        """The region in MLIR: ``score_mod(...) {...}``, with source locations if
        `locations`."""
        assert self.result is not None, "the region is not finished"
        arguments = ", ".join(f"{a.name}: {a.type}" for a in self.arguments)
        ops = self.ops + [(f"attn.yield {self.result.name} : {self.result.type}", self.place)]
        lines = [f"{indent}{keyword}({arguments}) {{"]
        for text, place in ops:
            lines.append(f"{indent}  {text}{place.location() if locations and place else ''}")
        return "\n".join([*lines, indent + "}"])


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _bounds(name: str, a: Value, b: Value) -> Optional[Tuple[int, int]]:
    """The range of an integer op's result, or None."""
    corners: List[int] = []
    if name in ("and", "or", "xor") and a.type == "i1":
        return (0, 1)
    if name == "add":
        return (a.low + b.low, a.high + b.high)
    if name == "sub":
        return (a.low - b.high, a.high - b.low)
    if name == "mul":
        corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    elif name == "min":
        return (min(a.low, b.low), min(a.high, b.high))
    elif name == "max":
        return (max(a.low, b.low), max(a.high, b.high))
    elif name == "floordiv" and (b.low > 0 or b.high < 0):
        corners = [x // y for x in (a.low, a.high) for y in (b.low, b.high)]
    elif name == "rem" and a.low >= 0 and b.low > 0:
        return (0, min(a.high, b.high - 1))
    elif name == "and" and a.low >= 0 and b.low >= 0:
        return (0, min(a.high, b.high))
    elif name in ("or", "xor") and a.low >= 0 and b.low >= 0:
        return (0, (1 << max(a.high, b.high).bit_length()) - 1)
    elif name == "shr" and b.low >= 0:
        corners = [x >> min(y, 64) for x in (a.low, a.high) for y in (b.low, b.high)]
    elif name == "shl" and 0 <= b.low and b.high < 63:
        corners = [x << y for x in (a.low, a.high) for y in (b.low, b.high)]
    return (min(corners), max(corners)) if corners else None
