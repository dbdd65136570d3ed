"""The functions of FlashAttention's package, and the local kernel that has them."""

from __future__ import annotations

import functools
import inspect
import pathlib
from typing import Any, Callable, Optional, Tuple, Union

import torch

from ..torch import attention_with_kvcache, flex_attention, varlen_attn
from ._masks import number_of_call

Window = Tuple[int, int]


def kernel_folder() -> pathlib.Path:
    """The folder of a local kernel for the package ``kernels``, with FlashAttention's functions
    ``flash_attn_func``, ``flash_attn_varlen_func`` and ``flash_attn_with_kvcache``. transformers
    takes it for continuous batching (``generate_batch``), where it accepts no registered
    function, if the environment of the process names it before ``kernels`` is imported:

    - ``LOCAL_KERNELS=fovea/flash=FOLDER``, with this folder;
    - ``attn_implementation="fovea/flash"`` for the model.

    On CUDA the functions run kernels; in host memory the interpreter, for tests. They have
    FlashAttention's arguments, and ``s_aux``, (heads,), the sinks. Raise NotImplementedError for
    ``dropout_p``, ``alibi_slopes``, ``return_attn_probs``, rotary embeddings, ``cache_batch_idx``,
    ``cache_leftpad``, packed queries over pages, and ``num_splits`` above 1.
    """
    return pathlib.Path(__file__).parent / "kernel"


def functions(backend: str) -> Tuple[Callable, Callable, Callable]:
    """The kernel's functions for a backend."""
    return _bound(flash_attn_func, backend), _bound(flash_attn_varlen_func, backend), _bound(flash_attn_with_kvcache, backend)


def _bound(function: Callable, backend: str) -> Callable:
    """The function without its parameter ``backend``: transformers reads the parameters to find
    the features that a kernel supports."""

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        return function(*arguments, backend=backend, **named)

    signature = inspect.signature(function)
    kept = [one for name, one in signature.parameters.items() if name != "backend"]
    call.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    return call


def _refuse(function: str, **given: Any) -> None:
    """Raises NotImplementedError for arguments other than None, False and 0."""
    for name, one in given.items():
        if one is None or not isinstance(one, torch.Tensor) and not one:
            continue
        found = f"a tensor of {list(one.shape)}" if isinstance(one, torch.Tensor) else repr(one)
        raise NotImplementedError(f"{function} does not support {name}, found {found}")


def _check_deterministic(function: str, deterministic: bool) -> None:
    if deterministic and not torch.are_deterministic_algorithms_enabled():
        raise NotImplementedError(f"{function} takes determinism from PyTorch: deterministic=True needs "
                                  "torch.use_deterministic_algorithms(True)")


def _capped(softcap: float) -> Optional[Callable]:
    if not softcap:
        return None

    def capped(score: Any, b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return softcap * torch.tanh(score / softcap)

    return capped


def _sides(window_size: Window, causal: bool) -> Tuple[Optional[int], Optional[int]]:
    """The window; None is an open side."""
    left, right = (None if side is None or side < 0 else int(side) for side in window_size)
    return left, 0 if causal else right


def _window_mask(window_size: Window, causal: bool, queries: int, keys: int) -> Optional[Callable]:
    """The window as a mask_mod: the last query has the position of the last key."""
    left, right = _sides(window_size, causal)
    if queries == 1 and right is not None:
        right = None  # the query is at the last key
    if left is not None and left >= keys - 1:
        left = None
    if left is None and right is None:
        return None
    shift = number_of_call(keys - queries)

    def within(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        position = q_idx if isinstance(shift, int) else q_idx + shift
        if left is None:
            return kv_idx <= position + right
        if right is None:
            return kv_idx >= position - left
        return (kv_idx <= position + right) & (kv_idx >= position - left)

    return within


def flash_attn_func(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    dropout_p: float = 0.0,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Window = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Optional[torch.Tensor] = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
    s_aux: Optional[torch.Tensor] = None,
    *,
    backend: str = "cuda",
) -> torch.Tensor:
    """Attention of (batch, rows, heads, head_dim); causal and windows are aligned to the lower
    right."""
    _refuse("flash_attn_func", dropout_p=dropout_p, alibi_slopes=alibi_slopes, return_attn_probs=return_attn_probs)
    _check_deterministic("flash_attn_func", deterministic)
    mask_mod = _window_mask(window_size, causal, q.shape[1], k.shape[1])
    o = flex_attention(*[one.transpose(1, 2) for one in (q, k, v)], _capped(softcap), mask_mod, softmax_scale, True, sinks=s_aux,
                       backend=backend)
    return o.transpose(1, 2)


def flash_attn_varlen_func(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float = 0.0,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Window = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Optional[torch.Tensor] = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
    block_table: Optional[torch.Tensor] = None,
    s_aux: Optional[torch.Tensor] = None,
    *,
    backend: str = "cuda",
) -> torch.Tensor:
    """Attention of packed sequences, (rows of all sequences, heads, head_dim). With ``block_table``
    keys are in pages, and ``cu_seqlens_k`` has their numbers as differences."""
    _refuse("flash_attn_varlen_func", dropout_p=dropout_p, alibi_slopes=alibi_slopes, return_attn_probs=return_attn_probs)
    _check_deterministic("flash_attn_varlen_func", deterministic)
    if block_table is not None:
        out: torch.Tensor = attention_with_kvcache(
            q, k, v, lengths=cu_seqlens_k.diff().to(torch.int32), page_table=block_table, cu_seq_q=cu_seqlens_q, max_q=max_seqlen_q,
            causal=causal, window=_sides(window_size, False), scale=softmax_scale, score_mod=_capped(softcap), sinks=s_aux,
            backend=backend)
        return out
    left, right = (-1 if side is None else side for side in _sides(window_size, causal))
    return varlen_attn(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, scale=softmax_scale,
                       window_size=(left, right), enable_gqa=True, score_mod=_capped(softcap), sinks=s_aux, backend=backend)


def flash_attn_with_kvcache(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    k: Optional[torch.Tensor] = None,
    v: Optional[torch.Tensor] = None,
    rotary_cos: Optional[torch.Tensor] = None,
    rotary_sin: Optional[torch.Tensor] = None,
    cache_seqlens: Union[None, int, torch.Tensor] = None,
    cache_batch_idx: Optional[torch.Tensor] = None,
    cache_leftpad: Optional[torch.Tensor] = None,
    block_table: Optional[torch.Tensor] = None,
    softmax_scale: Optional[float] = None,
    causal: bool = False,
    window_size: Window = (-1, -1),
    softcap: float = 0.0,
    rotary_interleaved: bool = True,
    alibi_slopes: Optional[torch.Tensor] = None,
    num_splits: int = 0,
    return_softmax_lse: bool = False,
    s_aux: Optional[torch.Tensor] = None,
    *,
    backend: str = "cuda",
) -> Any:
    """Attention over a cache, contiguous or in pages; ``k`` and ``v`` are first written to it after
    its ``cache_seqlens`` keys."""
    _refuse("flash_attn_with_kvcache", rotary_cos=rotary_cos, rotary_sin=rotary_sin, cache_batch_idx=cache_batch_idx,
            cache_leftpad=cache_leftpad, alibi_slopes=alibi_slopes, num_splits=None if num_splits == 1 else num_splits)
    batch = q.shape[0]
    room = k_cache.shape[1] if block_table is None else k_cache.shape[1] * block_table.shape[1]
    lengths = cache_seqlens if cache_seqlens is not None else room
    if not isinstance(lengths, torch.Tensor):
        lengths = torch.full((batch,), lengths, dtype=torch.int32, device=q.device)
    lengths = lengths.to(torch.int32)
    if (k is None) != (v is None):
        raise ValueError(f"k and v must be given together, found only {'v' if k is None else 'k'}")
    if k is not None and v is not None:
        _append(k_cache, k, lengths, block_table)
        _append(v_cache, v, lengths, block_table)
        lengths = lengths + k.shape[1]
    return attention_with_kvcache(
        q, k_cache, v_cache, lengths=lengths, page_table=block_table, causal=causal, window=_sides(window_size, False),
        scale=softmax_scale, score_mod=_capped(softcap), sinks=s_aux, return_lse=return_softmax_lse,
        invariant=num_splits == 1, backend=backend)


def _append(cache: torch.Tensor, rows: torch.Tensor, lengths: torch.Tensor, block_table: Optional[torch.Tensor]) -> None:
    """Writes (batch, rows, heads, head_dim) to the positions from ``lengths`` on."""
    positions = lengths.long()[:, None] + torch.arange(rows.shape[1], device=rows.device)
    if block_table is None:
        entries = torch.arange(rows.shape[0], device=rows.device)[:, None].expand_as(positions)
        cache[entries, positions] = rows.to(cache.dtype)
        return
    page = cache.shape[1]
    pages = block_table.long().gather(1, positions // page)
    cache[pages, positions % page] = rows.to(cache.dtype)


__all__ = ["flash_attn_func", "flash_attn_varlen_func", "flash_attn_with_kvcache", "functions", "kernel_folder"]
