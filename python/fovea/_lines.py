"""Which line of a program each line of PTX comes from."""

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
    """A place in the source of a kernel: in Python, or in the MLIR that was compiled.

    ``line`` and ``column`` count from 1; ``text`` is the line, without indentation,
    or empty where the file can't be read.
    """

    file: str
    line: int
    column: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" + (f": {self.text}" if self.text else "")


def _unescaped(text: str) -> str:
    """A string of an assembler's: bytes that are no ASCII are three octal digits."""
    one = re.compile(rb"\\([0-7]{3}|.)")
    return one.sub(lambda found: bytes([int(found[1], 8)]) if len(found[1]) == 3 else found[1], text.encode()).decode(errors="replace")


@functools.lru_cache(maxsize=4)
def places(ptx: str) -> Places:
    """What ``.loc`` says of each line of PTX. Line 0 stands for several at once: it is
    none."""
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
            now = None  # a place holds to the end of its function
        result.append(now)
    return tuple(result)


def is_file(line: str) -> bool:
    """Whether a line of PTX names a file."""
    return _FILE.match(line) is not None


def is_place(line: str) -> bool:
    """Whether it says of what comes after it which line that is from."""
    return _LOC.match(line) is not None


def text_of(file: str, line: int, program: str) -> str:
    """A line of a file that Python knows, or of the program, which has no file."""
    text = linecache.getline(file, line)
    if not text and file.startswith("<"):
        text = "".join(program.splitlines(keepends=True)[line - 1:line])
    return text.strip()
