"""Runs kernels on the emulated driver, which executes PTX on the CPU, through libFoveaRuntime.

The runtime works as on a GPU, with another driver library. A process can use both drivers.
"""

from __future__ import annotations

import ctypes
import re
import threading
from typing import Any, Dict, Mapping, Tuple

from . import _launch
from ..compiler import _library
from ._arrays import check_outputs, from_host, to_host
from .._extras import need
from ._memory import DeviceMemory, place
from ..errors import Error

_DRIVER = "libFoveaPTXDriver.so"
# The driver's settings are global to the process, so one run at a time.
_lock = threading.Lock()
_devices: Dict[int, ctypes.c_void_p] = {}


def _set(name: str, value: int) -> None:
    if _library.emulator().foveaPTXDriverSet(name.encode(), value):
        raise Error(f"the PTX driver has no {name} {value}")


def _open(capability: int) -> ctypes.c_void_p:
    """An open device of a compute capability; opening one reads the driver's settings."""
    _set("capability", capability)
    if capability not in _devices:
        handle = ctypes.c_void_p()
        path = str(_library.find(_DRIVER)).encode()
        _library.check(_library.runtime().fovea_device_open_on(path, 0, ctypes.byref(handle)))
        _devices[capability] = handle
    return _devices[capability]


def run(ptx: bytes, metadata: bytes, facts: Mapping[str, Any], arguments: Mapping[str, Any],
        seed: int) -> Tuple[Any, ...]:
    """Runs a kernel and returns the outputs, in the metadata's order. ``arguments`` have the
    metadata's names; those that the kernel does not take are ignored. Raises TypeError,
    ValueError, and LaunchError for errors of the launch and of the kernel."""
    need("numpy", "interpret", "running on the CPU")
    match = re.match(r"sm_(\d+)", facts["target"])
    assert match, facts["target"]
    with _lock:
        device = _open(int(match.group(1)))
        _set("seed", seed)
        kernel = _launch.LoadedKernel(ptx, metadata, facts, 0, device)
        with DeviceMemory(device) as memory:
            taken = {tensor["name"]: tensor["dtype"] for tensor in facts["tensors"] if tensor["access"] in ("read", "update")}
            check_outputs(taken, arguments)
            arrays = {name: to_host(name, value, taken[name]) if name in taken else value for name, value in arguments.items()}
            given, outputs = place(memory, kernel, arrays)
            kernel.launch_named(0, given)
            for tensor, array in outputs:
                memory.read(given[tensor["name"]], array)
    return tuple(from_host(array, tensor["dtype"]) for tensor, array in outputs)
