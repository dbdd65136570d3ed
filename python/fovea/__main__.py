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

#: Commands, with their modules, which have ``add_arguments`` and ``run``, and help texts.
_COMMANDS = {
    "bench": ("bench._command", "time kernels against PyTorch's, and plot the results"),
    "explain": ("explain._command", "write an HTML page about a program: IR, blocks, schedule, resources, bounds"),
    "lines": ("tools._lines_command", "count PTX instructions by line of the program"),
    "targets": ("tools._targets_command", "list the targets, with their GPUs and MMA units"),
}


def main(arguments: Optional[List[str]] = None) -> int:
    """Runs a command and returns its exit code."""
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
    except BrokenPipeError:  # as with `| head`; without this Python would flush the rest at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Error, OSError, ValueError, ImportError) as error:
        print(f"fovea {chosen.command}: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
