"""Kernels of gradients: what tells them from those of a forward pass, and how a page finds
the kernel of a program's gradients."""

from __future__ import annotations

import dataclasses
from typing import Dict, Optional, Sequence, Set

from .. import _kernel
from .._gradient import gradient
from ..errors import Error
from ._inputs import Input, signature

#: Letters of products that the kinds of the timeline stand for.
_FORWARD = {"qk": "D", "pv": "Dv"}
_BACKWARD = {"qk": "D", "dp": "Dv", "dv": "Dv", "dk": "D", "dq": "D"}


def is_gradient(entries: Sequence[Input]) -> bool:
    """Whether a program with these inputs computes gradients: it takes that by the output."""
    return any(entry.name == "do" for entry in entries)


def has_key_tiles(kernel: _kernel.Kernel) -> bool:
    """Whether the kernel's tiles are keys, as where it sums gradients by keys or values."""
    return bool({"dk", "dv"} & {tensor["name"] for tensor in kernel.metadata["tensors"]})


def products_of_a_pair(kernel: _kernel.Kernel, entries: Sequence[Input], traced: Optional[Set[str]] = None) -> Dict[str, str]:
    """Products that a visible pair needs, by the kind of the timeline, and their depth: D or
    Dv. A kernel of gradients leaves some to helper kernels, or needs none of them; `traced`
    has the kinds that it executed."""
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
    """The kernel of a program's gradients: the one that was compiled with it, else that of
    all gradients that there are. Raises CompileError, Error."""
    if chosen.has_backward:
        return chosen.backward
    try:
        program = gradient(dataclasses.replace(chosen._spec, backward=None))
    except ValueError as error:
        raise Error(str(error)) from None
    return _kernel.compile(program, chosen.target, accurate_tanh=bool(chosen._options.get("accurate_tanh", False)))


def both_passes(chosen: _kernel.Kernel) -> Sequence[_kernel.Kernel]:
    """The kernels that a page on gradients shows: those of both passes, or the one of
    gradients where the program is one of gradients."""
    if is_gradient(signature(chosen._spec, chosen._options)):
        return [chosen]
    return [chosen, backward_of(chosen)]
