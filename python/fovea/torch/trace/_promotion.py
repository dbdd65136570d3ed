"""PyTorch's type promotion, and broadcasting. PyTorch's functions for them
(``elementwise_dtypes``, ``broadcast_shapes``) import sympy, which takes longer than compiling a
kernel; ``torch.result_type`` supports two operands only."""

from __future__ import annotations

import enum
from typing import Any, Dict, Optional, Sequence, Tuple

import torch


class Kind(enum.Enum):
    """How an op changes the promoted dtype. By default 16-bit floats are computed in f32."""

    DEFAULT = 0
    #: The op moves elements only; 16-bit floats are not widened.
    NO_OPMATH = 1
    #: Integers become floats.
    INT_TO_FLOAT = 2
    #: The result is a boolean.
    ALWAYS_BOOL = 3


def _join(higher: Optional[torch.dtype], lower: Optional[torch.dtype]) -> Optional[torch.dtype]:
    """Promotes the dtype of operands of higher priority with that of others, which count only
    if their category (boolean, integer, float) is higher."""
    if higher is None or lower is None:
        return higher or lower
    if higher.is_complex or (higher.is_floating_point and not lower.is_complex):
        return higher
    if higher == torch.bool or lower.is_floating_point or lower.is_complex:
        return torch.promote_types(higher, lower)
    return higher


def _number_type(number: Any) -> torch.dtype:
    if isinstance(number, (bool, torch.SymBool)):
        return torch.bool
    if isinstance(number, (int, torch.SymInt)):
        return torch.int64
    if isinstance(number, complex):
        return torch.promote_types(torch.get_default_dtype(), torch.complex32)
    return torch.get_default_dtype()


def promoted(operands: Sequence[Any], kind: Kind = Kind.DEFAULT) -> Tuple[torch.dtype, torch.dtype]:
    """The computation dtype and the result dtype for tensors and numbers."""
    found: Dict[str, Optional[torch.dtype]] = {"tensors": None, "scalars": None, "numbers": None}
    for one in operands:
        if isinstance(one, torch.Tensor):
            rank, dtype = "tensors" if one.dim() else "scalars", one.dtype
        else:
            rank, dtype = "numbers", _number_type(one)
        other = found[rank]
        found[rank] = dtype if other is None else torch.promote_types(other, dtype)
    result = _join(found["tensors"], _join(found["scalars"], found["numbers"]))
    assert result is not None
    if kind is Kind.INT_TO_FLOAT and not (result.is_floating_point or result.is_complex):
        result = torch.get_default_dtype()
    half = result in (torch.float16, torch.bfloat16) and kind is not Kind.NO_OPMATH
    return torch.float32 if half else result, torch.bool if kind is Kind.ALWAYS_BOOL else result


def broadcast(*shapes: Sequence[int]) -> Tuple[int, ...]:
    """The broadcast shape. Raises RuntimeError."""
    result = [1] * max(map(len, shapes), default=0)
    for shape in shapes:
        for place, extent in enumerate(shape, len(result) - len(shape)):
            if extent != 1:
                if result[place] not in (1, extent):
                    raise RuntimeError(f"shapes can't be broadcast together: {', '.join(str(list(one)) for one in shapes)}")
                result[place] = extent
    return tuple(result)
