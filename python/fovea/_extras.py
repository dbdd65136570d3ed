"""Packages that only some functions need: the extras of pyproject.toml."""

from __future__ import annotations

import importlib.util

from ._distribution import DISTRIBUTION
from .errors import MissingPackageError


def need(package: str, extra: str, what: str) -> None:
    """Raises MissingPackageError, which says what to install, where `what` needs a
    package that is not there."""
    if importlib.util.find_spec(package) is None:
        raise MissingPackageError(f"{what} needs {package}: pip install {package} (the extra {DISTRIBUTION}[{extra}])")


__all__ = ["need"]
