"""What is done at each call, and what is kept so that it need not be.

A call that has the form of an earlier one (functions, sizes, strides, types, options)
is one look-up and a launch: nothing is checked or traced again but that functions
still refer to what they did. All others take the long way, which raises the errors.
"""

from __future__ import annotations

import operator
from typing import Any, Callable, Dict, Iterable, NamedTuple, Optional, Sequence, Tuple

import torch
from torch.autograd import forward_ad as _forward_ad

from . import _gradients, _op
from ._alike import alike
from ._expressions import folded
from ._launches import dispatch_modes, is_compiling, is_unwatched, sees_ops, transformations
from ._pieces import adapted
from ._programs import Known

#: Of a family; of calls whose sizes are the same, but not strides, types or devices.
_MOST_CALLS, _MOST_ALIKE = 256, 8
Form = Tuple[Any, ...]

_default_dtype = torch.get_default_dtype


def is_plain(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether a kernel can be launched right here: elsewhere an op must be seen."""
    return is_unwatched() and type(query) is type(key) is type(value) is torch.Tensor


def form_of(options: Form, blocks: Optional[Form] = None, lengths: Optional[Tuple[int, ...]] = None) -> Form:
    """What calls are told apart by, beside functions and tensors."""
    return _default_dtype(), options, blocks, lengths


class _Kept(NamedTuple):
    """A call that went the long way."""

    #: Of query, key, value, lists of blocks, captured tensors as `run` takes them.
    fits: Callable[..., bool]
    run: Callable[..., Any]
    form: Form
    #: Captured tensors of those that the functions refer to: these first that the kernel reads. None where that is their order.
    read: Optional[Callable[[Tuple[torch.Tensor, ...]], Tuple[torch.Tensor, ...]]]


def _in_order(captures: Sequence[torch.Tensor], bound: Tuple[torch.Tensor, ...]) -> Any:
    """``_Kept.read``, where functions refer to `bound` and the kernel reads `captures`. What
    these have beside was made for the program: it is kept."""
    places = {id(tensor): place for place, tensor in enumerate(bound)}
    made = tuple(tensor for tensor in captures if id(tensor) not in places)
    places.update((id(tensor), len(bound) + number) for number, tensor in enumerate(made))
    order = [places[id(tensor)] for tensor in captures]
    order += [place for place, _ in enumerate(bound) if place not in order]
    if order == list(range(len(bound))):
        return None
    if len(order) == 1:
        return lambda tensors: made
    pick: Any = operator.itemgetter(*order)
    return (lambda tensors: pick(tensors + made)) if made else pick


def _folding(read: Any, captures: Sequence[torch.Tensor]) -> Any:
    """``_Kept.read`` where tensors have more dimensions than kernels read."""
    if not any(one is not folded(one) for one in captures):
        return read
    return lambda tensors: tuple(map(folded, tensors if read is None else read(tensors)))


def _with_derivatives(run: Callable[..., Any], call: _op.Call, batch: int) -> Callable[..., Any]:
    """`run` as calls go that gradients flow through."""
    lists, end = len(call.blocks), len(call.blocks) + len(call.captures)
    call = call._replace(captures=(), blocks=())  # which are each call's own

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, rest: Tuple[torch.Tensor, ...], seed: int = 0, offset: int = 0
               ) -> Any:
        if k.shape[0] != batch:
            k, v = k.expand(batch, -1, -1, -1), v.expand(batch, -1, -1, -1)
        options = call.program, call.lse, seed, offset, call.schedule, call.recurrence, call.level
        return _gradients.Attention.apply(q, k, v, end - lists, options, run, *rest[lists:end], *rest[:lists])

    return attend


def run(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, call: _op.Call, plain: bool, level: str,
        known: Optional[Known] = None, form: Optional[Form] = None, rows: int = 0, derived: bool = False
        ) -> Tuple[torch.Tensor, Optional[torch.Tensor]]:
    """A call the long way. With a form, the family keeps how it goes. ``rows`` are those
    of blocks of queries that kernels don't have, or 0. Gradients flow through it if it is
    ``derived``."""
    batch = query.shape[0]
    lists, others = len(call.blocks), (*call.blocks, *[folded(one) for one in call.captures])
    # One batch entry of keys is for all of the query's.
    plain = plain and not any([sees_ops(one) for one in others])
    keys, values = (one if one.shape[0] == batch else one.expand(batch, -1, -1, -1) for one in (key, value))
    if not plain:

        def as_op(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, rest: Tuple[torch.Tensor, ...], seed: int, offset: int
                  ) -> Any:
            return torch.ops.fovea.attention(q, k, v, rest[lists:], rest[:lists], call.program, call.lse, seed, offset,
                                             call.schedule, call.recurrence, level)

        # torch.compile follows no "or" of functions.
        other = adapted(as_op, query, value, rows, lists, call.lse)
        if other is None:
            return as_op(query, keys, values, others, call.seed, call.offset)
        return other(query, keys, values, others, call.seed, call.offset)
    launcher = _op.launcher(call.program, call.schedule, call.recurrence, query.device.index)

    def launch_of(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, rest: Tuple[torch.Tensor, ...]) -> Callable[..., Any]:
        launch = launcher.prepared(q, k, v, rest).run
        return _with_derivatives(launch, call, batch) if derived else launch

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, rest: Tuple[torch.Tensor, ...], seed: int, offset: int) -> Any:
        if k.shape[0] != batch:
            k, v = k.expand(batch, -1, -1, -1), v.expand(batch, -1, -1, -1)
        return launch_of(q, k, v, rest)(q, k, v, rest, seed, offset)

    run_again = adapted(attend, query, value, rows, lists, call.lse)
    if run_again is None:
        run_again = launch_of(query, keys, values, others)
    if known is not None and form is not None:
        family, bound = known
        if len(family.calls) >= _MOST_CALLS:
            family.calls.clear()
        read = _folding(_in_order(call.captures, bound), call.captures)
        kept = _Kept(alike(query, key, value, *call.blocks, *(bound if read is None else read(bound))), run_again, form, read)
        sizes = query.shape, key.shape, form
        family.calls[sizes] = (kept, *family.calls.get(sizes, ()))[:_MOST_ALIKE]
        family.latest = kept
    return run_again(query, keys, values, others, call.seed, call.offset)


def find(known: Iterable[Known], query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, form: Form,
         lists: Tuple[torch.Tensor, ...] = ()) -> Optional[Tuple[Callable[..., Any], Tuple[torch.Tensor, ...]]]:
    """How an earlier call went that this one is like (``_op.Prepared.run``), and what it
    wants beside query, key and value: lists of blocks and captured tensors. Most calls are
    like the latest one, and to look up by sizes takes longer than to compare them with
    its. Not while torch.compile traces."""
    if dispatch_modes() or transformations() is not None or _forward_ad._current_level >= 0:  # is_plain; types: see below
        return None
    for family, bound in known:
        latest = family.latest
        if latest is not None:
            fits, run_again, expected, read = latest
            if form == expected:
                others = lists + (bound if read is None else read(bound))
                if fits(query, key, value, *others):
                    return run_again, others
        for kept in family.calls.get((query.shape, key.shape, form), ()):
            others = lists + (bound if kept.read is None else kept.read(bound))
            if kept.fits(query, key, value, *others):
                family.latest = kept
                return kept.run, others
    return None
