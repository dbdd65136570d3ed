"""Attention with PyTorch's signatures."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, Optional, Tuple

import torch

from . import _autocast, _calls, _masks, _nested, _op
from ._calls import find, form_of
from ._checks import LEVELS, check, check_tensor, check_tensors, checked_backend, checked_options, checked_scale, hints_of, refusal
from ._compiling import program_while_compiling, uncompiled
from ._derivatives import check_tangents, needs_gradient
from ._dropout import dropout_numbers
from ._launches import is_compiling
from ._pieces import widths_of
from ._programs import Facts, Known, Program, captures_of, known_families, program_of
from ._shapes import as_before, as_four
from ._tensor_masks import causal, causal_bias, check_mask, mask_family, mask_program


def _known_heads(query: torch.Tensor, value: torch.Tensor) -> Optional[Tuple[int, int]]:
    """Heads that a program is for alone: of groups whose gradients are to be the same each
    time. Tiles of keys visit all heads of a group at a block only if there is a group."""
    if query.dim() != 4 or not (torch.is_grad_enabled() and torch.are_deterministic_algorithms_enabled()):
        return None
    heads, kv_heads = (len(range(one.shape[1])) for one in (query, value))
    return (heads, kv_heads) if heads != kv_heads else None


def _facts(query: torch.Tensor, value: torch.Tensor, scale: Optional[float], lse: bool, blocks: Optional[_masks.Form],
           dropout: float, sequences: str = "dense") -> Facts:
    # The length of a range is a number that torch.compile guards where it made a size symbolic; int() is not.
    head_dim, value_head_dim = (len(range(one.shape[-1])) for one in (query, value))
    widths, scale = widths_of(head_dim, value_head_dim), checked_scale(scale)
    if scale is None and widths.head_dim != head_dim and head_dim:
        scale = head_dim ** -0.5
    return Facts(query.dtype, query.device, widths.head_dim, widths.value_head_dim, scale,
                 torch.is_grad_enabled(), lse, blocks, dropout, _known_heads(query, value), sequences)


def _program(score_mod: Optional[Callable], mask_mod: Optional[Callable], query: torch.Tensor, facts: Facts
             ) -> Tuple[Optional[Program], Optional[Known]]:
    """None for the program where torch.compile is to leave the call out of its graph."""
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
    backend: str = "cuda",
) -> Any:
    """``torch.nn.attention.flex_attention.flex_attention``, compiled by Fovea.

    query
        (batch, heads, queries, head_dim), bfloat16 or float16, on a CUDA device;
        any strides; rows of contiguous elements at multiples of 16 bytes save a copy.
    key, value
        (batch or 1, kv_heads, keys, head_dim) and (batch or 1, kv_heads, keys,
        value_head_dim), like query. All three may be nested tensors of layout
        torch.jagged; each sequence then attends to its own keys, and functions get
        positions within it.
    score_mod(score, b, h, q_idx, kv_idx)
        gives the new score: of a float32 and int64 scalars. Tensors that it
        refers to are read where it reads them, at each call as they are then.
    block_mask
        a BlockMask: its lists say which blocks are visited, its mask_mod which
        keys of the partial ones count. Blocks of keys of multiples of 16 are faster.
        A mask_mod, a function of (b, h, q_idx, kv_idx), may stand in its place;
        the compiler then finds the blocks.
    scale
        of the scores, 1/sqrt(head_dim) by default.
    enable_gqa
        whether heads may be a multiple of kv_heads.
    return_lse, return_aux
        whether the log-sum-exp of the scores (batch, heads, queries), float32,
        natural, is returned too; ``return_aux`` is PyTorch's AuxRequest, of
        which max_scores is not supported.
    kernel_options
        "schedule" (also as a dictionary, {"tile_n": 64}) and "recurrence" as ``fovea.compile``
        has them. PyTorch's, with and without its prefixes ``fwd_`` and ``bwd_``, are hints for its
        own kernels; they are ignored, which the log ("fovea", INFO) says once.
    backend
        "cuda"; "interpret" runs on tensors in host memory, slowly, for tests
        (also at a level: "interpret:tile", "interpret:warp"), float32 as well;
        "ptx" executes the PTX for sm_90a (or "ptx:sm_80") on the CPU and checks
        it, see ``Kernel.interpret``.

    Returns the output (batch, heads, queries, value_head_dim), of query's dtype,
    alone or with the log-sum-exp (or AuxOutput). A query without keys gives 0,
    and -inf. The first call with a new function compiles a kernel; it serves all
    lengths. Launches on the current stream and waits for nothing, so that calls
    can be captured in a CUDA graph. Under ``torch.autocast`` query, key and value are
    cast as PyTorch casts them.

    Gradients flow to query, key and value, to captured tensors, and from the log-sum-exp;
    the backward pass keeps these, the output, the log-sum-exp and what functions read.
    There are no gradients of gradients.

    Raises TraceError with the line of a function that can't be a kernel's;
    CompileError for a variant that can't be compiled or a head_dim above 256,
    LaunchError for what the device refuses; ValueError for shapes that don't fit each other;
    NotImplementedError for other devices and dtypes, and for the few gradients that are not
    computed (docs/PyTorch.md lists them), from the backward pass.

    >>> def alibi(score, b, h, q_idx, kv_idx):
    ...     return score + slopes[h] * (kv_idx - q_idx)
    >>> out = flex_attention(query, key, value, score_mod=alibi)  # doctest: +SKIP
    """
    if _autocast.is_any_enabled():
        query, key, value = _autocast.cast(query, key, value)
    wants_lse = return_lse if return_aux is None else return_lse or return_aux.lse
    # A number among them may be a symbol while torch.compile traces: none is asked for.
    hints: Any = None if is_compiling() else hints_of(kernel_options) if kernel_options else ()
    options = (scale, enable_gqa, wants_lse, hints)
    nested = type(query) is not torch.Tensor and _nested.is_any_nested(query, key, value)
    repeats = (backend == "cuda" and hints is not None and not nested
               and (return_aux is None or not return_lse and not return_aux.max_scores))
    if repeats:
        read = None if block_mask is None else _masks.known(block_mask)
        mask_mod, blocks, lengths, lists = (block_mask, None, None, ()) if read is None else read
        found = find(known_families(score_mod, mask_mod), query, key, value, form_of(options, blocks, lengths), lists)
        if found is not None:
            again, others = found
            result = again(query, key, value, others)
            return result if return_lse else result[0] if return_aux is None else _with_aux(result, return_aux)
    given, lists, sequences = (query, key, value), (), "dense"
    if nested:
        _nested.check_block_mask(block_mask)
        query, key, value, lists = _nested.packed(*given)
        sequences = "packed"
    check(query, key, value, enable_gqa, checked_backend(backend))
    if return_lse and return_aux is not None:
        raise ValueError("return_lse and return_aux can't both be given")
    if return_aux is not None and return_aux.max_scores:
        raise NotImplementedError("return_aux asks for max_scores, which is not computed")
    mask_mod, blocks, lengths = block_mask, None, None
    if block_mask is not None and _masks.is_block_mask(block_mask):
        mask_mod, blocks, lengths, lists = _masks.read(block_mask, query, key)
    for name, function in (("score_mod", score_mod), ("block_mask", mask_mod)):
        if function is not None and not callable(function):
            raise TypeError(f"{name} must be a function{' or a BlockMask' * (name == 'block_mask')}, found "
                            f"{type(function).__name__}")
    rows = _masks.rows_of(blocks)
    # A backward pass needs the log-sum-exp, whoever else does.
    derived = needs_gradient(query, key, value)
    keeps_lse = wants_lse or derived
    program, known = _program(score_mod, mask_mod, query, _facts(query, value, scale, keeps_lse, blocks, 0.0, sequences))
    if program is not None and not derived and needs_gradient(*program.captures):
        derived = keeps_lse = True
        program, known = _program(score_mod, mask_mod, query, _facts(query, value, scale, keeps_lse, blocks, 0.0, sequences))
    if program is None:
        return uncompiled(flex_attention)(*given, score_mod, block_mask, scale, enable_gqa, return_lse, kernel_options,
                                          return_aux=return_aux, backend=backend)
    schedule, recurrence = checked_options(kernel_options)
    call = _op.Call(captures_of(program, query.shape[2], rows), lists, program.text, keeps_lse, schedule=schedule,
                    recurrence=recurrence)
    plain = backend == "cuda" and _calls.is_plain(query, key, value)
    form = form_of(options, blocks, lengths) if plain and repeats else None
    result = _calls.run(query, key, value, call, plain, LEVELS.get(backend, "attn"), known, form, rows=rows, derived=derived)
    if nested:
        result = _nested.unpacked(result[0], given[0]), _nested.unpacked(result[1], given[0]) if keeps_lse else None
    return result if return_lse else result[0] if return_aux is None else _with_aux(result, return_aux)


#: PyTorch's AuxOutput, once it was asked for: to look it up takes as long as to allocate a tensor.
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
    backend: str = "cuda",
) -> torch.Tensor:
    """``torch.nn.functional.scaled_dot_product_attention``, compiled by Fovea.

    query, key, value
        as ``flex_attention`` has them, nested tensors included; also with fewer or more leading dimensions:
        (length, head_dim), (batch, length, head_dim), (..., heads, length, head_dim).
    attn_mask
        a tensor that broadcasts to (batch, heads, queries, keys): booleans say
        which keys a query sees, numbers (float16, bfloat16, float32) are added
        to the scores. It is read by the kernel, at each call as it is then. Under
        ``torch.autocast`` it is cast, too, as PyTorch does.
        Or a ``torch.nn.attention.bias.CausalBias``, which no tensor is made of.
    dropout_p
        probability, below 1 and rounded to multiples of 1/65536, to leave out a
        key after the softmax; the others count 1 / (1 - dropout_p) times. Seed
        and offset are those of the device's generator, which moves on; which keys
        they choose is not what they choose for PyTorch. Not within torch.compile
        or a CUDA graph, where they would be the same at each replay.
    is_causal
        whether query i sees the keys 0 to i alone.
    scale, enable_gqa, backend
        as ``flex_attention`` has them.

    Returns the output, shaped as query but for value's head_dim. Raises what
    ``flex_attention`` raises.

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
    given = query
    nested = type(query) is not torch.Tensor and _nested.is_any_nested(query, key, value)
    if not nested and (not isinstance(query, torch.Tensor) or query.is_nested or query.dim() != 4):
        check_tensors(query, key, value)
        query, key, value, attn_mask = as_four(query, key, value, attn_mask)
    # Numbers that tensors or arrays hold are taken as they are now.
    options = checked_scale(scale), enable_gqa, float(dropout_p)
    o = None
    if backend == "cuda" and not nested and not is_compiling():
        o = _sdpa_again(query, key, value, attn_mask, function, options)
    if o is None:
        o = _sdpa(query, key, value, attn_mask, function, options, backend, nested)
    return o if given.dim() == 4 else as_before(o, given)


def _sdpa(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: Optional[torch.Tensor],
          function: Optional[Callable], options: Tuple[Any, ...], backend: str, nested: bool) -> torch.Tensor:
    scale, enable_gqa, dropout_p = options
    given = query, key, value
    lists: Tuple[torch.Tensor, ...] = ()
    if nested:
        if attn_mask is not None:
            raise NotImplementedError("attn_mask can't be given with nested tensors; flex_attention takes functions with them")
        query, key, value, lists = _nested.packed(*given)
    check(query, key, value, enable_gqa, checked_backend(backend))
    derived = needs_gradient(query, key, value, *(() if attn_mask is None else (attn_mask,)))
    plain = backend == "cuda" and _calls.is_plain(query, key, value)
    if not 0 <= dropout_p < 1:
        raise ValueError(f"dropout_p must be a probability below 1, found {dropout_p}")
    if attn_mask is not None and function is not None:
        raise ValueError("attn_mask and is_causal can't both be given")
    facts = _facts(query, value, scale, derived, None, float(dropout_p), "packed" if nested else "dense")
    known: Optional[Known] = None
    if attn_mask is None:
        program, known = _program(None, function, query, facts)
        if program is None:
            return uncompiled(_sdpa)(*given, attn_mask, function, options, backend, nested)
    else:
        check_mask(attn_mask, query, key)
        check_tangents((("attn_mask", attn_mask),))
        program = program_while_compiling(None, None, query, facts, attn_mask) if is_compiling() else mask_program(attn_mask, facts)
        if program is None:
            return uncompiled(_sdpa)(*given, attn_mask, function, options, backend, nested)
        known = (mask_family(attn_mask), (attn_mask,)) if plain else None
    seed, offset = dropout_numbers(query.device) if dropout_p else (0, 0)
    call = _op.Call(program.captures, lists, program.text, derived, seed, offset)
    form = form_of(options) if plain and not nested else None
    o, _ = _calls.run(query, key, value, call, plain, LEVELS.get(backend, "attn"), known, form, derived=derived)
    return _nested.unpacked(o, given[0]) if nested else o


def _sdpa_again(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: Optional[torch.Tensor],
                function: Optional[Callable], options: Tuple[Any, ...]) -> Optional[torch.Tensor]:
    """The output, or None if there was no such call before."""
    known: Iterable[Known] = ()
    if attn_mask is None:
        known = known_families(None, function)
    elif function is None:
        known = ((mask_family(attn_mask), (attn_mask,)),)
    found = find(known, query, key, value, form_of(options))
    if found is None:
        return None
    # Only now: the generator must not move on twice.
    seed, offset = dropout_numbers(query.device) if options[-1] else (0, 0)
    return found[0](query, key, value, found[1], seed, offset)[0]
