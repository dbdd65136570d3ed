"""Files that others name."""

from __future__ import annotations

import os
import stat
from typing import Union

from .errors import Error


def read_regular(path: Union[str, "os.PathLike[str]"]) -> bytes:
    """What a file holds. Raises OSError, and Error for a folder, a pipe or a device: these
    may have no end."""
    # A pipe must not make us wait.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Error(f"{os.fspath(path)!r} is not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


__all__ = ["read_regular"]
