"""torch.autocast, as PyTorch's attention has it."""

from __future__ import annotations

from typing import Any, Tuple

import torch

#: Whether there may be something to do: asked at each call.
is_any_enabled = torch._C._is_any_autocast_enabled
#: Where attention runs. PyTorch 2.11 can't ask within compiled code which devices autocast knows.
_DEVICES = frozenset(["cpu", "cuda"])
#: Functions are traced without: PyTorch casts what attention is given, and nothing in its functions.
disabled = torch._C._DisableAutocast


def cast(query: Any, *others: Any) -> Tuple[Any, ...]:
    """All tensors of floats in autocast's dtype for query's type of device, but float64."""
    result = query, *others
    if not isinstance(query, torch.Tensor):
        return result
    device = query.device.type
    if device not in _DEVICES or not torch.is_autocast_enabled(device):
        return result
    dtype = torch.get_autocast_dtype(device)
    return tuple([one.to(dtype) if _is_cast(one, device) else one for one in result])


def _is_cast(value: Any, device: str) -> bool:
    return (isinstance(value, torch.Tensor) and value.is_floating_point() and value.dtype != torch.float64
            and value.device.type == device)


__all__ = ["cast", "disabled", "is_any_enabled"]
