"""Kernels of gradients: how they differ from those of a forward pass, and the kernel of a
program's gradients."""

from __future__ import annotations

import dataclasses
from typing import Dict, Optional, Sequence, Set

from ..compiler import _kernel
from ..frontend._gradient import gradient
from ..errors import Error
from ._inputs import Input, signature

#: Depth (D or Dv) of the products, by kind in the timeline.
_FORWARD = {"qk": "D", "pv": "Dv"}
_BACKWARD = {"qk": "D", "dp": "Dv", "dv": "Dv", "dk": "D", "dq": "D"}


def is_gradient(entries: Sequence[Input]) -> bool:
    """Whether a program with these inputs computes gradients: it takes dO."""
    return any(entry.name == "do" for entry in entries)


def has_key_tiles(kernel: _kernel.Kernel) -> bool:
    """Whether the kernel's tiles are keys, as in kernels that accumulate dK or dV."""
    return bool({"dk", "dv"} & {tensor["name"] for tensor in kernel.metadata["tensors"]})


def products_of_a_pair(kernel: _kernel.Kernel, entries: Sequence[Input], traced: Optional[Set[str]] = None) -> Dict[str, str]:
    """Products per visible pair, by kind in the timeline, with their depth: D or Dv. A kernel of
    gradients may leave some to helper kernels; `traced` has the kinds that it executed."""
    if not is_gradient(entries):
        return _FORWARD
    wanted = {"qk", "dp", *(tensor["name"] for tensor in kernel.metadata["tensors"])}
    return {kind: depth for kind, depth in _BACKWARD.items() if kind in wanted and (not traced or kind in traced)}


def counted_flops(products: Dict[str, str]) -> str:
    """FLOPs of a pair as a formula: "2 (3 D + 2 Dv)"."""
    depths = list(products.values())
    terms = [f"{depths.count(name)} {name}" if depths.count(name) > 1 else name for name in ("D", "Dv") if name in depths]
    return f"2 ({' + '.join(terms)})"


def backward_of(chosen: _kernel.Kernel) -> _kernel.Kernel:
    """The kernel of a program's gradients: the one that was compiled with it, else that of all
    gradients. Raises CompileError, Error."""
    if chosen.has_backward:
        return chosen.backward
    try:
        program = gradient(dataclasses.replace(chosen._spec, backward=None))
    except ValueError as error:
        raise Error(str(error)) from None
    return _kernel.compile(program, chosen.target, accurate_tanh=bool(chosen._options.get("accurate_tanh", False)))


def both_passes(chosen: _kernel.Kernel) -> Sequence[_kernel.Kernel]:
    """The kernels on a page with gradients: those of both passes, or the only one of a program
    of gradients."""
    if is_gradient(signature(chosen._spec, chosen._options)):
        return [chosen]
    return [chosen, backward_of(chosen)]
