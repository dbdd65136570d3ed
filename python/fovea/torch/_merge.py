"""The merge of attention over disjoint sets of keys."""

from __future__ import annotations

import functools
from typing import Any, List, Optional, Sequence, Tuple, Union

import torch

from ..frontend import _caches
from ..frontend._program import Spec
from .ops import _named_launches
from .ops._checks import LEVELS, check_tensor, checked_backend, refusal

Parts = Union[torch.Tensor, Sequence[torch.Tensor]]
#: Most parts that are operands of their own; more are stacked first.
_MOST_OPERANDS = 8
_KINDS = (torch.bfloat16, torch.float16, torch.float32)


def merge(
    outputs: Parts,
    lses: Parts,
    *,
    layout: str = "bhsd",
    dtype: Optional[torch.dtype] = None,
    backend: str = "cuda",
) -> Tuple[torch.Tensor, torch.Tensor]:
    """Merges attention over disjoint sets of keys: returns the output and the log-sum-exp over
    all keys, as if the softmax had seen them together.

    outputs
        (parts, batch, heads, queries, head_dim), bfloat16, float16 or float32; or a sequence of
        tensors without the leading dimension. There may be 0 stacked parts.
    lses
        their log-sum-exps, natural logarithms: (parts, batch, heads, queries), float32; or a
        sequence of as many.
    layout
        "bshd" for outputs (batch, queries, heads, head_dim), as ``attention_with_kvcache``
        returns them. Log-sum-exps are (batch, heads, queries) in both.
    dtype
        the dtype of the returned output, by default that of ``outputs``.
    backend
        as for ``flex_attention``.

    A part whose log-sum-exp is -inf has no effect, even if its output is NaN. A row without
    other parts has the output 0 and the log-sum-exp -inf. Parts are merged in their order, in
    one launch. There are no gradients. Raises TypeError, ValueError, NotImplementedError.
    """
    backend = checked_backend(backend)
    parts, sums = _parts("outputs", outputs), _parts("lses", lses)
    if layout not in ("bhsd", "bshd"):
        raise ValueError(f"layout must be 'bhsd' or 'bshd', found {layout!r}")
    _check(parts, sums, isinstance(outputs, torch.Tensor), isinstance(lses, torch.Tensor), layout, backend)
    if dtype is not None and dtype not in _KINDS:
        raise ValueError(f"dtype must be one of {', '.join(map(str, _KINDS))}, found {dtype}")
    _named_launches.refuse_gradients("merge", *parts, *sums)
    if layout == "bshd":
        parts = [one.transpose(-3, -2) for one in parts]
    if len(parts) > _MOST_OPERANDS:
        parts, sums = [torch.stack(parts)], [torch.stack(sums)]
    o, lse = torch.ops.fovea.merge(parts, sums, dtype, LEVELS.get(backend, "attn"))
    return (o.transpose(-3, -2) if layout == "bshd" else o), lse


def _parts(name: str, given: Any) -> List[torch.Tensor]:
    if isinstance(given, torch.Tensor):
        parts = [given]
    elif isinstance(given, Sequence):
        parts = list(given)
    else:
        raise TypeError(f"{name} must be a PyTorch tensor or a sequence of tensors, found {type(given).__name__}")
    if not parts:
        raise ValueError(f"{name} has no parts: expected at least one tensor, or a tensor with a leading dimension of 0")
    for one in parts:
        check_tensor(name, one)
        refused = refusal(one)
        if refused is not None:
            raise TypeError(f"{name} is {refused}")
    return parts


def _check(parts: List[torch.Tensor], sums: List[torch.Tensor], is_stacked: bool, are_sums_stacked: bool, layout: str,
           backend: str) -> None:
    if is_stacked != are_sums_stacked:
        raise TypeError("outputs and lses must both be tensors with a leading dimension, or both sequences of tensors")
    if len(parts) != len(sums):
        raise ValueError(f"outputs and lses must have as many parts, found {len(parts)} and {len(sums)}")
    first, device = parts[0], "cuda" if backend == "cuda" else "cpu"
    if first.device.type != device:
        raise ValueError(f"backend=\"{backend}\" runs on {device}, found outputs on {first.device}")
    if first.dtype not in _KINDS:
        raise ValueError(f"outputs must be of {', '.join(map(str, _KINDS))}, found {first.dtype}")
    rank = 5 if is_stacked else 4
    for one, lse in zip(parts, sums):
        if one.dim() != rank:
            raise ValueError(f"outputs must have {rank} dimensions, {'with' if is_stacked else 'without'} a leading one for the parts, "
                             f"found {one.dim()}")
        if one.dtype != first.dtype or one.device != first.device or one.shape != first.shape:
            raise ValueError(f"outputs must have one shape, dtype and device, found {list(first.shape)} of {first.dtype} on {first.device} "
                             f"and {list(one.shape)} of {one.dtype} on {one.device}")
        if lse.dtype != torch.float32:
            raise ValueError(f"lses must be of torch.float32, found {lse.dtype}")
        if lse.device != first.device:
            raise ValueError(f"lses are on {lse.device}, but outputs are on {first.device}")
        shape = list((one if layout == "bhsd" else one.transpose(-3, -2)).shape[:-1])
        if list(lse.shape) != shape:
            raise ValueError(f"lses must have the shape {shape} (batch, heads, queries) for outputs {list(one.shape)} in the layout {layout}, "
                             f"found {list(lse.shape)}")


# --- The op -------------------------------------------------------------------


@functools.lru_cache(maxsize=256)
def _program(head_dim: int, kind: torch.dtype, result: torch.dtype, parts: Optional[int]) -> Spec:
    return _caches.merge(head_dim=head_dim, dtype=kind, output_dtype=result, parts=parts)


def _results(parts: List[torch.Tensor], dtype: Optional[torch.dtype]) -> Tuple[torch.Tensor, torch.Tensor]:
    """Allocates the output, with the order of dimensions in memory of a part, and the log-sum-exp."""
    model = parts[0]
    shape = model.shape[-4:]
    order = sorted(range(3), key=lambda dim: model.stride(dim - 4), reverse=True)
    o = model.new_empty([shape[dim] for dim in order] + [shape[3]], dtype=dtype).permute(*(order.index(dim) for dim in range(3)), 3)
    return o, model.new_empty(shape[:3], dtype=torch.float32)


def _named(parts: List[torch.Tensor], sums: List[torch.Tensor], dtype: Optional[torch.dtype]) -> Tuple[Spec, Any]:
    """The program and its inputs by name."""
    first = parts[0]
    is_stacked = first.dim() == 5
    spec = _program(first.shape[-1], first.dtype, dtype or first.dtype, None if is_stacked else len(parts))
    if is_stacked:
        return spec, {"o_parts": first, "lse_parts": sums[0]}
    return spec, {name: one for n, pair in enumerate(zip(parts, sums)) for name, one in zip((f"o{n}", f"lse{n}"), pair)}


def _launch(parts: List[torch.Tensor], sums: List[torch.Tensor], dtype: Optional[torch.dtype] = None, level: str = "attn"
            ) -> Tuple[torch.Tensor, torch.Tensor]:
    o, lse = _results(parts, dtype)
    if o.numel():
        spec, given = _named(parts, sums, dtype)
        _named_launches.launch(spec, {**given, "o": o, "lse": lse}, o.device.index)
    else:
        lse.fill_(float("-inf"))
    return o, lse


def _interpret(parts: List[torch.Tensor], sums: List[torch.Tensor], dtype: Optional[torch.dtype] = None, level: str = "attn"
               ) -> Tuple[torch.Tensor, torch.Tensor]:
    made = _results(parts, dtype)
    spec, given = _named(parts, sums, dtype)
    for one, result in zip(made, _named_launches.interpret(spec, given, level)):
        one.copy_(result)
    return made


def _without_gradients(keys: Any, parts: List[torch.Tensor], sums: List[torch.Tensor], *rest: Any) -> Any:
    _named_launches.refuse_gradients("merge", *parts, *sums)
    return _named_launches.below_autograd(torch.ops.fovea.merge.default, keys, parts, sums, *rest)


_library = torch.library.Library("fovea", "FRAGMENT")
_library.define("merge(Tensor[] outputs, Tensor[] lses, ScalarType? dtype=None, str level='attn') -> (Tensor, Tensor)")
_library.impl("merge", _launch, "CUDA")
_library.impl("merge", _interpret, "CPU")
_library.impl("merge", _without_gradients, "Autograd", with_keyset=True)


@torch.library.register_fake("fovea::merge", lib=_library)
def _fake(outputs: Any, lses: Any, dtype: Any = None, level: str = "attn") -> Any:
    return _results(outputs, dtype)


__all__ = ["merge"]
