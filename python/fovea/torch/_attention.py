"""Attention with PyTorch's signatures."""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, Optional, Set, Tuple

import torch

from .._builder import RegionBuilder
from . import _masks, _op
from ._expressions import Captures, scalar
from ._programs import Facts, Program, assemble, program_of
from ._tracer import Tracer

#: What ``kernel_options`` may hold of Fovea's; PyTorch's own are hints for its kernels, and are ignored.
_OPTIONS = ("schedule", "recurrence")
_LEVELS = {"interpret": "attn", "interpret:attn": "attn", "interpret:tile": "tile", "interpret:warp": "warp"}


# --- What is taken ------------------------------------------------------------


#: Forms of calls that have been checked: that takes longer than all else that a call does.
_good: Set[Tuple] = set()
_MOST_GOOD = 4096


def _check(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, enable_gqa: bool, backend: str) -> None:
    if torch.compiler.is_compiling():
        _check_form(query, key, value, enable_gqa, backend)
    else:
        form = (query.shape, key.shape, value.shape, query.dtype, key.dtype, value.dtype, query.device, key.device,
                value.device, enable_gqa, backend)
        if form not in _good:
            _check_form(query, key, value, enable_gqa, backend)
            if len(_good) >= _MOST_GOOD:
                _good.clear()
            _good.add(form)
    if torch.is_grad_enabled():
        for name, tensor in (("query", query), ("key", key), ("value", value)):
            if tensor.requires_grad:
                raise NotImplementedError(
                    f"{name} requires a gradient, and there is no backward pass yet; use torch.no_grad() or detach()")


def _check_form(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, enable_gqa: bool, backend: str) -> None:
    tensors = (("query", query), ("key", key), ("value", value))
    for name, tensor in tensors:
        if tensor.dim() != 4:
            raise ValueError(f"{name} must have 4 dimensions (batch, heads, length, head_dim), found {tensor.dim()}")
        if tensor.dtype != query.dtype:
            raise ValueError(f"query, key and value must be of one dtype, found {query.dtype} and {tensor.dtype}")
        if tensor.device != query.device:
            raise ValueError(f"query, key and value must be on one device, found {query.device} and {tensor.device}")
    kinds: Tuple[torch.dtype, ...] = (torch.bfloat16, torch.float16)
    if backend == "cuda":
        if query.device.type != "cuda":
            raise NotImplementedError(
                f"query is on {query.device}, kernels run on CUDA; backend=\"interpret\" runs the reference on the CPU")
    else:
        kinds += (torch.float32,)
        if query.device.type != "cpu":
            raise ValueError(f"backend=\"{backend}\" runs on the CPU, found query on {query.device}")
    if query.dtype not in kinds:
        raise NotImplementedError(f"query is of {query.dtype}, expected {', '.join(map(str, kinds))}")
    (batch, heads, _, dim), (kv_batch, kv_heads, length, key_dim) = query.shape, key.shape
    if key_dim != dim:
        raise ValueError(f"query and key must have one head_dim, found {dim} and {key_dim}")
    if value.shape[:3] != key.shape[:3]:
        raise ValueError(f"key and value must agree but in head_dim, found {list(key.shape)} and {list(value.shape)}")
    if kv_batch not in (1, batch):
        raise ValueError(f"key must have query's batch size or 1, found {kv_batch} and {batch}")
    if not enable_gqa and heads != kv_heads:
        raise ValueError(f"query has {heads} heads, key {kv_heads}: that needs enable_gqa=True")
    if kv_heads == 0 or heads % kv_heads:
        raise ValueError(f"query heads must be a multiple of key heads, found {heads} and {kv_heads}")


def _scale(scale: Optional[float]) -> Optional[float]:
    if scale is None:
        return None
    if isinstance(scale, torch.Tensor) or not math.isfinite(scale):
        raise ValueError(f"scale must be a finite number or None, found {scale!r}")
    return float(scale)


def _facts(query: torch.Tensor, value: torch.Tensor, scale: Optional[float], lse: bool, blocks: Optional[_masks.Form] = None,
           dropout: float = 0.0) -> Facts:
    return Facts(query.dtype, query.device, int(query.shape[-1]), int(value.shape[-1]), _scale(scale),
                 torch.is_grad_enabled(), lse, blocks, dropout)


def _options(kernel_options: Optional[Dict[str, Any]]) -> Tuple[str, str]:
    if not kernel_options:
        return "auto", "auto"
    for name in kernel_options:
        if name.islower() and name not in _OPTIONS and name not in ("num_warps", "num_stages", "kpack", "waves_per_eu",
                                                                   "matrix_instr_nonkdim"):
            raise ValueError(f"kernel_options has no '{name}', expected {' or '.join(_OPTIONS)}")
    return kernel_options.get("schedule", "auto"), kernel_options.get("recurrence", "auto")


def _run(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, call: _op.Call, backend: str
         ) -> Tuple[torch.Tensor, Optional[torch.Tensor]]:
    # Modes (fake tensors, tracing) must see an op; without one its dispatch is time for nothing. torch.compile takes
    # the first question for a constant and never meets the second.
    if (backend == "cuda" and not torch.compiler.is_compiling() and not torch._C._len_torch_dispatch_stack()
            and type(query) is torch.Tensor):
        return _op.launch(query, key, value, call)
    return torch.ops.fovea.attention(query, key, value, *call[:-1], _LEVELS.get(backend, "attn"))


def _backend(name: str) -> str:
    if name != "cuda" and name not in _LEVELS:
        raise ValueError(f"backend must be 'cuda' or one of {', '.join(_LEVELS)}, found {name!r}")
    return name


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
        any strides with rows of contiguous elements at multiples of 16 bytes.
    key, value
        (batch or 1, kv_heads, keys, head_dim) and (batch or 1, kv_heads, keys,
        value_head_dim), like query.
    score_mod(score, b, h, q_idx, kv_idx)
        gives the new score: of a float32 and int64 scalars. Tensors that it
        refers to are read where it reads them, at each call as they are then.
    block_mask
        a BlockMask: its lists say which blocks are visited, its mask_mod which
        keys of the partial ones count. Blocks of multiples of 16.
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
        "schedule" and "recurrence" as ``fovea.compile`` has them. PyTorch's are
        hints for its own kernels; they are ignored.
    backend
        "cuda"; "interpret" runs on tensors in host memory, slowly, for tests
        (also at a level: "interpret:tile", "interpret:warp"), float32 as well.

    Returns the output (batch, heads, queries, value_head_dim), of query's dtype,
    alone or with the log-sum-exp (or AuxOutput). A query without keys gives 0,
    and -inf. The first call with a new function compiles a kernel; it serves all
    lengths. Launches on the current stream and waits for nothing, so that calls
    can be captured in a CUDA graph.

    Raises TraceError with the line of a function that can't be a kernel's;
    CompileError for a variant or head_dim that can't be compiled, LaunchError for
    strides that can't be used; ValueError for shapes that don't fit each other;
    NotImplementedError for other devices and dtypes and for gradients.

    >>> def alibi(score, b, h, q_idx, kv_idx):
    ...     return score + slopes[h] * (kv_idx - q_idx)
    >>> out = flex_attention(query, key, value, score_mod=alibi)  # doctest: +SKIP
    """
    _check(query, key, value, enable_gqa, _backend(backend))
    if return_lse and return_aux is not None:
        raise ValueError("return_lse and return_aux can't both be given")
    if return_aux is not None and return_aux.max_scores:
        raise NotImplementedError("return_aux asks for max_scores, which is not computed")
    mask_mod, blocks, lists = block_mask, None, []
    if _masks.is_block_mask(block_mask):
        blocks, lists = _masks.lists_of(block_mask, query, key)
        mask_mod = _masks.mask_function(block_mask)
    for name, function in (("score_mod", score_mod), ("block_mask", mask_mod)):
        if function is not None and not callable(function):
            raise TypeError(f"{name} must be a function{' or a BlockMask' * (name == 'block_mask')}, found "
                            f"{type(function).__name__}")
    if key.shape[0] != query.shape[0]:
        key, value = (one.expand(query.shape[0], -1, -1, -1) for one in (key, value))
    wants_lse = return_lse or (return_aux is not None and return_aux.lse)
    program = program_of(score_mod, mask_mod, _facts(query, value, scale, wants_lse, blocks))
    schedule, recurrence = _options(kernel_options)
    o, lse = _run(query, key, value, _op.Call(program.captures, lists, program.text, wants_lse,
                                              schedule=schedule, recurrence=recurrence), backend)
    if return_lse:
        return o, lse
    if return_aux is not None:
        from torch.nn.attention.flex_attention import AuxOutput

        return o, AuxOutput(lse=lse if wants_lse else None, max_scores=None)
    return o


# --- scaled_dot_product_attention ---------------------------------------------


def _mask_program(attn_mask: torch.Tensor, facts: Facts) -> Program:
    """A mask that is a tensor: booleans keep, numbers are added to the scores."""
    role = "mask_mod" if attn_mask.dtype == torch.bool else "score_mod"
    names = [(name, "index") for name in ("b", "h", "i", "j")]
    region = RegionBuilder(([("s", "f32")] if role == "score_mod" else []) + names)
    captures = Captures(facts.device)
    problem = captures.problem(attn_mask, False)
    if problem is not None:
        raise ValueError(problem.replace("a captured tensor", "attn_mask"))
    tracer = Tracer(region, captures)
    coordinates = tuple(region.arguments[-4:])
    element = tracer.capture(attn_mask)
    if role == "mask_mod":
        region.finish(element.at(region, coordinates))
        return assemble(captures, facts, None, region)
    bias = tracer.converted(scalar(element.at(region, coordinates), attn_mask.dtype), torch.float32)
    region.finish(region.binary("add", region.arguments[0], bias.read(())))
    return assemble(captures, facts, region, None)


def _causal(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return q_idx >= kv_idx


def _four(tensor: torch.Tensor, name: str) -> torch.Tensor:
    if tensor.dim() == 3:
        return tensor.unsqueeze(1)
    if tensor.dim() != 4:
        raise ValueError(f"{name} must have 3 or 4 dimensions, found {tensor.dim()}")
    return tensor


def _broadcasts(attn_mask: torch.Tensor, query: torch.Tensor, key: torch.Tensor) -> None:
    full = (*query.shape[:3], key.shape[2])
    shape = (1,) * (4 - attn_mask.dim()) + tuple(attn_mask.shape)
    if len(shape) != 4 or any(found not in (1, wanted) for found, wanted in zip(shape, full)):
        raise ValueError(f"attn_mask must broadcast to {list(full)}, found {list(attn_mask.shape)}")


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
        as ``flex_attention`` has them; also (batch, length, head_dim).
    attn_mask
        a tensor that broadcasts to (batch, heads, queries, keys): booleans say
        which keys a query sees, numbers (float16, bfloat16, float32) are added
        to the scores. It is read by the kernel, at each call as it is then.
    dropout_p
        must be 0.
    is_causal
        whether query i sees the keys 0 to i alone.
    scale, enable_gqa, backend
        as ``flex_attention`` has them.

    Returns the output, shaped as query but for value's head_dim. Raises what
    ``flex_attention`` raises.

    >>> out = scaled_dot_product_attention(query, key, value, is_causal=True)  # doctest: +SKIP
    """
    shape = query.shape
    if query.dim() != 4:
        query, key, value = _four(query, "query"), _four(key, "key"), _four(value, "value")
        attn_mask = attn_mask.unsqueeze(1) if attn_mask is not None and attn_mask.dim() == 3 else attn_mask
    _check(query, key, value, enable_gqa, _backend(backend))
    if dropout_p:
        raise NotImplementedError(f"dropout_p must be 0, found {dropout_p}")
    facts = _facts(query, value, scale, False)
    if attn_mask is None:
        program = program_of(None, _causal if is_causal else None, facts)
    else:
        if is_causal:
            raise ValueError("attn_mask and is_causal can't both be given")
        _broadcasts(attn_mask, query, key)
        program = _mask_program(attn_mask, facts)
    o = _run(query, key, value, _op.Call(program.captures, (), program.text, False), backend)[0]
    return o.squeeze(1) if len(shape) == 3 else o


