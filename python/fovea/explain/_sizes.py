"""Chooses the sizes of the call on a page: those of the caller, those that the program fixes,
and otherwise sizes at which every SM of the GPU has work."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Optional, Sequence

from ..runtime._gpus import Gpu, gpu_of_target
from ..compiler._kernel import Kernel
from ..frontend._program import Spec
from ._inputs import DEFAULT_HEADS, TENSORS, Input, Sizes, captured_shape, fit_sizes, fixed_lengths
from ._resources import waves

#: Default length.
LENGTH = 4096
#: Query heads of a call that fills the GPU, in the order of preference.
_HEADS = (16, 64, DEFAULT_HEADS)
_MAX_BATCH = 1024
#: Maximum number of generated elements of captured tensors for such a call, unless the smallest
#: call needs more.
_MAX_ELEMENTS = 1 << 25


def wanted_sizes(spec: Spec, entries: Sequence[Input], query_length: Optional[int], key_length: Optional[int], batch: int,
                 heads: int) -> Sizes:
    """The requested sizes, with defaults. Raises ValueError for sizes that are not positive."""
    queries, keys = fixed_lengths(spec, entries)
    if query_length is None:
        query_length = queries or LENGTH
    if key_length is None:
        # A program that fixes its queries may be a decoding step with few queries and many keys.
        key_length = keys or (query_length if queries is None else max(queries, LENGTH))
    for name, value in (("query_length", query_length), ("key_length", key_length), ("batch", batch), ("heads", heads)):
        if value < 1:
            raise ValueError(f"{name} must be positive, found {value}")
    return Sizes(query_length, key_length, batch, heads, heads)


def _generated_elements(kernel: Kernel, entries: Sequence[Input], sizes: Sizes) -> int:
    """The number of elements of the captured tensors."""
    constraints = kernel.metadata["constraints"]
    return sum(math.prod(captured_shape(entry, sizes, constraints)) for entry in entries if entry.name not in TENSORS)


def _filled(kernel: Kernel, entries: Sequence[Input], wanted: Sizes, gpu: Gpu, most: int) -> Optional[Sizes]:
    """`wanted` with the fewest batch entries at which each SM has a tile; None if these are too
    many, or captured tensors have more than `most` elements."""
    batch = 1
    while batch <= _MAX_BATCH:
        sizes = fit_sizes(kernel._spec, entries, replace(wanted, batch=batch))
        spread = waves(kernel, sizes, {}, gpu)
        if _generated_elements(kernel, entries, sizes) > most:
            return None
        if spread is None or spread["share"] >= spread["most"]:
            return sizes
        if sizes.batch != batch:
            return None  # the program fixes it
        batch *= 2
    return None


def choose_sizes(kernel: Kernel, entries: Sequence[Input], query_length: Optional[int], key_length: Optional[int],
                 batch: Optional[int], heads: Optional[int]) -> Sizes:
    """The call's sizes. Without `batch` and `heads` they are large enough for every SM to have
    work. Raises Error, ValueError."""
    spec = kernel._spec
    wanted = wanted_sizes(spec, entries, query_length, key_length, 1 if batch is None else batch,
                          DEFAULT_HEADS if heads is None else heads)
    least = fit_sizes(spec, entries, wanted)
    if batch is None and heads is None:
        gpu, most = gpu_of_target(kernel.target), max(_MAX_ELEMENTS, _generated_elements(kernel, entries, least))
        for count in _HEADS:
            filled = _filled(kernel, entries, replace(wanted, heads=count, kv_heads=count), gpu, most)
            if filled:
                return filled
    return least
