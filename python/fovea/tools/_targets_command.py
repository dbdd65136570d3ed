"""Prints a table of the targets: name, MMA unit and GPUs."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds nothing: the command has no arguments."""


def run(arguments: argparse.Namespace) -> int:
    """Prints one line per target."""
    from ..runtime._gpus import target_facts

    rows = [("TARGET", "UNIT", "GPUS")]
    rows += [(one.name, one.unit, one.gpus) for one in target_facts()]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    return 0
