"""Runs kernels on the driver that executes PTX on the CPU, through libFoveaRuntime.

The runtime does what it does on a GPU; only the driver is another one. A process may
use both.
"""

from __future__ import annotations

import ctypes
import re
import threading
from typing import Any, Dict, List, Mapping, Tuple

from . import _launch, _library
from ._arrays import dtype_of_numpy, from_host, to_host
from ._extras import need
from .errors import Error

_DRIVER = "libFoveaPTXDriver.so"
# The driver's settings are the process's: one run at a time.
_lock = threading.Lock()
_devices: Dict[int, ctypes.c_void_p] = {}


def _set(name: str, value: int) -> None:
    if _library.emulator().foveaPTXDriverSet(name.encode(), value):
        raise Error(f"the PTX driver has no {name} {value}")


def _open(capability: int) -> ctypes.c_void_p:
    """A device of that chip, kept open: it asks for the chip's facts when it is opened."""
    _set("capability", capability)
    if capability not in _devices:
        handle = ctypes.c_void_p()
        path = str(_library.find(_DRIVER)).encode()
        _library.check(_library.runtime().fovea_device_open_on(path, 0, ctypes.byref(handle)))
        _devices[capability] = handle
    return _devices[capability]


class _Memory:
    """Device memory for arrays, freed at the end."""

    def __init__(self, device: ctypes.c_void_p):
        self.device, self.addresses = device, []  # type: ctypes.c_void_p, List[int]

    def __enter__(self) -> _Memory:
        return self

    def __exit__(self, *exception: Any) -> None:
        for address in self.addresses:
            _library.runtime().fovea_memory_free(self.device, address)

    def allocate(self, array: Any, dtype: str) -> _launch.DeviceTensor:
        """Memory for it, never written."""
        address = ctypes.c_uint64()
        _library.check(_library.runtime().fovea_memory_alloc(self.device, array.nbytes, ctypes.byref(address)))
        self.addresses.append(address.value)
        return _launch.DeviceTensor(address.value, array.shape, dtype)

    def write(self, tensor: _launch.DeviceTensor, array: Any) -> None:
        _library.check(_library.runtime().fovea_memory_write(self.device, tensor.address, array.ctypes.data, array.nbytes))

    def read(self, tensor: _launch.DeviceTensor, array: Any) -> None:
        _library.check(_library.runtime().fovea_memory_read(self.device, array.ctypes.data, tensor.address, array.nbytes))


def run(ptx: bytes, metadata: bytes, facts: Mapping[str, Any], arguments: Mapping[str, Any],
        seed: int) -> Tuple[Any, ...]:
    """The outputs, in the metadata's order. ``arguments`` are by the metadata's names;
    those that the kernel does not take are left out. Raises TypeError, ValueError, and
    LaunchError for what the runtime refuses or the kernel does wrong."""
    need("numpy", "interpret", "running on the CPU")
    import numpy

    match = re.match(r"sm_(\d+)", facts["target"])
    assert match, facts["target"]
    with _lock:
        device = _open(int(match.group(1)))
        _set("seed", seed)
        kernel = _launch.LoadedKernel(ptx, metadata, facts, 0, device)
        with _Memory(device) as memory:
            given = {name: arguments[name] for name in kernel.scalars if name in arguments}
            sizes: Dict[Any, int] = {}
            for tensor in facts["tensors"]:
                name, dtype = tensor["name"], tensor["dtype"]
                if tensor["access"] != "read" or name not in arguments:
                    continue
                array = to_host(name, arguments[name], dtype)
                sizes.update(zip(tensor["shape"], array.shape))
                given[name] = memory.allocate(array, dtype)
                memory.write(given[name], array)
            outputs = []
            for tensor in facts["tensors"]:
                if tensor["access"] != "read":
                    # A size that no input gave is one that launching will ask for.
                    shape = tuple(s if isinstance(s, int) else sizes.get(s, 0) for s in tensor["shape"])
                    array = numpy.zeros(shape, dtype_of_numpy(tensor["dtype"]))
                    given[tensor["name"]] = memory.allocate(array, tensor["dtype"])
                    outputs.append((tensor, array))
            kernel.launch_named(0, given)
            for tensor, array in outputs:
                memory.read(given[tensor["name"]], array)
    return tuple(from_host(array, tensor["dtype"]) for tensor, array in outputs)
