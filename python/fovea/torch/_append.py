"""Appends new keys and values to a KV cache."""

from __future__ import annotations

import functools
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from ..frontend import _caches
from ..frontend._program import Spec
from ..runtime._dtypes import dtype_name
from .ops import _named_launches
from .ops._cache_lengths import as_int32
from .ops._checks import LEVELS, check_tensor, checked_backend, refusal
from .ops._padding import GRANULE

_KINDS = (torch.bfloat16, torch.float16, torch.float32, torch.float8_e4m3fn)
_Integers = Dict[str, torch.Tensor]


def append(
    k: torch.Tensor,
    v: Optional[torch.Tensor],
    k_cache: torch.Tensor,
    v_cache: Optional[torch.Tensor],
    *,
    slots: Optional[torch.Tensor] = None,
    page_table: Optional[torch.Tensor] = None,
    lengths: Optional[torch.Tensor] = None,
    cu_seq: Optional[torch.Tensor] = None,
    backend: str = "cuda",
) -> None:
    """Writes new keys and values into a KV cache, in place and in one launch.

    k, v
        the new rows: (tokens, kv_heads, head_dim) or (batch, tokens, kv_heads, head_dim), in
        the dtype of the caches: bfloat16, float16, float32 or float8_e4m3fn. Without v and
        v_cache (None) only keys are written, as for latent attention.
    k_cache, v_cache
        (pages, page, kv_heads, head_dim), or (rows, kv_heads, head_dim), whose pages have one
        row. All strides work if rows are contiguous and start at multiples of 16 bytes:
        ``.transpose(1, 2)`` of (pages, kv_heads, page, head_dim) is written in place. Head dims
        are multiples of 8, of float8 of 16.
    slots
        the row of the flat cache for each new row, ``page_number * page + row``: int64 or int32,
        of the leading shape of k. Rows with a negative slot are skipped.
    lengths, page_table
        instead of slots: the new row t of sequence b goes to the position ``lengths[b] + t``
        of the sequence, which is row ``n % page`` of page ``page_table[b, n // page]`` for
        position n. int32 (int64 is cast), (batch,) and (batch, pages of a sequence). Without
        page_table, sequence b has page b of the cache. ``lengths`` are those before the call.
    cu_seq
        with lengths, for rows (tokens, kv_heads, head_dim) of packed sequences: int32,
        (batch + 1,), the first token of each sequence, and the end.
    backend
        as for ``flex_attention``.

    Positions are read on the device, so the call works in CUDA graphs and under torch.compile.
    On CUDA their values are not checked: rows without a position in the cache are skipped, so
    nothing outside of the caches is written, and if several rows have one position, one of them
    is written. On the CPU such duplicates raise ValueError. There are no gradients. Raises
    TypeError, ValueError, NotImplementedError.
    """
    backend = checked_backend(backend)
    tensors = {"k": k, "v": v, "k_cache": k_cache, "v_cache": v_cache}
    _check_tensors(tensors, backend)
    integers = _checked_integers(k, k_cache, {"slots": slots, "page_table": page_table, "lengths": lengths, "cu_seq": cu_seq})
    _named_launches.refuse_gradients("append", *tensors.values())
    torch.ops.fovea.append(k, v, k_cache, v_cache, *(integers.get(name) for name in ("slots", "page_table", "lengths", "cu_seq")),
                           LEVELS.get(backend, "attn"))


def _check_tensors(tensors: Dict[str, Optional[torch.Tensor]], backend: str) -> None:
    if (tensors["v"] is None) != (tensors["v_cache"] is None):
        raise ValueError("v and v_cache must be given together, or both be None")
    given = {name: one for name, one in tensors.items() if one is not None or name in ("k", "k_cache")}
    for name, one in given.items():
        check_tensor(name, one)
        refused = refusal(one)
        if refused is not None:
            raise TypeError(f"{name} is {refused}")
    k, device = given["k"], "cuda" if backend == "cuda" else "cpu"
    if k.device.type != device:
        raise ValueError(f"backend=\"{backend}\" runs on {device}, found k on {k.device}")
    if k.dtype not in _KINDS:
        raise NotImplementedError(f"k is of {k.dtype}, expected {', '.join(map(str, _KINDS))}")
    for name, one in given.items():
        if one.dtype != k.dtype or one.device != k.device:
            raise ValueError(f"rows and caches must be of one dtype and on one device, found k of {k.dtype} on {k.device} and {name} of "
                             f"{one.dtype} on {one.device}")
        if one.dim() not in (3, 4):
            raise ValueError(f"{name} must have 3 or 4 dimensions, found {one.dim()}")
        if one.shape[-1] % GRANULE or not one.shape[-1]:
            raise ValueError(f"head dims must be multiples of {GRANULE}, found {one.shape[-1]} for {name}")
    for first, second, dropped in (("k", "v", 1), ("k_cache", "v_cache", 1)):
        if second in given and given[first].shape[:-dropped] != given[second].shape[:-dropped]:
            raise ValueError(f"{first} and {second} must agree except in head_dim, found {list(given[first].shape)} and "
                             f"{list(given[second].shape)}")
    for name in ("k", "v"):
        if name in given and given[name].shape[-2:] != given[f"{name}_cache"].shape[-2:]:
            raise ValueError(f"{name} and {name}_cache must have the same kv_heads and head_dim, found {list(given[name].shape)} and "
                             f"{list(given[f'{name}_cache'].shape)}")
    if given.get("v_cache") is given["k_cache"]:
        raise ValueError("k_cache and v_cache must be different tensors, found one for both")


def _checked_integers(k: torch.Tensor, k_cache: torch.Tensor, given: Dict[str, Optional[torch.Tensor]]) -> _Integers:
    found = {name: one for name, one in given.items() if one is not None}
    for name, one in found.items():
        check_tensor(name, one)
    if ("slots" in found) == ("lengths" in found):
        raise ValueError("positions are given by slots or by lengths, found " + ("both" if "slots" in found else "neither"))
    if "slots" in found and len(found) > 1:
        raise ValueError(f"{' and '.join(name for name in found if name != 'slots')} can't be given with slots")
    packed = k.dim() == 3
    if "lengths" in found:
        if packed != ("cu_seq" in found):
            raise ValueError(f"with lengths, k must be (batch, tokens, kv_heads, head_dim), or with cu_seq (tokens, kv_heads, head_dim); "
                             f"found k of shape {list(k.shape)} {'with' if 'cu_seq' in found else 'without'} cu_seq")
        if k_cache.dim() != 4:
            raise ValueError(f"with lengths, k_cache must be (pages, page, kv_heads, head_dim), found {list(k_cache.shape)}")
    for name, one in found.items():
        if one.dtype not in (torch.int32, torch.int64):
            raise ValueError(f"{name} must be of torch.int32 or torch.int64, found {one.dtype}")
        if one.device != k.device:
            raise ValueError(f"{name} is on {one.device}, but k is on {k.device}")
    _check_shapes(k, found)
    return {name: one if name == "slots" else as_int32(one) for name, one in found.items()}


def _check_shapes(k: torch.Tensor, found: _Integers) -> None:
    def check(name: str, fits: bool, expected: str) -> None:
        if name in found and not fits:
            raise ValueError(f"{name} must have the shape {expected}, found {list(found[name].shape)}")

    if "slots" in found:
        check("slots", found["slots"].shape == k.shape[:-2], f"{list(k.shape[:-2])}")
        return
    lengths = found["lengths"]
    check("lengths", lengths.dim() == 1 and (k.dim() == 3 or lengths.shape[0] == k.shape[0]),
          "(batch,)" if k.dim() == 3 else f"[{k.shape[0]}]")
    table, offsets = found.get("page_table"), found.get("cu_seq")
    check("page_table", table is None or (table.dim() == 2 and table.shape[0] == lengths.shape[0]),
          f"({lengths.shape[0]}, pages of a sequence)")
    check("cu_seq", offsets is None or (offsets.dim() == 1 and offsets.shape[0] == lengths.shape[0] + 1), f"[{lengths.shape[0] + 1}]")


# --- The op -------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def _program(head_dim: int, heads: int, kind: torch.dtype, value_dim: Optional[int], ranks: Tuple[int, int], page: Optional[int],
             integers: Tuple[Tuple[str, torch.dtype], ...]) -> Spec:
    return _caches.append(head_dim, heads, dtype_name(kind), value_dim=value_dim, rank=ranks[0], cache_rank=ranks[1], page=page,
                          integers=[(name, dtype_name(one)) for name, one in integers])


def _named(k: torch.Tensor, v: Optional[torch.Tensor], k_cache: torch.Tensor, v_cache: Optional[torch.Tensor],
           integers: Sequence[Optional[torch.Tensor]]) -> Tuple[Spec, Dict[str, torch.Tensor]]:
    """The program and its tensors by name."""
    positions = {name: one for name, one in zip(("slots", "page_table", "lengths", "cu_seq"), integers) if one is not None}
    # A constant page size costs no division.
    page = k_cache.shape[1] if k_cache.dim() == 4 else None
    spec = _program(k.shape[-1], k.shape[-2], k.dtype, None if v is None else v.shape[-1], (k.dim(), k_cache.dim()), page,
                    tuple((name, one.dtype) for name, one in positions.items()))
    tensors = {"k": k, "v": v, "k_cache": k_cache, "v_cache": v_cache, **positions}
    return spec, {name: one for name, one in tensors.items() if one is not None}


def _launch(k: torch.Tensor, v: Optional[torch.Tensor], k_cache: torch.Tensor, v_cache: Optional[torch.Tensor],
            slots: Optional[torch.Tensor], page_table: Optional[torch.Tensor], lengths: Optional[torch.Tensor],
            cu_seq: Optional[torch.Tensor], level: str = "attn") -> None:
    if not k.numel() or not k_cache.numel():
        return
    spec, given = _named(k, v, k_cache, v_cache, (slots, page_table, lengths, cu_seq))
    _named_launches.launch(spec, given, k.device.index)


def _interpret(k: torch.Tensor, v: Optional[torch.Tensor], k_cache: torch.Tensor, v_cache: Optional[torch.Tensor],
               slots: Optional[torch.Tensor], page_table: Optional[torch.Tensor], lengths: Optional[torch.Tensor],
               cu_seq: Optional[torch.Tensor], level: str = "attn") -> None:
    if not k.numel() or not k_cache.numel():
        return
    _check_duplicates(_positions(k, k_cache, slots, page_table, lengths, cu_seq))
    spec, given = _named(k, v, k_cache, v_cache, (slots, page_table, lengths, cu_seq))
    for cache, result in zip((k_cache, v_cache), _named_launches.interpret(spec, given, level)):
        assert cache is not None
        cache.copy_(result)


def _positions(k: torch.Tensor, k_cache: torch.Tensor, slots: Optional[torch.Tensor], page_table: Optional[torch.Tensor],
               lengths: Optional[torch.Tensor], cu_seq: Optional[torch.Tensor]) -> List[int]:
    """The positions of the rows that have one, in the flat cache."""
    pages, page = k_cache.shape[0], k_cache.shape[1] if k_cache.dim() == 4 else 1
    if slots is not None:
        return [slot for slot in slots.flatten().tolist() if 0 <= slot < pages * page]
    assert lengths is not None
    starts = list(range(0, (lengths.shape[0] + 1) * k.shape[1], k.shape[1])) if cu_seq is None else cu_seq.tolist()
    tokens = k.shape[0] if cu_seq is not None else starts[-1]
    found: List[int] = []
    for b, length in enumerate(lengths.tolist()):
        table = [b] if page_table is None else page_table[b].tolist()
        for t in range(max(starts[b], 0), min(starts[b + 1], tokens)):
            n = length + t - starts[b]
            if 0 <= n < len(table) * page and 0 <= table[n // page] < pages:
                found.append(table[n // page] * page + n % page)
    return found


def _check_duplicates(positions: List[int]) -> None:
    seen = set()
    for one in positions:
        if one in seen:
            raise ValueError(f"new rows must have different positions in the cache, found several for row {one} of the flat cache")
        seen.add(one)


def _without_gradients(keys: Any, k: torch.Tensor, v: Optional[torch.Tensor], k_cache: torch.Tensor, v_cache: Optional[torch.Tensor],
                       *rest: Any) -> None:
    _named_launches.refuse_gradients("append", k, v, k_cache, v_cache)
    _named_launches.below_autograd(torch.ops.fovea.append.default, keys, k, v, k_cache, v_cache, *rest)
    for cache in (k_cache, v_cache):
        if cache is not None and not cache.is_inference():
            torch.autograd.graph.increment_version(cache)


_library = torch.library.Library("fovea", "FRAGMENT")
_library.define("append(Tensor k, Tensor? v, Tensor(a!) k_cache, Tensor(b!)? v_cache, Tensor? slots, Tensor? page_table, "
                "Tensor? lengths, Tensor? cu_seq, str level='attn') -> ()")
_library.impl("append", _launch, "CUDA")
_library.impl("append", _interpret, "CPU")
_library.impl("append", _without_gradients, "Autograd", with_keyset=True)


@torch.library.register_fake("fovea::append", lib=_library)
def _fake(*arguments: Any, **named: Any) -> None:
    return None


__all__ = ["append"]
