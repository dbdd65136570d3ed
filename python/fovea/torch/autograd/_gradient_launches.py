"""Prepared launches of backward passes. As in ``_op.Prepared``, a launch is checked and packed
once for tensors with the same signature; a call adds only addresses and numbers."""

from __future__ import annotations

import operator
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import torch

from ...runtime._launch import LoadedKernel, PreparedLaunch
from ..ops import _launches
from ..cache._signatures import signature_matcher
from ..ops._launches import MAX_SAME_SIZES, MAX_SIZES, Arguments, memory
from ..ops._layouts import copied

Tensors = Sequence[Optional[torch.Tensor]]
#: A function of (query, key, value, the output, the log-sum-exp, their gradients, of which the second may be None);
#: block-sparse lists and captured tensors; dropout's seed; its offset.
Run = Callable[[Tensors, Tuple[torch.Tensor, ...], int, int], List[torch.Tensor]]


class _Prepared(NamedTuple):
    """A launch, and a test for tensors that it fits."""

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
    """The prepared launch for tensors with these signatures, or None. ``form`` holds the other
    properties that a launch depends on."""
    for fits, run in _prepared.get(_key(tensors, others, form), ()):
        if fits(*_compared(tensors, others)):
            return run
    return None


def keep(tensors: Tensors, others: Tuple[torch.Tensor, ...], form: Tuple[Any, ...], run: Run) -> Run:
    """Caches a launch for ``find``."""
    if len(_prepared) >= MAX_SIZES:
        _prepared.clear()
    key = _key(tensors, others, form)
    made = _Prepared(signature_matcher(*_compared(tensors, others)), run)
    _prepared[key] = (made, *_prepared.get(key, ()))[:MAX_SAME_SIZES]
    return run


def prepare(kernel: LoadedKernel, places: Arguments, named: Mapping[str, Any], tensors: Tensors,
            others: Tuple[torch.Tensor, ...], results: Mapping[str, torch.Tensor],
            named_results: Mapping[str, torch.Tensor]) -> Run:
    """Prepares a launch. ``named`` and ``named_results`` are the same tensors by the kernel's
    names; ``results`` have the signatures of each call's results, in order. Raises TypeError,
    LaunchError."""
    given = (*tensors, *others)
    # Tensors with unsupported strides; addresses are checked at each call.
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
    """The launch as a closure, which is faster than a method, as in ``_op``."""
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
    """Wraps a launch with copies of tensors with unsupported strides, made at each call.
    ``count`` tensors precede the others."""
    layouts = tuple((place, places.layouts[place]) for place in copies)

    def run_with_copies(tensors: Tensors, others: Tuple[torch.Tensor, ...], seed: int, offset: int) -> List[torch.Tensor]:
        given: List[Any] = [*tensors, *others]
        for place, layout in layouts:
            given[place] = copied(layout, given[place])
        return run(given[:count], tuple(given[count:]), seed, offset)

    return run_with_copies


__all__ = ["find", "keep", "prepare"]
