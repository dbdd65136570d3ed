"""Tensors that a kernel can't read where they lie: copies that it can.

Kernels that copy whole tiles want addresses and strides at multiples of 16 bytes,
and elements of a row side by side. PyTorch runs with any strides, so what does not
fit is copied first, on the same stream, into memory of the call's own: as large as
the tensor, its rows padded to the next multiple, broadcast dimensions still broadcast.
"""

from __future__ import annotations

import functools
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import torch

from .._dtypes import SIZES

#: Bytes that a tensor map's strides are below, and the largest numbers of an i32 and an i64.
_MAP_REACH, _I32_REACH, _ANY_REACH = 1 << 40, (1 << 31) - 1, (1 << 63) - 1
#: Bytes that a tensor map's address and strides are multiples of.
_GRANULE = 16


class Layout(NamedTuple):
    """What a kernel asks of the place of one tensor."""

    #: Bytes that the address is a multiple of.
    alignment: int
    #: The dimension of stride 1; -1: there need be none.
    innermost: int
    #: Elements that other strides are multiples of.
    granule: int
    #: The largest stride of each dimension, in elements.
    reach: Tuple[int, ...]

    def fits(self, tensor: torch.Tensor) -> bool:
        """Whether the strides do; the address is ``is_aligned``'s to say."""
        if not tensor.numel():
            return True
        for dim, (extent, stride) in enumerate(zip(tensor.shape, tensor.stride())):
            if stride > self.reach[dim]:
                return False
            if extent != 1 and (stride != 1 if dim == self.innermost else stride % self.granule):
                return False
        return True

    def is_aligned(self, tensor: torch.Tensor) -> bool:
        return not tensor.data_ptr() % self.alignment or not tensor.numel()


def layouts_of(facts: Mapping[str, Any], names: Sequence[str]) -> Tuple[Layout, ...]:
    """Of tensors of a kernel, by its metadata (docs/ABI.md, "What a host checks")."""
    made: Dict[str, Layout] = {}
    for one in facts["tensors"]:
        rank, size = max(len(one["dims"]), 1), SIZES[one["dtype"]]
        whole = one["alignment"] > size
        made[one["name"]] = Layout(one["alignment"], rank - 1 if whole else -1, one["alignment"] // size if whole else 1,
                                   (_ANY_REACH,) * rank)
    kernels = [facts, *facts.get("prologue", ()), *facts.get("epilogue", ())]
    for parameter in (each for kernel in kernels for each in kernel["parameters"]):
        name = parameter.get("tensor")
        if parameter["kind"] == "tensor_map":
            size = SIZES[next(one["dtype"] for one in facts["tensors"] if one["name"] == name)]
            made[name] = Layout(max(made[name].alignment, _GRANULE), parameter["dims"][0], _GRANULE // size,
                                tuple(min(most, _MAP_REACH // size - 1) for most in made[name].reach))
        elif parameter["kind"] == "stride" and parameter["type"] == "i32":
            reach = list(made[name].reach)
            reach[parameter["dim"]] = _I32_REACH
            made[name] = made[name]._replace(reach=tuple(reach))
    return tuple(made[name] for name in names)


@functools.lru_cache(maxsize=1024)
def _memory(layout: Layout, shape: Tuple[int, ...], strides: Tuple[int, ...]
            ) -> Tuple[Tuple[int, ...], Tuple[int, ...], bool]:
    """The extents and strides of a copy, its dimensions in memory ordered as the
    original's, and whether extents are those of what is broadcast to it."""
    innermost = len(shape) - 1 if layout.innermost < 0 else layout.innermost
    kept = tuple(1 if not stride and dim != innermost else extent for dim, (extent, stride) in enumerate(zip(shape, strides)))
    result: List[int] = [0] * len(shape)
    step, order = 1, sorted((dim for dim in range(len(shape)) if dim != innermost), key=lambda dim: (strides[dim], -dim))
    for dim in (innermost, *order):
        result[dim] = step
        step = -(-step * kept[dim] // layout.granule) * layout.granule
    return kept, tuple(result), kept != shape


def copied(layout: Layout, tensor: torch.Tensor) -> torch.Tensor:
    """A copy that fits, on the current stream."""
    shape, strides = tuple(tensor.shape), tensor.stride()
    if not shape:
        return tensor.clone()
    kept, steps, broadcast = _memory(layout, shape, strides)
    made = torch.empty_strided(kept, steps, dtype=tensor.dtype, device=tensor.device)
    made.copy_(tensor.as_strided(kept, strides) if broadcast else tensor)
    return made.expand(shape) if broadcast else made


def misaligned(layouts: Mapping[int, Layout], given: Sequence[Optional[torch.Tensor]]) -> Tuple[int, ...]:
    """Places of tensors whose addresses don't do."""
    found = []
    for place, layout in layouts.items():
        tensor = given[place]
        if tensor is not None and not layout.is_aligned(tensor):
            found.append(place)
    return tuple(found)


__all__ = ["Layout", "copied", "layouts_of", "misaligned"]
