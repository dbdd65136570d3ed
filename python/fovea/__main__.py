"""``python -m fovea``: see ``--help``."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import List, Optional

from ._distribution import refuse_foreign_package
from ._version import VERSION
from .errors import Error

#: Commands, and the modules that have them: each with ``add_arguments`` and ``run``.
_COMMANDS = {
    "bench": ("bench._command", "time kernels beside what is installed, and draw the results"),
    "explain": ("explain._command", "write an HTML page about a program: IR, blocks, schedule, resources, bounds"),
    "lines": ("_lines_command", "count instructions of PTX by the line of the program behind them"),
    "targets": ("_targets_command", "list the targets, with their GPUs and matrix units"),
}


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs a command; its exit code."""
    try:
        refuse_foreign_package()
    except ImportError as error:
        print(f"fovea: {error}", file=sys.stderr)
        return 2
    parser = argparse.ArgumentParser(prog="python -m fovea", description="A compiler for attention.")
    parser.add_argument("--version", action="version", version=f"fovea {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    modules = {}
    for name, (module, summary) in _COMMANDS.items():
        modules[name] = importlib.import_module(f"fovea.{module}")
        modules[name].add_arguments(commands.add_parser(name, help=summary, description=modules[name].__doc__,
                                                        formatter_class=argparse.RawDescriptionHelpFormatter))
    chosen = parser.parse_args(arguments)
    try:
        return int(modules[chosen.command].run(chosen))
    except BrokenPipeError:  # `| head` has read enough; Python would write the rest at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Error, OSError, ValueError, ImportError) as error:
        print(f"fovea {chosen.command}: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
