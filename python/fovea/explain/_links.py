"""Maps lines of each IR level to the program's lines, and reads the source."""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass, field
from typing import Dict, List, Mapping, Optional, Tuple

from ..compiler import _lines
from ..compiler._kernel import Kernel
from ..errors import CompileError

#: File and line.
Place = Tuple[str, int]

_ALIAS = re.compile(r"^(#loc\d*) = (loc\(.*\))$")
_FILE_LINE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):\d+')
_DEBUG = re.compile(r",? !dbg !(\d+)")
_SCOPE = re.compile(r"^!(\d+) = .*!DIFile\(filename: \"([^\"]*)\"(?:, directory: \"([^\"]*)\")?")
_OF_SCOPE = re.compile(r"^!(\d+) = .*!(?:DISubprogram|DILexicalBlockFile|DILexicalBlock)\(.*?(?:scope: !(\d+))?.*?file: !(\d+)")
_AT = re.compile(r"^!(\d+) = (?:distinct )?!DILocation\(line: (\d+),.*?scope: !(\d+)")


@dataclass
class Level:
    """A level's text, with the source position of each line."""

    text: str
    places: List[Optional[Place]] = field(default_factory=list)


def plain(text: str) -> Level:
    """A text without source positions."""
    return Level(text, [None] * (text.count("\n") + 1))


def _resolve(text: str, aliases: Mapping[str, str], depth: int = 8) -> Optional[Place]:
    """The first file and line in a location, through aliases."""
    found = _FILE_LINE.search(text)
    if found:
        return (found[1], int(found[2])) if int(found[2]) else None
    for name in re.findall(r"#loc\d*", text):
        place = _resolve(aliases[name], aliases, depth - 1) if depth and name in aliases else None
        if place:
            return place
    return None


def _without_locations(line: str) -> Tuple[str, str]:
    """Splits a line into its text and the location of its op, which is at its end."""
    kept, last = "", ""
    rest = line
    while True:
        before, found, rest = rest.partition(" loc(")
        kept += before
        if not found:
            return kept, last if not before else ""
        depth, quoted, end = 1, False, 0
        while depth and end < len(rest):
            if rest[end] == '"' and rest[end - 1:end] != "\\":
                quoted = not quoted
            elif not quoted:
                depth += {"(": 1, ")": -1}.get(rest[end], 0)
            end += 1
        last, rest = rest[:end], rest[end:]


def of_mlir(text: str, program: str = "") -> Level:
    """Strips the locations of printed MLIR and records them."""
    lines = text.split("\n")
    aliases = {found[1]: found[2] for found in map(_ALIAS.match, lines) if found}
    result = Level("")
    kept: List[str] = []
    heads: Dict[int, int] = {}  # by indentation: the last line that opened a region
    for line in lines:
        if _ALIAS.match(line):
            continue
        shown, location = _without_locations(line)
        kept.append(shown)
        result.places.append(_resolve(location, aliases))
        # The location of an op with regions follows them.
        indent = len(shown) - len(shown.lstrip())
        head = heads.pop(indent, None) if shown.startswith("}", indent) else None
        if head is not None and location:
            result.places[head] = result.places[-1]
        if shown.endswith("{") and not location:
            heads[indent] = len(kept) - 1
    result.text = "\n".join(kept)
    return result


def of_llvm(text: str, program: str = "") -> Level:
    """Strips the debug locations of LLVM IR and records them."""
    lines = text.split("\n")
    files = {found[1]: (found[3] + "/" if found[3] else "") + found[2] for found in map(_SCOPE.match, lines) if found}
    scopes = {found[1]: found[3] for found in map(_OF_SCOPE.match, lines) if found}
    places: Dict[str, Place] = {}
    for line in lines:
        found = _AT.match(line)
        if found and found[3] in scopes and int(found[2]):
            places[found[1]] = files.get(scopes[found[3]], ""), int(found[2])
    result = Level("")
    kept: List[str] = []
    for line in lines:
        if line.startswith("!") or "llvm.dbg" in line:
            continue
        found = _DEBUG.search(line)
        result.places.append(places.get(found[1]) if found else None)
        kept.append(_DEBUG.sub("", line))
    result.text = "\n".join(kept)
    return result


def of_ptx(text: str, program: str) -> Level:
    """Records the positions of `.loc` in PTX, and replaces them by comments."""
    places = {line: place[:2] if place else None for line, place in enumerate(_lines.places(text))}
    result = Level("")
    kept: List[str] = []
    now: Optional[Place] = None
    for number, line in enumerate(text.split("\n")):
        place = places[number]
        if _lines.is_file(line):
            continue
        if _lines.is_place(line):
            if not place or place == now:
                continue
            now = place
            line = f"\t// {place[0].rpartition('/')[2]}:{place[1]}: {_lines.text_of(*place, program)}"
        kept.append(line)
        result.places.append(place)
    result.text = "\n".join(kept)
    return result


def levels_of(kernel: Kernel) -> Dict[str, Level]:
    """The IR of each level of a kernel with line_info; the error message for a level that fails."""
    levels: Dict[str, Level] = {}
    for name, read in _READERS.items():
        try:
            levels[name] = read(kernel.ir(name), kernel.mlir)
        except CompileError as error:
            levels[name] = plain(f"// {error}")
    attn = levels["attn"]
    if not any(attn.places):
        # A program in MLIR is its own source.
        attn.places = [(kernel._spec.file, number) for number in range(1, len(attn.places) + 1)]
    python = source(levels)
    return levels if python is None else {"python": python, **levels}


def source(levels: Mapping[str, Level]) -> Optional[Level]:
    """The Python lines that the levels refer to, with nearby lines; None for a program in
    MLIR."""
    used: Dict[str, List[int]] = {}
    for level in levels.values():
        for place in level.places:
            if place and place[0].endswith(".py"):
                used.setdefault(place[0], []).append(place[1])
    parts: List[str] = []
    places: List[Optional[Place]] = []
    for file, numbers in used.items():
        lines = linecache.getlines(file)
        if not lines:
            continue
        parts.append(f"# {file.rpartition('/')[2]}")
        places.append(None)
        last = 0
        for number in sorted(set(numbers)):
            # Start two lines earlier, for the head of the function, and fill short gaps.
            first = number if last and number - last > 12 else max(last + 1, number - 2)
            if last and first > last + 1:
                parts.append("...")
                places.append(None)
            for shown in range(first, min(number, len(lines)) + 1):
                parts.append(lines[shown - 1].rstrip())
                places.append((file, shown))
            last = number
    return Level("\n".join(parts), places) if parts else None


def numbered(levels: Mapping[str, Level]) -> Tuple[List[str], Dict[str, List[int]]]:
    """The positions as texts, and for each level the index of each line's position, or -1."""
    numbers: Dict[Place, int] = {}
    by_level: Dict[str, List[int]] = {}
    for name, level in levels.items():
        by_level[name] = [-1 if place is None else numbers.setdefault(place, len(numbers)) for place in level.places]
    return [f"{file.rpartition('/')[2]}:{line}" for file, line in numbers], by_level


#: The page's levels, from the highest to the lowest.
_READERS = {"attn": of_mlir, "tile": of_mlir, "warp": of_mlir, "nvvm": of_mlir, "llvm": of_llvm, "ptx": of_ptx}
