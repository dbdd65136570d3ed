"""The integers of KV caches: their dtype, and checks of values on the CPU, where reading them costs nothing."""

from __future__ import annotations

from typing import Mapping

import torch


def check_lengths(key: torch.Tensor, lists: Mapping[str, torch.Tensor]) -> None:
    """Raises ValueError for lengths beyond the cache, for pages outside of the pool, and for
    offsets of pages that do not ascend. ``key`` is (batch or pages, kv_heads, rows, head_dim);
    ``lists`` are the integers of a call by name."""
    pages, rows = key.shape[0], key.shape[2]
    lengths, table, indices = lists["lengths"].tolist(), lists.get("page_table"), lists.get("page_indices")
    starts = lists["page_indptr"].tolist() if indices is not None else []
    for place, (first, end) in enumerate(zip(starts, starts[1:])):
        if not 0 <= first <= end <= len(indices if indices is not None else ()):
            raise ValueError(f"page_indptr must ascend from 0 to the {len(indices if indices is not None else ())} page_indices, "
                             f"found {first} and {end} at {place}")
    for entry, length in enumerate(lengths):
        own = table[entry] if table is not None else indices[starts[entry]:starts[entry + 1]] if indices is not None else None
        room = rows if own is None else rows * own.shape[0]
        if not 0 <= length <= room:
            raise ValueError(f"lengths must be from 0 to {room}, found {length} for batch entry {entry}")
        for place, page in enumerate(() if own is None else own[:-(-length // rows)].tolist()):
            if not 0 <= page < pages:
                name, at = ("page_table", f"{entry}, {place}") if table is not None else ("page_indices", f"{starts[entry] + place}")
                raise ValueError(f"{name} must hold pages from 0 to {pages - 1}, found {page} at [{at}]")


def as_int32(integers: torch.Tensor) -> torch.Tensor:
    """The dtype that kernels read. Values out of range stay so on the CPU, where they are checked."""
    if integers.dtype == torch.int32:
        return integers
    return (integers.clamp(-1, torch.iinfo(torch.int32).max) if integers.device.type == "cpu" else integers).int()


__all__ = ["as_int32", "check_lengths"]
