"""Writes one HTML page, which needs no network, about a program and its kernel; with
--why, prints what the compiler says of its choices instead.

FILE is MLIR with a function of attention, or FILE.py:NAME, a Spec of
fovea.attention or a function without arguments that returns one.
"""

from __future__ import annotations

import argparse
import pathlib
import runpy
from typing import Any, Dict, Tuple

from .._kernel import DEFAULT_TARGET, compile
from .._spec import Program, Spec
from ..errors import Error
from ._inputs import DEFAULT_HEADS


def _lengths(text: str) -> Tuple[int, int]:
    queries, _, keys = text.partition("x")
    try:
        result = int(queries), int(keys or queries)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not LENGTH or QUERIESxKEYS") from None
    if min(result) < 1:
        raise argparse.ArgumentTypeError(f"lengths must be positive, found '{text}'")
    return result


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("file", metavar="FILE", help="MLIR, or FILE.py:NAME")
    parser.add_argument("--target", default=DEFAULT_TARGET, help="chip to compile for (default: %(default)s)")
    parser.add_argument("--seq", type=_lengths, default=(None, None), metavar="S", help="length, or QUERIESxKEYS (default: what the program fixes, else 4096)")
    parser.add_argument("--batch", type=int, default=1, help="batch entries (default: 1)")
    parser.add_argument("--heads", type=int, default=DEFAULT_HEADS, help="query heads, if the program leaves them open (default: %(default)s)")
    parser.add_argument("--schedule", default="auto", help="fields of the schedule to override: tile_n=64,stages=3")
    parser.add_argument("--kernel", help="which function, if the file has several")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an input: a number or a .npy file; repeatable")
    parser.add_argument("--why", action="store_true", help="print what Kernel.explain says; no page")
    parser.add_argument("--output", "-o", help="the page (default: FILE's name with .html, in this folder)")


def load(text: str) -> Program:
    """The program that FILE names. Raises Error, OSError and what the file raises."""
    file, colon, name = text.rpartition(":")
    if colon and file.endswith(".py"):
        if not pathlib.Path(file).is_file():
            raise Error(f"there is no file {file}")
        found = runpy.run_path(file).get(name)
        if callable(found):
            found = found()
        if not isinstance(found, Spec):
            raise Error(f"'{name}' of {file} is no Spec of fovea.attention and no function that returns one")
        return found
    if text.endswith(".py"):
        raise Error(f"say which Spec of {text} is meant: {text}:NAME")
    if not pathlib.Path(text).is_file():
        raise Error(f"there is no file {text}")
    return pathlib.Path(text)


def run(arguments: argparse.Namespace) -> int:
    """Writes the page and says where, or prints why."""
    from . import page
    from ._inputs import parse_setting

    program = load(arguments.file)
    if arguments.why:
        print(compile(program, arguments.target, schedule=arguments.schedule, kernel=arguments.kernel).explain())
        return 0
    inputs: Dict[str, Any] = dict(parse_setting(text) for text in arguments.set)
    queries, keys = arguments.seq
    text = page(program, queries, keys, batch=arguments.batch, heads=arguments.heads, target=arguments.target,
                schedule=arguments.schedule, kernel=arguments.kernel, inputs=inputs, title=arguments.file)
    name = arguments.file.rpartition(":")[2] if ".py:" in arguments.file else pathlib.Path(arguments.file).stem
    output = pathlib.Path(arguments.output or f"{name}.html")
    output.write_text(text, encoding="utf-8")
    print(f"{output}: {len(text) / 1e6:.1f} MB")
    return 0
