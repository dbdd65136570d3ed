"""Lazy tensors of traced functions.

An ``Expression`` represents a tensor by its shape, its dtype and a function that emits any one
element. Captured tensors, results computed from whole tensors, and scalars are expressions, so
that ``bias[h].exp()[q_idx]`` computes only the element that is used.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch

from ...frontend._builder import RegionBuilder, Value
from ..ops._checks import refusal
from ._promotion import broadcast

#: MLIR types of elements. int64 is index, as coordinates are, which have known ranges.
TYPES = {
    torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64", torch.bool: "i1",
    torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "index",
    # Unsigned integers are the lower bits of a wider type.
    torch.uint8: "i16", torch.uint16: "i32", torch.uint32: "index",
}
#: The maxima of unsigned types.
UNSIGNED = {torch.uint8: (1 << 8) - 1, torch.uint16: (1 << 16) - 1, torch.uint32: (1 << 32) - 1}
#: Element types of captured tensors in memory.
STORED = {
    torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.bool: "i1", torch.int8: "i8",
    torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.uint8: "i8", torch.uint16: "i16", torch.uint32: "i32",
}

#: The largest dynamic size of a captured tensor.
_MOST = (1 << 31) - 1

#: Maximum rank of a captured tensor in a kernel.
_MAX_RANK = 4

Reader = Callable[[Tuple[Value, ...]], Value]


class Expression:
    """A lazy tensor: ``read`` emits the element at indices of type index. ``number`` is the
    value of a known scalar."""

    __slots__ = ("shape", "dtype", "read", "number")

    def __init__(self, shape: Sequence[int], dtype: torch.dtype, read: Reader, number: Any = None):
        self.shape, self.dtype, self.read, self.number = tuple(shape), dtype, read, number

    def at(self, region: RegionBuilder, indices: Tuple[Value, ...]) -> Value:
        """The element at the indices of a tensor of the same or a higher rank, with
        broadcasting."""
        own = indices[len(indices) - len(self.shape):]
        zero = region.constant(0, "index")
        return self.read(tuple(zero if extent == 1 else index for index, extent in zip(own, self.shape)))


class Captured(NamedTuple):
    """A tensor that a function reads. ``scalar`` tells whether it is in host memory and passed
    as a number, ``constant`` whether the function created it; ``name`` is the user's name, if
    known."""

    tensor: torch.Tensor
    scalar: bool
    constant: bool
    name: str = ""


def typed(region: RegionBuilder, value: Value, dtype: torch.dtype) -> Value:
    """Converts a value to a dtype."""
    value, most = region.cast(value, TYPES[dtype]), UNSIGNED.get(dtype)
    if most is None or 0 <= value.low and value.high <= most:
        return value
    value = region.binary("and", value, region.constant(most, value.type))
    value.low, value.high = 0, most
    return value


def constant(region: RegionBuilder, number: Any, dtype: torch.dtype) -> Expression:
    value = region.constant(number, TYPES[dtype])
    return Expression((), dtype, lambda _: value, number)


def scalar(value: Value, dtype: torch.dtype) -> Expression:
    return Expression((), dtype, lambda _: value)


def elementwise(region: RegionBuilder, function: Callable[..., Value], operands: Sequence[Expression],
                dtype: torch.dtype) -> Expression:
    """Applies `function` to the elements of all operands, with broadcasting. Scalars are
    emitted immediately, other results when they are read."""
    shape = broadcast(*(operand.shape for operand in operands))

    def read(indices: Tuple[Value, ...]) -> Value:
        return function(*(operand.at(region, indices) for operand in operands))

    return Expression(shape, dtype, read) if shape else scalar(read(()), dtype)


def reindexed(source: Expression, shape: Sequence[int], indices: Callable[[Tuple[Value, ...]], Tuple[Value, ...]]
              ) -> Expression:
    """A view: the elements of `source` at other indices."""
    def read(own: Tuple[Value, ...]) -> Value:
        return source.read(indices(own))

    return Expression(shape, source.dtype, read) if shape else scalar(read(()), source.dtype)


def folded(tensor: torch.Tensor) -> torch.Tensor:
    """A captured tensor in the form that kernels support: leading dimensions above the maximum
    rank are flattened, with a copy if the strides require it."""
    return tensor.flatten(0, tensor.dim() - _MAX_RANK) if tensor.dim() > _MAX_RANK else tensor


def _folded_shape(shape: Sequence[int]) -> Tuple[int, ...]:
    """The shape of `folded`."""
    count = len(shape) - _MAX_RANK
    return (math.prod(shape[:count + 1]), *shape[count + 1:]) if count > 0 else tuple(shape)


def folded_indices(region: RegionBuilder, shape: Sequence[Any], indices: Tuple[Value, ...], index_of: Callable[[Any], Value]
                   ) -> Tuple[Value, ...]:
    """Converts indices of a tensor of this shape to those of `folded`. ``index_of`` converts a
    size, which may be a symbol, to a value."""
    count = len(shape) - _MAX_RANK
    if count <= 0:
        return indices
    first = indices[0]
    for extent, index in zip(shape[1:count + 1], indices[1:count + 1]):
        first = region.binary("add", region.binary("mul", first, index_of(extent)), index)
    return (first, *indices[count + 1:])


#: Symbolic numbers of PyTorch's tracers: sizes, and Python numbers that change between calls.
SYMBOLS = (torch.SymBool, torch.SymInt, torch.SymFloat)


def concrete(symbol: Any) -> Any:
    """The value of a symbol at this call; its tracer adds a guard."""
    return {torch.SymBool: bool, torch.SymInt: int, torch.SymFloat: float}[type(symbol)](symbol)


#: Dtypes of symbols as kernel arguments.
_NUMBERS = {torch.SymInt: torch.int64, torch.SymFloat: torch.float32}


def number_as_tensor(symbol: Any) -> torch.Tensor:
    """Converts a number to a tensor in host memory, which is a scalar argument of kernels."""
    if isinstance(symbol, (float, torch.SymFloat)):
        # AOTAutograd keeps a float symbolic only as an operand of tensor arithmetic.
        return (torch.ones((), dtype=torch.float64, device="cpu") * symbol).to(torch.float32)
    return torch.scalar_tensor(symbol, dtype=torch.int64, device="cpu")


class Captures:
    """The tensors that the regions of a program read, in order. ``can_open`` tells whether a
    symbol can be a kernel argument."""

    def __init__(self, device: torch.device, can_open: Callable[[Any], bool] = lambda _: True):
        self.device, self._can_open = device, can_open
        #: Symbols that are kernel arguments, with their placeholder tensors.
        self.opened: Dict[Any, Tuple[Any, torch.Tensor]] = {}
        self.found: List[Captured] = []
        self._numbers: Dict[int, int] = {}
        #: Placeholders for numbers in host memory of each call: the number of query blocks of a head, and the last query.
        self.block_numbers: List[torch.Tensor] = []

    def number_of(self, tensor: torch.Tensor, constant: bool, name_of: Callable[[torch.Tensor], str] = lambda _: "") -> int:
        """The index of a captured tensor, which is added if new; `name_of` gives its name."""
        known = self._numbers.get(id(tensor))
        if known is None:
            host = tensor.dim() == 0 and tensor.device != self.device and tensor.device.type == "cpu"
            known = self._numbers[id(tensor)] = len(self.found)
            self.found.append(Captured(tensor, host, constant, name_of(tensor)))
        return known

    def tensor_of(self, symbol: Any) -> Optional[torch.Tensor]:
        """The placeholder tensor of a symbol, the same for equal symbols; None if the symbol
        must become a constant."""
        key = type(symbol), symbol.node.expr
        if key not in self.opened:
            if not self._can_open(symbol):
                return None
            self.opened[key] = symbol, torch.empty((), dtype=_NUMBERS[type(symbol)], device="cpu")
        return self.opened[key][1]

    def numbers(self) -> Tuple[int, ...]:
        """Indices of the captured tensors that are `block_numbers`."""
        return tuple(self.number_of(one, False) for one in self.block_numbers)

    def problem(self, tensor: torch.Tensor, constant: bool, name_of: Callable[[torch.Tensor], str] = lambda _: "") -> Optional[str]:
        """The reason why a kernel can't read a tensor, or None."""
        def called(kind: str) -> str:
            name = name_of(tensor)
            return f"captured {kind} '{name}'" if name else f"a captured {kind}"

        host = tensor.device != self.device and tensor.device.type == "cpu" and tensor.dim() == 0
        if tensor.dtype not in STORED:
            kinds = ", ".join(str(dtype).rpartition(".")[2] for dtype in STORED)
            cure = "; .float() makes it float32" if tensor.dtype == torch.float64 else ""
            return f"{called('tensor')} is of {tensor.dtype}, expected one of {kinds}{cure}"
        if host and tensor.dtype not in (torch.float32, torch.int32, torch.int64):
            return f"{called('scalar')} in host memory is of {tensor.dtype}, expected float32, int32 or int64"
        if not host and not constant and tensor.device != self.device:
            return f"{called('tensor')} is on {tensor.device}, but query is on {self.device}; .to(query.device) moves it"
        refused = refusal(tensor)
        if refused is not None:
            return f"{called('tensor')} is {refused}"
        if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            return f"{called('tensor')} belongs to a transformation of torch.func, such as vmap"
        return None

    def arguments(self) -> List[Tuple]:
        """Arguments of a RegionBuilder. A scalar on the device is a tensor of one element, as
        reading its value would synchronise."""
        result: List[Tuple] = []
        for index, (tensor, host, *_) in enumerate(self.found):
            # Kernels take sizes as i32; a larger size becomes a constant of the program.
            sizes = tuple(None if extent <= _MOST else int(extent) for extent in _folded_shape(tensor.shape))
            shape = () if host else sizes or (None,)
            result.append((f"c{index}", *((shape,) if shape else ()), STORED[tensor.dtype]))
        return result

    def declare(self, region: RegionBuilder) -> None:
        """Adds missing arguments to a region."""
        known = {argument.name for argument in region.arguments}
        for argument in self.arguments():
            if "%" + argument[0] not in known:
                region.add_argument(argument)
