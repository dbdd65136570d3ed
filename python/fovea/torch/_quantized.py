"""Attention on float8 tensors with scales."""

from __future__ import annotations

from typing import Dict, Mapping, NamedTuple, Optional, Tuple

import torch

from ..frontend._program import SCALES
from .ops._checks import NARROW, check_tensor, refusal
from .ops._padding import WIDEST

#: The largest number of float8_e4m3fn.
_LARGEST = 448.0
#: Dtypes of outputs of float8 tensors.
_OUTPUTS = (torch.bfloat16, torch.float16, torch.float32)
#: Elements of 16 bytes, to which TMA aligns rows.
_GRANULE = 16


class Scales(NamedTuple):
    """The scale tensors of a call in the program's order, their kinds as ``Facts.scales``, and
    the output's dtype if it is not that of the inputs."""

    tensors: Tuple[torch.Tensor, ...] = ()
    kinds: str = ""
    output: Optional[torch.dtype] = None


def _kind(name: str, scale: torch.Tensor, batch: int, kv_heads: int, columns: int) -> str:
    wanted = f"(batch or 1, kv_heads or 1{', value_head_dim' * (name == 'v_mean')})"
    shape = tuple(scale.shape)
    rank = 3 if name == "v_mean" else 2
    if len(shape) != rank or shape[0] not in (1, batch) or shape[1] not in (1, kv_heads) or shape[2:] not in ((), (columns,)):
        raise ValueError(f"scale {name!r} must have the shape {wanted} with batch {batch} and {kv_heads} kv_heads, found {list(shape)}")
    return ("tensor", "head", "batch", "batch_head")[2 * (shape[0] != 1) + (shape[1] != 1)]


def scales_of(query: torch.Tensor, value: torch.Tensor, batch: int, kv_heads: int, scales: Optional[Mapping[str, torch.Tensor]],
              output_dtype: Optional[torch.dtype]) -> Scales:
    """Checks the arguments of a call on quantized tensors of so many sequences and key heads.
    Raises TypeError, ValueError."""
    narrow = query.dtype == NARROW
    if not narrow:
        if scales is not None or output_dtype not in (None, query.dtype):
            raise ValueError(f"scales and output_dtype are for query, key and value of {NARROW}, found {query.dtype}")
        return Scales()
    if output_dtype is not None and output_dtype not in _OUTPUTS:
        raise ValueError(f"output_dtype must be one of {', '.join(map(str, _OUTPUTS))}, found {output_dtype}")
    for name, one in (("query", query), ("value", value)):
        if one.shape[-1] % _GRANULE or one.shape[-1] > WIDEST:
            raise ValueError(f"head dims of {NARROW} must be multiples of {_GRANULE} up to {WIDEST}, found {one.shape[-1]} for {name}")
    if scales is not None and not isinstance(scales, Mapping):
        raise TypeError(f"scales must be a dictionary of tensors, found {type(scales).__name__}")
    given = dict(scales or {})
    unknown = [name for name in given if name not in SCALES]
    if unknown:
        raise ValueError(f"scales must be among {', '.join(SCALES)}, found {unknown[0]!r}")
    tensors, kinds = [], []
    for name in SCALES:
        if name not in given:
            continue
        one = given[name]
        check_tensor(f"scale {name!r}", one)
        refused = refusal(one)
        if refused is not None:
            raise TypeError(f"scale {name!r} is {refused}")
        if one.dtype != torch.float32 or one.device != query.device:
            raise ValueError(f"scale {name!r} must be of torch.float32 on {query.device}, found {one.dtype} on {one.device}")
        one = one.reshape(1, 1) if not one.dim() else one
        kinds.append(f"{name}:{_kind(name, one, batch, kv_heads, value.shape[-1])}")
        tensors.append(one)
    return Scales(tuple(tensors), ",".join(kinds), torch.bfloat16 if output_dtype is None else output_dtype)


def _rotation(dim: int, device: torch.device) -> torch.Tensor:
    """An orthogonal (dim, dim) matrix: random signs, then a Hadamard matrix of the largest power of
    two that divides dim, times the cosine transform of the rest. The same at each call."""
    matrix = torch.ones(1, 1)
    rest = dim
    while rest % 2 == 0:
        matrix, rest = torch.kron(matrix, torch.tensor([[1.0, 1.0], [1.0, -1.0]])) * 0.5**0.5, rest // 2
    places = torch.arange(rest)
    cosines = torch.cos(torch.pi / rest * (places[:, None] + 0.5) * places) * (2 / rest) ** 0.5
    cosines[:, 0] *= 0.5**0.5
    signs = 1 - 2 * torch.randint(2, (dim, 1), generator=torch.Generator().manual_seed(0))
    return (signs * torch.kron(matrix, cosines)).to(device)


def quantize_attention_inputs(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *, per_head: bool = True,
                              v_mean: bool = True, rotate: bool = False
                              ) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor, Dict[str, torch.Tensor]]:
    """Rounds query, key and value to float8_e4m3fn, with scales for ``flex_attention``.

    query, key, value
        (batch, heads, length, head_dim), of any float dtype; heads of query is a multiple of
        those of key and value.
    per_head
        whether each batch entry and key head has a scale of its own, or the tensor one.
    v_mean
        whether value is rounded without its mean over the keys, per head and column, which the
        kernel adds to the output. MMA units for 8 bits lose the low bits of long sums of equal
        sign: without this, the output of values with mean 1 at 16k keys is 18 % too small.
    rotate
        whether query and key are multiplied by one orthogonal matrix before they are rounded:
        random signs and a Hadamard matrix (FlashAttention-3, section 3.3). Their products stay
        the same, and outliers are spread over all columns, which halves the error that they
        cause.

    Returns query, key and value in float8_e4m3fn and the dictionary ``scales``. A scale is the
    largest magnitude divided by 448. The function consists of PyTorch's ops, which
    ``torch.compile`` fuses.

    >>> q, k, v, scales = quantize_attention_inputs(query, key, value)  # doctest: +SKIP
    >>> out = flex_attention(q, k, v, scales=scales)  # doctest: +SKIP
    """
    kv_heads = key.shape[1]
    if not kv_heads or query.shape[1] % kv_heads:
        raise ValueError(f"query heads must be a multiple of key heads, found {query.shape[1]} and {kv_heads}")
    if rotate:
        rotation = _rotation(query.shape[-1], query.device)
        query, key = query.float() @ rotation, key.float() @ rotation
    scales: Dict[str, torch.Tensor] = {}

    def rounded(name: str, tensor: torch.Tensor) -> torch.Tensor:
        wide = tensor.float()
        grouped = wide.unflatten(1, (kv_heads, -1))
        most = grouped.abs().amax((2, 3, 4) if per_head else (0, 1, 2, 3, 4)).reshape((-1, kv_heads) if per_head else (1, 1))
        # Zeros have any scale.
        scale = torch.where(most > 0, most / _LARGEST, 1.0)
        scales[name] = scale
        return (grouped / scale[:, :, None, None, None]).clamp(-_LARGEST, _LARGEST).to(NARROW).flatten(1, 2)

    q, k = rounded("q", query), rounded("k", key)
    if not v_mean:
        return q, k, rounded("v", value), scales
    mean = value.float().mean(2)
    v = rounded("v", value.float() - mean[:, :, None])
    scales["v_mean"] = mean
    return q, k, v, scales


__all__ = ["Scales", "quantize_attention_inputs", "scales_of"]
