"""Device memory for numpy arrays, allocated through libFoveaRuntime."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any, Dict, List, Mapping, Tuple

from . import _launch
from ..compiler import _library
from ._arrays import dtype_of_numpy

#: A tensor of the metadata, and an array for its contents.
Output = Tuple[Mapping[str, Any], Any]


class DeviceMemory:
    """Device memory for arrays, freed when the context manager exits."""

    def __init__(self, device: ctypes.c_void_p):
        self.device, self.addresses = device, []  # type: ctypes.c_void_p, List[int]

    def __enter__(self) -> DeviceMemory:
        return self

    def __exit__(self, *exception: Any) -> None:
        for address in self.addresses:
            _library.runtime().fovea_memory_free(self.device, address)

    def allocate(self, array: Any, dtype: str) -> _launch.DeviceTensor:
        """Allocates uninitialised memory for an array."""
        address = ctypes.c_uint64()
        _library.check(_library.runtime().fovea_memory_alloc(self.device, array.nbytes, ctypes.byref(address)))
        self.addresses.append(address.value)
        return _launch.DeviceTensor(address.value, array.shape, dtype)

    def write(self, tensor: _launch.DeviceTensor, array: Any) -> None:
        """Copies an array to its tensor."""
        _library.check(_library.runtime().fovea_memory_write(self.device, tensor.address, array.ctypes.data, array.nbytes))

    def read(self, tensor: _launch.DeviceTensor, array: Any) -> None:
        """Copies a tensor to its array, after waiting for the default stream."""
        _library.check(_library.runtime().fovea_memory_read(self.device, array.ctypes.data, tensor.address, array.nbytes))


def _with_padded_rows(array: Any, alignment: int) -> Any:
    """Pads the rows of an array so that each begins at a multiple of `alignment` bytes, as
    kernels with TMA need it."""
    import numpy

    if array.ndim < 2 or array.shape[-1] * array.itemsize % alignment == 0:
        return array
    step = alignment // array.itemsize
    padded = numpy.zeros((*array.shape[:-1], -(-array.shape[-1] // step) * step), array.dtype)
    padded[..., : array.shape[-1]] = array
    return padded


def place(memory: DeviceMemory, kernel: _launch.LoadedKernel, arrays: Mapping[str, Any]) -> Tuple[Dict[str, Any], List[Output]]:
    """Copies inputs to the device. Returns the launch's arguments by name, and its outputs with
    arrays for them. `arrays` holds inputs of the kernel's element types and scalars; those
    that the kernel does not take are ignored."""
    import numpy

    given: Dict[str, Any] = {name: arrays[name] for name in kernel.scalars if name in arrays}
    sizes: Dict[Any, int] = {}
    for tensor in kernel.facts["tensors"]:
        name = tensor["name"]
        if tensor["access"] in ("read", "update") and name in arrays:
            array = arrays[name]
            sizes.update(zip(tensor["shape"], array.shape))
            padded = _with_padded_rows(array, max(tensor.get("alignment", 1), array.itemsize))
            whole = memory.allocate(padded, tensor["dtype"])
            memory.write(whole, padded)
            strides = tuple(stride // padded.itemsize for stride in padded.strides)
            given[name] = replace(whole, shape=array.shape, strides=strides) if padded is not array else whole
    outputs: List[Output] = []
    for tensor in kernel.facts["tensors"]:
        if tensor["access"] == "update" and tensor["name"] in arrays:
            outputs.append((tensor, numpy.zeros_like(arrays[tensor["name"]])))
        elif tensor["access"] != "read":
            # A size of no input is 0 here; the launch then reports it.
            shape = tuple(s if isinstance(s, int) else sizes.get(s, 0) for s in tensor["shape"])
            array = numpy.zeros(shape, dtype_of_numpy(tensor["dtype"]))
            given[tensor["name"]] = memory.allocate(array, tensor["dtype"])
            outputs.append((tensor, array))
    return given, outputs
