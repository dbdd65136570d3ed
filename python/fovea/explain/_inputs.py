"""Generates inputs of programs: sizes, and contents of captured tensors."""

from __future__ import annotations

import ctypes
import json
import pathlib
import re
from dataclasses import dataclass, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..runtime._arrays import to_host
from ..compiler._kernel import Choices, Kernel, _options
from ..compiler._library import Context
from ..frontend._program import Spec, internal_names
from ..errors import Error

#: Query heads if the program leaves their number open.
DEFAULT_HEADS = 4
#: Operands of the products, and inputs of gradients; they don't affect visibility.
TENSORS = ("q", "k", "v", "o", "lse", "do", "dlse")


@dataclass(frozen=True)
class Sizes:
    """Sizes of a call; ``heads`` are query heads."""

    queries: int
    keys: int
    batch: int = 1
    heads: int = DEFAULT_HEADS
    kv_heads: int = DEFAULT_HEADS


@dataclass(frozen=True)
class Input:
    """One input of a program; a size of None is determined by the call."""

    name: str
    dtype: str
    shape: Tuple[Optional[int], ...]


def signature(spec: Spec, options: Choices) -> List[Input]:
    """The program's inputs, by the kernel's names."""
    with Context() as context:
        module = context.parse(spec.located, spec.file)
        arguments = _options(options)
        facts = json.loads(context.take(context.lib.foveaModuleSignature(module, ctypes.byref(arguments))))
    return [Input(entry["name"], entry["dtype"], tuple(entry["shape"])) for entry in facts["inputs"]]


def layout_of(spec: Spec) -> str:
    """The layout, "bshd" or "bhsd"."""
    return "bshd" if re.search(r"\blayout\(bshd\)", spec.mlir) else "bhsd"


def page_of(spec: Spec) -> Optional[int]:
    """The rows of a page, or None if keys are not in pages."""
    found = re.search(r"\bpaged\([^)]*page = (\d+)\)", spec.mlir, re.DOTALL)
    return int(found[1]) if found else None


def fit_sizes(spec: Spec, inputs: Sequence[Input], wanted: Sizes) -> Sizes:
    """`wanted` with the sizes that the program fixes. Raises Error if it fixes other lengths."""
    shapes = {entry.name: entry.shape for entry in inputs}
    head = 2 if layout_of(spec) == "bshd" else 1
    q, k = shapes["q"], shapes["k"]
    if "cu_q" in shapes:
        wanted = replace(wanted, batch=1)
    queries, keys = fixed_lengths(spec, inputs)
    for what, fixed, size in (("queries", queries, wanted.queries), ("keys", keys, wanted.keys)):
        if fixed is not None and fixed != size:
            raise Error(f"the program has {fixed} {what}, found {size}")
    heads, kv_heads = q[head], k[head]
    if heads is None:
        heads = max(wanted.heads, kv_heads or 1) // (kv_heads or 1) * (kv_heads or 1)
    return replace(wanted, batch=q[0] or wanted.batch, heads=heads, kv_heads=kv_heads or heads)


def fixed_lengths(spec: Spec, inputs: Sequence[Input]) -> Tuple[Optional[int], Optional[int]]:
    """The number of queries and of keys that the program fixes, or None."""
    shapes = {entry.name: entry.shape for entry in inputs}
    row = 1 if layout_of(spec) == "bshd" else 2
    return shapes["q"][row], shapes["k"][row] if page_of(spec) is None else None


def small_sizes(spec: Spec, inputs: Sequence[Input], length: int, heads: int) -> Sizes:
    """Sizes of one batch entry and about `length` positions that the program allows."""
    queries, keys = fixed_lengths(spec, inputs)
    return fit_sizes(spec, inputs, Sizes(queries or length, keys or length, 1, heads, heads))


# --- Contents -----------------------------------------------------------------


def _documents(length: int, generator: Any) -> Any:
    """Document ids; each document is about a sixth of the sequence."""
    import numpy

    mean = max(length // 6, 1)
    sizes: List[int] = []
    while sum(sizes) < length:
        sizes.append(int(generator.integers(mean // 2 + 1, 3 * mean // 2 + 2)))
    return numpy.repeat(numpy.arange(len(sizes)), sizes)[:length]


def _lists(entry: Input, sizes: Sizes, block: Tuple[int, int], has_full: bool) -> Any:
    """Block-sparse lists with a causal structure: blocks with pairs of equal position are
    partial; of the blocks before them the first, the last and a random one are full, or
    partial if there are no lists of full blocks."""
    import numpy

    rows, columns = -(-sizes.queries // block[0]), -(-sizes.keys // block[1])
    kind, part = entry.name.split("_")
    batch, heads = entry.shape[0] or sizes.batch, entry.shape[1] or sizes.heads
    # The same draws for counts and indices.
    generator = numpy.random.default_rng(7)
    counts = numpy.zeros((batch, heads, rows), numpy.int32)
    index = numpy.zeros((batch, heads, rows, columns), numpy.int32)
    for b in range(batch):
        for h in range(heads):
            for row in range(rows):
                first, last = row * block[0] // block[1], min(((row + 1) * block[0] - 1) // block[1], columns - 1)
                last_blocks = list(range(min(first, columns), last + 1))
                earlier = {0, first - 1, int(generator.integers(0, max(first, 1)))}
                full = sorted(n for n in earlier if 0 <= n < min(first, columns))
                chosen = full if kind == "full" else last_blocks if has_full else full + last_blocks
                counts[b, h, row] = len(chosen)
                index[b, h, row, : len(chosen)] = chosen
    return counts if part == "count" else index


@dataclass(frozen=True)
class _Extent:
    """The minimum size of a dimension, and whether it is indexed by positions; None if
    unknown."""

    least: Optional[int] = None
    by_position: Optional[bool] = None


def _extents(entry: Input, sizes: Sizes, constraints: Sequence[Mapping[str, Any]]) -> List[_Extent]:
    """The extents of a captured tensor's dimensions, from the kernel's constraints."""
    known = {"B": sizes.batch, "Hq": sizes.heads, "Hkv": sizes.kv_heads, "Sq": sizes.queries, "Skv": sizes.keys}
    result = []
    for dim in range(len(entry.shape)):
        mine = [one for one in constraints if one.get("size") == f"{entry.name}.{dim}"]
        covered = {one["of"]: -(-known[one["of"]] // one["block"]) for one in mine
                   if one["kind"] == "covers" and one["of"] in known}
        least = [*covered.values(), *(one["limit"] for one in mine if one["kind"] == "at_least")]
        result.append(_Extent(max(least), bool({"Sq", "Skv"} & set(covered))) if least else _Extent())
    return result


def captured_shape(entry: Input, sizes: Sizes, constraints: Sequence[Mapping[str, Any]]) -> List[int]:
    """The shape of a captured tensor. Open dimensions have the minimum size of the kernel's
    constraints; without constraints, the last dimensions fit positions, and the others heads
    and batch entries."""
    length, others = max(sizes.queries, sizes.keys), max(sizes.batch, sizes.heads)
    positions = 1 if entry.dtype.startswith("i") else 2
    return [fixed or extent.least or (length if axis >= len(entry.shape) - positions else others)
            for axis, (fixed, extent) in enumerate(zip(entry.shape, _extents(entry, sizes, constraints)))]


def _captured(entry: Input, sizes: Sizes, constraints: Sequence[Mapping[str, Any]], generator: Any) -> Tuple[Any, str]:
    """Contents of a captured tensor, and a description of them."""
    import numpy

    length = max(sizes.queries, sizes.keys)
    integral = entry.dtype.startswith("i")
    if not entry.shape:
        if entry.dtype == "i1":
            return numpy.array(True), "true"
        value = numpy.array(length // 4 if integral else 0.1)
        return value, f"{value}"
    extents, shape = _extents(entry, sizes, constraints), captured_shape(entry, sizes, constraints)
    if entry.dtype == "i1":
        return generator.random(shape) < 0.75, "true for three elements in four, at random"
    if integral and not any(extent.by_position is not False for extent in extents):
        # One number for each head or sequence: a length, a window, a stride.
        count = int(numpy.prod(shape))
        spread = (numpy.arange(1, count + 1) * length // count).reshape(shape)
        return spread, f"numbers that rise to {length}, the length"
    if integral:
        runs = numpy.broadcast_to(_documents(shape[-1], generator), shape)
        return runs, "numbers of documents of about a sixth of the sequence each"
    return generator.standard_normal(shape, numpy.float32) * 0.1, "random, about 0.1 large"


def block_size(spec: Spec) -> Tuple[int, int]:
    """The block size of the program's block-sparse lists."""
    found = re.search(r"\bblocks\([^)]*size = \[(\d+), (\d+)\]\)", spec.mlir, re.DOTALL)
    return (int(found[1]), int(found[2])) if found else (128, 128)


def _tensor_shape(spec: Spec, entry: Input, sizes: Sizes) -> Tuple[int, ...]:
    """The shape of one of TENSORS."""
    if entry.name in ("lse", "dlse"):
        return (sizes.batch, sizes.heads, sizes.queries)
    rows, heads = (sizes.keys, sizes.kv_heads) if entry.name in ("k", "v") else (sizes.queries, sizes.heads)
    page, batch = page_of(spec), sizes.batch
    if page is not None and entry.name in ("k", "v"):
        batch, rows = batch * -(-rows // page), page
    inner = (rows, heads) if layout_of(spec) == "bshd" else (heads, rows)
    return (batch, *inner, entry.shape[3] or 0)


#: Maximum number of distinct random numbers in q, k and v of a timed kernel.
_NUMBERS = 1 << 22


def random_projections(spec: Spec, inputs: Sequence[Input], sizes: Sizes) -> Dict[str, Any]:
    """Normally distributed q, k and v in the program's dtypes; large tensors repeat numbers."""
    import numpy

    generator = numpy.random.default_rng(0)
    result: Dict[str, Any] = {}
    for entry in inputs:
        if entry.name in ("q", "k", "v"):
            shape = _tensor_shape(spec, entry, sizes)
            numbers = generator.standard_normal(min(int(numpy.prod(shape)), _NUMBERS), numpy.float32)
            result[entry.name] = numpy.resize(to_host(entry.name, numbers, entry.dtype), shape)
    return result


def make_inputs(kernel: Kernel, inputs: Sequence[Input], sizes: Sizes, given: Mapping[str, Any],
                skip: Sequence[str] = ()) -> Tuple[Dict[str, Any], Dict[str, str]]:
    """Contents of all inputs except `skip`, and descriptions of generated ones. `given` has
    contents by the program's names or the kernel's."""
    import numpy

    spec, constraints = kernel._spec, kernel.metadata["constraints"]
    generator = numpy.random.default_rng(0)
    internal = internal_names(spec)
    external = {value: key for key, value in internal.items()}
    unknown = {internal.get(name, name) for name in given} - {entry.name for entry in inputs}
    if unknown:
        names = [external.get(entry.name, entry.name) for entry in inputs if entry.name not in TENSORS]
        raise Error(f"the program takes no '{sorted(unknown)[0]}'; it takes {', '.join(names) or 'nothing but q, k, v'}")
    has_full = any(entry.name == "full_count" for entry in inputs)
    contents: Dict[str, Any] = {}
    notes: Dict[str, str] = {}
    for entry in inputs:
        name = external.get(entry.name, entry.name)
        if entry.name in skip:
            continue
        value = given.get(name, given.get(entry.name))
        if value is not None:
            contents[entry.name] = value
        elif entry.name == "lse":
            # The log-sum-exp of scores that are all 0.
            contents[entry.name] = numpy.full(_tensor_shape(spec, entry, sizes), numpy.log(sizes.keys), numpy.float32)
        elif entry.name in TENSORS:
            contents[entry.name] = generator.standard_normal(_tensor_shape(spec, entry, sizes), numpy.float32)
        elif entry.name == "scale":
            contents[entry.name] = numpy.float32(0.125)
        elif entry.name == "sinks":
            contents[entry.name] = numpy.zeros(entry.shape[0] or sizes.heads, numpy.float32)
        elif entry.name == "lengths":
            contents[entry.name] = numpy.full(entry.shape[0] or sizes.batch, max(sizes.keys * 3 // 4, 1), numpy.int32)
            notes[name] = "three quarters of the keys"
        elif entry.name == "page_table":
            count = -(-sizes.keys // (page_of(spec) or 1))
            batch = entry.shape[0] or sizes.batch
            contents[entry.name] = numpy.arange(batch * count, dtype=numpy.int32)[::-1].reshape(batch, count).copy()
            notes[name] = "all pages, in descending order"
        elif entry.name in ("page_indices", "page_indptr"):
            count = -(-sizes.keys // (page_of(spec) or 1))
            starts = numpy.arange(sizes.batch + 1, dtype=numpy.int32) * count
            contents[entry.name] = starts if entry.name == "page_indptr" else numpy.arange(starts[-1], dtype=numpy.int32)[::-1].copy()
            notes["page_indices"] = "all pages, in descending order"
        elif entry.name in ("cu_q", "cu_k"):
            length = sizes.queries if entry.name == "cu_q" else sizes.keys
            contents[entry.name] = (length * numpy.array([0, 3, 5, 8]) // 8).astype(numpy.int32)
            notes[name] = "sequences of 3/8, 1/4 and 3/8 of all rows"
        elif re.fullmatch("(partial|full)_(count|index)", entry.name):
            contents[entry.name] = _lists(entry, sizes, block_size(spec), has_full)
            notes["block-sparse lists"] = "causal: the last blocks, those before them, the first block and a random one"
        else:
            contents[entry.name], notes[name] = _captured(entry, sizes, constraints, generator)
    return contents, notes


def parse_setting(text: str) -> Tuple[str, Any]:
    """Parses NAME=VALUE of the command line: a number, or a .npy file. Raises Error."""
    import numpy

    name, equals, value = text.partition("=")
    if not equals or not name:
        raise Error(f"'{text}' is not NAME=NUMBER or NAME=FILE.npy")
    if value.endswith(".npy"):
        try:
            return name, numpy.load(pathlib.Path(value))
        except (OSError, ValueError) as error:
            raise Error(f"can't read {value}: {error}") from None
    try:
        return name, numpy.array(int(value))
    except ValueError:
        pass
    try:
        return name, numpy.array(float(value))
    except ValueError:
        raise Error(f"'{value}' is neither a number nor a .npy file") from None
