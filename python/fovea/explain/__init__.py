"""Shows what becomes of a program: ``python -m fovea explain FILE``.

``page`` writes one HTML page with the IR of each level, the blocks that the mask
leaves and the kernel visits, single pairs of queries and keys, what the compiler says of its choices, roles
against time, resources and bounds, of one kernel or of two variants side by side;
nothing of it needs a GPU, but measured times. ``block_map`` and ``elements`` give
blocks and pairs as data. Needs numpy. What ``Kernel.explain`` says needs nothing.
"""

from __future__ import annotations

import pathlib
from typing import Any, List, Mapping, Optional, Sequence, Tuple

from .. import _kernel
from .._comparison import labels, variant_of
from .._extras import need
from .._library import Context
from .._spec import Program, Spec
from ._blocks import BlockMap, block_maps
from ._elements import Elements, ElementReader
from ._inputs import DEFAULT_HEADS, Input, Sizes, fit_sizes, fixed_lengths, make_inputs, signature
from ._measure import Device, check_targets, measure as measure_variants, open_device
from ._page import Look, render
from ._variant import Call, Variant, gather

__all__ = ["BlockMap", "Elements", "block_map", "elements", "page"]

#: Positions where neither the program nor the caller says how many.
_LENGTH = 4096


def _wanted(spec: Spec, entries: Sequence[Input], query_length: Optional[int], key_length: Optional[int], batch: int,
            heads: int) -> Sizes:
    queries, keys = fixed_lengths(spec, entries)
    if query_length is None:
        query_length = queries or _LENGTH
    if key_length is None:
        # A program that fixes its queries may be a decoding step, of few of them and many keys.
        key_length = keys or (query_length if queries is None else max(queries, _LENGTH))
    sizes = Sizes(query_length, key_length, batch, heads, heads)
    for name, value in (("query_length", query_length), ("key_length", key_length), ("batch", batch), ("heads", heads)):
        if value < 1:
            raise ValueError(f"{name} must be positive, found {value}")
    return sizes


def block_map(
    program: Program, query_length: Optional[int] = None, key_length: Optional[int] = None, *, batch: int = 1,
    heads: int = DEFAULT_HEADS, target: str = _kernel.DEFAULT_TARGET, schedule: str = "auto",
    inputs: Optional[Mapping[str, Any]] = None,
) -> List[BlockMap]:
    """Which blocks of queries and keys a program's mask shows, and which its kernel
    visits: one map for each sequence and head that differ.

    program, target, schedule
        as ``fovea.compile`` takes them; the blocks are the kernel's tiles.
    query_length, key_length
        positions; what the program fixes by default, else 4096, and as many keys as
        queries.
    batch, heads
        sizes that the program leaves open.
    inputs
        captured tensors, ``lengths``, ``cu_q``, ``cu_k`` and lists of blocks by
        name, as arrays of numpy. What is missing is made up.

    Raises CompileError, Error for inputs that the program does not take or sizes
    that it fixes, ValueError for sizes that are not positive.
    """
    need("numpy", "interpret", "explain")
    kernel = _kernel.compile(program, target, schedule=schedule)
    entries = signature(kernel._spec, kernel._options)
    wanted = _wanted(kernel._spec, entries, query_length, key_length, batch, heads)
    sizes = fit_sizes(kernel._spec, entries, wanted)
    contents, _ = make_inputs(kernel, entries, sizes, inputs or {}, skip=("q", "k", "v"))
    return block_maps(kernel, entries, contents, sizes)


def elements(
    program: Program, query_length: Optional[int] = None, key_length: Optional[int] = None, *, entry: int = 0, head: int = 0,
    queries: Tuple[int, int] = (0, 64), keys: Tuple[int, int] = (0, 64), scores: Sequence[float] = (0.0, 1.0), batch: int = 1,
    heads: int = DEFAULT_HEADS, target: str = _kernel.DEFAULT_TARGET, inputs: Optional[Mapping[str, Any]] = None,
) -> Elements:
    """Single pairs of a query and a key: whether they count, and what score_mod makes of
    ``scores``.

    entry, head
        the sequence and the query head.
    queries, keys
        the first one, and the one behind the last; what ends behind the sequence is cut.

    The rest is as in ``block_map``. Raises what that raises, CompileError for a
    sequence, head or queries that are not there.
    """
    need("numpy", "interpret", "explain")
    kernel = _kernel.compile(program, target)
    entries = signature(kernel._spec, kernel._options)
    sizes = fit_sizes(kernel._spec, entries, _wanted(kernel._spec, entries, query_length, key_length, batch, heads))
    for name, (first, end) in (("queries", queries), ("keys", keys)):
        if not 0 <= first < end:
            raise ValueError(f"{name} must be the first one and the one behind the last, found {(first, end)}")
    contents, _ = make_inputs(kernel, entries, sizes, inputs or {}, skip=("q", "k", "v"))
    with Context() as context:
        reader = ElementReader(context, kernel, entries, contents, sizes)
        rows = min(queries[1], max(sizes.queries, queries[0] + 1)) - queries[0]
        return reader.read(entry, head, queries[0], rows, scores).of_keys(*keys)


def page(
    program: Program, query_length: Optional[int] = None, key_length: Optional[int] = None, *, batch: int = 1,
    heads: int = DEFAULT_HEADS, target: str = _kernel.DEFAULT_TARGET, schedule: str = "auto",
    kernel: Optional[str] = None, inputs: Optional[Mapping[str, Any]] = None, title: Optional[str] = None,
    compare: Optional[Mapping[str, Any]] = None, measure: bool = False,
) -> str:
    """An HTML page about a program's kernel, which needs no network.

    Arguments are those of ``block_map``; ``kernel`` says which function is meant if
    the program has several, ``title`` what the page is called: the file or the kernel by default. The page holds the IR of each level, the block map, the
    schedule as roles against time (executed by the interpreter, laid out by a model
    of the chip), registers and shared memory (with a ptxas), and the least times
    that the chip's ceilings allow.

    compare
        choices of a second variant, as ``Kernel.explain`` takes them:
        ``{"target": "sm_80"}``. The page then has both beside each other.
    measure
        whether to time the kernels on the current CUDA device, with random q, k and v
        of the sizes above: the median and the FLOP/s stand beside the bounds.

    Raises what ``block_map`` and ``Kernel.explain`` raise; for ``measure`` LaunchError
    without a device, Error where it runs none of the kernels.
    """
    need("numpy", "interpret", "explain")
    device = open_device() if measure else None
    chosen = _kernel.compile(program, target, schedule=schedule, kernel=kernel)
    return page_of(chosen, query_length, key_length, batch=batch, heads=heads, inputs=inputs, title=title, compare=compare, device=device)


def page_of(chosen: _kernel.Kernel, *sizes: Optional[int], **others: Any) -> str:
    """The same about a kernel that is there; the arguments are those of ``look``."""
    return render(look(chosen, *sizes, **others))


def look(
    chosen: _kernel.Kernel, query_length: Optional[int] = None, key_length: Optional[int] = None, *, batch: int = 1,
    heads: int = DEFAULT_HEADS, inputs: Optional[Mapping[str, Any]] = None, title: Optional[str] = None,
    compare: Optional[Mapping[str, Any]] = None, device: Optional[Device] = None,
) -> Look:
    """What a page shows, as facts. Kernels are timed on ``device``, if there is one."""
    need("numpy", "interpret", "explain")
    kernels = [chosen] if compare is None else [chosen, variant_of(chosen, compare)]
    if device:
        check_targets(device, [one.target for one in kernels])
    spec = chosen._spec
    entries = signature(spec, chosen._options)
    sizes = fit_sizes(spec, entries, _wanted(spec, entries, query_length, key_length, batch, heads))
    contents, notes = make_inputs(chosen, entries, sizes, inputs or {}, skip=("q", "k", "v"))
    call = Call(entries, sizes, contents, notes)
    variants: List[Variant] = []
    for one, label in zip(kernels, labels(kernels)):
        variants.append(gather(one, call, heads, label, variants))
    name = title or (chosen.name if spec.file.startswith("<") else pathlib.Path(spec.file).name)
    return Look(name, variants, measure_variants(variants, device) if device else None)
