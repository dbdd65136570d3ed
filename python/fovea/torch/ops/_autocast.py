"""torch.autocast for attention, with PyTorch's rules."""

from __future__ import annotations

from typing import Any, Tuple

import torch

#: Whether autocast is enabled for any device; a cheap check at each call.
is_any_enabled = torch._C._is_any_autocast_enabled
#: Devices of attention. In PyTorch 2.11 compiled code can't query autocast's devices.
_DEVICES = frozenset(["cpu", "cuda"])
#: Functions are traced without autocast: PyTorch casts the operands of attention, but no values in its functions.
disabled = torch._C._DisableAutocast


def cast(query: Any, *others: Any) -> Tuple[Any, ...]:
    """Casts float tensors, except float64, to autocast's dtype for query's device type."""
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
