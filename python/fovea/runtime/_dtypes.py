"""Names of element types in MLIR, numpy and PyTorch."""

from __future__ import annotations

from typing import Any

# Element types of Q, K, V and captured tensors, with their names in numpy first.
_NAMES = {
    "f16": ("float16", "half"), "bf16": ("bfloat16",), "f32": ("float32", "float"), "f64": ("float64", "double"),
    "i1": ("bool", "bool_"), "i8": ("int8",), "i16": ("int16", "short"), "i32": ("int32", "int"), "i64": ("int64", "long"),
    "f8E4M3FN": ("float8_e4m3fn", "e4m3"),
}
_BY_NAME = {name: key for key, names in _NAMES.items() for name in (key, *names)}

#: Size of an element in bytes.
SIZES = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "f8E4M3FN": 1}

#: Values of the runtime's enum ``fovea_dtype``.
RUNTIME = {"f16": 0, "bf16": 1, "f32": 2, "i1": 3, "i8": 4, "i32": 5, "i64": 6, "i16": 7, "f8E4M3FN": 8}


def dtype_name(dtype: Any) -> str:
    """MLIR's name of an element type, from text ("bf16", "bfloat16") or a dtype of numpy,
    ml_dtypes or PyTorch. Raises ValueError for other values."""
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", None) or str(dtype)
    known = _BY_NAME.get(name.rpartition(".")[2])
    if known is None:
        raise ValueError(f"unknown dtype {dtype!r}, expected one of {', '.join(_NAMES)}")
    return known
