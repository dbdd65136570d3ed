"""Variants of one program: compiling a variant of a kernel, and labels that tell variants apart."""

from __future__ import annotations

import dataclasses
from typing import Any, Dict, List, Mapping, Sequence

from ..compiler import _kernel
from ..errors import CompileError, Diagnostic, Error

#: Arguments of ``fovea.compile`` in which variants of a program may differ.
CHOICES = ("target", "schedule", "recurrence", "accurate_tanh", "schedule_table")


def _user_options(kernel: _kernel.Kernel) -> Dict[str, Any]:
    """A kernel's options, without a smaller schedule that replaced the planner's because of ptxas."""
    return {**kernel._options, **({} if kernel._is_asked_for else {"schedule": "auto"})}


def _check(changes: Mapping[str, Any]) -> None:
    if not changes:
        raise Error(f"a variant must differ in one of {', '.join(CHOICES)}")
    for name in changes:
        if name not in CHOICES:
            raise Error(f"variants can't differ in '{name}', only in {', '.join(CHOICES)}")


def as_text(changes: Mapping[str, Any]) -> str:
    """Options as text: "target=sm_80, schedule=auto"."""
    return ", ".join(f"{name}={value}" for name, value in changes.items())


def _of_variant(error: CompileError, changes: Mapping[str, Any]) -> CompileError:
    """The error with a note that names the variant."""
    note = Diagnostic("note", f"in the variant to compare with: {as_text(changes)}")
    first = next((n for n, one in enumerate(error.diagnostics) if one.severity == "error"), None)
    return CompileError(tuple(
        dataclasses.replace(one, notes=(*one.notes, note)) if n == first else one for n, one in enumerate(error.diagnostics)))


def variant_of(kernel: _kernel.Kernel, changes: Mapping[str, Any]) -> _kernel.Kernel:
    """Compiles a kernel's program with other options. Raises Error for no or unknown options
    and if the kernel is the same; CompileError with a note that names the variant;
    TypeError."""
    _check(changes)
    try:
        other = _kernel.compile(kernel._spec, **{**_user_options(kernel), **changes})
    except CompileError as error:
        raise _of_variant(error, changes) from None
    if (other.target, other.ptx) == (kernel.target, kernel.ptx):
        raise Error(f"nothing to compare: {as_text(changes)} makes the same kernel, {kernel.name} for {kernel.target}")
    return other


def labels(kernels: Sequence[_kernel.Kernel]) -> List[str]:
    """Labels with the options in which variants differ: "sm_80", "schedule=tile_n=64"; [""] for
    one kernel."""

    asked = [_user_options(kernel) for kernel in kernels]
    differing = [name for name in CHOICES if any(one.get(name) != asked[0].get(name) for one in asked)]
    # A target needs no option name.
    return [", ".join(str(one[name]) if name == "target" else f"{name}={one.get(name)}" for name in differing) for one in asked]
