"""Converts nested tensors of layout ``torch.jagged`` to packed sequences: one batch entry with
all sequences end to end, and ``cu_seqlens``."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple, Tuple

import torch

from . import _block_mask
from ._launches import is_compiling


class Packed(NamedTuple):
    """Nested query, key and value as operands of a kernel."""

    #: (1, heads, rows, head_dim).
    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    #: cu_q and cu_k, int32: the first row of each sequence, and the end of the last.
    offsets: Tuple[torch.Tensor, torch.Tensor]


def is_any_nested(*tensors: Any) -> bool:
    return any([isinstance(one, torch.Tensor) and one.is_nested for one in tensors])


def packed(query: Any, key: Any, value: Any) -> Packed:
    """Packs nested tensors. Raises TypeError, ValueError."""
    for name, one in (("query", query), ("key", key), ("value", value)):
        _check(name, one)
    starts = query.offsets()
    if key.offsets().shape != starts.shape:
        raise ValueError(f"query and key must have the same number of sequences, found {query.shape[0]} and {key.shape[0]}")
    if not _same(key.offsets(), value.offsets()):
        raise ValueError("key and value are nested tensors with different lengths, or, under torch.compile, with different "
                         "offsets tensors: make both with torch.nested.nested_tensor_from_jagged and the same offsets")
    tensors = [one.transpose(1, 2).values().transpose(0, 1).unsqueeze(0) for one in (query, key, value)]
    rows = starts.to(torch.int32)
    return Packed(tensors[0], tensors[1], tensors[2], (rows, rows if key.offsets() is starts else key.offsets().to(torch.int32)))


def check_block_mask(block_mask: Any) -> None:
    if block_mask is not None and _block_mask.is_block_mask(block_mask):
        raise NotImplementedError("a BlockMask is for dense tensors: with nested tensors pass its mask_mod as block_mask, which then "
                                  "gets positions within each sequence")


def _check(name: str, tensor: Any) -> None:
    if not isinstance(tensor, torch.Tensor) or not tensor.is_nested:
        raise TypeError(f"query, key and value must all be nested tensors or none of them, found that {name} is not")
    if tensor.layout != torch.jagged:
        raise TypeError(f"{name} is a nested tensor of layout {tensor.layout}, expected torch.jagged: "
                        "torch.nested.nested_tensor(..., layout=torch.jagged)")
    if tensor.dim() != 4 or tensor._ragged_idx != 2:  # type: ignore[attr-defined]
        raise ValueError(f"{name} must be a nested tensor of (batch, heads, length, head_dim) with only length ragged; "
                         ".transpose(1, 2) converts (batch, length, heads, head_dim)")
    if tensor.lengths() is not None:  # type: ignore[attr-defined]
        raise ValueError(f"{name} is a nested tensor with holes between sequences: .contiguous() removes them")


def unpacked(rows: Any, like: Any) -> torch.Tensor:
    """Converts a packed result, (1, heads, rows, ...), to a nested tensor with the sequences of `like`."""
    made = torch.nested.nested_tensor_from_jagged(rows.squeeze(0).transpose(0, 1), like.offsets())
    return made.transpose(1, 2)


# --- Comparison of offsets ------------------------------------------------------

#: The latest pair found equal, with their versions. Cached because a comparison synchronises with the device.
_equal: Any = None


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether offsets are equal. Projections of one nested tensor share its offsets and need
    no comparison."""
    global _equal
    if a is b:
        return True
    if a.shape != b.shape or is_compiling():
        return False
    if _equal is not None:
        first, second, versions = _equal
        if first() is a and second() is b and versions == (a._version, b._version):
            return True
    result = torch.equal(a, b)
    if result:
        _equal = weakref.ref(a), weakref.ref(b), (a._version, b._version)
    return result


__all__ = ["Packed", "check_block_mask", "is_any_nested", "packed", "unpacked"]
