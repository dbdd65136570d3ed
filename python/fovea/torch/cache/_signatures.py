"""Compares tensors' signatures: type, dtype, device, sizes, strides, requires_grad.

PyTorch's guards of torch.compile compare them in one call. This module has a fallback for
tensors that those can't compare, and for releases without them.
"""

from __future__ import annotations

from typing import Any, Callable, Tuple

import torch

try:
    from torch._C._dynamo.guards import TensorGuards as _TensorGuards  # type: ignore[import-not-found]
except ImportError:
    _TensorGuards = None


def _signature(tensor: torch.Tensor) -> Tuple[Any, ...]:
    strides = tensor.stride() if tensor.layout is torch.strided else None
    # Dispatch keys tell negative views and batched tensors of vmap.
    return tensor.shape, strides, type(tensor), tensor.dtype, tensor.device, torch._C._dispatch_keys(tensor).raw_repr(), (
        tensor.requires_grad and torch.is_grad_enabled())


class _Signatures:
    __slots__ = ("_expected",)

    def __init__(self, tensors: Tuple[torch.Tensor, ...]):
        self._expected = tuple(map(_signature, tensors))

    def check(self, *tensors: torch.Tensor) -> bool:
        return self._expected == tuple(map(_signature, tensors))


def signature_matcher(*tensors: torch.Tensor) -> Callable[..., bool]:
    """Returns a function that tells whether other tensors have the signatures of these. It
    keeps no tensor alive, and may return False for equal signatures."""
    # TensorGuards does not accept the same tensor twice.
    if _TensorGuards is not None and len(set(map(id, tensors))) == len(tensors):
        check = _TensorGuards(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None).check
        if check(*tensors):
            return _where_gradients_flow(check) if any(one.requires_grad for one in tensors) else check
    return _Signatures(tensors).check


def _where_gradients_flow(check: Callable[..., bool]) -> Callable[..., bool]:
    """Adds a check of whether gradients are enabled, which TensorGuards lacks."""
    enabled = torch.is_grad_enabled()
    return lambda *tensors: torch.is_grad_enabled() == enabled and check(*tensors)
