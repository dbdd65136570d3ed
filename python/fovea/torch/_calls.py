"""What is done at each call, and what is kept so that it need not be.

A call that has the form of an earlier one (functions, sizes, strides, types, options)
is one look-up and a launch: nothing is checked or traced again but that functions
still refer to what they did. All others take the long way, which raises the errors.
"""

from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple

import torch

from . import _op
from ._programs import Family

_MOST_CALLS = 256
Form = Tuple[Any, ...]


def is_plain(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether a kernel can be launched right here: under modes (fake tensors,
    tracing) and transformations an op must be seen. torch.compile takes the first
    question for a constant and never meets the others."""
    return (
        not torch.compiler.is_compiling() and not torch._C._len_torch_dispatch_stack()
        and type(query) is type(key) is type(value) is torch.Tensor
        and torch._C._functorch.maybe_current_level() is None
    )


def form_of(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *others: Any) -> Optional[Form]:
    """All that decides how a call goes, but for functions and tensors' contents; None
    where gradients are asked for."""
    gradients = torch.is_grad_enabled()
    if gradients and (query.requires_grad or key.requires_grad or value.requires_grad):
        return None
    return (
        query.shape, key.shape, value.shape, query.stride(), key.stride(), value.stride(), query.dtype, key.dtype,
        value.dtype, query.get_device(), key.get_device(), value.get_device(), gradients, torch.get_default_dtype(), others,
    )


def run(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, call: _op.Call, plain: bool, level: str,
        family: Optional[Family] = None, form: Optional[Form] = None) -> Tuple[torch.Tensor, Optional[torch.Tensor]]:
    """A call the long way. With a form, the family keeps how it goes."""
    if not plain:
        return torch.ops.fovea.attention(query, key, value, *call[:-1], level)
    launcher = _op.launcher(call.program, call.schedule, call.recurrence, query.device.index)
    layout = launcher.layout(query, key, value)
    if family is not None and form is not None:
        if len(family.calls) >= _MOST_CALLS:
            family.calls.clear()
        family.calls[form] = layout, call.captures
    return layout(query, key, value, call.captures, call.blocks, call.seed, call.offset)


def again(family: Family, form: Optional[Form], query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
          blocks: Sequence[torch.Tensor] = (), captures: Optional[Sequence[torch.Tensor]] = None, seed: int = 0,
          offset: int = 0) -> Optional[Tuple[torch.Tensor, Optional[torch.Tensor]]]:
    """A call as an earlier one, or None. The captured tensors are the earlier one's
    unless others are given."""
    found = family.calls.get(form) if form is not None else None
    if found is None:
        return None
    layout, captured = found
    return layout(query, key, value, captured if captures is None else captures, blocks, seed, offset)
