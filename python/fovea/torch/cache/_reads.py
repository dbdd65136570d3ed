"""Finds the variables that a function's bytecode reads, besides its parameters.

Each read is a variable (a closure cell, a global, or the receiver of a method) and the
attributes that are loaded from it immediately: ``self.table[h]`` reads ``table`` of ``self``.
Code that writes such variables, builds classes or uses reflection is not analysed.
"""

from __future__ import annotations

import dis
import functools
import types
from typing import Dict, FrozenSet, List, NamedTuple, Optional, Set, Tuple

CELL, GLOBAL, RECEIVER = "cell", "global", "receiver"
#: Packages whose functions and constants are assumed not to change.
LIBRARIES = frozenset(["torch", "math", "operator", "functools", "numpy", "builtins"])


class Read(NamedTuple):
    """A variable, and a chain of attributes; the value read is that of the last one."""

    scope: str  #: CELL, GLOBAL or RECEIVER
    name: str
    attributes: Tuple[str, ...]


#: Instructions without a value.
_SILENT = {"CACHE", "EXTENDED_ARG", "NOP", "PUSH_NULL", "NOT_TAKEN"}
#: Instructions that create or pass cells; the inner functions are analysed separately.
_OF_CELLS = {"MAKE_CELL", "COPY_FREE_VARS", "LOAD_CLOSURE"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}
#: Writes of variables that outlive the call, bodies of classes, namespaces.
_OPAQUE = {
    "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME", "STORE_NAME", "DELETE_NAME", "LOAD_BUILD_CLASS", "LOAD_CLASSDEREF",
    "LOAD_FROM_DICT_OR_DEREF", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_LOCALS", "LOAD_SUPER_ATTR", "IMPORT_STAR",
}
#: Attributes that read more of a tensor than its signature, and builtins that read variables without naming them.
_TELLING = {"tolist", "numpy", "data_ptr", "grad", "untyped_storage", "storage", "_version"}
_REFLECTIVE = {"globals", "locals", "vars", "eval", "exec", "compile", "open", "input", "super", "id"}


class _Scope(NamedTuple):
    """The variables of a code object: its name of the receiver, if any; its free variables that
    are cells of the outermost function, and those that hold the receiver."""

    receiver: Optional[str]
    cells: FrozenSet[str]
    receivers: FrozenSet[str]


@functools.lru_cache(maxsize=1024)
def reads_of(code: types.CodeType, is_method: bool) -> Optional[Tuple[Read, ...]]:
    """The reads of a function's code and its inner functions; None if the code can't be
    analysed. The first parameter of a method is its receiver."""
    receiver = code.co_varnames[0] if is_method and code.co_argcount else None
    found: Dict[Read, None] = {}
    scope = _Scope(receiver, frozenset(code.co_freevars), frozenset())
    return tuple(found) if _add(code, scope, found) else None


@functools.lru_cache(maxsize=1024)
def names_of(code: types.CodeType) -> FrozenSet[str]:
    """Names of globals and attributes in a function's code and its inner functions."""
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
    """The scope of an inner function."""
    free = set(inner.co_freevars)
    receivers = {name for name in free if name in scope.receivers or name == scope.receiver}
    # Cells that the outer function itself creates hold computed values and need no guard.
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
        # Python releases without LOAD_CLOSURE also pass cells this way.
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
    """The kind of a cell variable; None for one that holds a computed value."""
    if names[-1] == scope.receiver or names[-1] in scope.receivers:
        return RECEIVER
    return CELL if names[-1] in scope.cells else None


__all__ = ["CELL", "GLOBAL", "LIBRARIES", "RECEIVER", "Read", "names_of", "reads_of"]
