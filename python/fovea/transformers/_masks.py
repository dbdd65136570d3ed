"""Masks of transformers' models as mask_mods."""

from __future__ import annotations

from typing import Any, Callable, Optional, Union

import torch
import torch.nn.functional as F

Offset = Union[int, torch.Tensor]


class Mask:
    """A mask_mod that models pass to their layers. Models test masks by ``ndim``; that of a
    mask which is ready for use is 4."""

    ndim = 4

    def __init__(self, mask_mod: Callable):
        self.mask_mod = mask_mod

    def __call__(self, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return self.mask_mod(b, h, q_idx, kv_idx)


def mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: Offset = 0,
    kv_offset: Offset = 0,
    mask_function: Optional[Callable] = None,
    attention_mask: Any = None,
    **_: Any,
) -> Any:
    """A mask of ``transformers.AttentionMaskInterface``: ``mask_function``, which gets positions in
    the sequence, for the queries from ``q_offset`` and the keys from ``kv_offset``; with
    ``attention_mask``, (batch, positions), keys with False there are hidden, too. No tensor of
    queries and keys is made."""
    if isinstance(attention_mask, Mask):
        return attention_mask  # of `generate`, which makes the masks of static caches in advance
    moved = _moved(mask_function if mask_function is not None else _causal, number_of_call(q_offset), number_of_call(kv_offset))
    if attention_mask is None:
        return Mask(moved)
    return Mask(_padded(moved, _of_keys(attention_mask, kv_length, kv_offset)))


def _causal(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return kv_idx <= q_idx


def _of_keys(attention_mask: torch.Tensor, kv_length: int, kv_offset: Offset) -> torch.Tensor:
    """The mask of the keys, with False for keys beyond it, which a static cache has in advance.
    Indexed by the key alone, it needs no test for negative positions."""
    if isinstance(kv_offset, torch.Tensor):
        positions = torch.arange(kv_length, device=attention_mask.device) + kv_offset
        is_known = positions < attention_mask.shape[-1]
        return attention_mask[:, positions.clamp(max=attention_mask.shape[-1] - 1)] & is_known
    missing = kv_length + kv_offset - attention_mask.shape[-1]
    whole = F.pad(attention_mask, (0, missing)) if missing > 0 else attention_mask
    return whole[:, kv_offset:kv_offset + kv_length]


def _padded(mask_function: Callable, is_visible: torch.Tensor) -> Callable:
    def padded(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return mask_function(b, h, q_idx, kv_idx) & is_visible[b, kv_idx]

    return padded


def number_of_call(offset: Offset) -> Offset:
    """An offset as the program takes it. A number would be a constant: each step of a generation
    would compile a kernel. A tensor in host memory is an argument of the kernel."""
    if isinstance(offset, torch.Tensor) or offset == 0 or torch.compiler.is_compiling():
        return offset
    return torch.tensor(offset, dtype=torch.int64, device="cpu")


def _moved(mask_function: Callable, q_offset: Offset, kv_offset: Offset) -> Callable:
    # Functions of their own without an offset: a causal mask is then one by its text.
    if not isinstance(q_offset, torch.Tensor) and q_offset == 0:
        if not isinstance(kv_offset, torch.Tensor) and kv_offset == 0:
            return mask_function

        def of_keys(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
            return mask_function(b, h, q_idx, kv_idx + kv_offset)

        return of_keys
    if not isinstance(kv_offset, torch.Tensor) and kv_offset == 0:

        def of_queries(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
            return mask_function(b, h, q_idx + q_offset, kv_idx)

        return of_queries

    def of_both(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return mask_function(b, h, q_idx + q_offset, kv_idx + kv_offset)

    return of_both


__all__ = ["Mask", "mask", "number_of_call"]
