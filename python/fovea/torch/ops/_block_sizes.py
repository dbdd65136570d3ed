"""Converts BlockMasks of any block size to lists that kernels support.

Key tiles are multiples of 16 and divide the block, and a kernel iterates over all tiles of a
block. One block that is much larger than all keys is split into blocks of 128. Several blocks
of unsupported sizes become a table with the kind of each block, which the mask reads: as in
PyTorch, the lists decide what is visible, and mask_mod applies in partial blocks only. Lists
of blocks of 128 queries and keys select the tiles.

The conversion consists of tensor ops without synchronisation. It reads the lists at each call,
and torch.compile includes it in its graph.
"""

from __future__ import annotations

from typing import Any, Callable, List, Optional, Sequence, Tuple

import torch
import torch.nn.functional as F

#: Block size of the converted lists.
SIZE = 128
#: Kinds of blocks.
_PARTIAL, _FULL = 1, 2


def _listed(counts: torch.Tensor, indices: torch.Tensor, columns: int) -> torch.Tensor:
    """True for each block that is listed: (batch, heads, rows, columns)."""
    entries = torch.arange(indices.shape[-1], device=indices.device)
    is_block = (entries < counts[..., None]) & (indices >= 0) & (indices < columns)
    # Entries without a block are scattered to an extra column, which is dropped.
    places = torch.where(is_block, indices, columns).long()
    found = torch.zeros((*indices.shape[:-1], columns + 1), dtype=torch.bool, device=indices.device)
    return found.scatter(-1, places, True)[..., :columns]


def _kinds(lists: Sequence[torch.Tensor], columns: int) -> torch.Tensor:
    kinds = _listed(lists[0], lists[1], columns).to(torch.int8) * _PARTIAL
    return torch.where(_listed(lists[2], lists[3], columns), _FULL, kinds) if len(lists) == 4 else kinds


def _spans(length: int, size: int, device: torch.device) -> Tuple[torch.Tensor, torch.Tensor]:
    """The first block of ``size`` that overlaps each block of SIZE, and the one after the last."""
    starts = torch.arange(0, length, SIZE, device=device)
    return starts // size, (starts + SIZE).clamp(max=length).sub(1) // size + 1


def _count(chosen: torch.Tensor, rows: Tuple[torch.Tensor, torch.Tensor], columns: Tuple[torch.Tensor, torch.Tensor]
           ) -> torch.Tensor:
    """Counts the chosen blocks in each rectangle of rows and columns."""
    sums = F.pad(chosen.int().cumsum(-1).cumsum(-2), (1, 0, 1, 0))
    sums = sums[..., rows[1], :] - sums[..., rows[0], :]
    return sums[..., columns[1]] - sums[..., columns[0]]


def _lists(chosen: torch.Tensor) -> List[torch.Tensor]:
    order = chosen.to(torch.int8).argsort(dim=-1, descending=True, stable=True)
    return [chosen.sum(-1, dtype=torch.int32), order.to(torch.int32)]


def _by_kind(kinds: torch.Tensor, size: Tuple[int, int], mask_mod: Optional[Callable]) -> Callable:
    rows, columns = size
    # A conditional expression, as torch.compile then guards the comparison of a symbol.
    by_batch, by_head = (True if extent != 1 else False for extent in kinds.shape[:2])

    def mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        kind = kinds[b if by_batch else 0, h if by_head else 0, q_idx // rows, kv_idx // columns]
        if mask_mod is None:
            return kind != 0
        return (kind == _FULL) | ((kind == _PARTIAL) & mask_mod(b, h, q_idx, kv_idx))

    return mask


def split(lists: Sequence[torch.Tensor], keys: int) -> List[torch.Tensor]:
    """Splits lists with one key block, which covers all ``keys``, into lists of blocks of SIZE keys."""
    result: List[torch.Tensor] = []
    count = -(-keys // SIZE)
    for counts, indices in zip(lists[::2], lists[1::2]):
        is_listed = (_listed(counts, indices, 1)[..., 0]).to(torch.int32)
        numbers = torch.arange(count, dtype=torch.int32, device=counts.device)
        result += [is_listed * count, numbers.expand(*counts.shape, count).contiguous()]
    return result


def converted(lists: Sequence[torch.Tensor], size: Tuple[int, int], lengths: Tuple[int, int], mask_mod: Optional[Callable]
              ) -> Tuple[Callable, List[torch.Tensor]]:
    """A mask and lists of blocks of SIZE queries and keys that are equivalent to ``mask_mod``
    and lists of blocks of ``size``. Raises ValueError for lists of too few rows."""
    rows, device = lists[0].shape[2], lists[0].device
    if rows * size[0] < lengths[0]:
        raise ValueError(f"block_mask lists {rows} blocks of {size[0]} queries (its dimension Qblocks), found {lengths[0]} "
                         "queries")
    kinds = _kinds(lists, -(-lengths[1] // size[1]))
    row_spans, column_spans = _spans(lengths[0], size[0], device), _spans(lengths[1], size[1], device)
    # Without a mask_mod, partial blocks are full ones.
    full_kind = _PARTIAL if mask_mod is None else _FULL
    blocks = (row_spans[1] - row_spans[0])[:, None] * (column_spans[1] - column_spans[0])
    is_full = _count(kinds >= full_kind, row_spans, column_spans) == blocks
    is_partial = (_count(kinds > 0, row_spans, column_spans) > 0) & ~is_full
    return _by_kind(kinds, size, mask_mod), _lists(is_partial) + _lists(is_full)


__all__ = ["SIZE", "converted"]
