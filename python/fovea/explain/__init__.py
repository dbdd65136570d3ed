"""Shows what becomes of a program: ``python -m fovea explain FILE``.

``page`` writes one HTML page with the IR of each level, the blocks that the mask
leaves and the kernel visits, roles against time, resources and bounds; nothing of
it needs a GPU. ``block_map`` gives the blocks as data. Needs numpy.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from .. import _kernel, _lines
from .._chips import chip_of_target
from .._extras import need
from .._spec import Program, Spec
from .._version import VERSION
from ..errors import Error
from ._blocks import BlockMap, block_maps, kernel_block
from ._inputs import DEFAULT_HEADS, Input, Sizes, fit_sizes, fixed_lengths, make_inputs, signature, small_sizes
from ._page import render
from ._resources import bounds, levels_of, operations_of_a_score, ptxas_facts, shared_memory, waves
from ._timeline import lay_out, trace

__all__ = ["BlockMap", "block_map", "page"]

#: What the page shows, from the program down.
_LEVELS = ("attn", "tile", "warp", "nvvm", "llvm", "ptx")


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
    levels = levels_of(chosen, _LEVELS)
    with_lines = _kernel.compile(program, target, schedule=schedule, kernel=kernel, line_info=True)
    levels["ptx"] = _lines.annotated(with_lines.ptx, spec.mlir)
    limits = None
    if recorded["events"]:
        operations = operations_of_a_score(recorded)
        limits = bounds(chosen, entries, sizes, maps, operations["special"], operations["ordinary"], chip,
                        waves(chosen, sizes, contents, chip))
    name = title or (chosen.name if spec.file.startswith("<") else spec.file)
    return render(name, chosen, chip, sizes, notes, maps, lines, shared_memory(chosen, recorded), recorded["agents"], assembly,
                  limits, levels, problems, VERSION)
