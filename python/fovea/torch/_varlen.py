"""Attention of packed sequences with PyTorch's signature."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Tuple

import torch

from ._attention import _facts, _program
from ._kvcache import attention_with_kvcache
from .autograd._derivatives import needs_gradient
from .cache import _calls
from .cache._calls import find, form_of
from .cache._programs import Window, known_families
from .ops import _autocast, _op
from .ops._checks import (
    LEVELS, check, check_sinks, check_tensor, check_tensors, checked_backend, checked_options, hints_of, refusal, sinks_as_float,
)
from .ops._launches import is_compiling
from .trace._dynamo import uncompiled


def varlen_attn(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    cu_seq_q: torch.Tensor,
    cu_seq_k: Optional[torch.Tensor],
    max_q: int,
    max_k: int,
    *,
    return_aux: Any = None,
    scale: Optional[float] = None,
    window_size: Tuple[int, int] = (-1, -1),
    enable_gqa: bool = False,
    seqused_k: Optional[torch.Tensor] = None,
    block_table: Optional[torch.Tensor] = None,
    num_splits: Optional[int] = None,
    score_mod: Optional[Callable] = None,
    mask_mod: Optional[Callable] = None,
    sinks: Optional[torch.Tensor] = None,
    kernel_options: Optional[Dict[str, Any]] = None,
    backend: str = "cuda",
) -> Any:
    """``torch.nn.attention.varlen.varlen_attn``, compiled by Fovea: attention of sequences that are
    packed end to end.

    query
        (queries of all sequences, heads, head_dim), bfloat16, float16 or float32, on a CUDA device.
    key, value
        (keys of all sequences, kv_heads, head_dim) and (keys of all sequences, kv_heads,
        value_head_dim), with query's dtype and device.
    cu_seq_q, cu_seq_k
        (sequences + 1,), int32, on query's device: the first row of each sequence, and the
        end of the last. A call reads them on the device, so they may change under a CUDA
        graph. Their values are not checked on CUDA.
    max_q, max_k
        the lengths of the longest sequences. The kernel reads all lengths, so that no result
        depends on them; max_q tells whether a kernel for few queries is best for pages.
    return_aux
        PyTorch's AuxRequest: with ``lse``, the log-sum-exp is returned, too: (heads, queries
        of all sequences), float32, natural, as PyTorch's function returns it.
    scale
        the scale of the scores, 1/sqrt(head_dim) by default.
    window_size
        (left, right): the query at position p attends to the keys p - left to p + right of
        its sequence; -1 leaves that side open. The last query of a sequence has the position
        of its last key, so that (-1, 0) is causal and aligned to the lower right.
    enable_gqa
        whether heads may be a multiple of kv_heads.
    block_table, seqused_k
        keys in pages: key and value are pools, (pages, page, kv_heads, head_dim), cu_seq_k is
        None; block_table is (sequences, pages of a sequence), int32, and seqused_k
        (sequences,), int32, the number of keys of each. As ``attention_with_kvcache``, whose
        errors it raises, without gradients. seqused_k alone is not supported.
    num_splits
        1: the bits of a sequence's result do not depend on other sequences, which is always so
        without pages. With pages 1 is ``invariant`` of ``attention_with_kvcache``; by default
        they may depend on how the keys of all sequences are shared among CTAs.
    score_mod, mask_mod
        as for ``flex_attention``, in addition to ``window_size``: ``b`` is the index of the
        sequence, and positions count from its start. Not in PyTorch's function.
    sinks, kernel_options, backend
        as for ``flex_attention``. Not in PyTorch's function.

    Returns the output, (queries of all sequences, heads, value_head_dim), in query's dtype,
    alone or with the log-sum-exp. Queries without visible keys have output 0. Gradients flow
    as for ``flex_attention``; torch.compile keeps the call in its graph.

    Raises the errors of ``flex_attention``; NotImplementedError for ``seqused_k`` without
    ``block_table`` and other ``num_splits``; ValueError for offsets of another dtype or shape.

    >>> out = varlen_attn(q, k, v, cu_seq, cu_seq, longest, longest, window_size=(-1, 0))  # doctest: +SKIP
    """
    if _autocast.is_any_enabled():
        query, key, value = _autocast.cast(query, key, value)
    own, window = sinks_as_float(sinks), _checked_window(window_size)
    _check_supported(seqused_k, block_table, cu_seq_k, num_splits)
    wants_lse = return_aux is not None and bool(return_aux.lse)
    if block_table is not None:
        assert seqused_k is not None
        if not enable_gqa and query.dim() == 3 and key.dim() == 4 and query.shape[1] != key.shape[2]:
            raise ValueError(f"query has {query.shape[1]} heads, but key has {key.shape[2]}: that needs enable_gqa=True")
        return attention_with_kvcache(
            query, key, value, lengths=seqused_k, page_table=block_table, cu_seq_q=cu_seq_q, window=window, scale=scale,
            score_mod=score_mod, mask_mod=mask_mod, sinks=sinks, return_lse=wants_lse,
            invariant=num_splits == 1, max_q=max_q, kernel_options=kernel_options, backend=backend)
    given = query, key, value, cu_seq_q, cu_seq_k
    _check_shapes(*given, enable_gqa)
    assert cu_seq_k is not None
    query, key, value = (one.transpose(0, 1).unsqueeze(0) for one in (query, key, value))
    lists = (cu_seq_q, cu_seq_k)
    hints: Any = None if is_compiling() else hints_of(kernel_options) if kernel_options else ()
    options = (scale, enable_gqa, wants_lse, hints, len(own), window)
    repeats = backend == "cuda" and hints is not None
    if repeats:
        found = find(known_families(score_mod, mask_mod), query, key, value, form_of(options, None, None, len(lists)), lists + own)
        if found is not None:
            again, others = found
            return _result(again(query, key, value, others), wants_lse)
    check(query, key, value, enable_gqa, checked_backend(backend))
    check_sinks(own, query.shape[1], query.device)
    for name, function in (("score_mod", score_mod), ("mask_mod", mask_mod)):
        if function is not None and not callable(function):
            raise TypeError(f"{name} must be a function, found {type(function).__name__}")
    derived, sinked = needs_gradient(query, key, value, *own), bool(own)
    facts = _facts(query, value, scale, wants_lse or derived, None, 0.0, "packed", sinked, window)
    program, known = _program(score_mod, mask_mod, query, facts)
    if program is not None and not derived and needs_gradient(*program.captures):
        derived = True
        facts = _facts(query, value, scale, True, None, 0.0, "packed", sinked, window)
        program, known = _program(score_mod, mask_mod, query, facts)
    if program is None:
        return uncompiled(varlen_attn)(
            *given, max_q, max_k, return_aux=return_aux, scale=scale, window_size=window_size, enable_gqa=enable_gqa,
            score_mod=score_mod, mask_mod=mask_mod, sinks=sinks, kernel_options=kernel_options, backend=backend)
    schedule, recurrence = checked_options(kernel_options)
    call = _op.Call([*own, *program.captures], lists, program.text, wants_lse or derived, schedule=schedule,
                    recurrence=recurrence)
    plain = backend == "cuda" and _calls.is_plain(query, key, value)
    form = form_of(options, None, None, len(lists)) if plain and repeats else None
    result = _calls.run(query, key, value, call, plain, LEVELS.get(backend, "attn"), known, form, derived=derived)
    return _result(result, wants_lse)


def _result(made: Tuple[torch.Tensor, Optional[torch.Tensor]], wants_lse: bool) -> Any:
    # The derivative of squeeze is a view; that of an index copies.
    o = made[0].squeeze(0).transpose(0, 1)
    if not wants_lse:
        return o
    assert made[1] is not None
    return o, made[1].squeeze(0)


def _checked_window(window_size: Any) -> Optional[Window]:
    """The window with None for an open side; None if both are open."""
    if not isinstance(window_size, (tuple, list)) or len(window_size) != 2:
        raise ValueError(f"window_size must be (left, right), found {window_size!r}")
    sides = []
    for one in window_size:
        if isinstance(one, bool) or not isinstance(one, int) or one < -1:
            raise ValueError(f"window_size must have integers of at least 0, or -1 for an open side, found {tuple(window_size)}")
        # The program depends on the number, which may be a symbol of torch.compile; the length of a range guards it.
        sides.append(None if one == -1 else len(range(one)))
    return None if sides[0] is None and sides[1] is None else (sides[0], sides[1])


def _check_supported(seqused_k: Any, block_table: Any, cu_seq_k: Any, num_splits: Any) -> None:
    if block_table is None and seqused_k is not None:
        raise NotImplementedError("seqused_k can't be given without block_table: packed keys end where cu_seq_k says")
    if block_table is not None and seqused_k is None:
        raise ValueError("block_table needs seqused_k, the number of keys of each sequence, found None")
    if block_table is not None and cu_seq_k is not None:
        raise ValueError("cu_seq_k must be None with block_table: keys are in pages")
    if num_splits is not None and num_splits != 1:
        raise NotImplementedError(f"num_splits is {num_splits}, but a kernel finds the parts of its keys itself: expected None or 1")


def _check_shapes(query: Any, key: Any, value: Any, cu_seq_q: Any, cu_seq_k: Any, enable_gqa: bool) -> None:
    """Raises TypeError, ValueError for tensors that don't match; ``check`` checks dtypes and
    devices of query, key and value."""
    check_tensors(query, key, value)
    for name, one in (("query", query), ("key", key), ("value", value)):
        if one.dim() != 3:
            raise ValueError(f"{name} must have 3 dimensions (rows of all sequences, heads, head_dim), found {one.dim()}")
    if key.shape[:2] != value.shape[:2]:
        raise ValueError(f"key and value must agree except in head_dim, found {list(key.shape)} and {list(value.shape)}")
    if not enable_gqa and query.shape[1] != key.shape[1]:
        raise ValueError(f"query has {query.shape[1]} heads, but key has {key.shape[1]}: that needs enable_gqa=True")
    if key.shape[1] == 0 or query.shape[1] % key.shape[1]:
        raise ValueError(f"query heads must be a multiple of key heads, found {query.shape[1]} and {key.shape[1]}")
    for name, one in (("cu_seq_q", cu_seq_q), ("cu_seq_k", cu_seq_k)):
        if one is None:
            raise ValueError(f"{name} is None, expected a tensor: keys are packed without block_table")
        check_tensor(name, one)
        refused = refusal(one)
        if refused is not None:
            raise TypeError(f"{name} is {refused}")
        if one.dtype != torch.int32:
            raise ValueError(f"{name} must be of torch.int32, found {one.dtype}")
        if one.device != query.device:
            raise ValueError(f"{name} is on {one.device}, but query is on {query.device}")
        if one.dim() != 1 or one.shape[0] < 1:
            raise ValueError(f"{name} must have the shape (sequences + 1,), found {list(one.shape)}")
    if cu_seq_q.shape != cu_seq_k.shape:
        raise ValueError("cu_seq_q and cu_seq_k must have the same number of sequences, found "
                         f"{cu_seq_q.shape[0] - 1} and {cu_seq_k.shape[0] - 1}")


__all__ = ["varlen_attn"]
