"""PyTorch's BlockMasks. Their mask_mod is what is computed; the compiler finds the
blocks that it leaves out itself. The lists of blocks are only checked to say the
same, once for each list."""

from __future__ import annotations

import weakref
from typing import Any, Callable, Dict, Optional, Tuple

import torch

_checked: Dict[int, Any] = {}


def mask_function(block_mask: Any) -> Optional[Callable]:
    """The mask_mod, or None if it keeps everything."""
    from torch.nn.attention import flex_attention as flex

    function = block_mask.mask_mod
    if type(function).__name__ == "_MaskModWrapper":
        function = function.fn
    return None if function is None or function is flex.noop_mask else function


def check_shape(block_mask: Any, query: torch.Tensor, key: torch.Tensor) -> None:
    """Raises ValueError for a BlockMask of another shape, as PyTorch does."""
    if _is_empty(block_mask):
        return
    batch, heads, *lengths = block_mask.shape if len(block_mask.shape) == 4 else (1, 1, *block_mask.shape[-2:])
    expected = [query.shape[2], key.shape[2]]
    if lengths != expected:
        raise ValueError(f"block_mask was created for {lengths[0]} queries and {lengths[1]} keys, found {expected[0]} and "
                         f"{expected[1]}")
    for name, found, wanted in (("batch entries", batch, query.shape[0]), ("heads", heads, query.shape[1])):
        if found not in (1, wanted):
            raise ValueError(f"block_mask has {found} {name}, expected 1 or {wanted}")
    device = block_mask.kv_num_blocks.device
    if device != query.device:
        raise ValueError(f"block_mask is on {device}, query is on {query.device}")


def _is_empty(block_mask: Any) -> bool:
    """The BlockMask that stands for none: one block larger than any sequence."""
    return min(block_mask.BLOCK_SIZE) >= 1 << 30


def check_lists(block_mask: Any) -> None:
    """Raises NotImplementedError for lists of blocks that are not those of the
    mask_mod. Evaluates it everywhere, waits for the device; once for each list,
    and under torch.compile when that compiles."""
    if _is_empty(block_mask):
        return
    if torch.compiler.is_compiling() or not _is_checked(block_mask.kv_indices):
        _check_lists(
            mask_function(block_mask), block_mask.kv_num_blocks, block_mask.kv_indices, block_mask.full_kv_num_blocks,
            block_mask.full_kv_indices, block_mask.BLOCK_SIZE, block_mask.seq_lengths,
        )


def _is_checked(indices: torch.Tensor) -> bool:
    known = _checked.get(id(indices))
    return known is not None and known() is indices


def _check_lists(function: Optional[Callable], counts: torch.Tensor, indices: torch.Tensor,
                 full_counts: Optional[torch.Tensor], full_indices: Optional[torch.Tensor], block_size: Tuple[int, int],
                 lengths: Tuple[int, int]) -> bool:
    blocks = -(-lengths[1] // block_size[1])
    partial = _listed(counts, indices, blocks)
    full = torch.zeros_like(partial)
    if full_counts is not None and full_indices is not None:
        full = _listed(full_counts, full_indices, blocks)
    problem = _difference(function, partial, full, block_size, lengths)
    if problem is not None:
        raise NotImplementedError(
            f"block_mask {problem}: its lists of blocks say more than its mask_mod, which alone is computed; write "
            "what they say into mask_mod"
        )
    key = id(indices)
    _checked[key] = weakref.ref(indices, lambda _, checked=_checked: checked.pop(key, None))
    return True


# Under torch.compile it runs while that compiles (torch.compiler.assume_constant_result).
_check_lists._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _listed(counts: torch.Tensor, indices: torch.Tensor, columns: int) -> torch.Tensor:
    """Whether each block is in a list."""
    used = torch.arange(indices.shape[-1], device=counts.device) < counts[..., None]
    # What lies behind the counts is not read; it goes to a column of its own.
    places = torch.where(used, indices.long(), columns)
    result = torch.zeros((*counts.shape, columns + 1), dtype=torch.bool, device=counts.device)
    return result.scatter_(-1, places, torch.ones_like(used))[..., :columns]


def _blocks(rows: torch.Tensor, blocks: int, columns: int) -> torch.Tensor:
    """Rows cut into blocks, what is missing of the last one as False."""
    padded = torch.nn.functional.pad(rows, (0, blocks * columns - rows.shape[-1]))
    return padded.unflatten(-1, (blocks, columns))


def _difference(function: Optional[Callable], partial: torch.Tensor, full: torch.Tensor, block_size: Tuple[int, int],
                lengths: Tuple[int, int]) -> Optional[str]:
    """What lists say that a mask_mod does not."""
    from torch.nn.attention import flex_attention as flex

    (rows, columns), (queries, keys), blocks = block_size, lengths, partial.shape[-1]
    if function is None:
        return None if bool((partial | full).all()) else "has no mask_mod, but leaves out blocks"
    batch, heads = (partial.shape[0], partial.shape[1]) if partial.dim() == 4 else (1, 1)
    partial, full = (lists.reshape(batch, heads, -1, blocks) for lists in (partial, full))
    missed, kept = torch.zeros((2, *partial.shape), dtype=torch.bool, device=partial.device)
    device = partial.device
    columns_inside = _blocks(torch.ones(1, keys, dtype=torch.bool, device=device), blocks, columns)
    with torch.no_grad():
        for number in range(partial.shape[2]):
            first = number * rows
            strip = flex.create_mask(
                lambda b, h, q, k: function(b, h, q + first, k),  # noqa: B023 (called at once)
                batch, heads, min(rows, queries - first), keys, device=device,
            )
            cells = _blocks(strip, blocks, columns)
            missed[:, :, number] = cells.any(-1).any(-2)
            kept[:, :, number] = (cells | ~columns_inside).all(-1).all(-2)
    if bool((missed & ~(partial | full)).any()):
        return "leaves out blocks that its mask_mod keeps some of"
    if bool((full & ~kept).any()):
        return "lists blocks as full that its mask_mod does not keep all of"
    return None


__all__ = ["check_lists", "check_shape", "mask_function"]
