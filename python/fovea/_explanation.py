"""The compiler's reasons for a kernel: ``Kernel.explain``."""

from __future__ import annotations

import ctypes
import html
import json
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from . import _comparison, _kernel, _lines
from ._library import Context
from ._spec import Spec, with_names
from .errors import MissingPackageError

#: Kinds of statements, in the order in which a reader wants them, with titles.
KINDS = {
    "warning": "warnings",
    "derived": "derived from the mask",
    "unknown": "ranges are not enough for the mask",
    "chosen": "chosen",
    "left out": "not applied",
    "done": "applied",
}


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
    def fields(self) -> Tuple[_comparison.ComparedField, ...]:
        """Fields of this plan and that of the variant beside it; () without one."""
        return _comparison.fields_of(self, self.beside) if self.beside else ()

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
    """What ptxas said when the kernel was assembled."""
    return [Statement("chosen", "registers", fault) for fault in kernel._faults]


def explain(kernel: _kernel.Kernel, page: Any = None, compare: Optional[Mapping[str, Any]] = None) -> Explanation:
    """The compiler's reasons for a kernel, and for a variant with the choices `compare`.
    Raises CompileError, and Error for variants that don't differ."""
    beside = explain(_comparison.variant_of(kernel, compare)) if compare is not None else None
    spec = kernel._spec
    options = _kernel._options(kernel._options)
    with Context() as context:
        module = context.parse(spec.located, spec.file)
        remarks = json.loads(context.take(context.lib.foveaExplain(module, ctypes.byref(options))))["remarks"]
        warnings = [one for one in context.diagnostics() if one.severity == "warning"]
    statements = [Statement("warning", "", with_names(spec.captures, one.message), _where(spec, one.file, one.line, one.column))
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
        statements.append(Statement(_kind(remark), subject, with_names(spec.captures, text), where, value))
    return Explanation(kernel.name, kernel.target, kernel.metadata.get("schedule", {}), problem,
                       tuple(dict.fromkeys(statements)), beside, page)
