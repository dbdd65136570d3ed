"""Exceptions, warnings and diagnostics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Tuple

__all__ = ["Error", "CompileError", "CompileWarning", "MissingPackageError", "TraceError", "LaunchError", "Diagnostic"]


@dataclass(frozen=True)
class Diagnostic:
    """A diagnostic of the compiler.

    ``line`` and ``column`` count from 1. ``file`` is empty if the position is unknown;
    ``line`` is 0 if the diagnostic is about the whole file.
    """

    severity: str  #: "error", "warning", "remark" or "note"
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    notes: Tuple["Diagnostic", ...] = ()

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.file and self.line else ""
        text = f"{place}{self.severity}: {self.message}"
        return "\n".join([text, *("  " + str(note).replace("\n", "\n  ") for note in self.notes)])


class Error(Exception):
    """The base class of Fovea's exceptions."""


class MissingPackageError(Error, ModuleNotFoundError):
    """A function needs a package that is not installed: numpy, PyTorch or matplotlib."""


class CompileError(Error):
    """A program can't be compiled or run.

    ``diagnostics`` holds all errors and warnings of the compiler, in order. For programs
    traced from Python functions their positions are lines of Python.
    """

    def __init__(self, diagnostics: Tuple[Diagnostic, ...]):
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(map(str, self.diagnostics)) or "compilation failed")

    def __reduce__(self):
        return CompileError, (self.diagnostics,)


class CompileWarning(UserWarning):
    """A problem that the user can fix: a mask that hides everything, a target without the
    GPU's own features, a user-specified schedule that spills registers. ``Kernel.explain`` and
    the log (``logging``'s "fovea") report the compiler's own choices."""


class TraceError(Error):
    """A Python function can't be traced into a program.

    ``filename`` and ``lineno`` are the position of the unsupported operation.
    """

    def __init__(self, message: str, filename: str = "", lineno: int = 0, source: str = ""):
        self.message, self.filename, self.lineno, self.source = message, filename, lineno, source
        place = f"{filename}:{lineno}: " if filename else ""
        super().__init__(f"{place}{message}" + (f"\n    {source}" if source else ""))

    def __reduce__(self):
        return type(self), (self.message, self.filename, self.lineno, self.source)


class TraceAttributeError(TraceError, AttributeError):
    """A TraceError for an attribute that a traced value does not have."""


class LaunchError(Error):
    """A kernel can't be loaded or launched.

    ``status`` is the name of the runtime's status, for example
    ``"FOVEA_ERROR_CONSTRAINT"``.
    """

    def __init__(self, status: str, message: str):
        self.status, self.message = status, message
        super().__init__(f"{status}: {message}")

    def __reduce__(self):
        return LaunchError, (self.status, self.message)
