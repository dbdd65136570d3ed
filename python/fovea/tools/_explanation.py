"""The compiler's reasons for a kernel: ``Kernel.explain``."""

from __future__ import annotations

import ctypes
import dataclasses
import html
import json
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from . import _comparison
from ..compiler import _kernel, _lines
from ..compiler._library import Context
from ..frontend._program import Spec, with_users_names
from ..errors import MissingPackageError

#: Kinds of statements, in the order in which a reader wants them, with titles.
KINDS = {
    "warning": "warnings",
    "derived": "derived from the mask",
    "unknown": "ranges are not enough for the mask",
    "chosen": "chosen",
    "left out": "not applied",
    "done": "applied",
}

#: Defaults of a plan's fields, which the metadata omit (docs/Dialects/Plan.md).
DEFAULTS = {
    "query_stages": "1", "producer_registers": "0", "overlap": "0", "chain": "0", "ping_pong": "0", "softmax_part": "100",
    "work": "single", "recurrence": "deferred", "sum_by_dot": "0", "cluster": "1", "score_stages": "0", "classify": "0",
    "exp2_by_fma": "0", "add_by_dot": "0", "output": "direct", "longest_first": "0", "row_tiles": "0",
}


@dataclass(frozen=True)
class ComparedField:
    """A field of two variants' plans: the target, the MMA unit, or a field of the schedule.

    ``values`` are those of the first and the second plan: the field's default if a plan does
    not set it, None if it does not apply. ``reasons`` are the planner's reasons, "" if the
    value follows from its rules for the target.
    """

    name: str
    values: Tuple[Optional[str], Optional[str]]
    reasons: Tuple[str, str] = ("", "")

    @property
    def differs(self) -> bool:
        """Whether the values differ."""
        return self.values[0] != self.values[1]

    def __str__(self) -> str:
        first, second = (value or "none" for value in self.values)
        lines = [f"{self.name}: {first} | {second}" if self.differs else f"{self.name}: {first}"]
        if self.reasons[0] == self.reasons[1]:
            lines += [f"    {self.reasons[0]}"] if self.reasons[0] else []
        else:
            lines += [f"    {value or 'none'}: {reason}" for value, reason in zip(self.values, self.reasons) if reason]
        return "\n".join(lines)


@dataclass(frozen=True)
class Statement:
    """One of the compiler's reasons for a kernel.

    ``kind`` is "chosen" (a field of the schedule), "derived" (the mask's visible keys,
    bounds and verdicts), "unknown" (an op of the mask that gives no range), "left out"
    (a transformation that was not applied), "done" (one that was) or "warning".
    ``subject`` is the field, the region or the op, ``value`` the field's value, ``text``
    the reason, ``where`` the line of Python or MLIR, or None.
    """

    kind: str
    subject: str
    text: str
    where: Optional[_lines.SourceLine] = None
    value: str = ""

    def __str__(self) -> str:
        return self.said + (f"\n    at {self.where}" if self.where else "")

    @property
    def said(self) -> str:
        """The statement without its position."""
        head = " = ".join(part for part in (self.subject, self.value) if part)
        return ": ".join(part for part in (head, self.text) if part)


def place_of_all(statements: Sequence[Statement]) -> Optional[_lines.SourceLine]:
    """The position of statements on the whole kernel: the op, or the call of
    ``fovea.attention``."""
    return next((one.where for one in statements if one.kind == "chosen" and one.where), None)


@dataclass(frozen=True)
class Explanation:
    """The compiler's reasons for a kernel: ``statements``, which ``print`` shows by kind.

    ``schedule`` has the schedule's fields, ``problem`` the problem that it was chosen for.
    ``beside`` is the explanation of the variant that it was compared with, or None, and
    ``fields`` are both plans' fields.
    """

    kernel: str
    target: str
    schedule: Mapping[str, Any]
    problem: Mapping[str, Any]
    statements: Tuple[Statement, ...]
    beside: Optional[Explanation] = None
    _page: Any = field(default=None, repr=False, compare=False)

    @property
    def fields(self) -> Tuple[ComparedField, ...]:
        """Fields of this plan and that of the variant beside it; () without one."""
        return fields_of(self, self.beside) if self.beside else ()

    def of_kind(self, kind: str) -> Tuple[Statement, ...]:
        """Statements of one kind. Raises ValueError for an unknown kind."""
        if kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS))}, found {kind!r}")
        return tuple(one for one in self.statements if one.kind == kind)

    def __str__(self) -> str:
        # Statements on the whole kernel have the position of the call, printed once.
        whole = place_of_all(self.statements)
        parts = [*self._compared(), f"{self.kernel} for {self.target}" + (f"\n  at {whole}" if whole else "")]
        for kind, title in KINDS.items():
            said = self.of_kind(kind)
            if said:
                parts.append(f"  {title}:")
            for number, one in enumerate(said):
                following = said[number + 1].where if number + 1 < len(said) else None
                place = f"\n        at {one.where}" if one.where not in (None, whole, following) else ""
                parts.append(f"    {one.said}{place}")
        if self.beside:
            parts += ["", str(self.beside)]
        return "\n".join(parts)

    __repr__ = __str__

    def _compared(self) -> List[str]:
        """Lines of the fields that differ from those of the variant beside it."""
        if self.beside is None:
            return []
        lines = ["fields that differ from the second variant"]
        for one in self.fields:
            if one.differs:
                lines += [f"  {line}" for line in str(one).split("\n")]
        return [*lines, ""]

    def _repr_html_(self) -> str:
        """The page of ``fovea.explain.page`` in a frame; this text without numpy."""
        try:
            page = self._page() if self._page else None
        except MissingPackageError:
            page = None
        if page is None:
            return f"<pre>{html.escape(str(self))}</pre>"
        return f'<iframe srcdoc="{html.escape(page)}" style="width:100%;height:80vh;border:0"></iframe>'


# --- Fields -----------------------------------------------------------------------


def _reason(explanation: Explanation, name: str) -> str:
    """The reason for a field's value, or for its absence."""
    said = [one for kind in ("chosen", "left out") for one in explanation.of_kind(kind)]
    return "; ".join(dict.fromkeys(one.text for one in said if one.subject == name and one.text))


def _value(explanation: Explanation, name: str) -> Optional[str]:
    return next((one.value for one in explanation.of_kind("chosen") if one.subject == name and one.value), None)


def fields_of(first: Explanation, second: Explanation) -> Tuple[ComparedField, ...]:
    """Compares the target, the origin of the schedule, the MMA unit and the schedules' fields."""
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


# --- From remarks ---------------------------------------------------------------


def _metrics(arguments: Mapping[str, str]) -> str:
    """Counts of a transformation: "2 loops"."""
    return ", ".join(f"{value} {name.lower() if value != '1' else name.lower().rstrip('s')}" for name, value in arguments.items())


def _parts(remark: Mapping[str, Any]) -> Tuple[str, str, str]:
    """Subject, value and text of a statement."""
    name, reason, arguments = remark["name"], remark["reason"], dict(remark["arguments"])
    if "Op" in arguments:
        return arguments["Op"], "", reason
    if name == "chosen":
        return "schedule", arguments["Schedule"], reason
    value = arguments.pop("Value", "")
    return name, value, reason or _metrics(arguments)


def _kind(remark: Mapping[str, Any]) -> str:
    kind = remark["kind"]
    if remark["category"] == "mask":
        return "derived" if kind == "analysis" else "unknown"
    return {"analysis": "chosen", "passed": "done"}.get(kind, "left out")


def _where(spec: Spec, file: str, line: int, column: int) -> Optional[_lines.SourceLine]:
    if not file or not line:
        return None
    return _lines.SourceLine(file, line, max(column, 1), _lines.text_of(file, line, spec.mlir))


def _smaller_schedule(kernel: _kernel.Kernel) -> List[Statement]:
    """The reason of a schedule that replaces the planner's choice."""
    if kernel._is_asked_for or kernel._options.get("schedule", "auto") == "auto":
        return []
    text = "replaces the planner's choice, for which ptxas spills registers or serialises wgmma"
    return [Statement("chosen", "schedule", text, value=str(kernel._options["schedule"]))]


def _faults(kernel: _kernel.Kernel) -> List[Statement]:
    """The performance warnings of ptxas, if the kernel was assembled."""
    return [Statement("chosen", "registers", fault) for fault in kernel._faults]


def explain_kernel(kernel: _kernel.Kernel, compare: Optional[Mapping[str, Any]] = None) -> Explanation:
    """The compiler's reasons for a kernel. ``Kernel.explain`` is the same as a method.

    compare
        choices of ``fovea.compile`` (target, schedule, recurrence, accurate_tanh,
        schedule_table) of a variant to compare with; the others are this kernel's.

    Raises CompileError; Error for a variant that is the same kernel.
    """
    def page() -> str:
        from .. import explain

        return explain.page_of(kernel, compare=compare)

    beside = _explain(_comparison.variant_of(kernel, compare)) if compare is not None else None
    return dataclasses.replace(_explain(kernel), beside=beside, _page=page)


def _explain(kernel: _kernel.Kernel) -> Explanation:
    """The explanation of one kernel, from the remarks of another compilation."""
    spec = kernel._spec
    options = _kernel._options(kernel._options)
    with Context() as context:
        module = context.parse(spec.located, spec.file)
        remarks = json.loads(context.take(context.lib.foveaExplain(module, ctypes.byref(options))))["remarks"]
        warnings = [one for one in context.diagnostics() if one.severity == "warning"]
    statements = [Statement("warning", "", with_users_names(spec, one.message), _where(spec, one.file, one.line, one.column))
                  for one in warnings]
    statements += [*_smaller_schedule(kernel), *_faults(kernel)]
    problem: Dict[str, Any] = {}
    for remark in remarks:
        if remark["kernel"] not in (kernel.name, "<unknown function>"):
            continue
        if remark["name"] == "chosen" and "Problem" in remark["arguments"]:
            problem = json.loads(remark["arguments"]["Problem"])
        subject, value, text = _parts(remark)
        where = _where(spec, remark.get("file", ""), remark.get("line", 0), remark.get("column", 0))
        statements.append(Statement(_kind(remark), subject, with_users_names(spec, text), where, value))
    return Explanation(kernel.name, kernel.target, kernel.metadata.get("schedule", {}), problem,
                       tuple(dict.fromkeys(statements)))
