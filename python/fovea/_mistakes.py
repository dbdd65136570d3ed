"""What a beginner does wrong in a function that is traced, said in our words: other
libraries' errors about our values name neither the cause nor the cure."""

from __future__ import annotations

import linecache
import os
import re
import types
from typing import Any, Iterator, Optional, Tuple

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
#: What our own values say to libraries that take them for sequences or numbers.
_ASKED = ("has no length", "can't be iterated over", "needs a number")


def _last_line(error: BaseException) -> Optional[Tuple[types.FrameType, int]]:
    """Of the user's, where the error comes from."""
    found = None
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith((_HERE, "<")) and f"{os.sep}site-packages{os.sep}" not in name:
            found = trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next
    return found


def _names(frame: types.FrameType, line: str) -> Iterator[Tuple[str, Any]]:
    """Names on a line and what they stand for."""
    for name in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", line)):
        for scope in (frame.f_locals, frame.f_globals):
            if name in scope:
                yield name, scope[name]
                break


def explained(error: Exception, captures: str, functions: str) -> Optional[Tuple[str, str, int]]:
    """The message, file and line of a TraceError in the error's place, or None.
    `captures` says what to do with an array, `functions` what to use in place of
    other libraries' functions."""
    if not isinstance(error, (TypeError, IndexError, ValueError, RuntimeError, AttributeError)) and not any(
            part in str(error) for part in _ASKED):
        return None
    place = _last_line(error)
    if place is None:
        return None
    frame, number = place
    filename = frame.f_code.co_filename
    line = linecache.getline(filename, number)
    for name, value in _names(frame, line):
        array = type(value).__module__.partition(".")[0] in ("numpy", "torch", "jax", "jaxlib", "cupy")
        if array and hasattr(value, "dtype") and getattr(value, "shape", ()) and type(value).__name__ != "Symbol":
            return f"'{name}' is an array that the function closes over; {captures}", filename, number
    used = re.search(r"\b(torch|numpy|np|math|jnp)\.([\w.]+)\(", line)
    if used and any(name == used[1] and isinstance(value, types.ModuleType) for name, value in _names(frame, line)):
        return f"{used[1]}.{used[2]} does not take traced numbers; {functions}", filename, number
    return None


__all__ = ["explained"]
