"""Derivatives, which there are none of yet: who asks for one gets an error, not zeros."""

from __future__ import annotations

from typing import Iterable, Tuple

import torch
from torch.autograd import forward_ad


def in_forward_mode() -> bool:
    """Whether tensors may have tangents."""
    return forward_ad._current_level >= 0


def has_tangent(tensor: torch.Tensor) -> bool:
    return in_forward_mode() and tensor.is_floating_point() and forward_ad.unpack_dual(tensor).tangent is not None


def check_derivatives(tensors: Iterable[Tuple[str, torch.Tensor]]) -> None:
    """Raises NotImplementedError."""
    backward, forward = torch.is_grad_enabled(), in_forward_mode()
    if not backward and not forward:
        return
    for name, tensor in tensors:
        if backward and tensor.requires_grad:
            raise NotImplementedError(
                f"{name} requires a gradient, and there is no backward pass yet; use torch.no_grad() or detach()")
        if forward and has_tangent(tensor):
            raise NotImplementedError(
                f"{name} has a tangent (torch.func.jvp, forward-mode AD), and there are no derivatives yet; "
                "use torch.autograd.forward_ad.unpack_dual() or detach()")


__all__ = ["check_derivatives", "has_tangent", "in_forward_mode"]
