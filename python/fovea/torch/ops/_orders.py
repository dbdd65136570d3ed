"""Orders of dimensions in the tensors of a call.

The op takes (batch, heads, rows, head_dim). Callers with rows before heads pass views, whose
creation takes longer than the rest of a repeated call. A prepared launch reads only addresses, so
it can take the caller's own tensors and return results in the caller's order.
"""

from __future__ import annotations

from typing import Callable, NamedTuple

import torch

View = Callable[[torch.Tensor], torch.Tensor]


class Order(NamedTuple):
    """The op's order from the caller's, and the caller's order of the output and the log-sum-exp
    from the op's. All are views."""

    heads_first: View
    output: View
    lse: View


def _same(tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def heads_first(tensor: torch.Tensor) -> torch.Tensor:
    """(batch, heads, rows, head_dim) from (batch, rows, heads, head_dim) or (rows, heads, head_dim)."""
    return tensor.transpose(0, 1).unsqueeze(0) if tensor.dim() == 3 else tensor.transpose(1, 2)


#: As the op.
HEADS_FIRST = Order(_same, _same, _same)
#: (batch, rows, heads, head_dim); the log-sum-exp has heads first.
ROWS_FIRST = Order(heads_first, lambda o: o.transpose(1, 2), _same)
#: Queries and output (rows, heads, head_dim), log-sum-exp (heads, rows).
PACKED_ROWS = Order(heads_first, lambda o: o.squeeze(0).transpose(0, 1), lambda lse: lse.squeeze(0))


__all__ = ["HEADS_FIRST", "Order", "PACKED_ROWS", "ROWS_FIRST", "heads_first"]
