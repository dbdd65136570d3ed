"""Seed and offset of dropout, from PyTorch's generators."""

from __future__ import annotations

from typing import Callable, Dict, Tuple

import torch

from ._launches import dispatch_modes

#: Offsets of PyTorch's generators are multiples of 4.
_STEP = 4


#: Methods of each device's generator: initial_seed, get_offset, set_offset. Generators live as long as the process.
_methods: Dict[int, Tuple[Callable[[], int], Callable[[], int], Callable[[int], None]]] = {}


def _methods_of(device: torch.device) -> Tuple[Callable[[], int], Callable[[], int], Callable[[int], None]]:
    generator = torch.cuda.default_generators[device.index]
    found = _methods[device.index] = generator.initial_seed, generator.get_offset, generator.set_offset
    return found


def _is_recorded() -> bool:
    """Whether make_fx is recording."""
    if not dispatch_modes():
        return False
    from torch.fx.experimental.proxy_tensor import get_proxy_mode

    return get_proxy_mode() is not None


def dropout_numbers(device: torch.device) -> Tuple[int, int]:
    """Seed and offset of the device's generator, whose offset advances: each call gets
    different ones, and torch.manual_seed repeats them. Does not access the device."""
    if torch.compiler.is_compiling() or _is_recorded():
        raise NotImplementedError("dropout_p can't be given under torch.compile, torch.export or make_fx: its seed would be a "
                                  "constant of the graph")
    if device.type != "cuda":
        return int(torch.randint(1 << 62, ())), 0
    if torch.cuda.is_current_stream_capturing():
        raise NotImplementedError("dropout_p can't be given while a CUDA graph is captured: each replay would drop the "
                                  "same keys")
    seed_of, get_offset, set_offset = _methods.get(device.index) or _methods_of(device)
    offset = get_offset()
    set_offset(offset + _STEP)
    seed = seed_of()
    # Kernels take signed numbers.
    return seed - (1 << 64) if seed >> 63 else seed, offset
