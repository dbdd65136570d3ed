"""Checks of the lengths and page tables of a KV cache, on the CPU, where reading them costs nothing."""

from __future__ import annotations

from typing import Optional

import torch


def check_lengths(key: torch.Tensor, lengths: torch.Tensor, page_table: Optional[torch.Tensor]) -> None:
    """Raises ValueError for lengths beyond the cache and for pages outside of the pool. ``key`` is
    (batch or pages, kv_heads, rows, head_dim)."""
    pages, rows = key.shape[0], key.shape[2]
    room = rows if page_table is None else rows * page_table.shape[1]
    for entry, length in enumerate(lengths.tolist()):
        if not 0 <= length <= room:
            raise ValueError(f"lengths must be from 0 to {room}, found {length} for batch entry {entry}")
        if page_table is None:
            continue
        for place, page in enumerate(page_table[entry, :-(-length // rows)].tolist()):
            if not 0 <= page < pages:
                raise ValueError(f"page_table must hold pages from 0 to {pages - 1}, found {page} at [{entry}, {place}]")


__all__ = ["check_lengths"]
