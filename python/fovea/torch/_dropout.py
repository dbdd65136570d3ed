"""Where dropout's seed and offset come from."""

from __future__ import annotations

from typing import Tuple

import torch

#: PyTorch's generators count in fours.
_STEP = 4


def dropout_numbers(device: torch.device) -> Tuple[int, int]:
    """Seed and offset of the device's generator, which moves on: no two calls have the
    same, and torch.manual_seed makes them come again. Asks the host alone."""
    if torch.compiler.is_compiling():
        raise NotImplementedError("dropout_p can't be given under torch.compile: its seed would be a constant of the graph")
    if device.type != "cuda":
        return int(torch.randint(1 << 62, ())), 0
    if torch.cuda.is_current_stream_capturing():
        raise NotImplementedError("dropout_p can't be given while a CUDA graph is captured: each replay would leave out the "
                                  "same keys")
    generator = torch.cuda.default_generators[device.index]
    offset = generator.get_offset()
    generator.set_offset(offset + _STEP)
    seed = generator.initial_seed()
    # Kernels take signed numbers.
    return (seed + (1 << 63)) % (1 << 64) - (1 << 63), offset
