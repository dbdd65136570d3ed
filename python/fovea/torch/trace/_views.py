"""Ops that split tensors or gather elements: `split`, `unbind`, `diagonal`, `unfold`, `take`, `gather`."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Sequence, Tuple

import torch

from ...frontend._builder import Value
from ._aten import LONGEST_REDUCTION, emitter
from ._expressions import Expression, reindexed
from ._tracer import EMITTERS, Tracer, fail


def _dimension(rank: int, dim: int) -> int:
    return dim + rank if dim < 0 else dim


def _view(tracer: Tracer, name: str, *args: Any) -> torch.Tensor:
    return tracer.symbol(EMITTERS[name](tracer, name, args, {}))


@emitter("split", "split_with_sizes", "unsafe_split", "unsafe_split_with_sizes", "unsafe_chunk", "chunk")
def _split(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> List[torch.Tensor]:
    source, sizes = tracer.expression(args[0]), args[1]
    dim = args[2] if len(args) > 2 else kwargs.get("dim", 0)
    extent = source.shape[_dimension(len(source.shape), dim)]
    if isinstance(sizes, int):
        most = -(-extent // sizes) if "chunk" in name else sizes
        sizes = [min(most, extent - start) for start in range(0, extent, max(most, 1))] or [0]
    starts = [sum(sizes[:count]) for count in range(len(sizes))]
    return [_view(tracer, "slice", args[0], dim, start, start + size)
            for start, size in zip(starts, sizes)]


@emitter("unbind")
def _unbind(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> List[torch.Tensor]:
    source = tracer.expression(args[0])
    dim = args[1] if len(args) > 1 else kwargs.get("dim", 0)
    extent = source.shape[_dimension(len(source.shape), dim)]
    if extent > LONGEST_REDUCTION:
        fail(f"unbind makes {extent} tensors, expected at most {LONGEST_REDUCTION}; an index reads one")
    return [_view(tracer, "select", args[0], dim, place) for place in range(extent)]


@emitter("diagonal")
def _diagonal(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region, source = tracer.region, tracer.expression(args[0])
    given = [*args[1:], *(0, 0, 1)[len(args) - 1:]]
    offset, first, second = (kwargs.get(key, value) for key, value in zip(("offset", "dim1", "dim2"), given))
    rank = len(source.shape)
    first, second = _dimension(rank, first), _dimension(rank, second)
    below, right = max(-offset, 0), max(offset, 0)
    count = max(min(source.shape[first] - below, source.shape[second] - right), 0)
    kept = [dim for dim in range(rank) if dim not in (first, second)]

    def place(own: Tuple[Value, ...]) -> Tuple[Value, ...]:
        places = dict(zip(kept, own))
        for dim, start in ((first, below), (second, right)):
            places[dim] = region.binary("add", own[-1], region.constant(start, "index"))
        return tuple(places[dim] for dim in range(rank))

    return reindexed(source, [*(source.shape[dim] for dim in kept), count], place)


@emitter("unfold")
def _unfold(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region, source = tracer.region, tracer.expression(args[0])
    dim, size, step = args[1:4]
    dim = _dimension(len(source.shape), dim)
    count = (source.shape[dim] - size) // step + 1

    def place(own: Tuple[Value, ...]) -> Tuple[Value, ...]:
        start = region.binary("mul", own[dim], region.constant(step, "index"))
        return own[:dim] + (region.binary("add", start, own[-1]),) + own[dim + 1:-1]

    return reindexed(source, [*source.shape[:dim], count, *source.shape[dim + 1:], size], place)


@emitter("take")
def _take(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    flat = _view(tracer, "view", args[0], [math.prod(args[0].shape)])
    return EMITTERS["index"](tracer, "index", (flat, [args[1]]), {})


@emitter("gather")
def _gather(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region, source, index = tracer.region, tracer.expression(args[0]), tracer.expression(args[2])
    dim = _dimension(len(source.shape), args[1])

    def read(own: Tuple[Value, ...]) -> Value:
        return source.read(own[:dim] + (region.cast(index.read(own), "index"),) + own[dim + 1:])

    return Expression(index.shape, source.dtype, read)


@emitter("max", "min")
def _extremum(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    if len(args) > 1 or kwargs:
        fail(f"{name} with a dimension finds indices too, which can't be part of a kernel; torch.a{name} finds the number alone")
    return EMITTERS["a" + name](tracer, "a" + name, args, {})


@emitter("trace")
def _trace(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    return EMITTERS["sum"](tracer, "sum", (_view(tracer, "diagonal", args[0]),), {})
