"""Whether tensors look as others did: type, dtype, device, sizes, strides, gradients.

PyTorch compares all of that in one call, for torch.compile's guards; what it
can't compare, or a PyTorch without it, is compared here.
"""

from __future__ import annotations

from typing import Any, Callable, Tuple

import torch

try:
    from torch._C._dynamo.guards import TensorGuards as _TensorGuards  # type: ignore[import-not-found]
except ImportError:
    _TensorGuards = None


def _look(tensor: torch.Tensor) -> Tuple[Any, ...]:
    strides = tensor.stride() if tensor.layout is torch.strided else None
    # Keys tell negative views and batches of vmap's.
    return tensor.shape, strides, type(tensor), tensor.dtype, tensor.device, torch._C._dispatch_keys(tensor).raw_repr(), (
        tensor.requires_grad and torch.is_grad_enabled())


class _Looks:
    __slots__ = ("_looks",)

    def __init__(self, tensors: Tuple[torch.Tensor, ...]):
        self._looks = tuple(map(_look, tensors))

    def check(self, *tensors: torch.Tensor) -> bool:
        return self._looks == tuple(map(_look, tensors))


def alike(*tensors: torch.Tensor) -> Callable[..., bool]:
    """A function that says whether as many tensors look like these; it keeps none
    of them alive. False is the answer too where it can't tell."""
    # PyTorch's refuses a tensor that is given twice.
    if _TensorGuards is not None and len(set(map(id, tensors))) == len(tensors):
        check = _TensorGuards(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None).check
        if check(*tensors):
            return _where_gradients_flow(check) if any(one.requires_grad for one in tensors) else check
    return _Looks(tensors).check


def _where_gradients_flow(check: Callable[..., bool]) -> Callable[..., bool]:
    """PyTorch's does not ask whether gradients are enabled."""
    enabled = torch.is_grad_enabled()
    return lambda *tensors: torch.is_grad_enabled() == enabled and check(*tensors)
