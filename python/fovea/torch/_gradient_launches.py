"""Launches of backward passes that were prepared: what tensors that look alike decide is
checked and packed once, and a call adds addresses and numbers, as in ``_op.Prepared``."""

from __future__ import annotations

import operator
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import torch

from .._launch import LoadedKernel, PreparedLaunch
from . import _launches
from ._alike import alike
from ._launches import MOST_ALIKE, MOST_SIZES, Arguments, memory
from ._layouts import copied

Tensors = Sequence[Optional[torch.Tensor]]
#: Of query, key, value, the output, its log-sum-exp, their gradients (the second may be None); lists of blocks and
#: captured tensors; dropout's seed and offset.
Run = Callable[[Tensors, Tuple[torch.Tensor, ...], int, int], List[torch.Tensor]]


class _Prepared(NamedTuple):
    """A launch, and which tensors it fits."""

    fits: Callable[..., bool]
    run: Run


_prepared: Dict[Tuple[Any, ...], Tuple[_Prepared, ...]] = {}


def _key(tensors: Tensors, others: Tuple[torch.Tensor, ...], form: Tuple[Any, ...]) -> Tuple[Any, ...]:
    query, key = tensors[:2]
    assert query is not None and key is not None
    return form, len(others), tensors[-1] is None, query.shape, key.shape


def _compared(tensors: Tensors, others: Tuple[torch.Tensor, ...]) -> Tuple[Any, ...]:
    return (*tensors, *others) if tensors[-1] is not None else (*tensors[:-1], *others)


def find(tensors: Tensors, others: Tuple[torch.Tensor, ...], form: Tuple[Any, ...]) -> Optional[Run]:
    """A launch with tensors that look like these; ``form`` is what else it depends on."""
    for fits, run in _prepared.get(_key(tensors, others, form), ()):
        if fits(*_compared(tensors, others)):
            return run
    return None


def keep(tensors: Tensors, others: Tuple[torch.Tensor, ...], form: Tuple[Any, ...], run: Run) -> Run:
    """For ``find``."""
    if len(_prepared) >= MOST_SIZES:
        _prepared.clear()
    key = _key(tensors, others, form)
    made = _Prepared(alike(*_compared(tensors, others)), run)
    _prepared[key] = (made, *_prepared.get(key, ()))[:MOST_ALIKE]
    return run


def prepare(kernel: LoadedKernel, places: Arguments, named: Mapping[str, Any], tensors: Tensors,
            others: Tuple[torch.Tensor, ...], results: Mapping[str, torch.Tensor],
            named_results: Mapping[str, torch.Tensor]) -> Run:
    """``named`` and ``named_results`` have the same tensors as the kernel has them, by
    its names; ``results`` look like those of each call, in order. Raises TypeError,
    LaunchError."""
    given = (*tensors, *others)
    # Strides that the kernel can't take; where tensors lie is another matter at each call.
    copies = tuple(place for place, layout in places.layouts.items() if not layout.fits(given[place]))
    arguments = {**named, **named_results}
    for name, place in zip(kernel.tensors, places.tensors):
        layout = places.layouts.get(place)
        if layout is not None and not (layout.fits(arguments[name]) and layout.is_aligned(arguments[name])):
            arguments[name] = copied(layout, arguments[name])
    for name, (place, _) in zip(kernel.scalars, places.numbers):
        if place is not None:
            arguments[name] = arguments[name].item()
    run = _runner(kernel.prepare_named(arguments), places, tuple(map(memory, results.values())))
    return _with_copies(run, places, copies, len(tensors)) if copies else run


def _runner(launch: PreparedLaunch, places: Arguments, makes: Tuple[Callable[[], torch.Tensor], ...]) -> Run:
    """A function, not a method, as in ``_op``."""
    numbers, device, pack = places.numbers, places.device, places.row().pack
    start, count = launch.entry()
    in_order: Any = operator.itemgetter(*places.tensors)
    data_ptr, current_stream = _launches.data_ptr, _launches.current_stream

    def run(tensors: Tensors, others: Tuple[torch.Tensor, ...], seed: int, offset: int) -> List[torch.Tensor]:
        made = [make() for make in makes]
        given: Tuple[Any, ...] = (*tensors, *others, *made)
        row = pack(*map(data_ptr, in_order(given)), *[
            given[place].item() if number is None else (seed, offset)[number] for place, number in numbers])
        status = start(current_stream(device), row, count)
        if status:
            places.launch_aligned(status, in_order, given, (seed, offset))
        return made

    return run


def _with_copies(run: Run, places: Arguments, copies: Tuple[int, ...], count: int) -> Run:
    """With copies of tensors whose strides the kernel can't take, made at each call;
    ``count`` tensors come before the others."""
    layouts = tuple((place, places.layouts[place]) for place in copies)

    def run_with_copies(tensors: Tensors, others: Tuple[torch.Tensor, ...], seed: int, offset: int) -> List[torch.Tensor]:
        given: List[Any] = [*tensors, *others]
        for place, layout in layouts:
            given[place] = copied(layout, given[place])
        return run(given[:count], tuple(given[count:]), seed, offset)

    return run_with_copies


__all__ = ["find", "keep", "prepare"]
