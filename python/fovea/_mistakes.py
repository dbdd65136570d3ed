"""What a beginner does wrong in a function that is traced, said in our words: other
libraries' errors about our values name neither the cause nor the cure."""

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

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
#: What our own values say to libraries that take them for sequences or numbers.
_ASKED = ("has no length", "can't be iterated over", "needs a number", "expected a number or a traced value",
          "a number is asked of", "a truth value is asked of")


@dataclass(frozen=True)
class Cures:
    """What a front end has in place of what its users wrote."""

    #: What to do with an array, ARRAY as the function calls it, whose last name is
    #: NAME; and with a list of numbers.
    captures: str
    lists: str
    #: What to use in place of other libraries' functions, and of max() and min().
    functions: str
    extrema: str
    #: Packages whose arrays, and whose functions, it can't trace.
    arrays: Tuple[str, ...]
    libraries: Tuple[str, ...]


def _last_line(error: BaseException) -> Optional[types.TracebackType]:
    """Of the user's, where the error comes from."""
    found = None
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not name.startswith((_HERE, "<frozen", "<__array_function__", "<eval_with_key")) and f"{os.sep}site-packages{os.sep}" not in name:
            found = trace
        trace = trace.tb_next
    return found


def _expression(trace: types.TracebackType) -> str:
    """What failed; where Python does not know (before 3.11), all of its line."""
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
    """What the line loads, called and indexed: stands for its text where there is none,
    as at a prompt or in a pipe."""
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
    """Names in a text and what they stand for: ``a`` and then ``a.b`` of ``a.b``."""
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
            except Exception:  # the attribute may be any code
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


def _of(cure: str, array: str) -> str:
    """A cure for an array that the function reads under a name."""
    return cure.replace("NAME", array.rpartition(".")[2]).replace("ARRAY", array)


def _told(found: Dict[str, Any], text: str, asked: str, cures: Cures) -> Optional[str]:
    for name, value in found.items():
        if _is_array(value, cures.arrays):
            return f"'{name}' is an array that the function closes over; {_of(cures.captures, name)}"
    for name, value in found.items():
        is_called = re.search(rf"(?<![\w.]){re.escape(name)}\(", text)
        if is_called and name in ("max", "min") and value is getattr(builtins, name):
            return f"{name}() asks for a truth value of traced numbers; {cures.extrema}"
        if is_called and _is_of(name, value, cures.libraries):
            return f"{name} does not take traced numbers; {cures.functions}"
    for name, value in found.items():
        if isinstance(value, (list, tuple)) and re.search(rf"(?<![\w.]){re.escape(name)}\[", text) and "truth" not in asked:
            kind = type(value).__name__
            return f"'{name}' is a {kind}, which a traced number can't index; {cures.lists}"
    return None


def explained(error: Exception, cures: Cures) -> Optional[Tuple[str, str, int]]:
    """The message, file and line of a TraceError in the error's place, or None."""
    asked = next((part for part in _ASKED if part in str(error)), "")
    # Those of this package say themselves what is wrong.
    is_own = type(error).__module__.partition(".")[0] == __name__.partition(".")[0]
    if not asked and (is_own or not isinstance(error, (TypeError, IndexError, ValueError, RuntimeError, AttributeError))):
        return None
    trace = _last_line(error)
    if trace is None:
        return None
    text = _expression(trace) or _loaded(trace)
    message = _told(dict(names(trace.tb_frame, text)), text, asked, cures)
    return None if message is None else (message, trace.tb_frame.f_code.co_filename, trace.tb_lineno)


__all__ = ["Cures", "explained", "names"]
