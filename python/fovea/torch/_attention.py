"""Attention with PyTorch's signatures."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, Mapping, Optional, Tuple

import torch

from .ops import _autocast, _block_mask, _nested, _op
from ._quantized import Scales, scales_of
from .cache import _calls
from .cache._calls import find, form_of
from .ops._checks import (
    KINDS, LEVELS, NARROW, allows_tf32, check, check_sinks, check_tensor, check_tensors, checked_backend, checked_options, checked_scale,
    hints_of, refusal, sinks_as_float,
)
from .trace._dynamo import program_while_compiling, uncompiled
from .autograd._derivatives import check_tangents, needs_gradient
from .ops._dropout import dropout_numbers
from .ops._launches import is_compiling
from .ops._padding import widths_of
from .cache._programs import Facts, Known, Program, Window, captures_of, known_families, program_of
from .ops._shapes import as_before, as_four
from .trace._attn_mask import causal, causal_bias, check_mask, mask_family, mask_program


def _known_heads(query: torch.Tensor, value: torch.Tensor) -> Optional[Tuple[int, int]]:
    """The number of query and key heads, if the program depends on them: with GQA and
    deterministic gradients, a tile of keys iterates over the heads of a group within a block."""
    if query.dim() != 4 or not (torch.is_grad_enabled() and torch.are_deterministic_algorithms_enabled()):
        return None
    heads, kv_heads = (len(range(one.shape[1])) for one in (query, value))
    return (heads, kv_heads) if heads != kv_heads else None


def _facts(query: torch.Tensor, value: torch.Tensor, scale: Optional[float], lse: bool, blocks: Optional[_block_mask.Form],
           dropout: float, sequences: str = "dense", sinks: bool = False,
           window: Optional[Window] = None, scales: Scales = Scales()) -> Facts:
    # For a symbolic size, torch.compile guards the length of a range; int() adds no guard.
    head_dim, value_head_dim = (len(range(one.shape[-1])) for one in (query, value))
    widths, scale = widths_of(head_dim, value_head_dim), checked_scale(scale)
    if scale is None and widths.head_dim != head_dim and head_dim:
        scale = head_dim ** -0.5
    return Facts(query.dtype, query.device, widths.head_dim, widths.value_head_dim, scale,
                 torch.is_grad_enabled(), lse, blocks, dropout, _known_heads(query, value), sequences, window,
                 sinks=sinks, tf32=allows_tf32(query.dtype), scales=scales.kinds, output=scales.output)


def _program(score_mod: Optional[Callable], mask_mod: Optional[Callable], query: torch.Tensor, facts: Facts
             ) -> Tuple[Optional[Program], Optional[Known]]:
    """The program, or None if torch.compile must leave the call out of its graph."""
    if is_compiling():
        return program_while_compiling(score_mod, mask_mod, query, facts), None
    return program_of(score_mod, mask_mod, facts)


# --- FlexAttention ------------------------------------------------------------


def flex_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    score_mod: Optional[Callable] = None,
    block_mask: Any = None,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Optional[Dict[str, Any]] = None,
    *,
    return_aux: Any = None,
    sinks: Optional[torch.Tensor] = None,
    scales: Optional[Mapping[str, torch.Tensor]] = None,
    output_dtype: Optional[torch.dtype] = None,
    backend: str = "cuda",
) -> Any:
    """``torch.nn.attention.flex_attention.flex_attention``, compiled by Fovea.

    query
        (batch, heads, queries, head_dim), bfloat16, float16 or float32, on a CUDA device. All
        strides work; a copy is avoided if rows are contiguous and aligned to 16 bytes.
    key, value
        (batch or 1, kv_heads, keys, head_dim) and (batch or 1, kv_heads, keys,
        value_head_dim), with query's dtype and device. All three may be nested tensors of
        layout torch.jagged; each sequence then attends to its own keys, and the functions
        get positions within the sequence.
    score_mod(score, b, h, q_idx, kv_idx)
        returns the new score, from a float32 scalar and int64 scalars. Captured tensors are
        read in the kernel, with their contents at each call.
    block_mask
        a BlockMask: its lists select blocks, and its mask_mod selects keys in partial
        blocks. Key block sizes that are multiples of 16 are faster. A mask_mod, a function
        of (b, h, q_idx, kv_idx), is accepted in its place; the compiler then finds the
        blocks.
    scale
        the scale of the scores, 1/sqrt(head_dim) by default.
    enable_gqa
        whether heads may be a multiple of kv_heads.
    return_lse, return_aux
        whether to return the log-sum-exp of the scores, too: (batch, heads, queries),
        float32, natural. ``return_aux`` is PyTorch's AuxRequest; its max_scores is not
        supported.
    sinks
        (heads,), float32 (bfloat16 and float16 are converted at each call): for each query
        head the score of one more key, whose value is 0. It is part of the softmax's sum and
        of the log-sum-exp; it is neither scaled, nor masked, nor changed by ``score_mod``.
        The kernel of the gradients computes its gradient. Not in PyTorch's function.
    scales, output_dtype
        for query, key and value of float8_e4m3fn, on Hopper and without gradients. ``scales``
        are float32 tensors by name, all optional: "q", "k" and "v", of (batch or 1, kv_heads
        or 1), multiply the elements; "v_mean", with value_head_dim columns in addition, is added
        to those of value. They must be positive. ``quantize_attention_inputs`` makes them.
        ``output_dtype`` is bfloat16 (default), float16 or float32. Head dims are multiples of
        16. Autocast does not cast float8 tensors. Not in PyTorch's function.
    kernel_options
        "schedule" (also as a dictionary, {"tile_n": 64}) and "recurrence", as in
        ``fovea.compile``. PyTorch's options, with and without the prefixes ``fwd_`` and
        ``bwd_``, are hints for its own kernels and are ignored; the log ("fovea", INFO)
        notes that once.
    backend
        "cuda"; "interpret", which runs on tensors in host memory, also float32, slowly, for
        tests (also at a level: "interpret:tile", "interpret:warp"); "ptx", which executes
        and checks the PTX for sm_90a (or "ptx:sm_80") on the CPU, see ``Kernel.interpret``.

    Returns the output (batch, heads, queries, value_head_dim), in query's dtype, alone or
    with the log-sum-exp (or AuxOutput). A query without visible keys has output 0 and
    log-sum-exp -inf, or its head's sink. The first call with a new function compiles a kernel, which serves all
    lengths. The launch is on the current stream and does not synchronise, so that calls can
    be captured in a CUDA graph. Under ``torch.autocast`` query, key and value are cast as
    PyTorch casts them.

    Gradients flow to query, key, value, sinks and captured tensors, from the output and the
    log-sum-exp. The forward pass saves these tensors, the output and the log-sum-exp. There
    are no second derivatives.

    Raises TraceError, with the line, for a function that can't be compiled; CompileError
    for a variant that can't be compiled or a head_dim above 256; LaunchError for errors of
    the device; ValueError for shapes that don't match; NotImplementedError for other
    devices and dtypes, and in the backward pass for the few gradients that are not
    supported (docs/Guides/PyTorch.md lists them).

    >>> def alibi(score, b, h, q_idx, kv_idx):
    ...     return score + slopes[h] * (kv_idx - q_idx)
    >>> out = flex_attention(query, key, value, score_mod=alibi)  # doctest: +SKIP
    """
    narrow = getattr(query, "dtype", None) == NARROW
    if not narrow and _autocast.is_any_enabled():
        query, key, value = _autocast.cast(query, key, value)
    own, quantized = sinks_as_float(sinks), Scales()
    if narrow or scales is not None or output_dtype is not None:
        check(query, key, value, enable_gqa, checked_backend(backend), (*KINDS, NARROW))
        quantized = scales_of(query, value, key.shape[0], key.shape[1], scales, output_dtype)
        if needs_gradient(query, key, value, *own, *quantized.tensors):
            raise NotImplementedError(f"attention of {NARROW} has no gradients: call it under torch.no_grad()")
    sinks_of_call, own = own, own + quantized.tensors
    wants_lse = return_lse if return_aux is None else return_lse or return_aux.lse
    # Options may hold symbols while torch.compile traces, and comparing them would add guards.
    hints: Any = None if is_compiling() else hints_of(kernel_options) if kernel_options else ()
    options = (scale, enable_gqa, wants_lse, hints, len(sinks_of_call), quantized[1:])
    nested = type(query) is not torch.Tensor and _nested.is_any_nested(query, key, value)
    repeats = (backend == "cuda" and hints is not None and not nested
               and (return_aux is None or not return_lse and not return_aux.max_scores))
    if repeats:
        read = None if block_mask is None else _block_mask.known(block_mask)
        mask_mod, blocks, lengths, lists, transposed = (block_mask, None, None, (), ()) if read is None else read
        if transposed and needs_gradient(query, key, value, *own):
            lists = lists + transposed
        form = form_of(options, blocks, lengths, len(lists))
        found = find(known_families(score_mod, mask_mod), query, key, value, form, lists + own)
        if found is not None:
            again, others = found
            result = again(query, key, value, others)
            return result if return_lse else result[0] if return_aux is None else _with_aux(result, return_aux)
    given, lists, sequences = (query, key, value), (), "dense"
    if nested:
        _nested.check_block_mask(block_mask)
        query, key, value, lists = _nested.packed(*given)
        sequences = "packed"
    check(query, key, value, enable_gqa, checked_backend(backend), (*KINDS, NARROW) if narrow and not nested else KINDS)
    check_sinks(sinks_of_call, query.shape[1], query.device)
    if return_lse and return_aux is not None:
        raise ValueError("return_lse and return_aux can't both be given")
    if return_aux is not None and return_aux.max_scores:
        raise NotImplementedError("return_aux requests max_scores, which is not supported")
    mask_mod, blocks, lengths = block_mask, None, None
    if block_mask is not None and _block_mask.is_block_mask(block_mask):
        mask_mod, blocks, lengths, lists, transposed = _block_mask.read(block_mask, query, key)
    for name, function in (("score_mod", score_mod), ("block_mask", mask_mod)):
        if function is not None and not callable(function):
            raise TypeError(f"{name} must be a function{' or a BlockMask' * (name == 'block_mask')}, found "
                            f"{type(function).__name__}")
    rows = _block_mask.rows_of(blocks)
    # A backward pass needs the log-sum-exp, even if the caller does not.
    derived = needs_gradient(query, key, value, *own)
    keeps_lse = wants_lse or derived
    if derived and blocks is not None:
        lists = lists + transposed
    sinked = bool(sinks_of_call)
    facts = _facts(query, value, scale, keeps_lse, blocks, 0.0, sequences, sinked, None, quantized)
    program, known = _program(score_mod, mask_mod, query, facts)
    if narrow and program is not None and needs_gradient(*program.captures):
        raise NotImplementedError(f"attention of {NARROW} has no gradients: call it under torch.no_grad()")
    if program is not None and not derived and needs_gradient(*program.captures):
        derived = keeps_lse = True
        program, known = _program(score_mod, mask_mod, query, _facts(query, value, scale, keeps_lse, blocks, 0.0, sequences, sinked))
    if program is None:
        return uncompiled(flex_attention)(*given, score_mod, block_mask, scale, enable_gqa, return_lse, kernel_options,
                                          return_aux=return_aux, sinks=sinks, scales=scales, output_dtype=output_dtype,
                                          backend=backend)
    schedule, recurrence = checked_options(kernel_options)
    call = _op.Call([*own, *captures_of(program, query.shape[2], rows)], lists, program.text, keeps_lse, schedule=schedule,
                    recurrence=recurrence)
    plain = backend == "cuda" and _calls.is_plain(query, key, value)
    form = form_of(options, blocks, lengths, 0 if blocks is None else len(lists)) if plain and repeats else None
    result = _calls.run(query, key, value, call, plain, LEVELS.get(backend, "attn"), known, form, rows=rows, derived=derived)
    if nested:
        result = _nested.unpacked(result[0], given[0]), _nested.unpacked(result[1], given[0]) if keeps_lse else None
    return result if return_lse else result[0] if return_aux is None else _with_aux(result, return_aux)


#: PyTorch's AuxOutput after the first use; importing it takes as long as allocating a tensor.
_aux_output: Any = None


def _find_aux_output() -> Any:
    from torch.nn.attention.flex_attention import AuxOutput

    if not torch.compiler.is_compiling():
        global _aux_output
        _aux_output = AuxOutput
    return AuxOutput


def _with_aux(result: Tuple[torch.Tensor, Optional[torch.Tensor]], return_aux: Any) -> Tuple[torch.Tensor, Any]:
    return result[0], (_aux_output or _find_aux_output())(result[1] if return_aux.lse else None, None)


# --- scaled_dot_product_attention ---------------------------------------------


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: Optional[torch.Tensor] = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
    *,
    sinks: Optional[torch.Tensor] = None,
    backend: str = "cuda",
) -> torch.Tensor:
    """``torch.nn.functional.scaled_dot_product_attention``, compiled by Fovea.

    query, key, value
        as for ``flex_attention``, including nested tensors; also with fewer or more leading
        dimensions: (length, head_dim), (batch, length, head_dim), (..., heads, length,
        head_dim).
    attn_mask
        a tensor that broadcasts to (batch, heads, queries, keys): booleans select visible
        keys; numbers (float16, bfloat16, float32) are added to the scores. The kernel reads
        it at each call. Under ``torch.autocast`` it is cast as PyTorch casts it. Or a
        ``torch.nn.attention.bias.CausalBias``, which is not materialised.
    dropout_p
        the probability, below 1 and rounded to a multiple of 1/65536, that a key is dropped
        after the softmax; the others are scaled by 1 / (1 - dropout_p). Seed and offset come
        from the device's generator, whose offset advances; they select other keys than in
        PyTorch. Not supported under torch.compile or in a CUDA graph, where each replay
        would drop the same keys.
    is_causal
        whether query i attends to the keys 0 to i only.
    scale, enable_gqa, sinks, backend
        as for ``flex_attention``.

    Returns the output, with query's shape except for value's head_dim. Raises the errors of
    ``flex_attention``.

    >>> out = scaled_dot_product_attention(query, key, value, is_causal=True)  # doctest: +SKIP
    """
    function = causal if is_causal else None
    if attn_mask is not None and type(attn_mask) is not torch.Tensor:
        bias = causal_bias(attn_mask, query, key)
        if bias is not None:
            if is_causal:
                raise ValueError("attn_mask and is_causal can't both be given")
            function, attn_mask = bias, None
        else:
            check_tensor("attn_mask", attn_mask)
            refused = refusal(attn_mask)
            if refused is not None:
                raise TypeError(f"attn_mask is {refused}")
    if _autocast.is_any_enabled():
        query, key, value, attn_mask = _autocast.cast(query, key, value, attn_mask)
    own = sinks_as_float(sinks)
    given = query
    nested = type(query) is not torch.Tensor and _nested.is_any_nested(query, key, value)
    if not nested and (not isinstance(query, torch.Tensor) or query.is_nested or query.dim() != 4):
        check_tensors(query, key, value)
        query, key, value, attn_mask = as_four(query, key, value, attn_mask)
    # Options that are tensors or arrays become numbers here.
    options = checked_scale(scale), enable_gqa, len(own), float(dropout_p)
    o = None
    if backend == "cuda" and not nested and not is_compiling():
        o = _sdpa_again(query, key, value, attn_mask, own, function, options)
    if o is None:
        o = _sdpa(query, key, value, attn_mask, own, function, options, backend, nested)
    return o if given.dim() == 4 else as_before(o, given)


def _sdpa(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: Optional[torch.Tensor],
          sinks: Tuple[torch.Tensor, ...], function: Optional[Callable], options: Tuple[Any, ...], backend: str, nested: bool
          ) -> torch.Tensor:
    scale, enable_gqa, _, dropout_p = options
    given = query, key, value
    lists: Tuple[torch.Tensor, ...] = ()
    if nested:
        if attn_mask is not None:
            raise NotImplementedError("attn_mask can't be given with nested tensors; flex_attention accepts a mask_mod with them")
        query, key, value, lists = _nested.packed(*given)
    check(query, key, value, enable_gqa, checked_backend(backend))
    check_sinks(sinks, query.shape[1], query.device)
    derived = needs_gradient(query, key, value, *sinks, *(() if attn_mask is None else (attn_mask,)))
    plain = backend == "cuda" and _calls.is_plain(query, key, value)
    if not 0 <= dropout_p < 1:
        raise ValueError(f"dropout_p must be a probability below 1, found {dropout_p}")
    if attn_mask is not None and function is not None:
        raise ValueError("attn_mask and is_causal can't both be given")
    facts = _facts(query, value, scale, derived, None, float(dropout_p), "packed" if nested else "dense", bool(sinks))
    known: Optional[Known] = None
    if attn_mask is None:
        program, known = _program(None, function, query, facts)
        if program is None:
            return uncompiled(_sdpa)(*given, attn_mask, sinks, function, options, backend, nested)
    else:
        check_mask(attn_mask, query, key)
        check_tangents((("attn_mask", attn_mask),))
        program = program_while_compiling(None, None, query, facts, attn_mask) if is_compiling() else mask_program(attn_mask, facts)
        if program is None:
            return uncompiled(_sdpa)(*given, attn_mask, sinks, function, options, backend, nested)
        known = (mask_family(attn_mask), (attn_mask,)) if plain else None
    seed, offset = dropout_numbers(query.device) if dropout_p else (0, 0)
    call = _op.Call([*sinks, *program.captures], lists, program.text, derived, seed, offset)
    form = form_of(options) if plain and not nested else None
    o, _ = _calls.run(query, key, value, call, plain, LEVELS.get(backend, "attn"), known, form, derived=derived)
    return _nested.unpacked(o, given[0]) if nested else o


def _sdpa_again(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: Optional[torch.Tensor],
                sinks: Tuple[torch.Tensor, ...], function: Optional[Callable], options: Tuple[Any, ...]
                ) -> Optional[torch.Tensor]:
    """The output by a cached launch, or None if there is none."""
    known: Iterable[Known] = ()
    if attn_mask is None:
        known = known_families(None, function)
    elif function is None:
        known = ((mask_family(attn_mask), (attn_mask,)),)
    found = find(known, query, key, value, form_of(options), sinks)
    if found is None:
        return None
    # After the look-up, so that the generator advances once per call.
    seed, offset = dropout_numbers(query.device) if options[-1] else (0, 0)
    return found[0](query, key, value, found[1], seed, offset)[0]
