"""Runs programs of one kernel with tensors by the kernel's names, on CUDA or on the CPU."""

from __future__ import annotations

import struct
import threading
from array import array
from typing import Any, Dict, List, Mapping, Tuple

import torch

from ...compiler import _kernel
from ...compiler._library import check
from ...frontend._program import Spec
from ..autograd._derivatives import needs_gradient
from . import _op
from ._launches import MAX_SIZES, current_stream, words
from ._layouts import copied, layouts_of


class _Launcher:
    """A kernel on a device, and its prepared launches by shapes and strides."""

    def __init__(self, spec: Spec, device: int):
        self.loaded = _op.compiled(spec, device, {}).loaded(device)
        self.names, self.device = self.loaded.tensors, device
        by_name = {one["name"]: one for one in self.loaded.facts["tensors"]}
        self._layouts = layouts_of(self.loaded.facts, self.names)
        self._written = tuple(by_name[name]["access"] != "read" for name in self.names)
        self._pack = struct.Struct("=" + "q" * len(self.names)).pack
        self._prepared: Dict[Tuple[Any, ...], Tuple[Any, int]] = {}

    def run(self, given: Mapping[str, torch.Tensor]) -> None:
        tensors = self._arranged([given[name] for name in self.names])
        key = tuple([(one.shape, one.stride()) for one in tensors])
        entry = self._prepared.get(key)
        if entry is None:
            if len(self._prepared) >= MAX_SIZES:
                self._prepared.clear()
            entry = self._prepared[key] = self.loaded.prepare_packed(array("q", words(tensors)).tobytes()).entry()
        start, count = entry
        status = start(current_stream(self.device), self._pack(*[one.data_ptr() for one in tensors]), count)
        if status:
            check(status)

    def _arranged(self, tensors: List[torch.Tensor]) -> List[torch.Tensor]:
        """The tensors, with copies of inputs that the kernel can't read in place."""
        for place, (layout, tensor) in enumerate(zip(self._layouts, tensors)):
            if layout.fits(tensor) and layout.is_aligned(tensor):
                continue
            if self._written[place]:
                raise ValueError(f"{self.names[place]} is written in place, so its rows must be contiguous and start at multiples of "
                                 f"{layout.alignment} bytes, found strides {list(tensor.stride())} of {list(tensor.shape)}")
            tensors[place] = copied(layout, tensor)
        return tensors


_launchers: Dict[Tuple[Spec, int], _Launcher] = {}
_lock = threading.Lock()


def launch(spec: Spec, given: Mapping[str, torch.Tensor], device: int) -> None:
    """Launches a program on the current stream. ``given`` has its outputs, too. The kernel is
    compiled and loaded at first use. Raises CompileError, LaunchError, and ValueError for
    outputs whose strides the kernel does not support."""
    found = _launchers.get((spec, device))
    if found is None:
        made = _Launcher(spec, device)
        with _lock:
            found = _launchers.setdefault((spec, device), made)
    found.run(given)


def interpret(spec: Spec, given: Mapping[str, torch.Tensor], level: str) -> Tuple[torch.Tensor, ...]:
    """Runs a program on the CPU, at a level of the compilation for sm_80 or as the PTX for a
    target, and returns its outputs."""
    level, _, target = level.partition(":")
    if level == "ptx":
        results = _kernel.compile(spec, target).interpret(level=level, **given)
    else:
        results = _kernel._interpret(spec, {"target": "sm_80"}, given, level, False, 0)
    return tuple(map(torch.from_numpy, results if isinstance(results, tuple) else (results,)))


def refuse_gradients(name: str, *tensors: Any) -> None:
    """Raises NotImplementedError if a result would require a gradient."""
    if needs_gradient(*[one for one in tensors if isinstance(one, torch.Tensor)]):
        raise NotImplementedError(f"{name} has no gradients: call it under torch.no_grad()")


def below_autograd(op: Any, keys: Any, *arguments: Any, **named: Any) -> Any:
    """Calls an op without its Autograd implementation."""
    with torch._C._AutoDispatchBelowAutograd():
        return op.redispatch(keys & torch._C._after_autograd_keyset, *arguments, **named)


__all__ = ["below_autograd", "interpret", "launch", "refuse_gradients"]
