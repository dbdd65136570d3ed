"""A page about a program and its kernel: ``python -m fovea explain FILE``.

``page`` returns one HTML page: block map, element map, the compiler's reasons, a modelled
timeline per warp role, resources, roofline, and the IR of each level. It describes one kernel,
two variants side by side, or the kernels of both passes. Only measured times need a GPU.
``block_map`` and ``elements`` return blocks and pairs as data. Needs numpy;
``Kernel.explain`` needs nothing.
"""

from __future__ import annotations

import pathlib
from typing import Any, List, Mapping, Optional, Sequence, Tuple

from ..compiler import _kernel
from ..tools._comparison import labels, variant_of
from .._extras import need
from ..compiler._library import Context
from ..frontend._program import Program
from ..errors import Error
from ._blocks import BlockMap, block_maps
from ._elements import Elements, ElementReader
from ._gradients import both_passes, is_gradient
from ._inputs import DEFAULT_HEADS, TENSORS, fit_sizes, make_inputs, signature
from ._measure import Device, check_targets, measure as measure_variants, open_device
from ._page import Look, render
from ._sizes import choose_sizes, wanted_sizes
from ._variant import Variant, gather, make_call

__all__ = ["BlockMap", "Elements", "block_map", "elements", "page"]


def block_map(
    program: Program, query_length: Optional[int] = None, key_length: Optional[int] = None, *, batch: int = 1,
    heads: int = DEFAULT_HEADS, target: str = _kernel.DEFAULT_TARGET, schedule: str = "auto",
    inputs: Optional[Mapping[str, Any]] = None,
) -> List[BlockMap]:
    """Block maps of a program: for each block of queries and keys, how many pairs are visible
    and whether the kernel processes it. There is one map for each sequence and head that
    differ. A program of gradients has the blocks of its own kernel.

    program, target, schedule
        as for ``fovea.compile``; the blocks are the kernel's tiles.
    query_length, key_length
        the lengths; by default those that the program fixes, else 4096, and as many keys as
        queries.
    batch, heads
        sizes that the program leaves open.
    inputs
        captured tensors, ``lengths``, ``cu_q``, ``cu_k`` and block lists by name, as
        numpy arrays. Missing ones are generated.

    Raises CompileError, Error for inputs that the program does not take or sizes
    that it fixes, ValueError for sizes that are not positive.
    """
    need("numpy", "interpret", "explain")
    kernel = _kernel.compile(program, target, schedule=schedule)
    entries = signature(kernel._spec, kernel._options)
    wanted = wanted_sizes(kernel._spec, entries, query_length, key_length, batch, heads)
    sizes = fit_sizes(kernel._spec, entries, wanted)
    contents, _ = make_inputs(kernel, entries, sizes, inputs or {}, skip=TENSORS)
    return block_maps(kernel, entries, contents, sizes)


def elements(
    program: Program, query_length: Optional[int] = None, key_length: Optional[int] = None, *, entry: int = 0, head: int = 0,
    queries: Tuple[int, int] = (0, 64), keys: Tuple[int, int] = (0, 64), scores: Sequence[float] = (0.0, 1.0), batch: int = 1,
    heads: int = DEFAULT_HEADS, target: str = _kernel.DEFAULT_TARGET, inputs: Optional[Mapping[str, Any]] = None,
) -> Elements:
    """Single pairs of a query and a key: whether the pair is visible, and the result of
    score_mod for each of ``scores``.

    entry, head
        the sequence and the query head.
    queries, keys
        ranges (first, end), clamped to the end of the sequence.

    The other arguments are those of ``block_map``, as are the errors; CompileError for a
    sequence, head or queries that do not exist.
    """
    need("numpy", "interpret", "explain")
    kernel = _kernel.compile(program, target)
    entries = signature(kernel._spec, kernel._options)
    sizes = fit_sizes(kernel._spec, entries, wanted_sizes(kernel._spec, entries, query_length, key_length, batch, heads))
    for name, (first, end) in (("queries", queries), ("keys", keys)):
        if not 0 <= first < end:
            raise ValueError(f"{name} must be a range (first, end) with 0 <= first < end, found {(first, end)}")
    contents, _ = make_inputs(kernel, entries, sizes, inputs or {}, skip=TENSORS)
    with Context() as context:
        reader = ElementReader(context, kernel, entries, contents, sizes)
        rows = min(queries[1], max(sizes.queries, queries[0] + 1)) - queries[0]
        return reader.read(entry, head, queries[0], rows, scores).of_keys(*keys)


def page(
    program: Program, query_length: Optional[int] = None, key_length: Optional[int] = None, *, batch: Optional[int] = None,
    heads: Optional[int] = None, target: str = _kernel.DEFAULT_TARGET, schedule: str = "auto",
    kernel: Optional[str] = None, inputs: Optional[Mapping[str, Any]] = None, title: Optional[str] = None,
    compare: Optional[Mapping[str, Any]] = None, measure: bool = False, gradients: bool = False,
) -> str:
    """An HTML page about a program's kernel, which needs no network.

    The arguments are those of ``block_map``, and ``kernel``, the function's name if the
    program has several, and ``title``, by default the file or the kernel. The page holds
    the IR of each level, the block map, a modelled timeline per warp role (executed by
    the interpreter, laid out by a model of the GPU), registers and shared memory (with a
    ptxas), and the least times that the GPU's ceilings allow.

    batch, heads
        sizes that the program leaves open. Without both, they are large enough for every
        SM of the GPU to have work.
    compare
        options of a second variant, as for ``Kernel.explain``: ``{"target": "sm_80"}``. The
        page then shows both side by side.
    measure
        whether to time the kernels on the current CUDA device, with random q, k and v
        of the given sizes: the page then has the median and the FLOP/s next to the bounds.
    gradients
        whether to show the kernel of the gradients next to that of the forward pass: the one
        that was compiled with it, else that of all gradients. The page of a program of
        gradients shows its own kernel without this.

    Raises what ``block_map`` and ``Kernel.explain`` raise; for ``measure`` LaunchError
    without a device, Error where it runs none of the kernels, and for gradients.
    """
    need("numpy", "interpret", "explain")
    device = open_device() if measure else None
    chosen = _kernel.compile(program, target, schedule=schedule, kernel=kernel)
    return page_of(chosen, query_length, key_length, batch=batch, heads=heads, inputs=inputs, title=title, compare=compare, device=device,
                   gradients=gradients)


def page_of(chosen: _kernel.Kernel, *sizes: Optional[int], **others: Any) -> str:
    """The page of a compiled kernel; the arguments are those of ``look``."""
    return render(look(chosen, *sizes, **others))


def look(
    chosen: _kernel.Kernel, query_length: Optional[int] = None, key_length: Optional[int] = None, *, batch: Optional[int] = None,
    heads: Optional[int] = None, inputs: Optional[Mapping[str, Any]] = None, title: Optional[str] = None,
    compare: Optional[Mapping[str, Any]] = None, device: Optional[Device] = None, gradients: bool = False,
) -> Look:
    """The content of a page, as facts. Kernels are timed on ``device``, if there is one."""
    need("numpy", "interpret", "explain")
    if gradients and compare is not None:
        raise Error("a page compares variants or shows both passes: compare variants of the gradients' program")
    names: Sequence[str] = ("A", "B")
    kernels: Sequence[_kernel.Kernel] = [chosen] if compare is None else [chosen, variant_of(chosen, compare)]
    described = labels(kernels)
    if gradients:
        kernels, names = both_passes(chosen), ("forward", "backward")
        described = [one.name for one in kernels]
    if device:
        check_targets(device, [one.target for one in kernels])
    entries = [signature(one._spec, one._options) for one in kernels]
    if device and any(map(is_gradient, entries)):
        raise Error("only kernels of the forward pass can be measured")
    sizes = choose_sizes(chosen, entries[0], query_length, key_length, batch, heads)
    variants: List[Variant] = []
    for number, one in enumerate(kernels):
        # Variants of one program share the call.
        call = variants[0].call if variants and compare is not None else make_call(one, entries[number], sizes, inputs or {})
        name, label = (names[number], described[number]) if len(kernels) > 1 else ("", "")
        variants.append(gather(one, call, name, label, variants))
    spec = chosen._spec
    found = title or (chosen.name if spec.file.startswith("<") else pathlib.Path(spec.file).name)
    return Look(found, variants, measure_variants(variants, device) if device else None)
