"""Reads a BlockMask: its block-sparse lists become operands, and its mask_mod selects keys in
partial blocks."""

from __future__ import annotations

import operator
import weakref
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import torch

from . import _block_sizes
from ._checks import exchanged

#: Maximum block size; PyTorch's placeholder for no BlockMask has one block of twice that size.
_LARGEST = 1 << 29
#: Tile sizes are multiples of this.
_GRANULE = 16


#: Properties of the lists that a program depends on: the members of ``fovea.Blocks``, and the rows of query blocks that
#: become heads (``_padding``), or 0. It is a plain tuple because torch.compile treats one as a constant.
Form = Tuple[int, int, bool, bool, bool, int]


def rows_of(form: Optional[Form]) -> int:
    return 0 if form is None else form[-1]


def is_block_mask(value: Any) -> bool:
    return hasattr(value, "kv_num_blocks")


def mask_function(block_mask: Any) -> Optional[Callable]:
    """The mask_mod, or None if it masks nothing. Raises RuntimeError for that of a sliced
    BlockMask, as PyTorch does."""
    from torch.nn.attention import flex_attention as flex

    function = block_mask.mask_mod
    if type(function).__name__ == "_MaskModWrapper":
        function = function.fn
    if function is getattr(flex, "_sliced_mask_mod_error", block_mask):
        raise RuntimeError("a sliced BlockMask has no mask_mod; set it, from the mask_mod of the BlockMask that was sliced")
    return None if function is None or function is flex.noop_mask else function


class Read(NamedTuple):
    """The contents of a BlockMask."""

    mask_mod: Optional[Callable]
    form: Form
    #: The number of queries and of keys.
    lengths: Tuple[int, ...]
    lists: Tuple[torch.Tensor, ...]
    #: The lists transposed, the query blocks of each key block, if gradients can read those of the BlockMask.
    transposed: Tuple[torch.Tensor, ...] = ()


class _Known(NamedTuple):
    """A BlockMask that was read, with its attributes at that time."""

    block_mask: Any
    attributes: Tuple[Any, ...]
    read: Read


_known: Dict[int, _Known] = {}

#: The transposed lists, the last of `_attributes`.
_TRANSPOSED = ("q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices")


_attributes: Callable[[Any], Tuple[Any, ...]] = operator.attrgetter(
    "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "mask_mod", "BLOCK_SIZE", "seq_lengths",
    *_TRANSPOSED)


def known(block_mask: Any) -> Optional[Read]:
    """The cached contents of a BlockMask whose attributes have not changed, or None. The
    caller compares the sizes of the lists, and the kernel reads their elements."""
    found = _known.get(id(block_mask))
    if found is None or found.block_mask() is not block_mask:
        return None
    # By identity, as == compares elements of tensors. Written out, as this runs at each call.
    a, b, c, d, e, f, g, h, i, j, k = _attributes(block_mask)
    _, (a0, b0, c0, d0, e0, f0, g0, h0, i0, j0, k0), result = found
    same = a is a0 and b is b0 and c is c0 and d is d0 and e is e0 and f is f0 and g is g0
    return result if same and h is h0 and i is i0 and j is j0 and k is k0 else None


def read(block_mask: Any, query: torch.Tensor, key: torch.Tensor) -> Read:
    """Reads a BlockMask. Raises the errors of `lists_of` and `mask_function`."""
    form, lists = lists_of(block_mask, query, key)
    transposed = _transposed(block_mask, form, lists, key)
    mask_mod = mask_function(block_mask)
    if form[1] % _GRANULE:
        lengths = (query.shape[2], key.shape[2])
        mask_mod, lists = _block_sizes.converted(lists, form[:2], lengths, mask_mod)
        form = (_block_sizes.SIZE, _block_sizes.SIZE, True, *form[3:])
    result = Read(mask_mod, form, tuple(block_mask.seq_lengths), tuple(lists), transposed)
    if torch.compiler.is_compiling():
        return result
    attributes = _attributes(block_mask)
    # Converted lists are new tensors at each call and can't be cached.
    if all(map(operator.is_, lists, attributes)) and all(map(operator.is_, transposed, attributes[-len(_TRANSPOSED):])):
        number = id(block_mask)
        held = weakref.ref(block_mask, lambda _, known=_known: known.pop(number, None))
        _known[number] = _Known(held, attributes, result)
    return result


def _transposed(block_mask: Any, form: Form, lists: List[torch.Tensor], key: torch.Tensor) -> Tuple[torch.Tensor, ...]:
    """The transposed lists; () if the BlockMask lacks one, if the lists are converted ones, or
    if not every key block has a row."""
    given = [block_mask.q_num_blocks, block_mask.q_indices]
    if len(lists) == 4:
        given += [block_mask.full_q_num_blocks, block_mask.full_q_indices]
    if form[:2] != tuple(len(range(one)) for one in block_mask.BLOCK_SIZE) or rows_of(form) or form[1] % _GRANULE:
        return ()
    for one in given:
        if one is None or one.device != lists[0].device or one.shape[:2] != lists[0].shape[:2]:
            return ()
        if one.shape[2] * form[1] < key.shape[2] or not one.numel():
            return ()
    return tuple([one if one.dtype == torch.int32 else one.to(torch.int32) for one in given])


def lists_of(block_mask: Any, query: torch.Tensor, key: torch.Tensor) -> Tuple[Form, List[torch.Tensor]]:
    """The lists and their form. Raises ValueError for a BlockMask whose shape does not
    match, as PyTorch does."""
    lists = [block_mask.kv_num_blocks, block_mask.kv_indices]
    if block_mask.full_kv_num_blocks is not None:
        lists += [block_mask.full_kv_num_blocks, block_mask.full_kv_indices]
    if lists[0].dim() != 3:
        raise ValueError(f"block_mask must have a batch and heads, found lists of shape {list(lists[1].shape)}")
    # The program depends on the block size. Under torch.compile it may be a symbol, which len() guards.
    queries, keys = (len(range(one)) for one in block_mask.BLOCK_SIZE)
    if min(queries, keys) <= _LARGEST:  # else PyTorch's one block for all lengths
        lengths, expected = list(block_mask.seq_lengths), [query.shape[2], key.shape[2]]
        if lengths != expected:
            are_exchanged = lengths == [query.shape[1], key.shape[1]]
            raise ValueError(f"block_mask was created for {lengths[0]} queries and {lengths[1]} keys, found {expected[0]} "
                             f"and {expected[1]}" + (exchanged("query", "key", "value") if are_exchanged else
                                                     "; create another, or crop it by its method _adjust"))
    batch, heads = lists[0].shape[:2]
    for name, found, wanted in (("batch entries", batch, query.shape[0]), ("heads", heads, query.shape[1])):
        if found not in (1, wanted):
            raise ValueError(f"block_mask has {found} {name}, expected 1 or {wanted}")
    for one in lists:
        if one.device != query.device:
            raise ValueError(f"block_mask is on {one.device}, but query is on {query.device}")
        if one.shape[:2] != lists[0].shape[:2]:
            raise ValueError("block_mask's lists must agree in batch entries and heads, found "
                             f"{list(lists[0].shape[:2])} and {list(one.shape[:2])}")
    lists = [one if one.dtype == torch.int32 else one.to(torch.int32) for one in lists]
    rows, queries, keys = 0, min(queries, _LARGEST), min(keys, _LARGEST)
    if 0 < key.shape[2] <= keys and (keys % _GRANULE or keys - key.shape[2] >= _block_sizes.SIZE):
        lists, keys = _block_sizes.split(lists, key.shape[2]), _block_sizes.SIZE
    if queries % _GRANULE and not keys % _GRANULE:
        # A block that covers all queries may be larger.
        rows, queries = queries if query.shape[2] > queries else 0, _LARGEST
    # Conditional expressions, as torch.compile then guards the comparisons of symbols.
    per_batch, per_head = False if batch == 1 else True, False if heads == 1 and not rows else True
    return (queries, keys, len(lists) == 4, per_batch, per_head, rows), lists


__all__ = ["Form", "Read", "is_block_mask", "known", "read", "rows_of"]
