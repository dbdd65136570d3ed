"""Writes one HTML page, which needs no network, about a program and its kernel; with
--why, prints the compiler's reasons instead.

FILE is MLIR with a function of attention, or FILE.py:NAME, a Spec of
fovea.attention or a function without arguments that returns one.
FILE.py:NAME.backward is the program of its gradients.

--gradients shows the kernels of both passes, forward and backward, of a program.

--compare puts a second variant of the program beside it, with another target or
schedule: --compare target=sm_80, --compare schedule=tile_n=64,stages=3, or both.
--measure times the kernels on the current CUDA device: alternating in random order,
with random q, k and v of the sizes given.
"""

from __future__ import annotations

import argparse
import inspect
import pathlib
import runpy
import warnings
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from ..tools._comparison import CHOICES
from ..compiler._kernel import DEFAULT_TARGET, Kernel, compile, find_ptxas
from ..frontend._program import Program, Spec
from ..errors import CompileWarning, Error
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


def _change(text: str) -> Tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or name not in CHOICES:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE with NAME one of {', '.join(CHOICES)}")
    if name != "accurate_tanh":
        return name, value
    if value not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"accurate_tanh must be true or false, found '{value}'")
    return name, value == "true"


def _changes(found: Optional[List[Tuple[str, Any]]]) -> Optional[Dict[str, Any]]:
    """Options by name. Raises Error for a repeated one."""
    names = [name for name, _ in found or ()]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise Error(f"--compare {twice} is given twice, expected one variant")
    return dict(found) if found else None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("file", metavar="FILE", help="MLIR, or FILE.py:NAME")
    parser.add_argument("--target", default=DEFAULT_TARGET, help="target to compile for (default: %(default)s)")
    parser.add_argument("--seq", type=_lengths, default=(None, None), metavar="S", help="length, or QUERIESxKEYS (default: what the program fixes, else 4096)")
    parser.add_argument("--batch", type=int, help="batch entries (default: with --heads 1, else as many as give every SM work)")
    parser.add_argument("--heads", type=int, help=f"query heads, if the program leaves them open (default: with --batch {DEFAULT_HEADS}, else as many as give every SM work)")
    parser.add_argument("--schedule", default="auto", help="options of the schedule: tile_n=64,stages=3")
    parser.add_argument("--kernel", help="name of the function, if the file has several")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an input: a number or a .npy file; repeatable")
    parser.add_argument("--compare", action="append", type=_change, metavar="NAME=VALUE",
                        help=f"an option of the second variant: {', '.join(CHOICES)}; repeatable")
    parser.add_argument("--gradients", action="store_true", help="show the kernels of both passes")
    parser.add_argument("--measure", action="store_true", help="time the kernels too; needs a CUDA device")
    parser.add_argument("--why", action="store_true", help="print the reasons of Kernel.explain; no page")
    parser.add_argument("--output", "-o", help="the page (default: in this folder, named after FILE and NAME: alibi-spec.html)")


def _needs_arguments(function: Callable[..., Any]) -> bool:
    """Whether the function has parameters without a default; False if it has no signature."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters)


def _specs(names: Mapping[str, Any]) -> str:
    """The Specs of a file, for a message."""
    found = [name for name, value in names.items() if isinstance(value, Spec)]
    return f"; it has {', '.join(found)}" if found else ""


def load(text: str) -> Program:
    """The program that FILE names. Raises Error, OSError and what the file raises."""
    file, colon, name = text.rpartition(":")
    if colon and file.endswith(".py"):
        if not pathlib.Path(file).is_file():
            raise Error(f"there is no file {file}")
        names = runpy.run_path(file)
        name, dot, part = name.partition(".")
        found = names.get(name)
        if callable(found) and not isinstance(found, Spec) and not _needs_arguments(found):
            found = found()
        if not isinstance(found, Spec):
            raise Error(f"'{name}' of {file} is neither a Spec of fovea.attention nor a function without arguments that returns one"
                        + _specs(names))
        if not dot:
            return found
        if part != "backward":
            raise Error(f"a Spec has no program '{part}', only 'backward': {file}:{name}.backward is that of its gradients")
        if found.backward is None:
            raise Error(f"'{name}' of {file} has no gradients: request them by fovea.attention(..., gradient=('q', 'k', 'v'))")
        return found.backward
    if text.endswith(".py") and pathlib.Path(text).is_file():
        raise Error(f"say which Spec of {text} is meant: {text}:NAME" + _specs(runpy.run_path(text)))
    if not pathlib.Path(text).is_file():
        raise Error(f"there is no file {text}")
    return pathlib.Path(text)


def page_name(file: str, gradients: bool) -> str:
    """The page's file: "alibi-spec.html" of "alibi.py:spec", "alibi-spec-backward.html"."""
    path, _, name = file.rpartition(":") if ".py:" in file else (file, "", "")
    parts = [pathlib.Path(path).stem, *filter(None, name.split(".")), *(["gradients"] if gradients else [])]
    return "-".join(parts) + ".html"


def _assemble(kernel: Kernel) -> None:
    """Assembles the kernel, so that the explanation includes the warnings of ptxas."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CompileWarning)
        kernel.assemble(allow_faults=kernel._is_asked_for)


def _why(kernel: Kernel, compare: Optional[Mapping[str, Any]], gradients: bool) -> str:
    from ._gradients import both_passes

    kernels = both_passes(kernel) if gradients else [kernel]
    if find_ptxas() is not None:
        for one in kernels:
            _assemble(one)
    return "\n\n".join(str(one.explain(compare)) for one in kernels)


def run(arguments: argparse.Namespace) -> int:
    """Writes the page and prints its path, or prints the reasons."""
    from . import look
    from ._beside import report
    from ._inputs import parse_setting
    from ._measure import open_device
    from ._page import render
    from ._verdict import verdict

    if arguments.why and arguments.measure:
        raise Error("--measure applies to the page, which --why does not write")
    if arguments.gradients and arguments.compare:
        raise Error("--gradients and --compare exclude each other: compare variants of FILE.py:NAME.backward")
    if arguments.gradients and arguments.measure:
        raise Error("--gradients and --measure exclude each other: only kernels of the forward pass can be measured")
    compare = _changes(arguments.compare)
    device = open_device() if arguments.measure else None
    kernel = compile(load(arguments.file), arguments.target, schedule=arguments.schedule, kernel=arguments.kernel)
    if arguments.why:
        print(_why(kernel, compare, arguments.gradients))
        return 0
    inputs: Dict[str, Any] = dict(parse_setting(text) for text in arguments.set)
    queries, keys = arguments.seq
    found = look(kernel, queries, keys, batch=arguments.batch, heads=arguments.heads, inputs=inputs, title=pathlib.Path(arguments.file).name,
                 compare=compare, device=device, gradients=arguments.gradients)
    output, text = pathlib.Path(arguments.output or page_name(arguments.file, arguments.gradients)), render(found)
    output.write_text(text, encoding="utf-8")
    verdicts = [f"{one.kernel.name} for {one.kernel.target}{f' ({one.label})' if compare and one.label != one.kernel.target else ''}: {verdict(one)}"
                for one in found.variants]
    print("\n".join([*verdicts, *report(found.variants, found.measured), f"{output}: {len(text) / 1e6:.1f} MB"]))
    return 0
