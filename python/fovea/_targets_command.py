"""Lists the chips that can be compiled for."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def run(arguments: argparse.Namespace) -> int:
    """Prints a name a line."""
    from ._kernel import targets

    print("\n".join(targets()))
    return 0
