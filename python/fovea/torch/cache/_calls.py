"""Runs calls, and caches launches for calls of the same form.

A call with the form of an earlier one (functions, sizes, strides, dtypes, options) is one
look-up and a launch; only the functions' guards are checked. Other calls take the slow path,
which checks arguments and traces functions.
"""

from __future__ import annotations

import operator
from typing import Any, Callable, Dict, Iterable, NamedTuple, Optional, Sequence, Tuple

import torch
from torch.autograd import forward_ad as _forward_ad

from ...frontend._program import has_sinks, own_names
from ..autograd import _gradients
from ..ops import _op
from ._signatures import signature_matcher
from ..trace._expressions import folded
from ..ops._launches import dispatch_modes, is_compiling, is_unobserved, has_torch_dispatch, transformations
from ..ops._padding import adapted
from ._programs import Known

#: Maximum number of cached calls of a family, and of those with the same sizes.
_MAX_CALLS, _MAX_SAME_SIZES = 256, 8
Form = Tuple[Any, ...]

_default_dtype = torch.get_default_dtype
#: float32 programs say whether tf32 is allowed.
_matmul_precision = torch.get_float32_matmul_precision


def is_plain(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether a kernel can be launched directly, without the dispatcher."""
    return is_unobserved() and type(query) is type(key) is type(value) is torch.Tensor


def form_of(options: Form, blocks: Optional[Form] = None, lengths: Optional[Tuple[int, ...]] = None, lists: int = 0) -> Form:
    """The properties that distinguish calls besides functions and tensors. ``lists`` is the
    number of block-sparse lists."""
    return _default_dtype(), _matmul_precision(), options, blocks, lengths, lists


class _CachedCall(NamedTuple):
    """A cached call."""

    #: A test of query, key, value, block-sparse lists, sinks, and captured tensors in the order of `run`.
    fits: Callable[..., bool]
    run: Callable[..., Any]
    form: Form
    #: Reorders the tensors that the functions refer to, those that the kernel reads first. None if they are in order.
    read: Optional[Callable[[Tuple[torch.Tensor, ...]], Tuple[torch.Tensor, ...]]]


def _in_order(captures: Sequence[torch.Tensor], bound: Tuple[torch.Tensor, ...]) -> Any:
    """``_CachedCall.read``, if functions refer to `bound` and the kernel reads `captures`.
    Captures that are not among `bound` were created for the program and are kept alive."""
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
    """``_CachedCall.read`` if tensors have more dimensions than kernels support."""
    if not any(one is not folded(one) for one in captures):
        return read
    return lambda tensors: tuple(map(folded, tensors if read is None else read(tensors)))


def _with_derivatives(run: Callable[..., Any], call: _op.Call, batch: int) -> Callable[..., Any]:
    """Wraps `run` in the autograd function."""
    lists, end = len(call.blocks), len(call.blocks) + len(call.captures)
    call = call._replace(captures=(), blocks=())  # each call passes its own

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
    """Runs a call on the slow path. With a form, the launch is cached in the family. ``rows``
    is the size of query blocks that become heads, or 0. ``derived`` tells whether gradients
    flow through the call."""
    batch = query.shape[0]
    lists, others = len(call.blocks), (*call.blocks, *[folded(one) for one in call.captures])
    plain = plain and not any([has_torch_dispatch(one) for one in others])
    # A single batch entry of keys is broadcast.
    keys, values = (one if one.shape[0] == batch else one.expand(batch, -1, -1, -1) for one in (key, value))
    if not plain:

        def as_op(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, rest: Tuple[torch.Tensor, ...], seed: int, offset: int
                  ) -> Any:
            return torch.ops.fovea.attention(q, k, v, rest[lists:], rest[:lists], call.program, call.lse, seed, offset,
                                             call.schedule, call.recurrence, level)

        # Not written with "or", which torch.compile does not support for functions.
        other = adapted(as_op, query, value, rows, lists, call.lse, has_sinks(call.program))
        if other is None:
            return as_op(query, keys, values, others, call.seed, call.offset)
        return other(query, keys, values, others, call.seed, call.offset)
    launcher = _op.launcher(call, query.device.index)

    def launch_of(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, rest: Tuple[torch.Tensor, ...]) -> Callable[..., Any]:
        launch = launcher.prepared(q, k, v, rest).run
        return _with_derivatives(launch, call, batch) if derived else launch

    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, rest: Tuple[torch.Tensor, ...], seed: int, offset: int) -> Any:
        if k.shape[0] != batch:
            k, v = k.expand(batch, -1, -1, -1), v.expand(batch, -1, -1, -1)
        return launch_of(q, k, v, rest)(q, k, v, rest, seed, offset)

    run_again = adapted(attend, query, value, rows, lists, call.lse, has_sinks(call.program))
    if run_again is None:
        run_again = launch_of(query, keys, values, others)
    if known is not None and form is not None:
        remember(known, form, query, key, value, call, run_again)
    return run_again(query, keys, values, others, call.seed, call.offset)


def remember(known: Known, form: Form, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, call: _op.Call,
             run_again: Callable[..., Any]) -> None:
    """Caches the launch of a call for calls of the same form."""
    family, bound = known
    if len(family.calls) >= _MAX_CALLS:
        family.calls.clear()
    own = len(own_names(call.program))
    captures = call.captures[own:]
    read = _folding(_in_order(captures, bound), captures)
    fits = signature_matcher(query, key, value, *call.blocks, *call.captures[:own], *(bound if read is None else read(bound)))
    kept = _CachedCall(fits, run_again, form, read)
    sizes = query.shape, key.shape, form
    family.calls[sizes] = (kept, *family.calls.get(sizes, ()))[:_MAX_SAME_SIZES]
    family.latest = kept


def find(known: Iterable[Known], query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, form: Form,
         lists: Tuple[torch.Tensor, ...] = ()) -> Optional[Tuple[Callable[..., Any], Tuple[torch.Tensor, ...]]]:
    """The cached launch (``_op.Prepared.run``) for a call, and its other tensors: block-sparse
    lists, sinks and captured tensors. ``lists`` are the block-sparse lists, then the sinks. Tries the latest call first, which is faster than a look-up
    by sizes. Not called while torch.compile traces."""
    if dispatch_modes() or transformations() is not None or _forward_ad._current_level >= 0:  # as is_plain; `fits` checks types
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
