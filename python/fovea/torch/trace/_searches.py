"""searchsorted, bucketize and isin with small tensors, unrolled into comparisons."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from ...frontend._builder import Value
from ._aten import LONGEST_REDUCTION, emitter
from ._expressions import Expression, elementwise, reindexed, typed
from ._promotion import promoted
from ._tracer import EMITTERS, Tracer, fail


def _elements(tracer: Tracer, name: str, table: Expression) -> List[Expression]:
    """The elements of a 1-d tensor, each as a scalar."""
    if len(table.shape) != 1:
        fail(f"{name} searches a tensor of shape {list(table.shape)}, expected one dimension")
    if table.shape[0] > LONGEST_REDUCTION:
        fail(f"{name} searches {table.shape[0]} elements, expected at most {LONGEST_REDUCTION}: a kernel compares with each")

    def element(place: int) -> Expression:
        index = tracer.region.constant(place, "index")
        return reindexed(table, (), lambda _: (index,))

    return [element(place) for place in range(table.shape[0])]


def _common(tracer: Tracer, table: Any, values: Any) -> Tuple[Expression, Expression]:
    """Both operands, converted to the dtype of the comparison."""
    computation, common = promoted([table, values])
    first, second = (tracer.converted(tracer.converted(tracer.expression(one), common), computation) for one in (table, values))
    return first, second


@emitter("bucketize", "searchsorted")
def _search(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    """Counts the elements before the value: those below it, or with right=True those not above
    it. NaN sorts last."""
    region = tracer.region
    table, values = (args[1], args[0]) if name == "bucketize" else args[:2]
    right, side, sorter = kwargs.get("right", False), kwargs.get("side"), kwargs.get("sorter")
    if side is not None:
        right = side == "right"
    dtype = torch.int32 if kwargs.get("out_int32") else torch.int64
    sorted_table, operand = _common(tracer, table, values)
    elements = _elements(tracer, name, sorted_table)
    if sorter is not None:
        order = _elements(tracer, name, tracer.expression(sorter))
        elements = [_element_at(tracer, sorted_table, place) for place in order]

    def compute(value: Value, *others: Value) -> Value:
        count = region.constant(0, "index")
        zero, one = region.constant(0, "index"), region.constant(1, "index")
        for other in others:
            is_after = region.compare("gt" if right else "ge", other, value)
            count = region.binary("add", count, region.select(is_after, zero, one))
        return typed(region, count, dtype)

    return elementwise(region, compute, [operand, *elements], dtype)


def _element_at(tracer: Tracer, table: Expression, place: Expression) -> Expression:
    index = tracer.region.cast(place.read(()), "index")
    return reindexed(table, (), lambda _: (index,))


@emitter("isin")
def _isin(tracer: Tracer, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Expression:
    region = tracer.region
    invert = kwargs.get("invert", False)
    values, tests = _common(tracer, args[0], args[1])
    flat = _flat(tracer, tests)

    def compute(value: Value, *others: Value) -> Value:
        found: Optional[Value] = None
        for other in others:
            equal = region.compare("eq", value, other)
            found = equal if found is None else region.binary("or", found, equal)
        found = region.constant(False, "i1") if found is None else found
        return region.unary("not", found) if invert else found

    return elementwise(region, compute, [values, *_elements(tracer, name, flat)], torch.bool)


def _flat(tracer: Tracer, source: Expression) -> Expression:
    if len(source.shape) == 1:
        return source
    if not source.shape:
        return reindexed(source, (1,), lambda _: ())
    return EMITTERS["view"](tracer, "view", (tracer.symbol(source), [-1]), {})
