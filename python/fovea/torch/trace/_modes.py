"""Isolates the tracing of functions from active modes. torch.export, make_fx and fake
tensors record every op that a mode sees, and would record those of a function as a part of
their own program."""

from __future__ import annotations

import contextlib
from typing import Iterator

import torch
from torch.overrides import _len_torch_function_stack, _pop_mode, _push_mode

from ..ops._launches import dispatch_modes, transformations


def _pre_dispatch_modes() -> int:
    return torch._ops._len_torch_dispatch_stack_pre_dispatch()


def is_observed() -> bool:
    """Whether there are modes that see ops."""
    return bool(dispatch_modes() or _pre_dispatch_modes())


def _only_functionalises() -> bool:
    """Whether all active transformations of torch.func are ``functionalize``. Captured tensors
    of the others are refused."""
    if transformations() is None:
        return False
    key = torch._C._functorch.TransformType.Functionalize
    return all(one.key() == key for one in torch._C._functorch.get_interpreter_stack() or ())


@contextlib.contextmanager
def without_modes() -> Iterator[None]:
    """Disables all modes, and ``__torch_function__`` of the classes of captured tensors, which
    would convert traced results to these classes."""
    functions = [_pop_mode() for _ in range(_len_torch_function_stack())]
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch._C.DisableTorchFunctionSubclass())
            if is_observed():
                from torch.utils._python_dispatch import _disable_current_modes

                stack.enter_context(_disable_current_modes())
            if _only_functionalises():
                from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

                stack.enter_context(temporarily_clear_interpreter_stack())
            yield
    finally:
        for mode in reversed(functions):
            _push_mode(mode)


def lifted(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor that was made without modes, as a constant of the active ones."""
    return torch.ops.aten.lift_fresh.default(tensor) if is_observed() else tensor


__all__ = ["is_observed", "lifted", "without_modes"]
