"""What launches of all kernels have in common, forward and backward: where their
arguments are among what a call has, memory for results, and when a launch may be made
right where it is asked for."""

from __future__ import annotations

import functools
import struct
from typing import Any, Callable, Iterable, List, Sequence, Tuple

import torch
from torch.autograd import forward_ad as _forward_ad

from .._launch import LoadedKernel
from .._library import check
from .._spec import DROPOUT
from ._layouts import copied, layouts_of, misaligned

#: Of prepared launches that are kept: of sizes of queries and keys; of those with the same.
MOST_SIZES, MOST_ALIKE = 1024, 8

_no_dispatch = torch.Tensor.__torch_dispatch__
empty_like, data_ptr = torch.empty_like, torch.Tensor.data_ptr
is_compiling = torch.compiler.is_dynamo_compiling
dispatch_modes, transformations = torch._C._len_torch_dispatch_stack, torch._C._functorch.maybe_current_level

try:
    current_stream = torch._C._cuda_getCurrentRawStream  # type: ignore[attr-defined]
except AttributeError:
    def current_stream(device: int) -> int:
        return torch.cuda.current_stream(device).cuda_stream


def is_unwatched() -> bool:
    """Whether no op need be seen: there is no mode (fake tensors, tracing), no
    transformation and no forward-mode AD. torch.compile takes the first question for a
    constant and never meets the others."""
    return (not is_compiling() and not dispatch_modes() and transformations() is None
            and _forward_ad._current_level < 0)


def is_ordinary(tensor: torch.Tensor) -> bool:
    """Whether a tensor's memory is all that it is: it is of no class of its own, no
    negative view, no batch of vmap's."""
    keys = torch._C._dispatch_keys
    return type(tensor) in (torch.Tensor, torch.nn.Parameter) and keys(tensor) == keys(torch.empty(0, device=tensor.device))


def sees_ops(tensor: torch.Tensor) -> bool:
    """Whether the class of a tensor implements ops itself."""
    return type(tensor).__torch_dispatch__ is not _no_dispatch


def words(tensors: Iterable[torch.Tensor]) -> List[int]:
    """Addresses, sizes and strides. A scalar is a tensor of one element."""
    result: List[int] = []
    for tensor in tensors:
        result.extend((tensor.data_ptr(), *(tensor.shape or (1,)), *(tensor.stride() or (1,))))
    return result


def memory(tensor: torch.Tensor) -> Callable[[], torch.Tensor]:
    """Makes tensors that look so."""
    # empty_like takes less time than empty_strided; its model need not have the memory.
    model = tensor.new_empty(()).expand(tensor.shape)
    if empty_like(model).stride() == tensor.stride():
        return functools.partial(empty_like, model)
    return functools.partial(torch.empty_strided, tuple(tensor.shape), tensor.stride(), dtype=tensor.dtype, device=tensor.device)


class Arguments:
    """A kernel on a device, and the places of its arguments among what a call has: the
    tensors called ``names``, captured tensors, the results."""

    def __init__(self, kernel: LoadedKernel, names: Sequence[str], results: Sequence[str]):
        self.kernel, self.device = kernel, kernel.device

        def place(name: str) -> int:
            if name in results:
                return results.index(name) - len(results)
            return names.index(name) if name in names else len(names) + int(name[len("capture"):])

        #: Of the kernel's tensors, in its order.
        self.tensors = tuple(place(name) for name in kernel.tensors)
        #: What the kernel asks of tensors that it reads, by their places.
        self.layouts = {at: layout for at, layout in zip(self.tensors, layouts_of(kernel.facts, kernel.tensors)) if at >= 0}
        # Captured tensors of one element by their place, or numbers of dropout.
        self.numbers = tuple((None, DROPOUT.index(name)) if name in DROPOUT else (place(name), None) for name in kernel.scalars)

    def row(self) -> struct.Struct:
        """Of a prepared launch: addresses, then numbers."""
        return struct.Struct("=" + "q" * len(self.tensors) + "".join("d" if one else "q" for one in self.kernel.floating))

    def first_word(self, given: Sequence[Any], place: int) -> int:
        """Where a tensor's address stands among `words`."""
        before = self.tensors[:self.tensors.index(place)]
        return sum(1 + 2 * max(given[other].dim(), 1) for other in before)

    def launch_aligned(self, status: int, in_order: Any, given: Sequence[Any], numbers: Tuple[int, int]) -> None:
        """After a launch that the runtime has refused: again, with copies of tensors whose
        addresses are no multiples of what the kernel wants. Calls with others don't pay for
        the question. Raises what was wrong if it was something else."""
        places = misaligned(self.layouts, given)
        if not places:
            check(status)
        moved = list(given)
        for place in places:
            moved[place] = copied(self.layouts[place], moved[place])
        self.kernel.launch(current_stream(self.device), [*words(in_order(moved)), *[
            given[place].item() if number is None else numbers[number] for place, number in self.numbers]])


__all__ = ["Arguments", "MOST_ALIKE", "MOST_SIZES", "is_ordinary", "is_unwatched", "memory", "sees_ops", "words"]
