"""Optional dependencies: the extras of pyproject.toml."""

from __future__ import annotations

import importlib.util

from ._distribution import DISTRIBUTION
from .errors import MissingPackageError


def need(package: str, extra: str, what: str) -> None:
    """Raises MissingPackageError, with the command to install the package that `what` needs,
    if it is missing."""
    if importlib.util.find_spec(package) is None:
        raise MissingPackageError(f"{what} needs {package}: pip install {package} (the extra {DISTRIBUTION}[{extra}])")


__all__ = ["need"]
