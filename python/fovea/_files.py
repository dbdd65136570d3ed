"""The package's folder, and reading of files that callers name."""

from __future__ import annotations

import os
import stat
from typing import Union

from .errors import Error

#: The package's folder, with a separator at the end.
PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def read_regular(path: Union[str, "os.PathLike[str]"]) -> bytes:
    """The contents of a file. Raises OSError, and Error for a folder, a pipe or a device, as
    reading these may not end."""
    # O_NONBLOCK: opening a pipe must not block.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Error(f"{os.fspath(path)!r} is not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)


__all__ = ["PACKAGE", "read_regular"]
