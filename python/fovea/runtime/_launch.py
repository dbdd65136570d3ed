"""Launches kernels on a device, through libFoveaRuntime.

Tensors are PyTorch tensors, objects with ``__cuda_array_interface__`` (CuPy, Numba) or
``__dlpack__`` (JAX), and ``DeviceTensor``, an address with a shape and strides. A front end
with frequent launches uses a ``LoadedKernel`` and packs the arguments itself.
"""

from __future__ import annotations

import ctypes
import functools
import struct
import threading
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ..compiler import _library, _structs
from ._dtypes import SIZES, dtype_name
from ..errors import LaunchError

CURRENT_DEVICE = -1
# Statuses of a machine without a GPU, and advice for it.
_NO_GPU = ("FOVEA_ERROR_NO_DRIVER", "FOVEA_ERROR_NO_DEVICE")
_WITHOUT_GPU = "Kernel.interpret runs kernels on the CPU, and with level='ptx' executes their PTX"


@dataclass(frozen=True)
class DeviceTensor:
    """A tensor in device memory, by address. ``strides`` are in elements; None means
    contiguous. The caller keeps the memory alive."""

    address: int
    shape: Tuple[int, ...]
    dtype: str
    strides: Optional[Tuple[int, ...]] = None


# --- Tensors of other libraries -----------------------------------------------

_CUDA_ARRAY_TYPES = {"<f2": "f16", "<f4": "f32", "|b1": "i1", "|i1": "i8", "<i2": "i16", "<i4": "i32", "<i8": "i64", "<V2": "bf16",
                     "|V2": "bf16"}


def contiguous_strides(shape: Sequence[int]) -> Tuple[int, ...]:
    strides: List[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_DLPACK_TYPES = {(0, 8): "i8", (0, 16): "i16", (0, 32): "i32", (0, 64): "i64", (2, 16): "f16", (2, 32): "f32", (4, 16): "bf16",
                 (6, 8): "i1"}
_CUDA_KINDS = (2, 13)  # kDLCUDA, kDLCUDAManaged


def _from_dlpack(name: str, value: Any) -> DeviceTensor:
    capsule = value.__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(pointer(capsule, b"dltensor"))
    dtype = _DLPACK_TYPES.get((tensor.code, tensor.bits))
    if dtype is None or tensor.lanes != 1:
        raise TypeError(f"tensor '{name}' has an unsupported DLPack type: code {tensor.code}, "
                        f"{tensor.bits} bits, {tensor.lanes} lanes")
    if tensor.device_type not in _CUDA_KINDS:
        raise TypeError(f"tensor '{name}' is not in the memory of a CUDA device")
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None
    return DeviceTensor((tensor.data or 0) + tensor.byte_offset, shape, dtype, strides)


def describe(name: str, value: Any) -> DeviceTensor:
    """Address, shape, dtype and strides of a tensor. Raises TypeError."""
    if isinstance(value, DeviceTensor):
        return value
    if hasattr(value, "data_ptr"):
        if not value.is_cuda:
            raise TypeError(f"tensor '{name}' is on {value.device}, not on a CUDA device")
        return DeviceTensor(value.data_ptr(), tuple(value.shape), dtype_name(value.dtype), value.stride())
    facts = getattr(value, "__cuda_array_interface__", None)
    if facts is not None:
        dtype = _CUDA_ARRAY_TYPES.get(facts["typestr"])
        if dtype is None:
            raise TypeError(f"tensor '{name}' has elements of the unsupported type {facts['typestr']}")
        strides = facts.get("strides")
        if strides is not None:
            strides = tuple(step // SIZES[dtype] for step in strides)
        return DeviceTensor(facts["data"][0] or 0, tuple(facts["shape"]), dtype, strides)
    if hasattr(value, "__dlpack__"):
        return _from_dlpack(name, value)
    raise TypeError(f"tensor '{name}' is a {type(value).__name__}; expected a PyTorch tensor, an object with "
                    "__cuda_array_interface__ or __dlpack__, or a DeviceTensor")


def device_of(value: Any) -> int:
    """The index of a tensor's device, CURRENT_DEVICE if the tensor has none."""
    if hasattr(value, "get_device") and hasattr(value, "data_ptr"):
        return value.get_device()
    if hasattr(value, "__dlpack_device__"):
        return int(value.__dlpack_device__()[1])
    return CURRENT_DEVICE


# --- Devices and kernels ------------------------------------------------------

_lock = threading.Lock()
_devices: Dict[int, ctypes.c_void_p] = {}


def open_device(number: int) -> ctypes.c_void_p:
    """Opens a device, once. Raises LaunchError if it does not exist."""
    with _lock:
        if number not in _devices:
            handle = ctypes.c_void_p()
            try:
                _library.check(_library.runtime().fovea_device_open(number, ctypes.byref(handle)))
            except LaunchError as error:
                if error.status not in _NO_GPU:
                    raise
                raise LaunchError(error.status, f"{error.message}; {_WITHOUT_GPU}") from None
            _devices[number] = handle
        return _devices[number]


def device_info(number: int = CURRENT_DEVICE) -> Dict[str, Any]:
    """Properties of a device: ``name``, ``multiprocessors``, ``major`` and ``minor`` (compute
    capability), ``max_shared_memory`` (bytes per CTA), ``driver_version``. Raises LaunchError if
    there is no driver or no such device."""
    info = _structs.DeviceInfo()
    _library.check(_library.runtime().fovea_device_get_info(open_device(number), ctypes.byref(info)))
    return {field[0]: _text(getattr(info, field[0])) for field in info._fields_}


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def scalar_types(facts: Mapping[str, Any]) -> Dict[str, str]:
    """Types of a launch's scalars, including those of prologue and epilogue kernels only."""
    kernels = [facts, *facts.get("prologue", ()), *facts.get("epilogue", ())]
    return {one["name"]: one["type"] for kernel in kernels for one in kernel["parameters"] if one["kind"] == "scalar"}


class LoadedKernel:
    """A kernel loaded on a device.

    ``tensors`` and ``scalars`` are the names of its arguments, in the order of ``launch``.
    ``dtypes``, ``ranks`` and ``shapes`` (None for a size that each call determines) describe
    the tensors; ``floating`` tells which scalars are floats; ``facts`` is the launch
    metadata.
    """

    def __init__(self, image: bytes, metadata: bytes, facts: Mapping[str, Any], device: int,
                 opened: Optional[ctypes.c_void_p] = None):
        """``opened`` is the device, if it belongs to another driver."""
        self._library = _library.runtime()
        self._handle = ctypes.c_void_p()
        self.device = device
        _library.check(self._library.fovea_kernel_load(
            open_device(device) if opened is None else opened, image, len(image), metadata, len(metadata), ctypes.byref(self._handle)
        ))
        self.facts = facts
        self.name: str = facts["kernel"]
        self.tensors = self._names(self._library.fovea_kernel_tensor_name)
        self.scalars = self._names(self._library.fovea_kernel_scalar_name)
        by_name = {tensor["name"]: tensor for tensor in facts["tensors"]}
        self.dtypes = tuple(by_name[name]["dtype"] for name in self.tensors)
        self.ranks = tuple(len(by_name[name]["dims"]) for name in self.tensors)
        self.shapes = tuple(
            tuple(size if isinstance(size, int) else None for size in by_name[name]["shape"]) for name in self.tensors
        )
        types = scalar_types(facts)
        self.floating = tuple(types[name] == "f32" for name in self.scalars)
        words = "".join("q" * (1 + 2 * rank) for rank in self.ranks)
        self._row = struct.Struct("=" + words + "".join("d" if floating else "q" for floating in self.floating))
        self._run = self._library.fovea_kernel_launch_packed

    def _names(self, get: Any) -> Tuple[str, ...]:
        names: List[str] = []
        while True:
            name = get(self._handle, len(names))
            if name is None:
                return tuple(names)
            names.append(name.decode())

    def launch(self, stream: int, words: Sequence[Any]) -> None:
        """Launches with a row of numbers: address, sizes and strides (in elements) of each
        tensor, then the scalars. Element types are not checked. ``stream`` is the address of
        a CUstream, 0 for the default stream."""
        self.launch_packed(stream, self._row.pack(*words))

    def launch_packed(self, stream: int, row: bytes) -> None:
        """Like ``launch``, with the row as bytes: int64 numbers, and doubles for float
        scalars."""
        status = self._run(self._handle, stream, row, len(row) >> 3)
        if status:
            _library.check(status)

    def prepare_packed(self, row: bytes) -> PreparedLaunch:
        """Checks and packs such a row once, for later launches with the same sizes and
        strides. Launches nothing. Raises LaunchError for unsupported sizes and strides."""
        return PreparedLaunch(self, row)

    def check(self, stream: int, words: Sequence[Any]) -> None:
        """Checks such a row and, after waiting for the stream, the integers in its tensors:
        lengths, offsets, block-sparse lists. Launches nothing. Raises LaunchError."""
        row = self._row.pack(*words)
        _library.check(self._library.fovea_kernel_check_packed(self._handle, stream, row, len(row) >> 3))

    def launch_torch(self, stream: int, tensors: Sequence[Any], scalars: Sequence[float] = ()) -> None:
        """Like ``launch``, with PyTorch tensors in order. They must be on the kernel's device
        and have its element types."""
        words: List[Any] = []
        for tensor in tensors:
            words.append(tensor.data_ptr())
            words += tensor.shape
            words += tensor.stride()
        words += scalars
        self.launch(stream, words)

    def launch_named(self, stream: int, arguments: Mapping[str, Any], check: bool = False) -> None:
        """Launches with arguments by name and checks them; ``check`` also checks the integers
        in tensors. Raises TypeError, LaunchError."""
        words = self._words(arguments)
        if check:
            self.check(stream, words)
        self.launch(stream, words)

    def prepare_named(self, arguments: Mapping[str, Any]) -> PreparedLaunch:
        """Like ``prepare_packed``, with arguments by name, which are checked. Raises TypeError,
        LaunchError."""
        return self.prepare_packed(self._row.pack(*self._words(arguments)))

    def _words(self, arguments: Mapping[str, Any]) -> List[Any]:
        """The row of numbers of ``launch``. Raises TypeError."""
        words: List[Any] = []
        for name, dtype, rank in zip(self.tensors, self.dtypes, self.ranks):
            if name not in arguments:
                raise TypeError(f"kernel '{self.name}' needs a tensor '{name}'")
            tensor = describe(name, arguments[name])
            if tensor.dtype != dtype:
                raise TypeError(f"tensor '{name}' must be of {dtype}, found {tensor.dtype}")
            if len(tensor.shape) != rank:
                raise TypeError(f"tensor '{name}' must have rank {rank}, found {len(tensor.shape)}")
            strides = contiguous_strides(tensor.shape) if tensor.strides is None else tensor.strides
            words += [tensor.address, *tensor.shape, *strides]
        for name, floating in zip(self.scalars, self.floating):
            if name not in arguments:
                raise TypeError(f"kernel '{self.name}' needs a number '{name}'")
            words.append(float(arguments[name]) if floating else int(arguments[name]))
        return words

    def info(self) -> Dict[str, Any]:
        """Resources: ``registers`` and ``local_memory`` (bytes: spills, and vectors at a tensor's
        end) per thread; ``threads`` and ``shared_memory`` (bytes) per CTA;
        ``blocks_per_multiprocessor``."""
        info = _structs.KernelInfo()
        _library.check(self._library.fovea_kernel_get_info(self._handle, ctypes.byref(info)))
        return {field[0]: _text(getattr(info, field[0])) for field in info._fields_}

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.fovea_kernel_unload(self._handle)


class PreparedLaunch:
    """A checked and packed launch of a kernel for given sizes and strides; each call passes
    the addresses. ``kernel`` is the LoadedKernel. Threads can share it."""

    def __init__(self, kernel: LoadedKernel, row: bytes):
        # Keeps the kernel loaded.
        self.kernel = kernel
        self._library, self._handle = kernel._library, ctypes.c_void_p()
        _library.check(self._library.fovea_kernel_prepare_packed(kernel._handle, row, len(row) >> 3,
                                                                 ctypes.byref(self._handle)))
        self._run, self._count = self._library.fovea_launch_run_at, len(kernel.tensors) + len(kernel.scalars)
        #: Bytes of scratch memory that a run needs.
        self.scratch_bytes: int = self._library.fovea_launch_scratch_bytes(self._handle)

    def launch_packed(self, stream: int, row: bytes) -> None:
        """Launches with a row of bytes: the tensors' addresses, each an int64, then the
        scalars as in LoadedKernel.launch_packed. ``stream`` is the address of a CUstream.
        Raises LaunchError for addresses that are null or misaligned."""
        status = self._run(self._handle, stream, row, self._count)
        if status:
            _library.check(status)

    def row_of(self, arguments: Mapping[str, Any]) -> bytes:
        """The row of ``launch_packed`` for arguments by name."""
        row = b"".join(struct.pack("=q", describe(name, arguments[name]).address) for name in self.kernel.tensors)
        return row + b"".join(struct.pack("=d", float(arguments[name])) if floating else struct.pack("=q", int(arguments[name]))
                              for name, floating in zip(self.kernel.scalars, self.kernel.floating))

    def entry(self) -> Tuple[Callable[[int, bytes, int], int], int]:
        """The fastest entry, without a Python method call: a function of the stream, the row
        and the count, and the count. The function returns a status, 0 for success."""
        start = functools.partial(self._run, self._handle)
        # Keeps the launch alive as long as the function.
        setattr(start, "launch", self)
        return start, self._count

    def entry_with_scratch(self) -> Tuple[Callable[[int, bytes, int, int], int], int]:
        """The same for scratch memory of the caller, whose address is the function's last
        argument: at least ``scratch_bytes`` bytes, at a multiple of 256, that nothing else
        uses until the kernels have ended."""
        start = functools.partial(self._library.fovea_launch_run_with, self._handle)
        setattr(start, "launch", self)
        return start, self._count

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.fovea_launch_free(self._handle)


def synchronize(stream: int = 0, device: int = CURRENT_DEVICE) -> None:
    """Waits for a stream, the address of a CUstream. Raises LaunchError for errors of earlier
    kernels."""
    _library.check(_library.runtime().fovea_stream_wait(open_device(device), stream))


__all__ = ["DeviceTensor", "LoadedKernel", "PreparedLaunch", "LaunchError", "device_info", "synchronize"]
