"""The cache of compiled kernels on disk.

The folder is ``$XDG_CACHE_HOME/fovea``, or ``~/.cache/fovea``. The folder and its files
belong to the user alone. Files that another user could have written, and damaged files, are
not used; the kernel is compiled again. Any number of processes may share the folder. If it
grows beyond ``max_bytes``, the least recently used entries are removed.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import stat
import time
from typing import Iterator, List, Optional, Tuple

__all__ = ["configure", "directory", "clear", "size"]

_SUFFIX = ".fovea"
#: Prefix of entries that are being written, and seconds after which one counts as abandoned.
_NEW, _ABANDONED = ".new-", 3600
_DIGEST = 32


class _Settings:
    folder: Optional[pathlib.Path] = None
    max_bytes = 1 << 29
    enabled = True


def configure(
    folder: Optional[os.PathLike] = None, max_bytes: Optional[int] = None, enabled: Optional[bool] = None
) -> None:
    """Sets the folder, its limit in bytes (512 MiB by default), and whether the cache on
    disk is used. None leaves a setting unchanged."""
    if folder is not None:
        _Settings.folder = pathlib.Path(folder)
    if max_bytes is not None:
        if max_bytes < 0:
            raise ValueError(f"max_bytes must not be negative, found {max_bytes}")
        _Settings.max_bytes = max_bytes
    if enabled is not None:
        _Settings.enabled = enabled


def directory() -> pathlib.Path:
    """The folder, which may not exist yet."""
    if _Settings.folder is not None:
        return _Settings.folder
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The specification says that relative paths are invalid.
    root = pathlib.Path(base) if os.path.isabs(base) else pathlib.Path.home() / ".cache"
    return root / "fovea"


def clear() -> None:
    """Removes all entries from disk. Kernels in memory stay."""
    for path, _, _ in _entries():
        _remove(path)


def size() -> int:
    """The size of all entries on disk, in bytes."""
    return sum(bytes for _, bytes, _ in _entries())


def _remove(path: pathlib.Path) -> None:
    try:
        path.unlink()
    except OSError:
        pass


def _entries() -> Iterator[Tuple[pathlib.Path, int, int]]:
    """Path, bytes and time of last use."""
    try:
        found = list(os.scandir(directory()))
    except OSError:
        return
    for entry in found:
        try:
            if entry.name.endswith(_SUFFIX) and entry.is_file(follow_symlinks=False):
                facts = entry.stat(follow_symlinks=False)
                yield pathlib.Path(entry.path), facts.st_size, facts.st_mtime_ns
        except OSError:
            continue


def _is_ours(facts: os.stat_result) -> bool:
    """Whether only the user and root can have written the file."""
    return facts.st_uid == os.getuid() and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _folder() -> Optional[pathlib.Path]:
    """The folder, created if missing; None if it can't be used."""
    if not _Settings.enabled or not hasattr(os, "getuid"):
        return None
    folder = directory()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = os.stat(folder)
        if facts.st_uid != os.getuid():
            return None
        if stat.S_IMODE(facts.st_mode) != 0o700:
            # read() refuses files that others wrote before.
            os.chmod(folder, 0o700)
    except OSError:
        return None
    return folder


def _path(folder: pathlib.Path, key: str) -> pathlib.Path:
    return folder / (key + _SUFFIX)


def read(key: str) -> Optional[bytes]:
    """The entry's contents, or None. An entry that can't be trusted is removed."""
    folder = _folder()
    if folder is None:
        return None
    path = _path(folder, key)
    try:
        # O_NONBLOCK: opening a pipe in its place must not block.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError:
        _remove(path)
        return None
    try:
        facts = os.fstat(descriptor)
        data = b""
        if stat.S_ISREG(facts.st_mode) and _is_ours(facts):
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read()
    except OSError:
        return None
    finally:
        os.close(descriptor)
    digest, contents = data[:_DIGEST], data[_DIGEST:]
    if hashlib.sha256(key.encode() + contents).digest() != digest:
        _remove(path)
        return None
    try:
        os.utime(path)
    except OSError:
        pass
    return contents


def write(key: str, contents: bytes) -> None:
    """Adds or replaces an entry atomically. Errors are ignored."""
    folder = _folder()
    if folder is None or len(contents) > _Settings.max_bytes:
        return
    import tempfile  # here: importing it takes longer than the rest of this module

    temporary = None
    try:
        # Only the user can access files of mkstemp.
        descriptor, temporary = tempfile.mkstemp(prefix=_NEW, dir=folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(hashlib.sha256(key.encode() + contents).digest())
            file.write(contents)
        os.replace(temporary, _path(folder, key))
    except OSError:
        if temporary is not None:
            _remove(pathlib.Path(temporary))
        return
    _shrink()
    _sweep(folder)


def _sweep(folder: pathlib.Path) -> None:
    """Removes partial entries of processes that ended while writing."""
    try:
        for entry in os.scandir(folder):
            if entry.name.startswith(_NEW) and time.time() - entry.stat(follow_symlinks=False).st_mtime > _ABANDONED:
                _remove(pathlib.Path(entry.path))
    except OSError:
        pass


def _shrink() -> None:
    entries: List[Tuple[pathlib.Path, int, int]] = sorted(_entries(), key=lambda entry: entry[2])
    total = sum(bytes for _, bytes, _ in entries)
    for path, bytes, _ in entries:
        if total <= _Settings.max_bytes:
            break
        _remove(path)
        total -= bytes
