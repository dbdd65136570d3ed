"""Decompositions of ops: PyTorch's where they suit kernels, own ones of reductions for which
PyTorch's need more ops, and those of custom ops."""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, Optional, Sequence, Union

import torch

# Ops with PyTorch's decomposition. None of these reads the value of a traced tensor.
_PYTORCHS = {
    "silu", "gelu", "softplus", "leaky_relu", "elu", "selu", "celu", "mish", "log_sigmoid_forward", "addcmul", "addcdiv",
    "lerp", "dist", "deg2rad", "rad2deg", "frac", "heaviside", "nan_to_num", "logit", "hardshrink", "softshrink", "threshold",
    "isposinf", "isneginf", "square", "log_sigmoid", "tanhshrink", "special_entr",
    "addmm", "addmv", "baddbmm", "_softmax", "_log_softmax", "aminmax", "triu", "tril", "count_nonzero",
    "embedding", "repeat",
}

Dims = Union[None, int, Sequence[int]]


def _wide(x: torch.Tensor) -> torch.Tensor:
    """Converts 16-bit floats to f32, for sums."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def _dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (_wide(a) * _wide(b)).sum().to(a.dtype)


def _mv(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (_wide(a) * _wide(b)).sum(-1).to(a.dtype)


def _mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (_wide(a).unsqueeze(-1) * _wide(b).unsqueeze(-3)).sum(-2).to(a.dtype)


def _vector_norm(x: torch.Tensor, ord: float = 2, dim: Dims = None, keepdim: bool = False, *,
                 dtype: Optional[torch.dtype] = None) -> torch.Tensor:
    kind = dtype or x.dtype
    x = _wide(x.to(kind))
    dims = [dim] if isinstance(dim, int) else list(dim or range(x.dim()))
    if ord != 0 and math.prod(x.shape[one] for one in dims) == 1:
        result = x.abs().sum(dims, keepdim)
    elif ord == 2:
        total = (x * x).sum(dims, keepdim)
        # A select: the square root has no derivative at 0, but that of the norm is 0.
        result = torch.where(total == 0, 0.0, total.sqrt())
    elif ord == 1:
        result = x.abs().sum(dims, keepdim)
    elif ord == 0:
        result = (x != 0).to(x.dtype).sum(dims, keepdim)
    elif math.isinf(ord):
        result = (x.abs().amax if ord > 0 else x.abs().amin)(dims, keepdim)
    else:
        result = x.abs().pow(ord).sum(dims, keepdim).pow(1 / ord)
    return result.to(kind)


def _norm(x: torch.Tensor, p: Optional[float] = 2, dim: Dims = None, keepdim: bool = False, *,
          dtype: Optional[torch.dtype] = None) -> torch.Tensor:
    return _vector_norm(x, 2 if p is None else p, dim, keepdim, dtype=dtype)


def linear(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor] = None) -> torch.Tensor:
    """linear; PyTorch's decomposition for vectors changes the shape of its result in place."""
    product = _mv(weight, x.unsqueeze(-2)) if weight.dim() == 2 else _dot(weight, x)
    return product if bias is None else product + bias


def _logsumexp(x: torch.Tensor, dim: Dims, keepdim: bool = False) -> torch.Tensor:
    most = x.amax(dim, True).detach()  # type: ignore[arg-type]
    most = torch.where(most.abs() == math.inf, 0.0, most)
    result = (x - most).exp().sum(dim, True).log() + most  # type: ignore[arg-type]
    return result if keepdim else result.squeeze(dim)  # type: ignore[arg-type]


def _angle(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x < 0, math.pi, torch.where(torch.isnan(x), x, 0.0))


def _ldexp(x: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    return x * torch.pow(2.0, exponent)


_OWN: Dict[str, Callable[..., Any]] = {
    "ldexp": _ldexp, "logsumexp": _logsumexp, "angle": _angle,
    "dot": _dot, "vdot": _dot, "mv": _mv, "mm": _mm, "bmm": _mm, "linalg_vector_norm": _vector_norm, "norm": _norm,
}


def decomposition(function: Any) -> Optional[Callable[..., Any]]:
    """The decomposition of an op, or None."""
    namespace, name = function._schema.name.split("::")
    if namespace not in ("aten", "prims"):
        return _registered(function)
    if name in _OWN:
        return _OWN[name]
    if name not in _PYTORCHS:
        return None
    from torch._decomp import decomposition_table

    return decomposition_table.get(function)


def _registered(function: Any) -> Optional[Callable[..., Any]]:
    """The decomposition of a custom op: a registered one, or its composite kernel."""
    from torch._decomp import decomposition_table

    found: Optional[Callable[..., Any]] = decomposition_table.get(function)
    if found is not None:
        return found
    composite = function.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd)
    return function.decompose if composite else None


__all__ = ["decomposition", "linear"]
