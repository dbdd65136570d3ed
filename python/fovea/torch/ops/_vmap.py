"""``torch.func.vmap`` of the ops: one call after the other."""

from __future__ import annotations

from typing import Any, Dict, Sequence, Tuple

import torch


def _entry(given: Any, dim: Any, number: int) -> Any:
    if isinstance(given, (list, tuple)) and isinstance(dim, (list, tuple)):
        return [_entry(one, of, number) for one, of in zip(given, dim)]
    return given if dim is None else given.select(dim, number)


def one_by_one(op: Any, info: Any, dims: Sequence[Any], arguments: Sequence[Any], named: Dict[str, Any]) -> Tuple[Any, Any]:
    """Calls the op for each entry and stacks the results. Returns them with their batch
    dimensions. Functions get the same coordinates as without vmap."""
    dims = (*dims, *(None,) * (len(arguments) - len(dims)))
    results = [op(*(_entry(one, dim, number) for one, dim in zip(arguments, dims)), **named) for number in range(info.batch_size)]
    stacked = [torch.stack(parts) for parts in zip(*results)]
    return (stacked, [0] * len(stacked)) if isinstance(results[0], list) else (tuple(stacked), (0,) * len(stacked))


__all__ = ["one_by_one"]
