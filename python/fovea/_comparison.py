"""Two variants of one program beside each other: in what they differ, and why."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple

from . import _kernel
from .errors import CompileError, Diagnostic, Error

if TYPE_CHECKING:
    from ._explanation import Explanation

#: Arguments of ``fovea.compile`` in which variants of a program may differ.
CHOICES = ("target", "schedule", "recurrence", "accurate_tanh", "schedule_table")

#: Values of a plan's fields that metadata leave out (docs/Plan.md).
DEFAULTS = {
    "query_stages": "1", "producer_registers": "0", "overlap": "0", "chain": "0", "ping_pong": "0", "softmax_part": "100",
    "work": "single", "recurrence": "deferred", "sum_by_dot": "0", "cluster": "1", "score_stages": "0", "classify": "0",
    "exp2_by_fma": "0", "add_by_dot": "0", "output": "direct", "longest_first": "0", "row_tiles": "0",
}


@dataclass(frozen=True)
class ComparedField:
    """A field of two variants' plans: the target, the unit, one of the schedule.

    ``values`` are the first's and the second's, a field's default where a plan does not
    set it, None where the other plan has no use for it; ``reasons`` say what either
    follows from, "" where it follows from the planner's rules for the target.
    """

    name: str
    values: Tuple[Optional[str], Optional[str]]
    reasons: Tuple[str, str] = ("", "")

    @property
    def differs(self) -> bool:
        """Whether the values are not the same."""
        return self.values[0] != self.values[1]

    def __str__(self) -> str:
        first, second = (value or "none" for value in self.values)
        lines = [f"{self.name}: {first} | {second}" if self.differs else f"{self.name}: {first}"]
        if self.reasons[0] == self.reasons[1]:
            lines += [f"    {self.reasons[0]}"] if self.reasons[0] else []
        else:
            lines += [f"    {value or 'none'}: {reason}" for value, reason in zip(self.values, self.reasons) if reason]
        return "\n".join(lines)


def _asked(kernel: _kernel.Kernel) -> Dict[str, Any]:
    """A kernel's choices, without a schedule that ptxas had put in place of the planner's."""
    return {**kernel._options, **({} if kernel._is_asked_for else {"schedule": "auto"})}


def _check(changes: Mapping[str, Any]) -> None:
    if not changes:
        raise Error(f"a variant to compare with differs in something: {', '.join(CHOICES)}")
    for name in changes:
        if name not in CHOICES:
            raise Error(f"variants can't differ in '{name}', only in {', '.join(CHOICES)}")


def as_text(changes: Mapping[str, Any]) -> str:
    """Choices as a reader writes them: "target=sm_80, schedule=auto"."""
    return ", ".join(f"{name}={value}" for name, value in changes.items())


def _of_variant(error: CompileError, changes: Mapping[str, Any]) -> CompileError:
    """What is wrong, with a note that says which variant it is about."""
    note = Diagnostic("note", f"in the variant to compare with: {as_text(changes)}")
    first = next((n for n, one in enumerate(error.diagnostics) if one.severity == "error"), None)
    return CompileError(tuple(
        dataclasses.replace(one, notes=(*one.notes, note)) if n == first else one for n, one in enumerate(error.diagnostics)))


def variant_of(kernel: _kernel.Kernel, changes: Mapping[str, Any]) -> _kernel.Kernel:
    """A kernel's program compiled with some other choices. Raises Error for none, unknown
    ones, and where they make the same kernel; CompileError with a note that says
    which variant it is about; TypeError."""
    _check(changes)
    try:
        other = _kernel.compile(kernel._spec, **{**_asked(kernel), **changes})
    except CompileError as error:
        raise _of_variant(error, changes) from None
    if (other.target, other.ptx) == (kernel.target, kernel.ptx):
        raise Error(f"nothing to compare: {as_text(changes)} makes the same kernel, {kernel.name} for {kernel.target}")
    return other


def labels(kernels: Sequence[_kernel.Kernel]) -> List[str]:
    """What tells variants apart: "sm_80", "schedule=tile_n=64"; [""] of one alone."""
    asked = [_asked(kernel) for kernel in kernels]
    differing = [name for name in CHOICES if any(one.get(name) != asked[0].get(name) for one in asked)]
    # A target is known as one.
    return [", ".join(str(one[name]) if name == "target" else f"{name}={one.get(name)}" for name in differing) for one in asked]


# --- Fields -----------------------------------------------------------------------


def _reason(explanation: Explanation, name: str) -> str:
    """Why a field is what it is, or why there is none."""
    said = [one for kind in ("chosen", "left out") for one in explanation.of_kind(kind)]
    return "; ".join(dict.fromkeys(one.text for one in said if one.subject == name and one.text))


def _value(explanation: Explanation, name: str) -> Optional[str]:
    return next((one.value for one in explanation.of_kind("chosen") if one.subject == name and one.value), None)


def fields_of(first: Explanation, second: Explanation) -> Tuple[ComparedField, ...]:
    """The target, what chose the schedule, the unit and the schedules' fields."""
    both = first, second
    whole = ComparedField("plan", (_reason(first, "schedule") or None, _reason(second, "schedule") or None))
    result = [ComparedField("target", (first.target, second.target))]
    result += [whole] if any(whole.values) else []
    units = _value(first, "unit"), _value(second, "unit")
    names = [name for name in dict.fromkeys([*first.schedule, *second.schedule])]
    if any(units):
        result.append(ComparedField("unit", units, (_reason(first, "unit"), _reason(second, "unit"))))
    for name in names:
        values = tuple(str(one.schedule[name]) if name in one.schedule else DEFAULTS.get(name) for one in both)
        result.append(ComparedField(name, (values[0], values[1]), (_reason(first, name), _reason(second, name))))
    return tuple(result)
