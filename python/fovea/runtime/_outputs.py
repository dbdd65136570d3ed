"""Output tensors and the current stream of the framework that a launch's inputs belong to."""

from __future__ import annotations

import sys
from typing import Any, Dict, Iterable, Mapping, Tuple

_TORCH = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64"}
_CUPY = {"f16": "float16", "f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64"}


def framework_of(value: Any) -> str:
    """Returns "torch" or "cupy" for their tensors, else ""."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return "torch"
    return "cupy" if type(value).__module__.partition(".")[0] == "cupy" else ""


def current_stream(tensors: Iterable[Any], device: int) -> int:
    """The address of the current CUDA stream of the first tensor's framework; 0, the default
    stream, where no tensor belongs to PyTorch or CuPy."""
    for tensor in tensors:
        framework = framework_of(tensor)
        if framework == "torch" and tensor.is_cuda:
            cuda = sys.modules["torch"].cuda
            return int(cuda.current_stream(device if device >= 0 else None).cuda_stream)
        if framework == "cupy":
            return int(sys.modules["cupy"].cuda.get_current_stream().ptr)
    return 0


def output_shapes(facts: Mapping[str, Any], arguments: Mapping[str, Any]) -> Dict[str, Tuple[Tuple[int, ...], str]]:
    """Shape and element type of each output that ``arguments`` lacks, from the sizes of the
    inputs. Raises TypeError if no input has one of the sizes."""
    sizes: Dict[Any, int] = {}
    for tensor in facts["tensors"]:
        shape = getattr(arguments.get(tensor["name"]), "shape", None)
        if shape is not None and len(shape) == len(tensor["shape"]):
            sizes.update(zip(tensor["shape"], shape))
    found: Dict[str, Tuple[Tuple[int, ...], str]] = {}
    for tensor in facts["tensors"]:
        name = tensor["name"]
        if tensor["access"] == "read" or name in arguments:
            continue
        unknown = [size for size in tensor["shape"] if not isinstance(size, int) and size not in sizes]
        if unknown:
            raise TypeError(f"the size {unknown[0]} of the output '{name}' is that of no input: pass '{name}'")
        found[name] = tuple(size if isinstance(size, int) else int(sizes[size]) for size in tensor["shape"]), tensor["dtype"]
    return found


def allocate(like: Any, shape: Tuple[int, ...], dtype: str) -> Any:
    """Allocates an uninitialised tensor of the framework and on the device of ``like``. Raises
    TypeError if that is of neither PyTorch nor CuPy, or the framework lacks the element type."""
    framework = framework_of(like)
    if framework == "torch":
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, _TORCH[dtype]), device=like.device)
    if framework == "cupy" and dtype in _CUPY:
        cupy = sys.modules["cupy"]
        with like.device:
            return cupy.empty(shape, dtype=_CUPY[dtype])
    kind = type(like).__name__ if not framework else f"CuPy array, which can't hold {dtype}"
    raise TypeError(f"a call allocates outputs for PyTorch tensors and CuPy arrays, found {kind} as 'q': "
                    "pass outputs to kernel.launch")


__all__ = ["allocate", "current_stream", "framework_of", "output_shapes"]
