"""What the code of a function reads beside its parameters, by its bytecode.

Each read is a variable (a closure's cell, a global, the receiver of a method) and the
attributes that are loaded from it right after: ``self.table[h]`` reads ``table`` of
``self``. Code whose reads can't be told, because it writes variables, builds classes or
looks at itself, has none.
"""

from __future__ import annotations

import dis
import functools
import types
from typing import Dict, FrozenSet, List, NamedTuple, Optional, Set, Tuple

CELL, GLOBAL, RECEIVER = "cell", "global", "receiver"
#: Packages whose functions and constants don't change.
LIBRARIES = frozenset(["torch", "math", "operator", "functools", "numpy", "builtins"])


class Read(NamedTuple):
    """A variable, and attributes of it: the value is the last one's."""

    scope: str  #: CELL, GLOBAL or RECEIVER
    name: str
    attributes: Tuple[str, ...]


#: Instructions that are about no value.
_SILENT = {"CACHE", "EXTENDED_ARG", "NOP", "PUSH_NULL", "NOT_TAKEN"}
#: Those that make or pass cells; the functions that get them are looked at by themselves.
_OF_CELLS = {"MAKE_CELL", "COPY_FREE_VARS", "LOAD_CLOSURE"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}
#: Writes of variables that outlive the call, bodies of classes, namespaces.
_OPAQUE = {
    "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME", "STORE_NAME", "DELETE_NAME", "LOAD_BUILD_CLASS", "LOAD_CLASSDEREF",
    "LOAD_FROM_DICT_OR_DEREF", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_LOCALS", "LOAD_SUPER_ATTR", "IMPORT_STAR",
}
#: Attributes that show of a tensor what is not its look, and builtins that read what has no name in the code.
_TELLING = {"tolist", "numpy", "data_ptr", "grad", "untyped_storage", "storage", "_version"}
_REFLECTIVE = {"globals", "locals", "vars", "eval", "exec", "compile", "open", "input", "super", "id"}


class _Scope(NamedTuple):
    """What variables of a code object are: its own name of the receiver, if any; free
    variables that are cells of the outermost function, and those that are the receiver."""

    receiver: Optional[str]
    cells: FrozenSet[str]
    receivers: FrozenSet[str]


@functools.lru_cache(maxsize=1024)
def reads_of(code: types.CodeType, is_method: bool) -> Optional[Tuple[Read, ...]]:
    """What a function's code reads, that of functions inside of it too; None if that can't
    be told. The first parameter of a method is its receiver."""
    receiver = code.co_varnames[0] if is_method and code.co_argcount else None
    found: Dict[Read, None] = {}
    scope = _Scope(receiver, frozenset(code.co_freevars), frozenset())
    return tuple(found) if _add(code, scope, found) else None


@functools.lru_cache(maxsize=1024)
def names_of(code: types.CodeType) -> FrozenSet[str]:
    """Names of globals and attributes in a function's code, that of functions inside of it too."""
    inner = (names_of(one) for one in code.co_consts if isinstance(one, types.CodeType))
    return frozenset(code.co_names).union(*inner)


def _add(code: types.CodeType, scope: _Scope, found: Dict[Read, None]) -> bool:
    names: Set[str] = {*code.co_names}
    if names & _TELLING or names & _REFLECTIVE or any(name.startswith("__") and name.endswith("__") for name in names):
        return False
    instructions = [one for one in dis.get_instructions(code) if one.opname not in _SILENT]
    for index, one in enumerate(instructions):
        if one.opname in _OPAQUE or not _add_instruction(code, scope, instructions, index, found):
            return False
    return all(_add(one, _inner(code, scope, one), found) for one in code.co_consts if isinstance(one, types.CodeType))


def _inner(code: types.CodeType, scope: _Scope, inner: types.CodeType) -> _Scope:
    """That of a function within a function's code."""
    free = set(inner.co_freevars)
    receivers = {name for name in free if name in scope.receivers or name == scope.receiver}
    # What is a variable of the function itself holds what it computes.
    return _Scope(None, frozenset(free & scope.cells - receivers), frozenset(receivers))


def _add_instruction(code: types.CodeType, scope: _Scope, instructions: List[dis.Instruction], index: int,
                     found: Dict[Read, None]) -> bool:
    one = instructions[index]
    name, kind = one.opname, None
    names = one.argval if isinstance(one.argval, tuple) else (one.argval,)
    if name == "IMPORT_NAME":
        return str(one.argval).partition(".")[0] in LIBRARIES
    if name == "LOAD_GLOBAL":
        kind = GLOBAL
    elif name in _OF_CELLS:
        return True
    elif "DEREF" in name:
        kind = _kind_of(scope, names)
        if kind is not None and name != "LOAD_DEREF":
            return False
    elif "FAST" in name and scope.receiver in names:
        # Also how releases without LOAD_CLOSURE pass a cell.
        if name.startswith("LOAD_FAST") and scope.receiver in code.co_cellvars:
            return True
        if not name.startswith("LOAD_FAST") or "CLEAR" in name or scope.receiver in names[:-1]:
            return False
        kind = RECEIVER
    if kind is None:
        return True
    attributes: List[str] = []
    for following in instructions[index + 1:]:
        if following.opname not in _ATTRIBUTES:
            break
        attributes.append(following.argval)
    found[Read(kind, "" if kind == RECEIVER else names[-1], tuple(attributes))] = None
    return True


def _kind_of(scope: _Scope, names: Tuple[str, ...]) -> Optional[str]:
    """Of a variable that is a cell; None for one that holds what the function computes."""
    if names[-1] == scope.receiver or names[-1] in scope.receivers:
        return RECEIVER
    return CELL if names[-1] in scope.cells else None


__all__ = ["CELL", "GLOBAL", "LIBRARIES", "RECEIVER", "Read", "names_of", "reads_of"]
