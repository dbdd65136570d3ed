"""What goes wrong, as exceptions, and what looks as if it did, as a warning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Tuple

__all__ = ["Error", "CompileError", "CompileWarning", "MissingPackageError", "TraceError", "LaunchError", "Diagnostic"]


@dataclass(frozen=True)
class Diagnostic:
    """Something that the compiler says about a place in a program.

    ``file`` is empty where the place is not known, ``line`` 0 where it is all of the
    file; ``line`` and ``column`` count from 1.
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
    """The base of Fovea's exceptions."""


class MissingPackageError(Error, ModuleNotFoundError):
    """Something needs a package that is not installed: numpy, PyTorch, matplotlib."""


class CompileError(Error):
    """A program that can't be compiled or run.

    ``diagnostics`` holds everything that the compiler said, errors and
    warnings, in order. Where the program was traced from Python functions the
    places are lines of theirs.
    """

    def __init__(self, diagnostics: Tuple[Diagnostic, ...]):
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(map(str, self.diagnostics)) or "compilation failed")

    def __reduce__(self):
        return CompileError, (self.diagnostics,)


class CompileWarning(UserWarning):
    """Something that the user can change: a mask that hides everything, a target that is not
    the GPU's own, a given schedule whose registers are spilled. What the compiler chose is said by
    ``Kernel.explain`` and in the log (``logging``'s "fovea")."""


class TraceError(Error):
    """A Python function that can't become a program.

    ``filename`` and ``lineno`` name the line of the function that asked for
    what can't be done.
    """

    def __init__(self, message: str, filename: str = "", lineno: int = 0, source: str = ""):
        self.message, self.filename, self.lineno, self.source = message, filename, lineno, source
        place = f"{filename}:{lineno}: " if filename else ""
        super().__init__(f"{place}{message}" + (f"\n    {source}" if source else ""))

    def __reduce__(self):
        return type(self), (self.message, self.filename, self.lineno, self.source)


class TraceAttributeError(TraceError, AttributeError):
    """The same, for a method that a traced value does not have."""


class LaunchError(Error):
    """A kernel that can't be loaded or launched.

    ``status`` is the name of the runtime's status, for example
    ``"FOVEA_ERROR_CONSTRAINT"``.
    """

    def __init__(self, status: str, message: str):
        self.status, self.message = status, message
        super().__init__(f"{status}: {message}")

    def __reduce__(self):
        return LaunchError, (self.status, self.message)
