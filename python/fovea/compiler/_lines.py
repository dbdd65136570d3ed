"""Maps lines of PTX to the program's lines, by ``.loc`` directives."""

from __future__ import annotations

import functools
import linecache
import re
from dataclasses import dataclass
from typing import Dict, List, Optional, Tuple

_FILE = re.compile(r'\s*\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"')
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)")

#: File, line and column of each line of a text, or None.
Places = Tuple[Optional[Tuple[str, int, int]], ...]


@dataclass(frozen=True)
class SourceLine:
    """A position in the source of a kernel: Python, or MLIR.

    ``line`` and ``column`` count from 1; ``text`` is the line without indentation, or "" if
    the file can't be read.
    """

    file: str
    line: int
    column: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" + (f": {self.text}" if self.text else "")


def _unescaped(text: str) -> str:
    """A string of the assembler without escapes: three octal digits stand for a non-ASCII byte."""
    one = re.compile(rb"\\([0-7]{3}|.)")
    return one.sub(lambda found: bytes([int(found[1], 8)]) if len(found[1]) == 3 else found[1], text.encode()).decode(errors="replace")


@functools.lru_cache(maxsize=4)
def places(ptx: str) -> Places:
    """The position of each line of PTX, by ``.loc``. Line 0 means several source lines and
    gives None."""
    lines = ptx.split("\n")
    files: Dict[str, str] = {}
    for line in lines:
        found = _FILE.match(line)
        if found:
            files[found[1]] = _unescaped(found[2])
    result: List[Optional[Tuple[str, int, int]]] = []
    now = None
    for line in lines:
        found = _LOC.match(line)
        if found:
            number = int(found[2])
            now = (files[found[1]], number, max(int(found[3]), 1)) if number and found[1] in files else None
        elif line.startswith((".visible", ".entry", ".func", "}")):
            now = None  # a position is valid to the end of its function
        result.append(now)
    return tuple(result)


def is_file(line: str) -> bool:
    """Whether a line of PTX is a ``.file`` directive."""
    return _FILE.match(line) is not None


def is_place(line: str) -> bool:
    """Whether a line of PTX is a ``.loc`` directive."""
    return _LOC.match(line) is not None


def text_of(file: str, line: int, program: str) -> str:
    """A line of a Python file, or of the program if that has no file."""
    text = linecache.getline(file, line)
    if not text and file.startswith("<"):
        text = "".join(program.splitlines(keepends=True)[line - 1:line])
    return text.strip()
