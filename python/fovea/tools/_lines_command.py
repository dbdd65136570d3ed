"""Prints the program's lines of a kernel's PTX instructions: counts by mnemonic and line, or
with LINE or --all each instruction.

FILE is MLIR with a function of attention, FILE.py:NAME (a Spec of fovea.attention or a
function without arguments that returns one; FILE.py:NAME.backward is the program of its
gradients), or PTX that was compiled with line information. An instruction of several source
lines has no position.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import sys
from typing import Iterator, Sequence, Tuple

from ..compiler import _lines
from ..compiler._kernel import DEFAULT_TARGET, compile
from ..errors import Error
from ..explain._command import load


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("file", metavar="FILE", help="MLIR, FILE.py:NAME or FILE.ptx")
    parser.add_argument("lines", metavar="LINE", nargs="*", type=int, help="lines of the PTX, from 1 (default: counts of all instructions)")
    parser.add_argument("--find", metavar="TEXT", default="", help="only instructions that contain TEXT: ex2.approx")
    parser.add_argument("--of", metavar="TEXT", default="", help="only instructions whose position contains TEXT: variants.py:8, or slopes[h]")
    parser.add_argument("--all", action="store_true", help="print each instruction, not counts by line of the program")
    parser.add_argument("--target", default=DEFAULT_TARGET, help="target to compile for (default: %(default)s)")
    parser.add_argument("--schedule", default="auto", help="options of the schedule: tile_n=64,stages=3")
    parser.add_argument("--kernel", help="name of the function, if the file has several")


def _program(arguments: argparse.Namespace) -> Tuple[str, str]:
    """PTX with line information, and the MLIR that positions without a file refer to."""
    if not arguments.file.endswith(".ptx"):
        kernel = compile(load(arguments.file), arguments.target, schedule=arguments.schedule, kernel=arguments.kernel,
                         line_info=True)
        return kernel.ptx, kernel.mlir
    if not pathlib.Path(arguments.file).is_file():
        raise Error(f"there is no file {arguments.file}")
    ptx = pathlib.Path(arguments.file).read_text(encoding="utf-8")
    if not any(_lines.places(ptx)):
        raise Error(f"{arguments.file} has no lines (.loc); compile with fovea-compile --line-info or line_info=True")
    return ptx, ""


def _is_instruction(text: str) -> bool:
    """Whether a line is an instruction: no directive, label, brace or comment."""
    return text.endswith(";") and not text.startswith((".", "//", "}"))


def _chosen(arguments: argparse.Namespace, texts: Tuple[str, ...]) -> Iterator[int]:
    for number in arguments.lines:
        if not 1 <= number <= len(texts):
            raise Error(f"the PTX has lines 1 to {len(texts)}, found {number}")
        yield number
    if not arguments.lines:
        yield from (number for number, text in enumerate(texts, 1) if _is_instruction(text))


def _mnemonic(text: str) -> str:
    """The mnemonic of an instruction, without its predicate."""
    words = text.rstrip(";").split()
    return words[1] if words[0].startswith("@") and len(words) > 1 else words[0]


def _print_counts(found: Sequence[Tuple[int, str, str]]) -> None:
    counts = collections.Counter((_mnemonic(text), source) for _, text, source in found)
    width = max(len(mnemonic) for mnemonic, _ in counts)
    for (mnemonic, source), count in counts.most_common():
        print(f"{count:5} {mnemonic:{width}}  // {source or 'several lines, or none'}")


def run(arguments: argparse.Namespace) -> int:
    """Prints counts, or one line per instruction. Returns 1 with a message if there is none."""
    ptx, program = _program(arguments)
    texts, places = tuple(line.strip() for line in ptx.split("\n")), _lines.places(ptx)
    found = []
    for number in _chosen(arguments, texts):
        place = places[number - 1]
        source = str(_lines.SourceLine(*place, _lines.text_of(*place[:2], program))) if place else ""
        if arguments.find in texts[number - 1] and arguments.of in source:
            found.append((number, texts[number - 1], source))
    if found and not arguments.all and not arguments.lines:
        _print_counts(found)
        return 0
    for number, text, source in found:
        print(f"{number} {text}" + (f" // {source}" if source else ""))
    if not found:
        wanted = [f"that contains '{arguments.find}'"] * bool(arguments.find) + [f"from a line that contains '{arguments.of}'"] * bool(arguments.of)
        print("fovea lines: there is no instruction", " and ".join(wanted), file=sys.stderr)
    return 0 if found else 1
