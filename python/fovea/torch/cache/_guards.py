"""Guards on the values that traced functions refer to.

The program of two functions depends on their code and on all values that the code reads:
closure cells, globals, defaults, attributes of objects, elements of lists. ``Guards`` records
these by their path from the functions, so that new function objects of the same code match,
too. Numbers must be equal, functions must have the same code, objects the same class,
containers the same length or keys. Tensors may differ between calls, but must have the same
signature. Guards keep no tensor, function or object alive.
"""

from __future__ import annotations

import abc
import builtins
import enum
import functools
import types
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set, Tuple

import torch

from ._reads import CELL, GLOBAL, LIBRARIES, RECEIVER, names_of, reads_of

_ABSENT = object()
#: Python expressions that read a value from its holder.
_CELL, _GLOBAL = "{holder}.__closure__[{key}].cell_contents", "{holder}.__globals__.get({key!r}, absent)"
_BUILTIN, _ATTRIBUTE, _ITEM = "getattr(builtins, {key!r}, absent)", "{holder}.{key}", "{holder}[{key!r}]"
_OF_MODULE = ("absent if {key[1]!r} in {holder}.__dict__ or hasattr(type({holder}), {key[1]!r}) else "
              "{holder}.{key[0]}[{key[1]!r}]")
_DEFAULT, _KEYWORD = "{holder}.__defaults__[{key}]", "{holder}.__kwdefaults__[{key!r}]"
#: Python conditions under which a guard fails, given the expected value or another value of the same functions.
_IS_NOT, _HAS_NOT_TYPE = "{value} is not {expected}", "type({value}) is not {expected}"
_HAS_NOT_VALUE = "{value} is not {expected} and (type({value}) is not {expected}_type or {value} != {expected})"
_DIFFERS = "{value} is not {expected} and is_different({value}, {expected})"
_HAS_NOT_CODE = "type({value}) is not function or {value}.__code__ is not {expected}"
_HAS_NOT_DEFAULTS = _HAS_NOT_CODE + " or defaults_of({value}) != {expected}_defaults"
_HAS_NOT_LENGTH = "type({value}) is not {expected} or len({value}) != {expected}_length"
_HAS_NOT_KEYS = "type({value}) is not dict or tuple({value}) != {expected}"
#: Maximum size of a list, tuple or dictionary whose elements are guarded.
_MAX_ELEMENTS = 64

_NUMBERS = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range, torch.dtype, torch.device, torch.Size,
            torch.layout, torch.memory_format)
_OPS = (type(torch.ops.aten.add), type(torch.ops.aten.add.Tensor))
_MODULES_OF_TENSORS = ("_parameters", "_buffers", "_modules")

Function = Optional[Callable]
Tensors = Tuple[torch.Tensor, ...]


def _root(name: Any) -> str:
    return name.partition(".")[0] if isinstance(name, str) else ""


def _is_library(module: types.ModuleType) -> bool:
    return _root(module.__name__) in LIBRARIES


def _is_different(value: Any, expected: Any) -> bool:
    """Whether numbers differ: the sign of zero counts, and NaN equals NaN."""
    return type(value) is not type(expected) or repr(value) != repr(expected)


def _defaults_of(function: types.FunctionType) -> Tuple[Any, ...]:
    """The number of positional defaults, and the names of keyword-only defaults."""
    return len(function.__defaults__ or ()), *(function.__kwdefaults__ or ())


def _signature(tensor: torch.Tensor) -> Tuple[Any, ...]:
    """The properties of a tensor that a trace may depend on."""
    strides = tensor.stride() if tensor.layout is torch.strided else None
    return tensor.shape, strides, tensor.dtype, tensor.device, tensor.requires_grad, torch._C._dispatch_keys(tensor).raw_repr()


def code_of(function: Function) -> Any:
    """The code of a function, which new function objects share; the type of a callable without code."""
    code = getattr(function, "__code__", None)
    if code is None and type(function) is functools.partial:
        return code_of(function.func)
    return type(function) if code is None else code


class Guards:
    """Guards on the values that two functions (or None) refer to. ``complete`` tells whether
    the guards detect every change. ``match`` returns the tensors that other functions refer
    to if all guards hold, else None; the caller compares the tensors' signatures
    (``have_same_signatures``)."""

    __slots__ = ("complete", "match", "_expected")

    def __init__(self, functions: Tuple[Function, ...]):
        builder = _Builder(functions)
        complete = all([builder.add_root(index) for index, _ in enumerate(functions)])
        self.complete = complete and not builder.reads_attributes_of_tensors()
        self._expected = tuple(map(_signature, builder.tensors()))
        self.match: Callable[[Tuple[Function, ...]], Optional[Tensors]] = builder.written() if self.complete else _no_match

    def have_same_signatures(self, tensors: Tensors) -> bool:
        return self._expected == tuple(map(_signature, tensors))


def _no_match(functions: Tuple[Function, ...]) -> None:
    return None


class _Step(NamedTuple):
    """A guarded value: the path from a value in another slot, and the failure condition."""

    path: str
    holder: int
    key: Any
    problem: str
    expected: Any
    is_tensor: bool = False


class _Slot(NamedTuple):
    """A reference to the value of another step."""

    number: int


#: Implementations of the paths, for building guards.
_READERS: Dict[str, Callable[[Any, Any], Any]] = {
    _CELL: lambda holder, key: holder.__closure__[key].cell_contents,
    _GLOBAL: lambda holder, key: holder.__globals__.get(key, _ABSENT),
    _BUILTIN: lambda holder, key: getattr(builtins, key, _ABSENT),
    _ATTRIBUTE: getattr,
    _OF_MODULE: lambda holder, key: getattr(holder, key[0])[key[1]],
    _ITEM: lambda holder, key: holder[key],
    _DEFAULT: lambda holder, key: holder.__defaults__[key],
    _KEYWORD: lambda holder, key: holder.__kwdefaults__[key],
}


class _Builder:
    """Collects the values that functions refer to, and generates a function that checks those
    of other functions. Slot 0 holds the functions, slot n + 1 the value of step n."""

    def __init__(self, functions: Tuple[Function, ...]):
        self.steps: List[_Step] = []
        self.slots: List[Any] = [functions]
        self.calls_numpy = False
        self._names: Set[str] = set()
        self._known: Dict[Tuple[str, int, Any], int] = {}
        #: Finished slots; and slots of tensors and functions by identity (and the receiver's slot).
        self._done: Set[int] = set()
        self._met: Dict[Tuple[int, int], int] = {}

    def tensors(self) -> Tensors:
        """The tensors that the functions reach, each once."""
        return tuple(self.slots[number] for number, step in enumerate(self.steps, 1) if step.is_tensor)

    def reads_attributes_of_tensors(self) -> bool:
        """Whether functions may read properties of a tensor that guards don't cover: values through numpy, attributes
        that users added."""
        return any(self.calls_numpy or not self._names.isdisjoint(vars(tensor)) for tensor in self.tensors())

    def written(self) -> Callable[[Tuple[Function, ...]], Optional[Tensors]]:
        """Generates ``Guards.match`` as Python code, since it runs at each call."""
        scope: Dict[str, Any] = {"absent": _ABSENT, "builtins": builtins, "function": types.FunctionType,
                                 "is_different": _is_different, "defaults_of": _defaults_of}
        lines, found = [], []
        for number, (path, holder, key, problem, expected, is_tensor) in enumerate(self.steps, 1):
            value, constant = f"v{number}", f"e{number}"
            lines.append(f"  {value} = {path.format(holder=f'v{holder}', key=key)}")
            if problem is _HAS_NOT_DEFAULTS:
                scope[constant + "_defaults"] = _defaults_of(self.slots[number])
            elif problem is _HAS_NOT_VALUE:
                scope[constant + "_type"] = type(expected)
            elif problem is _HAS_NOT_LENGTH:
                scope[constant + "_length"] = len(self.slots[number])
            elif isinstance(expected, _Slot):
                constant = f"v{expected.number}"
            scope[constant] = expected
            lines.append(f"  if {problem.format(value=value, expected=constant)}: return None")
            found += [value] * is_tensor
        if len(found) > 1:  # distinct tensors must stay distinct
            lines.append(f"  if len({{{', '.join(f'id({value})' for value in found)}}}) != {len(found)}: return None")
        text = "\n".join(["def match(v0):", " try:", *lines, " except mistakes: return None", f" return ({''.join(one + ',' for one in found)})"])
        scope["mistakes"] = AttributeError, IndexError, KeyError, TypeError, ValueError
        exec(compile(text, "<guards>", "exec"), scope)
        return scope["match"]

    # --- Paths -----------------------------------------------------------------

    def _reach(self, path: str, holder: int, key: Any) -> int:
        """The slot of a value, with a guard on its type."""
        known = self._known.get((path, holder, key))
        if known is None:
            value = _READERS[path](self.slots[holder], key)
            self.slots.append(value)
            self.steps.append(_Step(path, holder, key, _HAS_NOT_TYPE, type(value)))
            known = self._known[path, holder, key] = len(self.steps)
        return known

    def _guard(self, slot: int, problem: str, expected: Any, is_tensor: bool = False) -> bool:
        """Replaces the guard of a value by a stricter one."""
        self.steps[slot - 1] = self.steps[slot - 1]._replace(problem=problem, expected=expected, is_tensor=is_tensor)
        return True

    # --- Values ----------------------------------------------------------------

    def add_root(self, index: int) -> bool:
        """Adds one of the functions, or None."""
        slot = self._reach(_ITEM, 0, index)
        value = self.slots[slot]
        call = getattr(type(value), "__call__", None)
        if not _is_object(value) or not isinstance(call, types.FunctionType) or isinstance(value, torch.nn.Module):
            return self._add_value(slot)
        kind = self._reach(_ATTRIBUTE, slot, "__class__")
        return self._guard(kind, _IS_NOT, type(value)) and self._add_function(self._reach(_ATTRIBUTE, kind, "__call__"), slot)

    def _add_value(self, slot: int) -> bool:
        """Adds a value that the code may use in any way."""
        if slot in self._done:
            return True
        self._done.add(slot)
        value = self.slots[slot]
        kind = type(value)
        if isinstance(value, torch.Tensor):
            return self._add_tensor(slot)
        if value is None or kind is bool:
            return self._guard(slot, _IS_NOT, value)
        if kind in (int, str) or kind is float and value and value == value:
            return self._guard(slot, _HAS_NOT_VALUE, value)
        if kind in _NUMBERS or _root(kind.__module__) == "numpy" and hasattr(value, "dtype") and not hasattr(value, "__setitem__"):
            return self._guard(slot, _DIFFERS, value)
        if isinstance(value, enum.Enum) or kind in _OPS:
            return self._guard(slot, _IS_NOT, value)
        if kind in (tuple, list):
            return self._add_elements(slot)
        if kind is dict:
            return self._add_entries(slot)
        if kind is types.FunctionType:
            return self._add_function(slot, None)
        if kind is types.MethodType:
            return self._add_method(slot)
        if kind is functools.partial:
            return all([self._add_value(self._reach(_ATTRIBUTE, slot, part)) for part in ("func", "args", "keywords")])
        return _is_constant(value) and self._guard(slot, _IS_NOT, value)

    def _add_tensor(self, slot: int) -> bool:
        value = self.slots[slot]
        first = self._met.setdefault((id(value), -1), slot)
        if first != slot:
            return self._guard(slot, _IS_NOT, _Slot(first))
        return self._guard(slot, _HAS_NOT_TYPE, type(value), is_tensor=True)

    def _add_elements(self, slot: int) -> bool:
        value = self.slots[slot]
        self._guard(slot, _HAS_NOT_LENGTH, type(value))
        return len(value) <= _MAX_ELEMENTS and all([self._add_value(self._reach(_ITEM, slot, index))
                                                     for index, _ in enumerate(value)])

    def _add_entries(self, slot: int) -> bool:
        value = self.slots[slot]
        if len(value) > _MAX_ELEMENTS or not all(type(key) in (str, int) for key in value):
            return False
        self._guard(slot, _HAS_NOT_KEYS, tuple(value))
        return all([self._add_value(self._reach(_ITEM, slot, key)) for key in value])

    def _add_method(self, slot: int) -> bool:
        receiver = self._reach(_ATTRIBUTE, slot, "__self__")
        function = self._reach(_ATTRIBUTE, slot, "__func__")
        return type(self.slots[function]) is types.FunctionType and self._add_function(function, receiver)

    def _add_function(self, slot: int, receiver: Optional[int]) -> bool:
        """Adds a function; `receiver` is the slot of a method's receiver."""
        function = self.slots[slot]
        first = self._met.setdefault((id(function), -2 if receiver is None else receiver), slot)
        if first != slot:
            return self._guard(slot, _IS_NOT, _Slot(first))
        has_defaults = function.__defaults__ or function.__kwdefaults__
        self._guard(slot, _HAS_NOT_DEFAULTS if has_defaults else _HAS_NOT_CODE, function.__code__)
        return self._add_defaults(slot) and self._add_reads(slot, receiver)

    def _add_defaults(self, slot: int) -> bool:
        function = self.slots[slot]
        found = [self._reach(_DEFAULT, slot, index) for index, _ in enumerate(function.__defaults__ or ())]
        found += [self._reach(_KEYWORD, slot, name) for name in function.__kwdefaults__ or ()]
        return all([self._add_value(one) for one in found])

    def _add_reads(self, slot: int, receiver: Optional[int]) -> bool:
        function = self.slots[slot]
        code = function.__code__
        if _root(function.__globals__.get("__name__")) in LIBRARIES:
            cells = [self._cell(slot, name) for name in code.co_freevars]
            return all([one is not None and self._add_value(one) for one in cells])
        self._names |= names_of(code)
        reads = reads_of(code, receiver is not None)
        if reads is None:
            return False
        for scope, name, attributes in reads:
            if scope == RECEIVER:
                start = receiver
            elif scope == CELL:
                start = self._cell(slot, name)
            else:
                start = self._global(slot, name)
            if start is None or not self._add_attributes(start, attributes):
                return False
        return True

    # --- Variables and attributes --------------------------------------------------

    def _cell(self, slot: int, name: str) -> Optional[int]:
        function = self.slots[slot]
        try:
            return self._reach(_CELL, slot, function.__code__.co_freevars.index(name))
        except ValueError:  # the cell is empty
            return None

    def _global(self, slot: int, name: str) -> int:
        found = self._reach(_GLOBAL, slot, name)
        if self.slots[found] is not _ABSENT:
            return found
        self._guard(found, _IS_NOT, _ABSENT)
        return self._reach(_BUILTIN, slot, name)

    def _add_attributes(self, slot: int, names: Tuple[str, ...]) -> bool:
        """Adds a variable's value, and the attributes loaded from it."""
        for name in names:
            value = self.slots[slot]
            if value is _ABSENT:
                break
            if isinstance(value, types.ModuleType):
                if _is_library(value):
                    self.calls_numpy |= _root(value.__name__) == "numpy" and callable(getattr(value, name, None))
                    break
                if name not in vars(value):
                    return False
                self._guard(slot, _IS_NOT, value)
            elif isinstance(value, type):
                if _is_constant(value):
                    break
                if not _has_plain_attribute(value, name):
                    return False
                self._guard(slot, _IS_NOT, value)
            elif not _is_object(value):
                if isinstance(value, (types.FunctionType, types.MethodType, functools.partial)):
                    return False
                break
            elif not _has_own_attribute(value, name):
                return False
            slot = self._attribute(slot, name)
        value = self.slots[slot]
        return self._guard(slot, _IS_NOT, value) if value is _ABSENT else self._add_value(slot)


    def _attribute(self, slot: int, name: str) -> int:
        value = self.slots[slot]
        # Takes a third of the time of Module.__getattr__.
        if isinstance(value, torch.nn.Module) and name not in vars(value) and _in_classes(type(value), name) is _ABSENT:
            kinds = next(kinds for kinds in _MODULES_OF_TENSORS if name in vars(value)[kinds])
            return self._reach(_OF_MODULE, slot, (kinds, name))
        return self._reach(_ATTRIBUTE, slot, name)


def _is_constant(value: Any) -> bool:
    """Whether a value is a type, function or module of a library."""
    if isinstance(value, types.ModuleType):
        return _is_library(value)
    if isinstance(value, type):
        return _root(value.__module__) in LIBRARIES and not issubclass(value, enum.Enum)
    if isinstance(value, types.BuiltinFunctionType):
        # A builtin with an object as owner is a bound method.
        owner = value.__self__
        return owner is None or isinstance(owner, (types.ModuleType, type)) and _is_constant(owner)
    return isinstance(value, (types.MethodDescriptorType, types.WrapperDescriptorType))


def _is_object(value: Any) -> bool:
    """Whether a value is an instance of a user's class, or a torch.nn.Module."""
    kind = type(value)
    if isinstance(value, (torch.Tensor, enum.Enum)) or kind in _NUMBERS or kind in _OPS:
        return False
    return _root(kind.__module__) not in LIBRARIES or isinstance(value, torch.nn.Module) or kind is types.SimpleNamespace


def _in_classes(kind: type, name: str) -> Any:
    return next((vars(one)[name] for one in kind.__mro__ if name in vars(one)), _ABSENT)


def _has_own_attribute(value: Any, name: str) -> bool:
    """Whether an object has the attribute, and reading it runs no user code."""
    kind = type(value)
    if issubclass(kind, tuple) and name in getattr(kind, "_fields", ()):
        return True
    if kind.__getattribute__ is not object.__getattribute__ and kind is not types.SimpleNamespace:
        return False
    of_class, own = _in_classes(kind, name), getattr(value, "__dict__", {})
    if of_class is not _ABSENT:
        if hasattr(of_class, "__set__") or hasattr(of_class, "__delete__"):
            return isinstance(of_class, types.MemberDescriptorType) and hasattr(value, name)
        return name in own or isinstance(of_class, (types.FunctionType, staticmethod)) or not hasattr(of_class, "__get__")
    if name in own:
        return True
    is_module = getattr(kind, "__getattr__", None) is torch.nn.Module.__getattr__
    return is_module and any(name in own.get(kinds, ()) for kinds in _MODULES_OF_TENSORS)


def _has_plain_attribute(kind: type, name: str) -> bool:
    """The same for a class."""
    if type(kind) not in (type, abc.ABCMeta, enum.EnumMeta):
        return False
    value = _in_classes(kind, name)
    if value is _ABSENT:
        return False
    if issubclass(kind, enum.Enum):
        return isinstance(getattr(kind, name), kind)
    return isinstance(value, (types.FunctionType, staticmethod)) or not hasattr(value, "__get__")


__all__ = ["Guards", "code_of"]
