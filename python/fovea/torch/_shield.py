"""Functions are traced unseen by others: export, make_fx and fake tensors watch by modes
what is done to any tensor, and would take a function's ops for their program's."""

from __future__ import annotations

import contextlib
from typing import Iterator

import torch
from torch.overrides import _len_torch_function_stack, _pop_mode, _push_mode

from ._launches import dispatch_modes


def _pre_dispatch_modes() -> int:
    return torch._ops._len_torch_dispatch_stack_pre_dispatch()


def is_watched() -> bool:
    """Whether there are modes that see ops."""
    return bool(dispatch_modes() or _pre_dispatch_modes())


@contextlib.contextmanager
def unwatched() -> Iterator[None]:
    """Without any mode, and without ``__torch_function__`` of captured tensors' classes,
    which would be asked for results that are traced."""
    functions = [_pop_mode() for _ in range(_len_torch_function_stack())]
    try:
        with torch._C.DisableTorchFunctionSubclass():
            if is_watched():
                from torch.utils._python_dispatch import _disable_current_modes

                with _disable_current_modes():
                    yield
            else:
                yield
    finally:
        for mode in reversed(functions):
            _push_mode(mode)


def lifted(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor that was made unseen, as modes have it."""
    return torch.ops.aten.lift_fresh.default(tensor) if is_watched() else tensor


__all__ = ["is_watched", "lifted", "unwatched"]
