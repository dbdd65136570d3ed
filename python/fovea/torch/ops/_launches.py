"""Code shared by forward and backward launches: the mapping of a call's tensors to kernel
arguments, allocation of results, and the test whether a launch may bypass the dispatcher."""

from __future__ import annotations

import functools
import struct
from typing import Any, Callable, Iterable, List, Sequence, Tuple

import torch
from torch.autograd import forward_ad as _forward_ad

from ...runtime._launch import LoadedKernel
from ...compiler._library import check
from ...frontend._program import DROPOUT
from ._layouts import copied, layouts_of, misaligned

#: Maximum number of cached launches: of different sizes of queries and keys; of the same sizes.
MAX_SIZES, MAX_SAME_SIZES = 1024, 8

_no_dispatch = torch.Tensor.__torch_dispatch__
empty_like, data_ptr = torch.empty_like, torch.Tensor.data_ptr
is_compiling = torch.compiler.is_dynamo_compiling
dispatch_modes, transformations = torch._C._len_torch_dispatch_stack, torch._C._functorch.maybe_current_level

try:
    current_stream = torch._C._cuda_getCurrentRawStream  # type: ignore[attr-defined]
except AttributeError:
    def current_stream(device: int) -> int:
        return torch.cuda.current_stream(device).cuda_stream


def is_unobserved() -> bool:
    """Whether nothing observes ops: no mode (fake tensors, tracing), no transformation and no
    forward-mode AD. torch.compile folds the first condition to a constant and never evaluates
    the others."""
    return (not is_compiling() and not dispatch_modes() and transformations() is None
            and _forward_ad._current_level < 0)


def is_ordinary(tensor: torch.Tensor) -> bool:
    """Whether a tensor is plain memory: not of another class, not a negative view, not a
    batched tensor of vmap."""
    keys = torch._C._dispatch_keys
    return type(tensor) in (torch.Tensor, torch.nn.Parameter) and keys(tensor) == keys(torch.empty(0, device=tensor.device))


def has_torch_dispatch(tensor: torch.Tensor) -> bool:
    """Whether the tensor's class has its own ``__torch_dispatch__``."""
    return type(tensor).__torch_dispatch__ is not _no_dispatch


def words(tensors: Iterable[torch.Tensor]) -> List[int]:
    """Address, sizes and strides of each tensor. A scalar is a tensor of one element."""
    result: List[int] = []
    for tensor in tensors:
        result.extend((tensor.data_ptr(), *(tensor.shape or (1,)), *(tensor.stride() or (1,))))
    return result


def memory(tensor: torch.Tensor) -> Callable[[], torch.Tensor]:
    """A function that allocates tensors with the same shape, strides, dtype and device."""
    # empty_like takes less time than empty_strided; its model needs only one element of memory.
    model = tensor.new_empty(()).expand(tensor.shape)
    if empty_like(model).stride() == tensor.stride():
        return functools.partial(empty_like, model)
    return functools.partial(torch.empty_strided, tuple(tensor.shape), tensor.stride(), dtype=tensor.dtype, device=tensor.device)


class Arguments:
    """A kernel on a device, and the indices of its arguments in a call's tensors: the tensors
    called ``names``, then captured tensors, those called ``own`` first, then the results."""

    def __init__(self, kernel: LoadedKernel, names: Sequence[str], results: Sequence[str], own: Sequence[str] = ()):
        self.kernel, self.device = kernel, kernel.device

        def place(name: str) -> int:
            if name in results:
                return results.index(name) - len(results)
            if name in own:
                return len(names) + own.index(name)
            return names.index(name) if name in names else len(names) + len(own) + int(name[len("capture"):])

        #: Indices of the kernel's tensors, in the kernel's order.
        self.tensors = tuple(place(name) for name in kernel.tensors)
        #: Layouts that the kernel requires of its inputs, by index.
        self.layouts = {at: layout for at, layout in zip(self.tensors, layouts_of(kernel.facts, kernel.tensors)) if at >= 0}
        # Scalars: the index of a captured tensor of one element, or which of dropout's numbers it is.
        self.numbers = tuple((None, DROPOUT.index(name)) if name in DROPOUT else (place(name), None) for name in kernel.scalars)

    def row(self) -> struct.Struct:
        """The format of a prepared launch's row: addresses, then numbers."""
        return struct.Struct("=" + "q" * len(self.tensors) + "".join("d" if one else "q" for one in self.kernel.floating))

    def first_word(self, given: Sequence[Any], place: int) -> int:
        """The position of a tensor's address in `words`."""
        before = self.tensors[:self.tensors.index(place)]
        return sum(1 + 2 * max(given[other].dim(), 1) for other in before)

    def launch_aligned(self, status: int, in_order: Any, given: Sequence[Any], numbers: Tuple[int, int]) -> None:
        """Repeats a failed launch with copies of misaligned tensors. Only failed launches pay
        for the check. Raises the error if no tensor is misaligned."""
        places = misaligned(self.layouts, given)
        if not places:
            check(status)
        moved = list(given)
        for place in places:
            moved[place] = copied(self.layouts[place], moved[place])
        self.kernel.launch(current_stream(self.device), [*words(in_order(moved)), *[
            given[place].item() if number is None else numbers[number] for place, number in self.numbers]])


__all__ = ["Arguments", "MAX_SAME_SIZES", "MAX_SIZES", "is_ordinary", "is_unobserved", "memory", "has_torch_dispatch", "words"]
