"""Prints a table of the targets: name, GPUs, matrix unit, and whether kernels are lowered to
PTX or stop at the warp level (IR only)."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def run(arguments: argparse.Namespace) -> int:
    """Prints a line a target."""
    from ._chips import target_facts

    rows = [("TARGET", "UNIT", "LOWERED TO", "GPUS")]
    rows += [(one.name, one.unit, "PTX" if one.has_ptx else "IR only", one.gpus) for one in target_facts()]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    return 0
