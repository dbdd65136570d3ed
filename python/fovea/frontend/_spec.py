"""``fovea.attention``: describes a variant of attention in Python, and prints it as MLIR."""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import inspect
import re
import sys
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union, cast

from ..runtime._dtypes import dtype_name
from ._builder import Place, RegionBuilder, float_literal, tensor_type
from ._gradient import gradient as gradient_of
from ._program import BLOCK_LISTS, DROPOUT, LISTED_PAGES, QUERY_OFFSETS, RESERVED, SCALES, SEQUENCES, Spec
from ._trace import trace, user_place

COORDINATES = (("b", "index"), ("h", "index"), ("i", "index"), ("j", "index"))
_NAME = re.compile(r"[A-Za-z_]\w*$")

#: Parameters of Kernel.interpret and Kernel.launch; a captured tensor of such a name could not be passed.
_PARAMETERS = {"self", "level", "seed", "stream", "device", "check"}

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Capture:
    """The element type and the shape of a captured tensor. A size of None is determined by
    each call; a shape of () is a scalar."""

    dtype: str
    shape: Tuple[Optional[int], ...] = ()

    @property
    def type(self) -> str:
        """The type in MLIR."""
        return tensor_type(self.shape, self.dtype) if self.shape else self.dtype

    def argument(self, name: str) -> Tuple:
        """The argument of a RegionBuilder."""
        return (name, self.shape, self.dtype) if self.shape else (name, self.dtype)


@dataclass(frozen=True)
class Blocks:
    """Block-sparse lists that each call passes: the key blocks of each query block, as in
    FlexAttention's BlockMask.

    queries, keys
        the block size. Kernels need multiples of 16.
    full
        whether full blocks, in which all pairs are visible, have lists of their own.
        ``mask_mod`` applies to the other, partial blocks.
    per_batch, per_head
        whether batch entries and query heads have lists of their own; otherwise they
        share one.

    A call passes ``partial_count`` and ``full_count``, i32 tensors of (batch or 1, heads or
    1, query blocks), and ``partial_index`` and ``full_index``, with one dimension more: the
    indices of the key blocks, of which the first ``count`` of each row are read. A block is
    listed once, as partial or as full.
    """

    queries: int = 128
    keys: int = 128
    full: bool = True
    per_batch: bool = True
    per_head: bool = True

    def names(self) -> Tuple[str, ...]:
        """The lists' names, in the order of the program's operands."""
        return BLOCK_LISTS if self.full else BLOCK_LISTS[:2]


@dataclass(frozen=True)
class Paged:
    """Keys and values in pages of ``page`` rows: k and v are pools, whose batch dimension
    counts pages and whose ``key_length`` is ``page``. With a multiple of 8, TMA copies pages, and
    a tile of keys is in one page or consists of whole pages: best is a divisor or a multiple of
    64. Threads copy the rows of other pages.

    A call passes ``page_table``, an i32 tensor of (batch, pages of a sequence), and
    ``lengths``, an i32 tensor of (batch). Key ``j`` of batch entry ``b`` is row ``j % page`` of
    page ``page_table[b, j // page]``, and entry ``b`` has ``lengths[b]`` keys. Sequences may
    share pages. Entries of the table beyond a sequence's last page may have any value.

    With ``listed`` the pages of all sequences are one list: instead of ``page_table`` a call
    passes ``page_indices``, an i32 tensor of the pages, and ``page_indptr``, an i32 tensor of
    (batch + 1): those of batch entry ``b`` are ``page_indices[page_indptr[b]:page_indptr[b + 1]]``.
    """

    page: int = 64
    listed: bool = False


def make_spec(
    *,
    dtype: str,
    head_dim: int,
    value_head_dim: Optional[int] = None,
    batch: Optional[int] = None,
    heads: Optional[int] = None,
    kv_heads: Optional[int] = None,
    query_length: Optional[int] = None,
    key_length: Optional[int] = None,
    scale: Union[None, float, str] = None,
    lse: bool = True,
    layout: str = "bhsd",
    sequences: Union[str, Paged] = "dense",
    packs_queries: bool = False,
    most_queries: int = 0,
    blocks: Optional[Blocks] = None,
    sinks: bool = False,
    dropout: float = 0.0,
    invariant: bool = False,
    tf32: bool = False,
    scales: Mapping[str, Tuple[bool, bool]] = {},
    captures: Mapping[str, Capture] = {},
    score_mod: Optional[RegionBuilder] = None,
    mask_mod: Optional[RegionBuilder] = None,
    output_dtype: Optional[str] = None,
    name: str = "attention",
    place: Optional[Place] = None,
) -> Spec:
    """Builds the program around two regions from a front end. The regions' arguments are
    `score_arguments` and `mask_arguments` of the same captures. `place` is the source
    position of the rest of the program."""

    def tensor(entries: Optional[int], head_count: Optional[int], length: Optional[int], dim: int, element: str) -> str:
        shape = [entries, head_count, length, dim] if layout == "bhsd" else [entries, length, head_count, dim]
        return tensor_type(shape, element)

    if sequences == "packed":
        batch = 1
    # Packed queries alone: each call determines the number of sequences, the batch entries of the keys.
    sequence_count, batch = (None, 1) if packs_queries else (batch, batch)
    page = sequences.page if isinstance(sequences, Paged) else None
    form = "paged" if isinstance(sequences, Paged) else sequences
    key_batch = sequence_count if page is None else None
    key_length = key_length if page is None else page
    dv = head_dim if value_head_dim is None else value_head_dim
    q, k = tensor(batch, heads, query_length, head_dim, dtype), tensor(key_batch, kv_heads, key_length, head_dim, dtype)
    v = tensor(key_batch, kv_heads, key_length, dv, dtype)
    o = tensor(batch, heads, query_length, dv, output_dtype or ("bf16" if dtype == "f8E4M3FN" else dtype))
    arguments = [("%q", q), ("%k", k), ("%v", v)]
    clauses: List[str] = []
    if scale == "runtime":
        arguments.append(("%scale", "f32"))
        clauses.append("scale(%scale : f32)")
    elif scale is not None:
        clauses.append(f"scale({float_literal(float(scale), 'f64')})")
    if layout != "bhsd":
        clauses.append(f"layout({layout})")
    operands = LISTED_PAGES if isinstance(sequences, Paged) and sequences.listed else SEQUENCES[form]
    if packs_queries:
        offsets, = QUERY_OFFSETS
        kind = tensor_type([None], "i32")
        arguments.append(("%" + offsets, kind))
        most = f", most = {most_queries}" if most_queries else ""
        clauses.append(f"packed(%{offsets} : {kind}{most})")
    if operands:
        rows = tensor_type([None if form == "packed" else sequence_count], "i32")
        after = None if sequence_count is None else sequence_count + 1
        shapes = {"page_table": [sequence_count, None], "page_indices": [None], "page_indptr": [after]}
        types = [tensor_type(shapes[one], "i32") if one in shapes else rows for one in operands]
        arguments += [("%" + one, kind) for one, kind in zip(operands, types)]
        size = "" if page is None else f", page = {page}"
        clauses.append(f"{form}({', '.join('%' + one for one in operands)} : {', '.join(types)}{size})")
    if blocks is not None:
        leading = [batch if blocks.per_batch else 1, heads if blocks.per_head else 1, None]
        kinds = [tensor_type(leading + [None] * (index % 2), "i32") for index, _ in enumerate(blocks.names())]
        lists = ["%" + name for name in blocks.names()]
        arguments += zip(lists, kinds)
        clauses.append(f"blocks({', '.join(lists)} : {', '.join(kinds)}, size = [{blocks.queries}, {blocks.keys}])")
    if scales:
        entries = sequence_count if packs_queries or page is not None else None if form == "packed" else batch
        shapes = {name: [entries if per_batch else 1, kv_heads if per_head else 1] + [dv] * (name == "v_mean")
                  for name, (per_batch, per_head) in scales.items()}
        kinds = [tensor_type(shape, "f32") for shape in shapes.values()]
        operands = tuple("%" + SCALES[name] for name in scales)
        arguments += zip(operands, kinds)
        which = ", ".join(f'"{name}"' for name in scales)
        clauses.append(f"scales({', '.join(operands)} : {', '.join(kinds)}, names = [{which}])")
    if sinks:
        kind = tensor_type([heads], "f32")
        arguments.append(("%sinks", kind))
        clauses.append(f"sinks(%sinks : {kind})")
    if dropout:
        arguments += [("%" + name, "i64") for name in DROPOUT]
        clauses.append(f"dropout({float_literal(dropout, 'f64')}, {', '.join('%' + name for name in DROPOUT)})")
    if invariant:
        clauses.append("invariant")
    if tf32:
        clauses.append("tf32")
    if captures:
        captured = [f"%c{index}" for index in range(len(captures))]
        types = [capture.type for capture in captures.values()]
        arguments += zip(captured, types)
        numbered = [f"capture{index}" for index in range(len(captures))]
        named = "" if list(captures) == numbered or not all(map(str.isascii, captures)) else (
            ", names = [" + ", ".join(f'"{name}"' for name in captures) + "]")
        clauses.append(f"captures({', '.join(captured)} : {', '.join(types)}{named})")
    results = [("%o", o)] + ([("%lse", tensor_type([batch, heads, query_length], "f32"))] if lse else [])
    result_names, result_types = ", ".join(n for n, _ in results), ", ".join(t for _, t in results)

    def program(locations: bool) -> str:
        regions = [
            region.text(keyword, locations=locations) + "\n"
            for keyword, region in (("score_mod", score_mod), ("mask_mod", mask_mod))
            if region is not None
        ]
        signature = ", ".join(f"{n}: {t}" for n, t in arguments)
        at = place.location() if locations and place else ""
        return (
            f"func.func @{name}({signature}) -> ({result_types}) {{\n"
            f"  {result_names} = attn.forward %q, %k, %v{''.join(' ' + clause for clause in clauses)}\n"
            f"{''.join(regions)}    : {q}, {k}, {v} -> {result_types}{at}\n"
            f"  return {result_names} : {result_types}{at}\n"
            f"}}{at}\n"
        )

    return Spec(name, program(False), tuple(captures), program(True), f"<{name}>")


def score_arguments(captures: Mapping[str, Capture]) -> List[Tuple]:
    """The arguments of a RegionBuilder for score_mod."""
    return [("s", "f32"), *mask_arguments(captures)]


def mask_arguments(captures: Mapping[str, Capture]) -> List[Tuple]:
    """The arguments of a RegionBuilder for mask_mod."""
    return [*COORDINATES, *(capture.argument(f"c{index}") for index, capture in enumerate(captures.values()))]


#: Kinds of scales: whether there is one for each batch entry, and for each key head.
_SCALE_KINDS = {"tensor": (False, False), "batch": (True, False), "head": (False, True), "batch_head": (True, True)}


def scales_of(given: Optional[Mapping[str, str]]) -> Dict[str, Tuple[bool, bool]]:
    """Scales as `make_spec` takes them, from their kinds. Raises ValueError."""
    if given is not None and not isinstance(given, collections.abc.Mapping):
        raise ValueError(f"scales must be a dictionary, {{name: kind}}, found {given!r}")
    for name, kind in (given or {}).items():
        if name not in SCALES:
            raise ValueError(f"scales must be among {', '.join(SCALES)}, found {name!r}")
        if not isinstance(kind, str) or kind not in _SCALE_KINDS:
            raise ValueError(f"the kind of scale {name!r} must be one of {', '.join(_SCALE_KINDS)}, found {kind!r}")
    return {name: _SCALE_KINDS[given[name]] for name in SCALES if given and name in given}


def _size(what: str, value: Optional[int]) -> Optional[int]:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value <= 0):
        raise ValueError(f"{what} must be a positive integer or None, found {value!r}")
    return value


def _capture(name: str, given: Any) -> Capture:
    if not isinstance(name, str) or not _NAME.match(name):
        raise ValueError(f"a capture's name must be an identifier, found {name!r}")
    if name in RESERVED:
        raise ValueError(f"a capture can't be named {name!r}, which is an argument of every kernel")
    if name in _PARAMETERS:
        raise ValueError(f"a capture can't be named {name!r}, which is a parameter of Kernel.interpret or Kernel.launch")
    if isinstance(given, Capture):
        return given
    if not isinstance(given, tuple):
        # A tensor declares its dtype and rank; each call determines the sizes.
        if hasattr(given, "dtype") and hasattr(given, "shape"):
            given = (given.dtype, (None,) * len(given.shape))
    if not isinstance(given, tuple) or len(given) != 2 or not isinstance(given[1], (tuple, list)):
        raise ValueError(f"capture {name!r} must be an array, or (dtype, shape) with a tuple of sizes such as ('f32', (None,)), "
                         f"or ('i32', ()) for a number that each call passes, found {given!r}")
    shape = tuple(_size(f"a size of capture {name!r}", size) for size in given[1])
    try:
        dtype = dtype_name(given[0])
    except ValueError as error:
        raise ValueError(f"capture {name!r}: {error}") from None
    if dtype == "f64":
        raise ValueError(f"capture {name!r} must be of f16, bf16, f32 or integers, found f64, numpy's default; "
                         f"declare 'f32' and pass {name}.astype('float32')")
    if not shape and dtype not in ("f32", "i32", "i64"):
        raise ValueError(f"scalar capture {name!r} must be f32, i32 or i64, found {dtype}")
    return Capture(dtype, shape)


def _sequences(given: Any, key_length: Optional[int]) -> Union[str, Paged]:
    if isinstance(given, Paged):
        if _size("page", given.page) is None:
            raise ValueError("page must be a positive integer, found None")
        if key_length not in (None, given.page):
            raise ValueError(f"with pages, key_length is the rows of a page, {given.page}, found {key_length}")
        return given
    names = [name for name in SEQUENCES if name != "paged"]
    if given not in names:
        raise ValueError(f"sequences must be one of {', '.join(names)}, or fovea.Paged(page=...), found {given!r}")
    return cast(str, given)


def _blocks(given: Any, sequences: Union[str, Paged]) -> Optional[Blocks]:
    if given is None:
        return None
    if isinstance(given, tuple) and len(given) == 2:
        given = Blocks(*given)
    if not isinstance(given, Blocks):
        raise ValueError(f"blocks must be fovea.Blocks, (queries, keys) or None, found {given!r}")
    for name in ("queries", "keys"):
        if _size(f"blocks' {name}", getattr(given, name)) is None:
            raise ValueError(f"blocks' {name} must be a positive integer, found None")
    if sequences == "packed":
        raise ValueError("blocks need sequences 'dense', 'lengths' or fovea.Paged, and queries that are not packed, found 'packed'")
    return given


def _check_arguments(function: Function) -> Function:
    """Wraps `attention` with clear errors for wrong arguments."""
    parameters = inspect.signature(function).parameters

    @functools.wraps(function)
    def checked(*arguments: Any, **named: Any) -> Any:
        if len(arguments) > 2:
            raise TypeError(f"attention takes two positional arguments, score_mod and mask_mod, found {len(arguments)}; "
                            "tensors are passed to the kernel that fovea.compile returns")
        unknown = next((name for name in named if name not in parameters), None)
        if unknown is not None:
            raise TypeError(f"attention has no parameter {unknown!r}, expected one of {', '.join(parameters)}")
        if "head_dim" not in named:
            raise TypeError("attention needs head_dim, the elements of a row of q and k, such as head_dim=64")
        return function(*arguments, **named)

    return cast(Function, checked)


@_check_arguments
def attention(
    score_mod: Optional[Callable] = None,
    mask_mod: Optional[Callable] = None,
    *,
    dtype: Any = "bf16",
    head_dim: int,
    value_head_dim: Optional[int] = None,
    heads: Optional[int] = None,
    kv_heads: Optional[int] = None,
    batch: Optional[int] = None,
    query_length: Optional[int] = None,
    key_length: Optional[int] = None,
    scale: Union[None, float, str] = None,
    lse: bool = True,
    layout: str = "bhsd",
    sequences: Union[str, Paged] = "dense",
    queries: str = "dense",
    most_queries: Optional[int] = None,
    blocks: Union[None, Blocks, Tuple[int, int]] = None,
    sinks: bool = False,
    dropout: float = 0.0,
    invariant: bool = False,
    tf32: bool = False,
    scales: Optional[Mapping[str, str]] = None,
    captures: Optional[Mapping[str, Any]] = None,
    output_dtype: Any = None,
    gradient: Union[None, bool, Sequence[str]] = None,
    name: str = "attention",
) -> Spec:
    """Describes attention: ``softmax(score_mod(scale * q k^T)) v`` over the keys
    that ``mask_mod`` keeps.

    score_mod(score, b, h, q_idx, kv_idx, ...)
        returns the new score of a query and a key, a float. ``score`` is an f32; the
        coordinates are integers: batch entry, query head, query, key.
    mask_mod(b, h, q_idx, kv_idx, ...)
        returns a boolean: whether the key is visible to the query.
    dtype
        the dtype of q, k and v: "bf16" (default), "f16", "f32" or "f8E4M3FN"
        ("float8_e4m3fn"; kernels for sm_90a, without gradients).
    head_dim, value_head_dim
        the head dim of q and k, and that of v and o, which is the same by default.
    heads, kv_heads
        the number of query heads and of key heads; ``heads`` is a multiple of
        ``kv_heads``. With None, the default, each call determines them; the same holds
        for ``batch``, ``query_length`` and ``key_length``. One kernel serves all sizes.
    scale
        a number; None for 1/sqrt(head_dim); "runtime" for a number that each call
        passes as ``scale``.
    lse
        whether the log-sum-exp (natural, f32) is an output, too.
    layout
        "bhsd": q is (batch, heads, query_length, head_dim); "bshd": (batch,
        query_length, heads, head_dim). Each call determines the strides.
    sequences
        the layout of sequences in memory. "dense": one sequence in each batch entry.
        "lengths": each call passes ``lengths``, an i32 tensor of (batch), the number of
        keys of each batch entry. "packed": one batch entry holds all sequences end to
        end; each call passes ``cu_q`` and ``cu_k`` (``cu_seqlens``), i32 tensors of
        (sequences + 1): the first row of each sequence, and the end of the last. ``b`` is
        then the index of the sequence; ``q_idx`` and ``kv_idx`` count from its start.
        Kernels process the sequences with the most keys first and sort them on the
        device; ``fovea.compile(schedule="longest_first=0")`` keeps the caller's order.
        The results are the same.
        ``fovea.Paged(page=64)``: keys and values are in pages; each call passes
        ``page_table``, or with ``listed=True`` ``page_indices`` and ``page_indptr``, and
        ``lengths``. There are no gradients.
    queries
        "packed", with sequences "dense", "lengths" or ``fovea.Paged``: only the queries are
        packed end to end, and q is (1, heads, queries of all sequences, head_dim); each call
        passes ``cu_q``. Sequence b has the keys of batch entry b. There are no gradients.
        "dense": as ``sequences`` says.
    most_queries
        with ``queries="packed"``, the largest number of queries of a sequence, up to 2^30: a
        hint for the schedule.
    blocks
        a ``fovea.Blocks``, or its (queries, keys): each call passes block-sparse lists;
        blocks that are not listed are skipped.
    sinks
        whether each call passes ``sinks``, an f32 tensor of (heads): for each query head
        the score of one more key, whose value is 0. It is part of the softmax's sum and
        of ``lse``; it is neither scaled, nor masked, nor changed by ``score_mod``.
    dropout
        the probability, below 1, that a key is dropped after the softmax; the others are
        scaled by 1 / (1 - dropout). Each call passes ``dropout_seed`` and
        ``dropout_offset``, integers that select the keys.
    invariant
        whether the bits of a sequence's results depend only on its own queries and keys and on
        the kernel, not on other sequences of the call or on the GPU's number of SMs.
    tf32
        with ``dtype="f32"``, whether products may round their factors to tf32 (10 fraction
        bits), which is faster. By default their error is about that of f32.
    scales
        the scales of quantized tensors that each call passes, as {name: kind}. Names are "q",
        "k", "v", whose elements are multiplied by ``q_scale``, ``k_scale``, ``v_scale``; and
        "v_mean", which is added to the elements of v. Kinds: "tensor" for an f32 tensor of
        (1, 1), "batch" (batch, 1), "head" (1, kv_heads) or "batch_head" (batch, kv_heads);
        ``v_mean`` has value_head_dim columns in addition. Scales must be positive. A
        run-time scale of other granularity is a captured tensor of ``score_mod``.
    captures
        the tensors that the functions read: {name: (dtype, shape)}, or {name: array} for
        the dtype and the rank of an array. The functions take them as further parameters,
        by name, and each call passes them. A size of None is determined by the call, as
        are all sizes of an array; a shape of () is a scalar (f32, i32 or i64). A boolean
        takes one byte.
    output_dtype
        the dtype of o: dtype (default; "bf16" for 8-bit inputs) or "f32"; for 8-bit
        inputs also "f16". Gradients take ``do`` in dtype.
    gradient
        the tensors whose gradients are compiled with the program: "q", "k", "v", names of
        captured tensors, "sinks", "scale"; True for all that have a gradient.
        ``fovea.compile`` then returns a kernel whose ``backward`` is the kernel of the
        gradients, saved in the same file. It reads ``lse``, which must be an output.
        ``fovea.gradient`` has more options.
    name
        the kernel's name, an identifier.

    The functions are called once, by ``attention``, on values that record arithmetic,
    comparisons, ``& | ~``, indexing of captured tensors, and the functions of
    ``fovea.math``. ``//`` and ``%`` round as in Python. Raises TraceError with the line of
    an operation that can't be recorded, ValueError for other wrong arguments.

    >>> def alibi(score, b, h, q_idx, kv_idx, slopes):
    ...     return score + slopes[h] * (kv_idx - q_idx)
    >>> spec = attention(alibi, lambda b, h, q, k: q >= k, head_dim=64, captures={"slopes": ("f32", (None,))})
    """
    if not isinstance(name, str) or not _NAME.match(name):
        raise ValueError(f"name must be an identifier, found {name!r}")
    if layout not in ("bhsd", "bshd"):
        raise ValueError(f"layout must be 'bhsd' or 'bshd', found {layout!r}")
    sequences = _sequences(sequences, _size("key_length", key_length))
    if queries not in ("dense", "packed"):
        raise ValueError(f"queries must be 'dense' or 'packed', found {queries!r}")
    packs_queries = queries == "packed" and sequences != "packed"
    if packs_queries and batch is not None:
        raise ValueError(f"with packed queries each call determines the number of sequences, found batch {batch}")
    if sequences == "packed" and batch not in (None, 1):
        raise ValueError(f"packed sequences are one batch entry, found batch {batch}")
    if _size("head_dim", head_dim) is None:
        raise ValueError("head_dim must be a positive integer, found None")
    if isinstance(scale, str) and scale != "runtime":
        raise ValueError(f"scale must be a number, None or 'runtime', found {scale!r}")
    if not isinstance(scale, str) and scale is not None and not abs(scale) <= sys.float_info.max:
        raise ValueError(f"scale must be finite, found {scale!r}")
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout must be a probability below 1, found {dropout!r}")
    if heads is not None and kv_heads and heads % kv_heads:
        raise ValueError(f"heads must be a multiple of kv_heads, found {heads} and {kv_heads}")
    if captures is not None and not isinstance(captures, collections.abc.Mapping):
        raise ValueError(f"captures must be a dictionary, {{name: (dtype, shape)}}, found {captures!r}")
    if most_queries is not None and not packs_queries:
        raise ValueError(f"most_queries needs queries='packed' and keys that are not packed, found {most_queries!r}")
    lists = _blocks(blocks, "packed" if packs_queries else sequences)
    scaled = scales_of(scales)
    declared: Dict[str, Capture] = {key: _capture(key, value) for key, value in (captures or {}).items()}
    regions: Dict[str, RegionBuilder] = {}
    roles: Sequence[Tuple[str, Optional[Callable], List[Tuple]]] = (
        ("score_mod", score_mod, score_arguments(declared)),
        ("mask_mod", mask_mod, mask_arguments(declared)),
    )
    for role, function, arguments in roles:
        if function is None:
            continue
        if not callable(function) or isinstance(function, Spec):
            raise TypeError(f"{role} must be a function, found {type(function).__name__}")
        regions[role] = RegionBuilder(arguments)
        trace(function, role, regions[role], len(arguments) - len(declared), list(declared))
    spec = make_spec(
        dtype=dtype_name(dtype), head_dim=head_dim, value_head_dim=_size("value_head_dim", value_head_dim),
        batch=_size("batch", batch), heads=_size("heads", heads), kv_heads=_size("kv_heads", kv_heads),
        query_length=_size("query_length", query_length), key_length=_size("key_length", key_length), scale=scale,
        lse=lse, layout=layout, sequences=sequences, packs_queries=packs_queries,
        most_queries=_size("most_queries", most_queries) or 0, blocks=lists, sinks=bool(sinks), dropout=float(dropout),
        invariant=bool(invariant), tf32=bool(tf32), scales=scaled, captures=declared,
        score_mod=regions.get("score_mod"), mask_mod=regions.get("mask_mod"), name=name,
        output_dtype=None if output_dtype is None else dtype_name(output_dtype), place=user_place(),
    )
    if gradient is None or gradient is False:
        return spec
    if isinstance(sequences, Paged):
        raise ValueError("pages have no gradients: sequences may share a page")
    if packs_queries:
        raise ValueError("packed queries have gradients only with sequences='packed', whose keys are packed, too")
    return _with_gradient(spec, gradient, lse)


def _with_gradient(spec: Spec, by: Any, lse: bool) -> Spec:
    if not lse:
        raise ValueError("gradients need the log-sum-exp of the forward pass, found lse=False")
    if isinstance(by, str) or (by is not True and not isinstance(by, collections.abc.Iterable)):
        raise TypeError(f"gradient must be True or a list of names, found {by!r}")
    if by is not True and not (by := tuple(by)):
        raise ValueError("gradient must name a tensor, found none; None means no gradients")
    return dataclasses.replace(spec, backward=gradient_of(spec, None if by is True else by))
