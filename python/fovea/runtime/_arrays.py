"""Conversion of numpy arrays and PyTorch tensors to and from the interpreter's tensors."""

from __future__ import annotations

import ctypes
import sys
from typing import Any, List, Mapping, Sequence, Tuple

from ._dtypes import dtype_name
from .._extras import need
from ..compiler._structs import Tensor

_NUMPY = {"f16": "float16", "f32": "float32", "f64": "float64", "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32",
          "i64": "int64", "bf16": "uint16", "f8E4M3FN": "uint8"}


def _to_bf16(array: Any) -> Any:
    """Rounds to bf16, ties to even, and returns the bits."""
    import numpy

    exact = numpy.asarray(array, numpy.float64)
    with numpy.errstate(over="ignore"):
        floats = exact.astype(numpy.float32)
    # Round to odd in the first step, so that the second step gives the result of one rounding.
    bits = floats.view(numpy.uint32).copy()
    with numpy.errstate(invalid="ignore"):
        inexact = (floats.astype(numpy.float64) != exact) & numpy.isfinite(exact)
        away = numpy.abs(floats.astype(numpy.float64)) > numpy.abs(exact)
    bits = numpy.where(inexact, (bits - (away & inexact).astype(numpy.uint32)) | 1, bits)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(numpy.uint16)
    return numpy.where(numpy.isnan(exact), numpy.uint16(0x7FC0), rounded)


def _e4m3_values() -> Any:
    """The numbers of all bits of f8E4M3FN: 4 bits of the exponent, 3 of the fraction."""
    import numpy

    bits = numpy.arange(128)
    exponent, fraction = bits >> 3, bits & 7
    values = numpy.where(exponent == 0, fraction * 2.0**-9, (8 + fraction) * numpy.exp2(exponent - 10.0))
    values[127] = numpy.nan
    return numpy.concatenate([values, -values]).astype(numpy.float32)


def _to_e4m3(array: Any) -> Any:
    """Rounds to f8E4M3FN, ties to even, and returns the bits. Larger numbers than 448 become 448, as in PyTorch."""
    import numpy

    exact = numpy.asarray(array, numpy.float64)
    size = numpy.minimum(numpy.abs(numpy.where(numpy.isnan(exact), 0, exact)), 448)
    step = numpy.exp2(numpy.maximum(numpy.floor(numpy.log2(numpy.maximum(size, 2.0**-9))), -6) - 3)
    size = numpy.rint(size / step) * step
    bits = numpy.searchsorted(_e4m3_values()[:127], size).astype(numpy.uint8)
    bits = numpy.where(numpy.isnan(exact), numpy.uint8(127), bits)
    return bits | (numpy.signbit(exact).astype(numpy.uint8) << 7)


def _from_torch(value: Any) -> Any:
    """A PyTorch tensor in host memory; numpy has no bf16 and no 8-bit floats."""
    torch = sys.modules["torch"]
    value = value.detach().cpu().as_subclass(torch.Tensor)
    return value.float().numpy() if value.dtype in (torch.bfloat16, torch.float8_e4m3fn) else value.numpy()


#: Operands of gradients that are results of the forward pass or gradients of the loss.
_OF_OUTPUTS = ("o", "lse", "do", "dlse")


def _float_type(value: Any) -> str:
    """The name of the float type of a tensor or an array, or ""."""
    name = str(getattr(value, "dtype", "")).rpartition(".")[2]
    return name if name in ("float16", "bfloat16", "float32", "float64") else ""


def check_outputs(dtypes: Mapping[str, str], arguments: Mapping[str, Any]) -> None:
    """Raises TypeError if outputs that are passed to a program of gradients, whose inputs
    have `dtypes`, have another float type. numpy arrays may have the dtype of the array
    ``q``, as all are rounded. Except for ``do`` they may be float32 in place of a 16-bit
    type, as the interpreter returns ``o``."""
    if "do" not in dtypes:
        return
    for name in _OF_OUTPUTS:
        value = arguments.get(name)
        found, wanted = _float_type(value), {"f16": "float16", "bf16": "bfloat16", "f32": "float32"}.get(dtypes.get(name, ""))
        stands = not hasattr(value, "detach") and (found == _float_type(arguments.get("q")) or name != "do" and found == "float32")
        if found and wanted and found != wanted and not stands:
            told = "must be of the output's type" if name == "do" else "must be of type"
            raise TypeError(f"'{name}' {told} {dtypes[name]}, found {found}")


def to_host(name: str, value: Any, dtype: str) -> Any:
    """Converts `value` to a contiguous array of `dtype`, bf16 as bits. Floats are rounded to
    nearest; integers must fit. Raises TypeError and ValueError."""
    need("numpy", "interpret", "running on the CPU")
    import numpy

    if hasattr(value, "detach") and "torch" in sys.modules:
        value = _from_torch(value)
    array = numpy.asarray(value)
    kind = "f" if str(array.dtype) in ("bfloat16", "float16", "float32", "float64", "float8_e4m3fn") else array.dtype.kind
    if dtype in ("f16", "bf16", "f32", "f64", "f8E4M3FN"):
        if kind not in "fiub":
            raise TypeError(f"'{name}' must hold numbers, found {array.dtype}")
        if dtype == "bf16":
            same = str(array.dtype) == "bfloat16"
            array = array.view(numpy.uint16) if same else _to_bf16(array)
        elif dtype == "f8E4M3FN":
            same = str(array.dtype) == "float8_e4m3fn"
            array = array.view(numpy.uint8) if same else _to_e4m3(array)
        else:
            array = array.astype(_NUMPY[dtype])
    else:
        wanted = numpy.dtype(_NUMPY[dtype])
        if kind not in "iub":
            raise TypeError(f"'{name}' must hold {'booleans' if dtype == 'i1' else 'integers'}, found {array.dtype}")
        if dtype == "i1" and kind != "b":
            raise TypeError(f"'{name}' must hold booleans, found {array.dtype}")
        if kind != "b" and array.size and not numpy.can_cast(array.dtype, wanted):
            limits = numpy.iinfo(wanted)
            if array.min() < limits.min or array.max() > limits.max:
                raise ValueError(f"'{name}' holds integers that do not fit {dtype}")
        array = array.astype(wanted)
    # Not ascontiguousarray, which makes scalars arrays of rank 1.
    return array if array.flags.c_contiguous else array.copy(order="C")


def as_tensors(named: Sequence[Tuple[str, str, Any]]) -> Tuple[Any, List[Any]]:
    """C structs of (name, dtype, array), and objects that must outlive them."""
    structs = (Tensor * max(len(named), 1))()
    keep: List[Any] = []
    for slot, (name, dtype, array) in zip(structs, named):
        sizes = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
        slot.name, slot.dtype, slot.rank = name.encode(), dtype.encode(), array.ndim
        slot.data, slot.sizes = array.ctypes.data, sizes
        keep += [sizes, array]
    return structs, keep


def dtype_of_numpy(dtype: str) -> str:
    """numpy's name of the dtype that stores `dtype`; uint16 for bf16."""
    return _NUMPY[dtype]


def from_host(array: Any, dtype: str) -> Any:
    """Converts an array of bits of bf16 or an 8-bit float to f32, which is exact; returns other arrays unchanged."""
    if dtype == "f8E4M3FN":
        return _e4m3_values()[array]
    if dtype != "bf16":
        return array
    return (array.astype("uint32") << 16).view("float32")


def from_tensor(tensor: Tensor) -> Any:
    """Copies a tensor of the interpreter to an array; bf16 and 8-bit floats become f32, which is exact."""
    import numpy

    dtype = dtype_name(tensor.dtype.decode())
    shape = tuple(tensor.sizes[i] for i in range(tensor.rank))
    element = numpy.dtype(_NUMPY[dtype])
    count = int(numpy.prod(shape, dtype=numpy.int64))
    array = numpy.frombuffer(ctypes.string_at(tensor.data, count * element.itemsize), element).reshape(shape)
    return from_host(array.copy(), dtype)
