"""Attention over a KV cache, contiguous or in pages."""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, Optional, Tuple, Union

import torch

from ..frontend._program import LISTED_PAGES
from ._attention import _program
from ._quantized import Scales, scales_of
from .autograd._derivatives import needs_gradient
from .cache import _calls
from .cache._programs import Facts, Window, known_families
from .ops import _autocast, _op
from .ops._cache_lengths import as_int32
from .ops._checks import (
    KINDS, LEVELS, NARROW, allows_tf32, check_sinks, check_tensor, checked_backend, checked_options, checked_scale, hints_of, refusal, sinks_as_float,
)
from .ops._launches import is_compiling
from .ops._orders import PACKED_ROWS, ROWS_FIRST, heads_first
from .ops._out import launch_into, run_into
from .ops._padding import GRANULE
from .trace._dynamo import uncompiled
from .trace._expressions import folded

#: Pages of each sequence: a table, or a list for all sequences and its offsets.
PageTable = Union[torch.Tensor, Tuple[torch.Tensor, torch.Tensor]]
#: Most queries whose heads are packed (``kMaxPackedQueries`` of the compiler).
_MOST_PACKED = 16


def attention_with_kvcache(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    *,
    lengths: torch.Tensor,
    page_table: Optional[PageTable] = None,
    cu_seq_q: Optional[torch.Tensor] = None,
    max_q: Optional[int] = None,
    causal: bool = False,
    score_mod: Optional[Callable] = None,
    mask_mod: Optional[Callable] = None,
    window: Optional[Window] = None,
    sinks: Optional[torch.Tensor] = None,
    scales: Optional[Mapping[str, torch.Tensor]] = None,
    output_dtype: Optional[torch.dtype] = None,
    scale: Optional[float] = None,
    return_lse: bool = False,
    invariant: bool = False,
    out: Optional[torch.Tensor] = None,
    kernel_options: Optional[Dict[str, Any]] = None,
    backend: str = "cuda",
) -> Any:
    """Attention of new queries over a KV cache, which already contains their keys and values.

    q
        (batch, queries, heads, head_dim), bfloat16, float16, float32, or on Hopper
        float8_e4m3fn. The queries are the last
        positions of their sequences. With ``cu_seq_q`` (queries of all sequences, heads,
        head_dim).
    k_cache, v_cache
        with ``page_table`` the pools of pages, (pages, page, kv_heads, head_dim), of any number
        of rows per page; multiples of 8 are faster, and divisors and multiples of 64 the
        fastest. Without, (batch, keys, kv_heads, head_dim). heads is a multiple of kv_heads. All strides work if rows are contiguous;
        ``.transpose(1, 2)`` of (pages, kv_heads, page, head_dim) is read in place.
    lengths
        (batch,), int32: the number of keys of each sequence. Here and below int64 works, too:
        each call then casts the tensor.
    page_table
        (batch, pages of a sequence), int32: key j of sequence b is row ``j % page`` of page
        ``page_table[b, j // page]``. Sequences may share pages. Entries beyond a sequence's
        last page may have any value. Or a pair (indices, indptr), int32, of all pages and of
        (batch + 1,) offsets: the pages of sequence b are ``indices[indptr[b] : indptr[b + 1]]``.
    cu_seq_q
        (batch + 1,), int32: queries are packed; the first query of each sequence, and the end
        of the last. Sequences may have any numbers of queries, also none, so that one call
        has chunks of prompts and sequences that are decoded. Its values are not checked on
        CUDA; rows of the output outside of all sequences are unspecified.
    max_q
        with ``cu_seq_q``, the largest number of queries of a sequence: a hint that selects a
        kernel for few queries. Results depend on it by rounding only.
    causal
        whether query i of a sequence attends to the keys up to its own position,
        ``lengths[b] - queries + i``, where queries are those of the sequence.
    window
        (left, right): the query at position p attends to the keys p - left to p + right. None
        for either leaves that side open.
    score_mod, mask_mod
        as for ``flex_attention``, in addition to ``causal`` and ``window``. ``q_idx`` counts
        the queries of the call, ``kv_idx`` the keys of the sequence.
    scales, output_dtype
        for caches of float8_e4m3fn, as for ``flex_attention``; batch is that of the sequences.
        q is float8_e4m3fn, too.
    sinks, scale, return_lse, kernel_options, backend
        as for ``flex_attention``. The log-sum-exp is (batch, heads, queries), or (heads,
        queries of all sequences).
    invariant
        whether the bits of a sequence's results depend only on its own queries and keys, and
        not on the other sequences of the call, on ``max_q`` or on the GPU's number of SMs. By
        default they also depend on how the keys of all sequences are shared among CTAs.
    out
        a tensor for the output, with its shape, dtype and device, that shares no memory with
        q and the caches. The kernel writes into it, so its rows must be contiguous and start
        at multiples of 16 bytes.

    Returns the output (``out``, if it is given), with q's shape except for value_head_dim, alone
    or with the log-sum-exp.
    Lengths and page tables are read on the device: one kernel serves all of them, also in a
    CUDA graph. On CUDA the call does not check their values; lengths are clamped to the room
    in the cache and page numbers to the pool, so no value reads outside of a tensor. On the
    CPU such values raise ValueError. There are no gradients. torch.compile keeps the call in its
    graph. Under ``torch.autocast`` q is cast to autocast's dtype; the caches must have it, since
    a cast would copy them.
    """
    backend = checked_backend(backend)
    pages = _pages(page_table)
    given, packed, sides = q, cu_seq_q is not None, _checked_window(window, causal)
    if not isinstance(invariant, bool):
        raise TypeError(f"invariant must be True or False, found {invariant!r}")
    # The hint comes from all sequences.
    most = _most_queries(max_q) if packed and not invariant else 0
    narrow, quantized = getattr(q, "dtype", None) == NARROW, Scales()
    if narrow or scales is not None or output_dtype is not None:
        _check_tensors(q, k_cache, v_cache, packed, backend)
        check_tensor("lengths", lengths)
        quantized = scales_of(q, v_cache, lengths.numel(), k_cache.shape[2], scales, output_dtype)
    form = None
    if not is_compiling() and (narrow or not _autocast.is_any_enabled()) and backend == "cuda":
        form = _form(sides, sinks, scale, return_lse, kernel_options, tuple(pages), packed, most, invariant, out is None, quantized)
        others = [one for one in (out, cu_seq_q, *pages.values(), lengths, sinks, *quantized.tensors) if one is not None]
        again = None if form is None else _repeat(form, q, k_cache, v_cache, score_mod, mask_mod, tuple(others))
        if again is not None:
            return again if return_lse else again[0]
    if not narrow and _autocast.is_any_enabled():
        q, = _autocast.cast(q)
    _check_tensors(q, k_cache, v_cache, packed, backend)
    if out is not None:
        _check_out(out, q, v_cache, quantized.output or q.dtype)
    own = sinks_as_float(sinks)
    check_sinks(own, q.shape[-2], q.device)
    sinked, own = bool(own), own + quantized.tensors
    lists = _checked_integers(q, k_cache, lengths, pages, cu_seq_q)
    for name, function in (("score_mod", score_mod), ("mask_mod", mask_mod)):
        if function is not None and not callable(function):
            raise TypeError(f"{name} must be a function, found {type(function).__name__}")
    # The heads that share keys become rows of one tile if the program knows these sizes.
    packs = packed or q.shape[1] <= _MOST_PACKED
    heads = (_known(q.shape[-2]), _known(k_cache.shape[2])) if packs else None
    # Dynamo would make a symbol of a float that is a default.
    facts = Facts(q.dtype, q.device, _known(q.shape[-1]), _known(v_cache.shape[3]), checked_scale(scale), torch.is_grad_enabled(),
                  return_lse, dropout=0.0, heads=heads, sequences="lengths", window=sides,
                  queries=_known(q.shape[1]) if packs and not packed else None, sinks=sinked,
                  page=_known(k_cache.shape[1]) if pages else None, listed=len(pages) == 2, packs_queries=packed,
                  most_queries=most, invariant=invariant, tf32=allows_tf32(q.dtype), scales=quantized.kinds,
                  output=quantized.output)
    program, known = _program(score_mod, mask_mod, q, facts)
    if program is None:
        return uncompiled(attention_with_kvcache)(
            given, k_cache, v_cache, lengths=lengths, page_table=page_table, cu_seq_q=cu_seq_q, max_q=max_q,
            causal=causal, score_mod=score_mod, mask_mod=mask_mod, window=window, sinks=sinks, scales=scales,
            output_dtype=output_dtype, scale=scale, return_lse=return_lse,
            invariant=invariant, out=out, kernel_options=kernel_options, backend=backend)
    if needs_gradient(q, k_cache, v_cache, *own, *program.captures, *(() if out is None else (out,))):
        raise NotImplementedError("attention_with_kvcache has no gradients: call it under torch.no_grad()")
    order = PACKED_ROWS if packed else ROWS_FIRST
    schedule, recurrence = checked_options(kernel_options)
    query, key, value = map(heads_first, (q, k_cache, v_cache))
    call = _op.Call([*own, *[folded(one) for one in program.captures]], lists, program.text, return_lse, schedule=schedule,
                    recurrence=recurrence, level=LEVELS.get(backend, "attn"))
    outs = () if out is None else (out,)
    if backend != "cuda" or not _calls.is_plain(q, k_cache, v_cache) or not all([type(one) is torch.Tensor for one in outs]):
        if out is not None:
            o, lse = out, launch_into(query, key, value, heads_first(out), call)
        else:
            o, lse = torch.ops.fovea.attention(query, key, value, *call)
            o = order.output(o)
        return (o, order.lse(lse)) if return_lse and lse is not None else o
    tensors = (*call.blocks, *call.captures)
    run = _op.launcher(call, query.device.index).prepared(q, k_cache, v_cache, tensors, out, order).run
    if out is not None:
        run = run_into(run, query, key, value, heads_first(out))
    if known is not None and form is not None:
        _calls.remember(known, form, q, k_cache, v_cache, call._replace(blocks=(*outs, *call.blocks)), run)
    o, lse = run(q, k_cache, v_cache, (*outs, *tensors))
    return (o, lse) if return_lse else o


def _form(window: Optional[Window], sinks: Any, scale: Any, return_lse: bool, kernel_options: Any, pages: Tuple[str, ...], packed: bool,
          most: int, invariant: bool, allocates: bool, quantized: Scales) -> Optional[Tuple[Any, ...]]:
    """The properties of a call besides functions and tensors; None if they are not hashable."""
    hints = hints_of(kernel_options) if kernel_options else ()
    if hints is None or not (scale is None or isinstance(scale, float)) or not isinstance(return_lse, bool):
        return None
    # The sinks of some dtypes are copied at each call.
    if sinks is not None and (type(sinks) is not torch.Tensor or sinks.dtype != torch.float32):
        return None
    options = "cache", scale, return_lse, hints, sinks is None, window, pages, packed, most, invariant, allocates, quantized[1:]
    return _calls.form_of(options)


def _repeat(form: Tuple[Any, ...], q: Any, k_cache: Any, v_cache: Any, score_mod: Any, mask_mod: Any, others: Tuple[Any, ...]
            ) -> Any:
    """The results of a call of the same form as an earlier one, or None."""
    for one in (q, k_cache, v_cache, *others):
        if type(one) is not torch.Tensor:
            return None
    found = _calls.find(known_families(score_mod, mask_mod), q, k_cache, v_cache, form, others)
    if found is None:
        return None
    run, others = found
    return run(q, k_cache, v_cache, others)


def _pages(page_table: Optional[PageTable]) -> Dict[str, Any]:
    """The tensors that locate pages, by the names of the kernel's operands."""
    if page_table is None:
        return {}
    if not isinstance(page_table, tuple):
        return {"page_table": page_table}
    if len(page_table) != 2:
        raise ValueError(f"page_table must be a tensor or (indices, indptr), found {len(page_table)} tensors")
    return dict(zip(LISTED_PAGES, page_table))


def _most_queries(max_q: Optional[int]) -> int:
    """A hint for the kernel: few numbers, so that there are few kernels; 0 for many queries."""
    if max_q is None:
        return 0
    if isinstance(max_q, bool) or not isinstance(max_q, int) or max_q < 0:
        raise ValueError(f"max_q must be an integer of at least 0, or None, found {max_q!r}")
    return next((most for most in (1, 4, _MOST_PACKED) if max_q <= most), 0)


def _known(size: int) -> int:
    """A size as a number: for a symbol, torch.compile guards the length of a range."""
    return len(range(size))


def _checked_window(window: Optional[Window], causal: bool) -> Optional[Window]:
    if window is None:
        return (None, 0) if causal else None
    if not isinstance(window, tuple) or len(window) != 2:
        raise ValueError(f"window must be (left, right), found {window!r}")
    for one in window:
        if one is not None and (isinstance(one, bool) or not isinstance(one, int) or one < 0):
            raise ValueError(f"window must have integers of at least 0, or None, found {window!r}")
    left, right = (None if one is None else _known(one) for one in window)
    right = 0 if causal else right
    return None if left is None and right is None else (left, right)


def _check_class(name: str, tensor: Any) -> None:
    check_tensor(name, tensor)
    refused = refusal(tensor)
    if refused is not None:
        raise TypeError(f"{name} is {refused}")


def _check_tensors(q: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor, packed: bool, backend: str) -> None:
    tensors = (("q", q), ("k_cache", k_cache), ("v_cache", v_cache))
    for name, one in tensors:
        _check_class(name, one)
        if one.dim() != (3 if packed and name == "q" else 4):
            hint = "3 dimensions with cu_seq_q" if packed and name == "q" else "4 dimensions"
            raise ValueError(f"{name} must have {hint}, found {one.dim()}")
        if one.dtype != q.dtype:
            cast = "; torch.autocast casts only q, since casts of the caches would copy them" * _autocast.is_any_enabled()
            raise ValueError(f"q, k_cache and v_cache must be of one dtype, found {q.dtype} and {one.dtype}{cast}")
        if one.device != q.device:
            raise ValueError(f"q, k_cache and v_cache must be on one device, found {q.device} and {one.device}")
        if one.shape[-1] % GRANULE:
            raise ValueError(f"head dims must be multiples of {GRANULE}, since padding would copy the cache, found "
                             f"{one.shape[-1]} for {name}")
    device = "cuda" if backend == "cuda" else "cpu"
    if q.device.type != device:
        raise ValueError(f"backend=\"{backend}\" runs on {device}, found q on {q.device}")
    if q.dtype not in (*KINDS, NARROW):
        raise NotImplementedError(f"q is of {q.dtype}, expected {', '.join(map(str, (*KINDS, NARROW)))}")
    if q.shape[-1] != k_cache.shape[3]:
        raise ValueError(f"q and k_cache must have one head_dim, found {q.shape[-1]} and {k_cache.shape[3]}")
    if k_cache.shape[:3] != v_cache.shape[:3]:
        raise ValueError(f"k_cache and v_cache must agree except in head_dim, found {list(k_cache.shape)} and {list(v_cache.shape)}")
    heads, kv_heads = q.shape[-2], k_cache.shape[2]
    if not kv_heads or heads % kv_heads:
        raise ValueError(f"the heads of q must be a multiple of those of k_cache, found {heads} and {kv_heads}; shapes are "
                         "(batch, queries, heads, head_dim) and (pages, page, kv_heads, head_dim)")


def _check_out(out: torch.Tensor, q: torch.Tensor, v_cache: torch.Tensor, dtype: torch.dtype) -> None:
    """Checks what is known while torch.compile traces; the op checks addresses."""
    _check_class("out", out)
    shape = (*q.shape[:-1], v_cache.shape[3])
    if tuple(out.shape) != shape:
        raise ValueError(f"out must have the shape of the output, {list(shape)}, found {list(out.shape)}")
    if out.dtype != dtype:
        raise ValueError(f"out must have the output's dtype, {dtype}, found {out.dtype}")
    if out.device != q.device:
        raise ValueError(f"out is on {out.device}, but q is on {q.device}")


#: The first dimension, beyond the batch, and the shape of integer tensors.
_SHAPES = {"lengths": (0, "(batch,)"), "page_table": (0, "(batch, pages of a sequence)"), "page_indptr": (1, "(batch + 1,)"),
           "page_indices": (None, "(pages of all sequences,)")}


def _checked_integers(q: torch.Tensor, k_cache: torch.Tensor, lengths: torch.Tensor, pages: Dict[str, torch.Tensor],
                      cu_seq_q: Optional[torch.Tensor]) -> Tuple[torch.Tensor, ...]:
    """The kernel's integer tensors. The op checks their values on the CPU."""
    given = {**pages, "lengths": lengths}
    if cu_seq_q is not None:
        _check_offsets(cu_seq_q, q)
    batch, rows = q.shape[0] if cu_seq_q is None else cu_seq_q.shape[0] - 1, k_cache.shape[1]
    for name, one in given.items():
        _check_integers(name, one, q)
        more, shape = _SHAPES[name]
        if one.dim() != 1 + (name == "page_table") or more is not None and one.shape[0] != batch + more:
            raise ValueError(f"{name} must have the shape {shape} with batch {batch}, found {list(one.shape)}")
    if not pages:
        if k_cache.shape[0] != batch:
            raise ValueError(f"without page_table, k_cache must have one batch entry per sequence, found {k_cache.shape[0]} and {batch}")
    else:
        name, one = next(iter(pages.items()))
        if not k_cache.shape[0] or not rows or not one.shape[-1]:
            raise ValueError(f"k_cache and {name} must have pages, found {list(k_cache.shape)} and {list(one.shape)}")
    lists = tuple(given.values())
    return tuple(map(as_int32, lists if cu_seq_q is None else (cu_seq_q, *lists)))


def _check_integers(name: str, one: torch.Tensor, q: torch.Tensor) -> None:
    _check_class(name, one)
    if one.dtype not in (torch.int32, torch.int64):
        raise ValueError(f"{name} must be of torch.int32 or torch.int64, found {one.dtype}")
    if one.device != q.device:
        raise ValueError(f"{name} is on {one.device}, but q is on {q.device}")


def _check_offsets(cu_seq_q: torch.Tensor, q: torch.Tensor) -> None:
    _check_integers("cu_seq_q", cu_seq_q, q)
    if cu_seq_q.dim() != 1 or not cu_seq_q.shape[0]:
        raise ValueError(f"cu_seq_q must have the shape (batch + 1,), found {list(cu_seq_q.shape)}")


__all__ = ["attention_with_kvcache"]
