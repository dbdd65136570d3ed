"""What derivatives there are: who asks for others gets an error, not zeros."""

from __future__ import annotations

from typing import Iterable, Tuple

import torch
from torch.autograd import forward_ad


def in_forward_mode() -> bool:
    """Whether tensors may have tangents."""
    return forward_ad._current_level >= 0


def has_tangent(tensor: torch.Tensor) -> bool:
    return in_forward_mode() and tensor.is_floating_point() and forward_ad.unpack_dual(tensor).tangent is not None


def needs_gradient(*tensors: torch.Tensor) -> bool:
    """Whether a gradient is to flow through what is computed of them."""
    return torch.is_grad_enabled() and any([_requires_gradient(tensor) for tensor in tensors])


def _requires_gradient(tensor: torch.Tensor) -> bool:
    # Those that vmap runs over require none themselves. torch.compile shows others than these alone.
    if not torch.compiler.is_compiling():
        while not tensor.requires_grad and torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            tensor = torch._C._functorch.get_unwrapped(tensor)
    return tensor.requires_grad


def check_tangents(tensors: Iterable[Tuple[str, torch.Tensor]]) -> None:
    """Raises NotImplementedError."""
    if not in_forward_mode():
        return
    for name, tensor in tensors:
        if has_tangent(tensor):
            raise NotImplementedError(
                f"{name} has a tangent (torch.func.jvp, forward-mode AD), and there are no derivatives in forward mode; "
                "use torch.autograd.forward_ad.unpack_dual() or detach()")


__all__ = ["check_tangents", "has_tangent", "in_forward_mode", "needs_gradient"]
