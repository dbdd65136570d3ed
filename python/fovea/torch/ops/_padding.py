"""Adapts calls with unsupported head dims or query blocks to calls that kernels support.

Head dims that are not multiples of 8 are padded with zeros, which don't change the scores. A
value head dim above 256 is split into columns: several launches compute the softmax and a part
of the output each. Query blocks that are not multiples of 16 become heads of one block each,
which fit any tile; the functions get the original coordinates.
"""

from __future__ import annotations

from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Tuple

import torch
import torch.nn.functional as F

#: Head dims of kernels are multiples of GRANULE up to WIDEST.
GRANULE, WIDEST = 8, 256

Made = Tuple[torch.Tensor, Optional[torch.Tensor]]
#: A function of query, key, value, block-sparse lists and captured tensors, dropout's seed and offset.
Attend = Callable[..., Made]


class Widths(NamedTuple):
    """Head dims of the kernel, and the number of launches for the output."""

    head_dim: int
    value_head_dim: int
    count: int


def _up(width: int) -> int:
    return -(-width // GRANULE) * GRANULE


def widths_of(head_dim: int, value_head_dim: int) -> Widths:
    count = max(1, -(-value_head_dim // WIDEST))
    return Widths(_up(head_dim), _up(-(-value_head_dim // count)), count)


def _padded(tensor: torch.Tensor, width: int) -> torch.Tensor:
    more = width - tensor.shape[-1]
    if more and tensor.stride(1) < tensor.stride(2):  # keeps (batch, length, heads, head_dim) in memory
        return F.pad(tensor.transpose(1, 2), (0, more)).transpose(1, 2)
    return F.pad(tensor, (0, more)) if more else tensor


def padded(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with zeros up to a head dim that kernels support."""
    return _padded(tensor, _up(tensor.shape[-1]))


def _concatenate_columns(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    if parts[0].stride(1) < parts[0].stride(2):
        return torch.cat([one.transpose(1, 2) for one in parts], -1).transpose(1, 2)
    return torch.cat(list(parts), -1)


def with_widths(attend: Attend, widths: Widths) -> Attend:
    def run(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, others: Tuple[torch.Tensor, ...], seed: int = 0,
            offset: int = 0) -> Made:
        wanted, piece = value.shape[-1], widths.value_head_dim
        query, key = _padded(query, widths.head_dim), _padded(key, widths.head_dim)
        value = _padded(value, widths.count * piece)
        made = [attend(query, key, value[..., n * piece:(n + 1) * piece], others, seed, offset) for n in range(widths.count)]
        o = made[0][0] if len(made) == 1 else _concatenate_columns([one for one, _ in made])
        return o[..., :wanted] if o.shape[-1] != wanted else o, made[0][1]

    return run


def block_numbers(length: int, rows: int) -> Tuple[int, int]:
    """The number of blocks of `rows` rows, and the last row."""
    return -(-length // rows), length - 1


def with_blocks_as_heads(attend: Attend, rows: int, lists: int, lse: bool, sinks: bool) -> Attend:
    """`attend` for query blocks of `rows` rows, which become heads. The first `lists` of the
    other tensors are block-sparse lists; sinks follow, if there are any."""

    def run(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, others: Tuple[torch.Tensor, ...], seed: int = 0,
            offset: int = 0) -> Made:
        batch, heads, length, dim = query.shape
        count, _ = block_numbers(length, rows)
        whole = count * rows
        if whole != length:
            query = F.pad(query, (0, 0, 0, whole - length))
        blocks: List[torch.Tensor] = []
        for one in others[:lists]:
            one = one[:, :, :count]
            one = one.expand(one.shape[0], heads, *one.shape[2:])
            blocks.append(one.reshape(one.shape[0], heads * count, 1, *one.shape[3:]))
        rest = others[lists:]
        if sinks:
            rest = (rest[0][:, None].expand(heads, count).reshape(-1), *rest[1:])
        o, sums = attend(query.reshape(batch, heads * count, rows, dim), key, value, (*blocks, *rest), seed, offset)
        o = o.reshape(batch, heads, whole, o.shape[-1])[:, :, :length]
        if lse:
            assert sums is not None
            sums = sums.reshape(batch, heads, whole)[:, :, :length]
        return o, sums

    return run


def adapted(attend: Attend, query: torch.Tensor, value: torch.Tensor, rows: int, lists: int, lse: bool, sinks: bool = False
            ) -> Optional[Attend]:
    """`attend` adapted to these tensors and query blocks of `rows` rows (0 for supported
    blocks); None if no adaptation is needed."""
    head_dim, value_head_dim = query.shape[-1], value.shape[-1]
    widths = widths_of(head_dim, value_head_dim)
    has_widths = widths == (head_dim, value_head_dim, 1)
    if has_widths and not rows:
        return None
    if rows:
        attend = with_blocks_as_heads(attend, rows, lists, lse, sinks)
    return attend if has_widths else with_widths(attend, widths)


__all__: List[Any] = ["adapted", "block_numbers", "padded", "widths_of"]
