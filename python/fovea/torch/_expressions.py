"""What a function computes while it is traced: tensors that are not there.

An ``Expression`` is a tensor of PyTorch's by its shape, its dtype and a way to
write down any one element of it. Captured tensors, what is computed from them
whole, and scalars are all of this one kind, so ``bias[h].exp()[q_idx]`` costs no
more than what is read in the end.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch

from .._builder import RegionBuilder, Value
from ._checks import refusal
from ._promotion import broadcast

#: MLIR's types of elements. int64 is index: its range is known where it is a coordinate.
TYPES = {
    torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64", torch.bool: "i1",
    torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "index",
    # Without a sign: the lower bits of a type that holds them all.
    torch.uint8: "i16", torch.uint16: "i32", torch.uint32: "index",
}
#: Their largest numbers.
UNSIGNED = {torch.uint8: (1 << 8) - 1, torch.uint16: (1 << 16) - 1, torch.uint32: (1 << 32) - 1}
#: Types of elements in memory, of captured tensors.
STORED = {
    torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.bool: "i1", torch.int8: "i8",
    torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.uint8: "i8", torch.uint16: "i16", torch.uint32: "i32",
}

#: The largest size that need not be known when a kernel is compiled.
_MOST = (1 << 31) - 1

#: Dimensions of a captured tensor that kernels read.
_MOST_DIMENSIONS = 4

Reader = Callable[[Tuple[Value, ...]], Value]


class Expression:
    """A tensor: ``read`` writes down the element at indices of type index. A
    scalar that is known has ``number``."""

    __slots__ = ("shape", "dtype", "read", "number")

    def __init__(self, shape: Sequence[int], dtype: torch.dtype, read: Reader, number: Any = None):
        self.shape, self.dtype, self.read, self.number = tuple(shape), dtype, read, number

    def at(self, region: RegionBuilder, indices: Tuple[Value, ...]) -> Value:
        """The element that broadcasting puts at indices of a tensor of as many
        dimensions or more."""
        own = indices[len(indices) - len(self.shape):]
        zero = region.constant(0, "index")
        return self.read(tuple(zero if extent == 1 else index for index, extent in zip(own, self.shape)))


class Captured(NamedTuple):
    """A tensor that a function reads. ``scalar`` is one in host memory that goes
    along as a number; ``constant`` one that was made while tracing;
    ``name`` is what the function calls it, if that is known."""

    tensor: torch.Tensor
    scalar: bool
    constant: bool
    name: str = ""


def typed(region: RegionBuilder, value: Value, dtype: torch.dtype) -> Value:
    """A value as one of a dtype."""
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
    """`function` of elements of all operands, broadcast. Scalars are computed
    now, others where they are read."""
    shape = broadcast(*(operand.shape for operand in operands))

    def read(indices: Tuple[Value, ...]) -> Value:
        return function(*(operand.at(region, indices) for operand in operands))

    return Expression(shape, dtype, read) if shape else scalar(read(()), dtype)


def reindexed(source: Expression, shape: Sequence[int], indices: Callable[[Tuple[Value, ...]], Tuple[Value, ...]]
              ) -> Expression:
    """A view: its elements are those of `source` at other indices."""
    def read(own: Tuple[Value, ...]) -> Value:
        return source.read(indices(own))

    return Expression(shape, source.dtype, read) if shape else scalar(read(()), source.dtype)


def folded(tensor: torch.Tensor) -> torch.Tensor:
    """A captured tensor as kernels read it: the first dimensions of one that has too many
    are one, which copies it if strides don't allow that."""
    return tensor.flatten(0, tensor.dim() - _MOST_DIMENSIONS) if tensor.dim() > _MOST_DIMENSIONS else tensor


def _folded_shape(shape: Sequence[int]) -> Tuple[int, ...]:
    """That of `folded`."""
    count = len(shape) - _MOST_DIMENSIONS
    return (math.prod(shape[:count + 1]), *shape[count + 1:]) if count > 0 else tuple(shape)


def folded_indices(region: RegionBuilder, shape: Sequence[Any], indices: Tuple[Value, ...], index_of: Callable[[Any], Value]
                   ) -> Tuple[Value, ...]:
    """Indices of `folded` for those of a tensor of such a shape; ``index_of`` a size, which
    may be a symbol."""
    count = len(shape) - _MOST_DIMENSIONS
    if count <= 0:
        return indices
    first = indices[0]
    for extent, index in zip(shape[1:count + 1], indices[1:count + 1]):
        first = region.binary("add", region.binary("mul", first, index_of(extent)), index)
    return (first, *indices[count + 1:])


#: Numbers that a tracer leaves open: sizes, and Python numbers that are others at another call.
SYMBOLS = (torch.SymBool, torch.SymInt, torch.SymFloat)


def concrete(symbol: Any) -> Any:
    """The number that a symbol is at this call, of which its tracer makes a guard."""
    return {torch.SymBool: bool, torch.SymInt: int, torch.SymFloat: float}[type(symbol)](symbol)


#: Types that kernels take numbers as.
_NUMBERS = {torch.SymInt: torch.int64, torch.SymFloat: torch.float32}


def number_as_tensor(symbol: Any) -> torch.Tensor:
    """A number as a tensor in host memory, which kernels take as an argument."""
    if isinstance(symbol, (float, torch.SymFloat)):
        # AOTAutograd keeps a float open where it is an operand of a tensor's arithmetic, and nowhere else.
        return (torch.ones((), dtype=torch.float64, device="cpu") * symbol).to(torch.float32)
    return torch.scalar_tensor(symbol, dtype=torch.int64, device="cpu")


class Captures:
    """The tensors that the regions of one program read, in order. ``can_open`` says whether
    a kernel may take a symbol as an argument, so that it need not be a number."""

    def __init__(self, device: torch.device, can_open: Callable[[Any], bool] = lambda _: True):
        self.device, self._can_open = device, can_open
        #: Symbols that kernels take, with the tensors that stand for them while functions are traced.
        self.opened: Dict[Any, Tuple[Any, torch.Tensor]] = {}
        self.found: List[Captured] = []
        self._numbers: Dict[int, int] = {}
        #: Stand for numbers in host memory that each call has: how many blocks a head's queries are, and its last query.
        self.block_numbers: List[torch.Tensor] = []

    def number_of(self, tensor: torch.Tensor, constant: bool, name_of: Callable[[torch.Tensor], str] = lambda _: "") -> int:
        """Which captured tensor this is; a new one is added, and asked for its name."""
        known = self._numbers.get(id(tensor))
        if known is None:
            host = tensor.dim() == 0 and tensor.device != self.device and tensor.device.type == "cpu"
            known = self._numbers[id(tensor)] = len(self.found)
            self.found.append(Captured(tensor, host, constant, name_of(tensor)))
        return known

    def tensor_of(self, symbol: Any) -> Optional[torch.Tensor]:
        """The tensor that stands for a symbol, one for equal symbols; None for one that has
        to be a number."""
        key = type(symbol), symbol.node.expr
        if key not in self.opened:
            if not self._can_open(symbol):
                return None
            self.opened[key] = symbol, torch.empty((), dtype=_NUMBERS[type(symbol)], device="cpu")
        return self.opened[key][1]

    def numbers(self) -> Tuple[int, ...]:
        """Which of the captured tensors are `block_numbers`."""
        return tuple(self.number_of(one, False) for one in self.block_numbers)

    def problem(self, tensor: torch.Tensor, constant: bool, name_of: Callable[[torch.Tensor], str] = lambda _: "") -> Optional[str]:
        """Why a kernel can't read a tensor, or None."""
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
            return f"{called('tensor')} is on {tensor.device}, query is on {self.device}; .to(query.device) moves it"
        refused = refusal(tensor)
        if refused is not None:
            return f"{called('tensor')} is {refused}"
        if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            return f"{called('tensor')} is one of a transformation's (torch.func), such as one that vmap runs over"
        return None

    def arguments(self) -> List[Tuple]:
        """As arguments of a RegionBuilder. A scalar on the device is a tensor of
        one element: its value must not be waited for."""
        result: List[Tuple] = []
        for index, (tensor, host, *_) in enumerate(self.found):
            # A size is an i32 to kernels; one that does not fit is a fact of the program.
            sizes = tuple(None if extent <= _MOST else int(extent) for extent in _folded_shape(tensor.shape))
            shape = () if host else sizes or (None,)
            result.append((f"c{index}", *((shape,) if shape else ()), STORED[tensor.dtype]))
        return result

    def declare(self, region: RegionBuilder) -> None:
        """Gives a region those arguments that it lacks."""
        known = {argument.name for argument in region.arguments}
        for argument in self.arguments():
            if "%" + argument[0] not in known:
                region.add_argument(argument)
