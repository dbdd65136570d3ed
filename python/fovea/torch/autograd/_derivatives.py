"""Tests whether derivatives are needed; unsupported ones raise instead of being zeros."""

from __future__ import annotations

from typing import Iterable, Tuple

import torch
from torch.autograd import forward_ad


def in_forward_mode() -> bool:
    """Whether forward-mode AD is active."""
    return forward_ad._current_level >= 0


def has_tangent(tensor: torch.Tensor) -> bool:
    return in_forward_mode() and tensor.is_floating_point() and forward_ad.unpack_dual(tensor).tangent is not None


def needs_gradient(*tensors: torch.Tensor) -> bool:
    """Whether a result computed from these tensors requires a gradient."""
    return torch.is_grad_enabled() and any([_requires_gradient(tensor) for tensor in tensors])


def _requires_gradient(tensor: torch.Tensor) -> bool:
    # Batched tensors of vmap don't require gradients themselves; the wrapped ones do. torch.compile has no wrappers.
    if not torch.compiler.is_compiling():
        while not tensor.requires_grad and torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            tensor = torch._C._functorch.get_unwrapped(tensor)
    return tensor.requires_grad


def check_tangents(tensors: Iterable[Tuple[str, torch.Tensor]]) -> None:
    """Raises NotImplementedError for tensors with a tangent."""
    if not in_forward_mode():
        return
    for name, tensor in tensors:
        if has_tangent(tensor):
            raise NotImplementedError(
                f"{name} has a tangent (torch.func.jvp, forward-mode AD), and there are no derivatives in forward mode; "
                "use torch.autograd.forward_ad.unpack_dual() or detach()")


__all__ = ["check_tangents", "has_tangent", "in_forward_mode", "needs_gradient"]
