"""Messages for common mistakes in traced functions. Errors of other libraries about traced
values name neither the cause nor a remedy; this module replaces them."""

from __future__ import annotations

import builtins
import dis
import linecache
import os
import re
import sys
import types
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional, Tuple

from .._files import PACKAGE

#: Parts of the messages of traced values that libraries take for sequences or numbers.
_OWN_MESSAGES = ("has no length", "can't be iterated over", "needs a number", "expected a number or a traced value",
                 "the value of a traced tensor", "the truth value of a traced")


@dataclass(frozen=True)
class Advice:
    """A front end's advice on constructs that it can't trace."""

    #: For an array, which the function calls ARRAY and whose last name is NAME; and for a
    #: list of numbers.
    captures: str
    lists: str
    #: For functions of other libraries, and for max() and min().
    functions: str
    extrema: str
    #: Packages whose arrays, and whose functions, the front end can't trace.
    arrays: Tuple[str, ...]
    libraries: Tuple[str, ...]


def _last_line(error: BaseException) -> Optional[types.TracebackType]:
    """The innermost frame of the user's code in the error's traceback."""
    found = None
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith((PACKAGE, "<frozen", "<__array_function__", "<eval_with_key")) and f"{os.sep}site-packages{os.sep}" not in name:
            found = trace
        trace = trace.tb_next
    return found


def _expression(trace: types.TracebackType) -> str:
    """The expression that failed; its whole line where Python has no positions (before 3.11)."""
    code, number = trace.tb_frame.f_code, trace.tb_lineno
    line = linecache.getline(code.co_filename, number)
    positions = list(code.co_positions()) if hasattr(code, "co_positions") else []
    index = trace.tb_lasti // 2
    first, last, begin, end = positions[index] if index < len(positions) else (None,) * 4
    if first is None or last is None or begin is None or end is None:
        return line
    lines = [linecache.getline(code.co_filename, one).encode() for one in range(first, last + 1)]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][begin:]
    return b"".join(lines).decode(errors="replace") or line


def _loaded(trace: types.TracebackType) -> str:
    """Names that the line loads, as if called and indexed: a substitute for the line's text
    where there is no source, as at a prompt or in a pipe."""
    code = trace.tb_frame.f_code
    lines = dict(dis.findlinestarts(code))
    found, line = [], None  # type: List[str], Optional[int]
    for one in dis.get_instructions(code):
        line = lines.get(one.offset, line)
        if line != trace.tb_lineno or not one.opname.startswith("LOAD_") or not isinstance(one.argval, str):
            continue
        if one.opname in ("LOAD_ATTR", "LOAD_METHOD") and found:
            found[-1] += "." + one.argval
        elif one.opname != "LOAD_CONST":
            found.append(one.argval)
    return " ".join(f"{name}( {name}[" for name in found)


def names(frame: types.FrameType, text: str) -> Iterator[Tuple[str, Any]]:
    """Names in a text with their values: for ``a.b`` those of ``a`` and ``a.b``."""
    for name in dict.fromkeys(re.findall(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", text)):
        root, *parts = name.split(".")
        for scope in (frame.f_locals, frame.f_globals, vars(builtins)):
            if root in scope:
                value = scope[root]
                break
        else:
            continue
        yield root, value
        for part in parts:
            try:
                value = getattr(value, part)
            except Exception:  # a property can run any code
                break
            root += "." + part
            yield root, value


def _package(value: Any) -> str:
    return (getattr(type(value), "__module__", None) or "").partition(".")[0]


def _is_array(value: Any, packages: Tuple[str, ...]) -> bool:
    return (_package(value) in packages and hasattr(value, "dtype") and bool(getattr(value, "shape", ()))
            and type(value).__name__ != "Symbol")


def _is_of(name: str, value: Any, libraries: Tuple[str, ...]) -> bool:
    """Whether a value is a function of one of the libraries."""
    if not callable(value) or isinstance(value, type):
        return False
    home = (getattr(value, "__module__", None) or "").partition(".")[0]
    last = name.rpartition(".")[2]
    return home in libraries or any(
        getattr(sys.modules.get(library), last, None) is value for library in libraries)


def _filled(text: str, array: str) -> str:
    """The advice with an array's name filled in."""
    return text.replace("NAME", array.rpartition(".")[2]).replace("ARRAY", array)


def _suggestion(found: Dict[str, Any], text: str, own_message: str, advice: Advice) -> Optional[str]:
    for name, value in found.items():
        if _is_array(value, advice.arrays):
            return f"'{name}' is an array in the function's closure; {_filled(advice.captures, name)}"
    for name, value in found.items():
        is_called = re.search(rf"(?<![\w.]){re.escape(name)}\(", text)
        if is_called and name in ("max", "min") and value is getattr(builtins, name):
            return f"{name}() needs the truth value of traced numbers; {advice.extrema}"
        if is_called and _is_of(name, value, advice.libraries):
            return f"{name} does not take traced numbers; {advice.functions}"
    for name, value in found.items():
        if isinstance(value, (list, tuple)) and re.search(rf"(?<![\w.]){re.escape(name)}\[", text) and "truth" not in own_message:
            kind = type(value).__name__
            return f"'{name}' is a {kind}, which a traced number can't index; {advice.lists}"
    return None


def explained(error: Exception, advice: Advice) -> Optional[Tuple[str, str, int]]:
    """Message, file and line of a TraceError that replaces the error, or None."""
    own_message = next((part for part in _OWN_MESSAGES if part in str(error)), "")
    # Errors of this package are clear already.
    is_own = type(error).__module__.partition(".")[0] == __name__.partition(".")[0]
    if not own_message and (is_own or not isinstance(error, (TypeError, IndexError, ValueError, RuntimeError, AttributeError))):
        return None
    trace = _last_line(error)
    if trace is None:
        return None
    text = _expression(trace) or _loaded(trace)
    message = _suggestion(dict(names(trace.tb_frame, text)), text, own_message, advice)
    return None if message is None else (message, trace.tb_frame.f_code.co_filename, trace.tb_lineno)


__all__ = ["Advice", "explained", "names"]
