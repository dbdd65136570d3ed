"""Copies of tensors whose layout a kernel can't read.

TMA needs contiguous rows, and addresses and strides that are multiples of 16 bytes. As
PyTorch supports all strides, other tensors are first copied on the same stream. A copy has
padded rows; broadcast dimensions stay broadcast.
"""

from __future__ import annotations

import functools
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import torch

from ...runtime._dtypes import SIZES

#: Limit of a tensor map's strides in bytes, and the largest i32 and i64.
_MAP_REACH, _I32_REACH, _ANY_REACH = 1 << 40, (1 << 31) - 1, (1 << 63) - 1
#: Alignment of a tensor map's address and strides in bytes.
_GRANULE = 16


class Layout(NamedTuple):
    """The layout that a kernel requires of one tensor."""

    #: Alignment of the address in bytes.
    alignment: int
    #: The dimension that must have stride 1, or -1.
    innermost: int
    #: Alignment of the other strides in elements.
    granule: int
    #: The largest stride of each dimension, in elements.
    reach: Tuple[int, ...]

    def fits(self, tensor: torch.Tensor) -> bool:
        """Whether the strides meet the requirements; ``is_aligned`` checks the address."""
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
    """Layouts of a kernel's tensors, from its metadata (docs/Specification/ABI.md, "Host checks")."""
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
    """Extents and strides of a copy, with the original's order of dimensions in memory, and
    whether the copy must be broadcast."""
    innermost = len(shape) - 1 if layout.innermost < 0 else layout.innermost
    kept = tuple(1 if not stride and dim != innermost else extent for dim, (extent, stride) in enumerate(zip(shape, strides)))
    result: List[int] = [0] * len(shape)
    step, order = 1, sorted((dim for dim in range(len(shape)) if dim != innermost), key=lambda dim: (strides[dim], -dim))
    for dim in (innermost, *order):
        result[dim] = step
        step = -(-step * kept[dim] // layout.granule) * layout.granule
    return kept, tuple(result), kept != shape


def copied(layout: Layout, tensor: torch.Tensor) -> torch.Tensor:
    """Copies a tensor to the required layout, on the current stream."""
    shape, strides = tuple(tensor.shape), tensor.stride()
    if not shape:
        return tensor.clone()
    kept, steps, broadcast = _memory(layout, shape, strides)
    made = torch.empty_strided(kept, steps, dtype=tensor.dtype, device=tensor.device)
    made.copy_(tensor.as_strided(kept, strides) if broadcast else tensor)
    return made.expand(shape) if broadcast else made


def misaligned(layouts: Mapping[int, Layout], given: Sequence[Optional[torch.Tensor]]) -> Tuple[int, ...]:
    """Indices of misaligned tensors."""
    found = []
    for place, layout in layouts.items():
        tensor = given[place]
        if tensor is not None and not layout.is_aligned(tensor):
            found.append(place)
    return tuple(found)


__all__ = ["Layout", "copied", "layouts_of", "misaligned"]
