"""Measures kernels on the current device, for comparison with the bounds.

The kernels alternate in random order, as in ``python -m fovea bench``: repeatedly, each kernel
runs for 30 ms and then for seven timed launches. Inputs are random.
"""

from __future__ import annotations

import ctypes
import random
import re
import statistics
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ..runtime import _launch
from ..compiler import _library, _structs
from ..runtime._arrays import from_host, to_host
from ..runtime._gpus import Gpu, gpu_of_name
from ..runtime._memory import DeviceMemory, Output, place
from ..bench._timing import Clock, alternate
from ..errors import Error, LaunchError
from ._inputs import random_projections
from ._variant import Variant

#: Rounds of each kernel.
ROUNDS = 7
#: Tolerance for outputs of two variants, relative to the norm.
DIFFERENCE = 2e-2


@dataclass(frozen=True)
class Times:
    """Times of a kernel's launches in seconds: the median and the quartiles."""

    median: float
    low: float
    high: float
    launches: int


@dataclass(frozen=True)
class Measurement:
    """Measured times on a device. ``times`` has None for a variant that was not measured.
    ``problems`` has the reason, or the error of a measured variant's output. ``gpu`` has the
    device's rates, or is None if they are unknown."""

    device: str
    capability: str
    driver: int
    gpu: Optional[Gpu]
    times: Tuple[Optional[Times], ...]
    problems: Tuple[str, ...]


class Device:
    """A CUDA device that times kernels. ``takes_code`` tells whether it loads machine code,
    which the emulated driver does not."""

    def __init__(self, handle: ctypes.c_void_p, takes_code: bool = True):
        self.handle, self.takes_code = handle, takes_code
        info = _structs.DeviceInfo()
        _library.check(_library.runtime().fovea_device_get_info(handle, ctypes.byref(info)))
        self.name, self.driver = info.name.decode(), int(info.driver_version)
        self.capability = info.major, info.minor

    def runs(self, target: str) -> bool:
        """Whether a target's kernels run on the device: architecture-specific ones (a) only on
        that capability, family-specific ones (f) on later ones of the family, others on all
        later GPUs."""
        number, kind = re.fullmatch(r"sm_(\d+)([af]?)", target).groups()  # type: ignore[union-attr]
        wanted = int(number[:-1]), int(number[-1])
        return {"a": wanted == self.capability, "f": wanted[0] == self.capability[0] and wanted <= self.capability,
                "": wanted <= self.capability}[kind]

    def load(self, variant: Variant) -> _launch.LoadedKernel:
        """Loads the kernel's machine code if that is for this device; otherwise the driver
        compiles its PTX."""
        kernel, image = variant.kernel, variant.kernel._ptx
        own = re.sub(r"\D", "", kernel.target) == "".join(map(str, self.capability))
        if self.takes_code and own and variant.assembly:
            image = variant.assembly["code"]
        return _launch.LoadedKernel(image, kernel._metadata, kernel._facts, 0, self.handle)

    def milliseconds(self, launch: Callable[[], Any], count: int) -> List[float]:
        """Times `count` launches on the default stream with events."""
        library, events = _library.runtime(), []  # type: Any, List[ctypes.c_void_p]
        try:
            for _ in range(2 * count):
                events.append(ctypes.c_void_p())
                _library.check(library.fovea_event_create(self.handle, ctypes.byref(events[-1])))
            for begin, end in zip(events[::2], events[1::2]):
                _library.check(library.fovea_event_record(begin, None))
                launch()
                _library.check(library.fovea_event_record(end, None))
            return [self._between(*pair) for pair in zip(events[::2], events[1::2])]
        finally:
            for event in events:
                library.fovea_event_free(event)

    def _between(self, begin: ctypes.c_void_p, end: ctypes.c_void_p) -> float:
        result = ctypes.c_float()
        _library.check(_library.runtime().fovea_event_elapsed(begin, end, ctypes.byref(result)))
        return result.value


def open_device() -> Device:
    """The current device. Raises LaunchError if there is none."""
    try:
        return Device(_launch.open_device(_launch.CURRENT_DEVICE))
    except LaunchError as error:
        raise LaunchError(error.status, f"measuring needs a CUDA device: {error.message}") from None


def check_targets(device: Device, targets: Sequence[str]) -> None:
    """Raises Error if the device runs none of the targets."""
    if not any(map(device.runs, targets)):
        raise Error(f"{device.name} is sm_{device.capability[0]}{device.capability[1]}; it runs no kernels for {' or '.join(targets)}")


# --- Launches ---------------------------------------------------------------------


def _arrays(variant: Variant) -> Dict[str, Any]:
    """All inputs in the kernel's element types."""
    kernel, call = variant.kernel, variant.call
    types = {tensor["name"]: tensor["dtype"] for tensor in kernel.metadata["tensors"]}
    arrays = {name: to_host(name, value, types[name]) if name in types else value for name, value in call.contents.items()}
    return {**arrays, **random_projections(kernel._spec, call.entries, call.sizes)}


class _Launch:
    """A kernel with its arguments in device memory."""

    def __init__(self, device: Device, memory: DeviceMemory, variant: Variant):
        self.kernel = device.load(variant)
        self.given, self.outputs = place(memory, self.kernel, _arrays(variant))  # type: Mapping[str, Any], List[Output]
        self.prepared = self.kernel.prepare_named(self.given)
        self.row = self.prepared.row_of(self.given)

    def __call__(self) -> None:
        self.prepared.launch_packed(0, self.row)

    def output(self, memory: DeviceMemory) -> Any:
        """Launches once and returns the output. Raises LaunchError."""
        self()
        tensor, array = self.outputs[0]
        memory.read(self.given[tensor["name"]], array)
        return from_host(array, tensor["dtype"]).astype("float32")


def _fault(found: Any, expected: Any) -> str:
    """The error of an output compared with another variant's, or ""."""
    import numpy

    if not numpy.isfinite(found).all():
        return "its output is not finite"
    off = float(numpy.linalg.norm(found - expected) / max(float(numpy.linalg.norm(expected)), 1e-30))
    return f"its output differs from the first variant's by {off:.1%} of the norm" if off > DIFFERENCE else ""


def _prepared(device: Device, memory: DeviceMemory, variants: Sequence[Variant]) -> Tuple[Dict[str, _Launch], List[str]]:
    """Launches by index, and the problem of each variant or ""."""
    launches: Dict[str, _Launch] = {}
    problems, expected = [], None  # type: List[str], Any
    for number, variant in enumerate(variants):
        if not device.runs(variant.kernel.target):
            problems.append(f"kernels for {variant.kernel.target} don't run on it")
            continue
        try:
            launch = _Launch(device, memory, variant)
            found = launch.output(memory)
        except LaunchError as error:
            problems.append(str(error))
            continue
        expected = found if expected is None else expected
        launches[str(number)] = launch
        problems.append(_fault(found, expected))
    return launches, problems


def measure(variants: Sequence[Variant], device: Device, clock: Optional[Clock] = None, rounds: int = ROUNDS) -> Measurement:
    """Measures variants alternately with the device's events or `clock`. Raises LaunchError."""
    with DeviceMemory(device.handle) as memory:
        launches, problems = _prepared(device, memory, variants)
        found = alternate(clock or device.milliseconds, launches, rounds, random.Random(0))
    times = [_summary(found.get(str(number))) for number in range(len(variants))]
    return Measurement(device.name, f"sm_{device.capability[0]}{device.capability[1]}", device.driver, gpu_of_name(device.name),
                       tuple(times), tuple(problems))


def _summary(milliseconds: Optional[List[float]]) -> Optional[Times]:
    if not milliseconds:
        return None
    low, median, high = statistics.quantiles(milliseconds, n=4, method="inclusive")
    return Times(1e-3 * median, 1e-3 * low, 1e-3 * high, len(milliseconds))
