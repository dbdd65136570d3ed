"""Shows what becomes of a program: ``python -m fovea explain FILE``.

``page`` writes one HTML page with the IR of each level, the blocks that the mask
leaves and the kernel visits, single pairs of queries and keys, what the compiler says of its choices, roles
against time, resources and bounds; nothing of it needs a GPU. ``block_map`` and ``elements`` give
blocks and pairs as data. Needs numpy. What ``Kernel.explain`` says needs nothing.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .. import _kernel
from .._chips import chip_of_target
from .._extras import need
from .._library import Context
from .._spec import Program, Spec
from .._version import VERSION
from ..errors import Error
from ._blocks import BlockMap, block_maps, kernel_block
from ._elements import Elements, ElementReader, page_elements
from ._inputs import DEFAULT_HEADS, Input, Sizes, fit_sizes, fixed_lengths, make_inputs, signature, small_sizes
from ._links import levels_of, plain
from ._page import render
from ._resources import bounds, operations_of_a_score, ptxas_facts, shared_memory, waves
from ._sass import disassemble
from ._timeline import lay_out, trace

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
) -> str:
    """An HTML page about a program's kernel, which needs no network.

    Arguments are those of ``block_map``; ``kernel`` says which function is meant if
    the program has several, ``title`` what the page is called: the file or the kernel by default. The page holds the IR of each level, the block map, the
    schedule as roles against time (executed by the interpreter, laid out by a model
    of the chip), registers and shared memory (with a ptxas), and the least times
    that the chip's ceilings allow. Raises what ``block_map`` raises.
    """
    need("numpy", "interpret", "explain")
    chosen = _kernel.compile(program, target, schedule=schedule, kernel=kernel)
    return page_of(chosen, query_length, key_length, batch=batch, heads=heads, inputs=inputs, title=title)


def page_of(
    chosen: _kernel.Kernel, query_length: Optional[int] = None, key_length: Optional[int] = None, *, batch: int = 1,
    heads: int = DEFAULT_HEADS, inputs: Optional[Mapping[str, Any]] = None, title: Optional[str] = None,
) -> str:
    """The same about a kernel that is there."""
    need("numpy", "interpret", "explain")
    spec, chip = chosen._spec, chip_of_target(chosen.target)
    entries = signature(spec, chosen._options)
    sizes = fit_sizes(spec, entries, _wanted(spec, entries, query_length, key_length, batch, heads))
    problems: Dict[str, str] = {}
    contents, notes = make_inputs(chosen, entries, sizes, inputs or {}, skip=("q", "k", "v"))
    maps = block_maps(chosen, entries, contents, sizes)

    # A few tiles show the schedule; what was given fits the sizes above only.
    rows, columns = kernel_block(chosen)
    length = min(max(3 * rows, 6 * columns), max(sizes.queries, sizes.keys))
    recorded: Dict[str, Any] = {"agents": [], "buffers": [], "events": []}
    lines = None
    try:
        small = small_sizes(spec, entries, length, heads)
        short, _ = make_inputs(chosen, entries, small, {})
        recorded = trace(chosen, entries, short)
        lines = lay_out(recorded, chip, chosen.metadata["cluster"][0])
    except Error as error:
        problems["trace"] = f"the warp program could not be traced: {error}"
    try:
        assembly = ptxas_facts(chosen)
        if assembly is None:
            problems["ptxas"] = "not found: registers and spills are not known (pip install nvidia-cuda-nvcc)"
    except Error as error:
        assembly, problems["ptxas"] = None, str(error)
    levels = levels_of(_kernel.compile_again(chosen, line_info=True))
    sass = disassemble(assembly["code"]) if assembly else None
    if sass:
        levels["sass"] = plain(sass)
    limits = None
    if recorded["events"]:
        operations = operations_of_a_score(recorded)
        limits = bounds(chosen, entries, sizes, maps, operations["special"], operations["ordinary"], chip,
                        waves(chosen, sizes, contents, chip))
    statements = chosen.explain().statements
    name = title or (chosen.name if spec.file.startswith("<") else spec.file)
    return render(name, chosen, chip, sizes, notes, maps, lines, shared_memory(chosen, recorded), recorded["agents"], assembly,
                  limits, levels, problems, VERSION, statements, page_elements(chosen, entries, contents, sizes, maps))
