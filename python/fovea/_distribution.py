"""The name of the distribution, and a check that no other project's files lie among the package's.

The package ``fovea`` is installed by the distribution ``fovea-attention``. The distribution ``fovea`` on PyPI is an
unrelated project with a package of the same name: installed into the same folder, the two overwrite each other's
``__init__.py``, and removing one breaks the other.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Optional, Tuple

DISTRIBUTION = "fovea-attention"
_REPAIR = f"pip uninstall fovea, then install {DISTRIBUTION} again with --force-reinstall"
_METADATA = re.compile(r"fovea-([^-]+?)(?:-py[\d.]+)?\.(?:dist|egg)-info", re.IGNORECASE)


def _installs_package(metadata: str) -> bool:
    """Whether a distribution has files in ``fovea/``; true if it does not list its files. An editable
    installation has none, as its package is in another folder."""
    try:
        with open(os.path.join(metadata, "RECORD"), encoding="utf-8", errors="replace") as record:
            return any(line.startswith("fovea/") for line in record)
    except OSError:
        return True


def foreign_distribution(package: str) -> Optional[Tuple[str, str]]:
    """Version and metadata folder of a distribution ``fovea`` that is installed into the folder `package`, None
    without one.

    Lists one folder: importlib.metadata would take a third of the package's import time.
    """
    parent = os.path.dirname(package)
    try:
        names = os.listdir(parent)
    except OSError:  # the package is imported from an archive
        return None
    for name in names:
        found = _METADATA.fullmatch(name)
        if found and _installs_package(os.path.join(parent, name)):
            return found[1], os.path.join(parent, name)
    return None


def refuse_foreign_files(package: str) -> None:
    """Raises ImportError if another distribution is installed into the package's folder."""
    found = foreign_distribution(package)
    if found:
        version, metadata = found
        raise ImportError(
            f"the distribution 'fovea' {version} ({metadata}) is not '{DISTRIBUTION}' and installs into its folder, {package}; "
            f"each overwrites the other's files: {_REPAIR}", name="fovea", path=package)


def refuse_foreign_package() -> None:
    """Raises ImportError if a subpackage is imported whose parent is not this project's ``fovea/__init__.py``: the
    other project's was installed later, or removed together with this one's file."""
    parent = sys.modules["fovea"]
    if not hasattr(parent, "attention"):
        file = getattr(parent, "__file__", None)
        state = f"belongs to another project ({file})" if file else "has no __init__.py"
        raise ImportError(f"the package 'fovea' {state}, its subpackages belong to '{DISTRIBUTION}': {_REPAIR}",
                          name="fovea", path=file)


__all__ = ["DISTRIBUTION", "foreign_distribution", "refuse_foreign_files", "refuse_foreign_package"]
