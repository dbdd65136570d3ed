"""From functions to programs, and when a function must be traced again.

A function that was traced is not called again while all that it refers to is
what it was: cells, globals and defaults, of functions that it calls too. Where
that can't be told (an object's attributes, a list) each call traces it anew,
which takes a millisecond; the kernel is found by the program that comes of it.
"""

from __future__ import annotations

import collections
import functools
import threading
import types
import weakref
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set, Tuple

import torch

from .._builder import RegionBuilder
from .._spec import Blocks, Capture, Spec, make_spec
from . import _op
from ._expressions import STORED, Captures
from ._masks import Form
from ._tracer import trace

_IMMUTABLE = (int, float, complex, str, bytes, type(None), torch.dtype, torch.device, torch.Size, type,
              types.BuiltinFunctionType, type(torch.ops.aten.add))
# Modules whose functions don't change.
_LIBRARIES = {"torch", "math", "operator", "functools", "numpy", "builtins"}
_ABSENT = object()


class Facts(NamedTuple):
    """What else a program depends on."""

    dtype: torch.dtype
    device: torch.device
    head_dim: int
    value_head_dim: int
    scale: Optional[float]
    gradients: bool
    lse: bool = True
    blocks: Optional[Form] = None
    dropout: float = 0.0


class Program(NamedTuple):
    """A program, the tensors that it reads, in order, and its text as the op takes it."""

    spec: Spec
    captures: List[torch.Tensor]
    text: str


# --- Guards -------------------------------------------------------------------


class _Bindings:
    """What functions refer to. ``complete`` if a change of it can be noticed."""

    def __init__(self, functions: Tuple[Optional[Callable], ...]):
        self.cells: List[Tuple[Any, Any]] = []
        self.names: List[Tuple[Dict[str, Any], str, Any]] = []
        self.functions: List[Tuple[Any, Any, Any]] = []
        self.tensors: List[Tuple[torch.Tensor, torch.Size]] = []
        # A root must be free to go: the entry goes with it.
        self._roots = {id(function) for function in functions}
        self._seen: Set[int] = set()
        self.complete = all([self._add(function) for function in functions])

    def _add(self, value: Any) -> bool:
        if isinstance(value, _IMMUTABLE):
            return True
        if id(value) in self._seen:
            return True
        self._seen.add(id(value))
        if isinstance(value, torch.Tensor):
            self.tensors.append((value, value.shape))
            return True
        if isinstance(value, types.ModuleType):
            return value.__name__.partition(".")[0] in _LIBRARIES
        if isinstance(value, tuple):
            return all([self._add(one) for one in value])
        if isinstance(value, functools.partial):
            return not value.keywords and self._add(value.func) and self._add(value.args)
        return isinstance(value, types.FunctionType) and self._add_function(value)

    def _add_function(self, function: types.FunctionType) -> bool:
        if function.__module__ is not None and function.__module__.partition(".")[0] == "torch":
            names: Set[str] = set()
        else:
            names = _global_names(function.__code__)
        if id(function) not in self._roots:
            self.functions.append((function, function.__code__, function.__defaults__))
        found = [function.__defaults__]
        for cell in function.__closure__ or ():
            try:
                self.cells.append((cell, cell.cell_contents))
            except ValueError:
                return False
            found.append(cell.cell_contents)
        for name in names:
            value = function.__globals__.get(name, _ABSENT)
            self.names.append((function.__globals__, name, value))
            if value is not _ABSENT:
                found.append(value)
        return not function.__kwdefaults__ and all([self._add(value) for value in found])

    def hold(self) -> bool:
        """Whether all is as it was."""
        for cell, value in self.cells:
            if not _same(cell.cell_contents, value):
                return False
        for scope, name, value in self.names:
            if not _same(scope.get(name, _ABSENT), value):
                return False
        for function, code, defaults in self.functions:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                return False
        for tensor, shape in self.tensors:
            if tensor.shape != shape:
                return False
        return True


def _same(a: Any, b: Any) -> bool:
    # torch.compile guards the identity of a function only where that is asked for as a number; else its code.
    return id(a) == id(b) if isinstance(b, types.FunctionType) else a is b


def _global_names(code: types.CodeType) -> Set[str]:
    """Names that a function, or one inside of it, may look up among globals."""
    names = set(code.co_names)
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            names |= _global_names(one)
    return names


# --- Programs -----------------------------------------------------------------


def build(score_mod: Optional[Callable], mask_mod: Optional[Callable], facts: Facts) -> Program:
    """Traces both functions. Raises TraceError."""
    captures = Captures(facts.device)
    regions: Dict[str, Optional[RegionBuilder]] = {"score_mod": None, "mask_mod": None}
    for role, function in (("score_mod", score_mod), ("mask_mod", mask_mod)):
        if function is not None:
            regions[role] = trace(function, role, captures)
    return assemble(captures, facts, regions["score_mod"], regions["mask_mod"])


def assemble(captures: Captures, facts: Facts, score_mod: Optional[RegionBuilder], mask_mod: Optional[RegionBuilder]
             ) -> Program:
    """The program around two regions that read the same captured tensors."""
    arguments = captures.arguments()
    declared: Dict[str, Capture] = {}
    for index, argument in enumerate(arguments):
        declared[f"capture{index}"] = Capture(argument[-1], argument[1] if len(argument) == 3 else ())
    for region in (score_mod, mask_mod):
        if region is not None:
            captures.declare(region)
    spec = make_spec(
        dtype=STORED[facts.dtype], head_dim=facts.head_dim, value_head_dim=facts.value_head_dim, scale=facts.scale,
        lse=facts.lse, blocks=None if facts.blocks is None else Blocks(*facts.blocks), dropout=facts.dropout,
        captures=declared, score_mod=score_mod, mask_mod=mask_mod,
    )
    tensors = [one.tensor.to(facts.device) if one.constant else one.tensor for one in captures.found]
    return Program(spec, tensors, _op.remember(spec))


class _Entry(NamedTuple):
    functions: Tuple[Any, ...]  # weak references, or None
    bindings: _Bindings
    program: Program


_MOST_ENTRIES = 512
_entries: "collections.OrderedDict[Tuple, _Entry]" = collections.OrderedDict()
# Dropping an entry can end the life of another's function, and so forget that within the same call.
_lock = threading.RLock()


def _forget(key: Tuple, entries: Any = _entries, lock: Any = _lock) -> None:
    with lock:
        entries.pop(key, None)


def _holds(entry: _Entry, functions: Tuple[Optional[Callable], ...]) -> bool:
    """Whether an entry is of these functions, as they are now."""
    for held, function in zip(entry.functions, functions):
        if held is None:
            if function is not None:
                return False
        elif held() is not function:
            return False
    return entry.bindings.hold()


def _entry_of(score_mod: Optional[Callable], mask_mod: Optional[Callable], *facts: Any) -> Tuple[_Entry, bool]:
    """The functions' entry, traced at need, and whether it may be kept."""
    functions = (score_mod, mask_mod)
    key = (id(score_mod), id(mask_mod), facts)
    entry = _entries.get(key)
    if entry is not None and _holds(entry, functions):
        return entry, True
    # Before tracing: what changes meanwhile is noticed then.
    bindings = _Bindings(functions)
    program = build(score_mod, mask_mod, Facts(*facts))

    def forget(_: Any, key: Tuple = key, forget: Any = _forget) -> None:
        forget(key)

    try:
        held = tuple(None if function is None else weakref.ref(function, forget) for function in functions)
    except TypeError:
        return _Entry((), bindings, program), False
    entry = _Entry(held, bindings, program)
    if bindings.complete:
        with _lock:
            _entries[key] = entry
            while len(_entries) > _MOST_ENTRIES:
                _entries.popitem(last=False)
    return entry, bindings.complete


class _Compiled(NamedTuple):
    score_mod: Optional[Callable]
    mask_mod: Optional[Callable]
    bindings: _Bindings
    program: Program


# What was looked up while compiling, as attributes: of a module torch.compile sees those that come later, too.
_compiled = types.ModuleType("fovea.torch.compiled")


def _while_compiling(score_mod: Optional[Callable], mask_mod: Optional[Callable], *facts: Any) -> str:
    """The name in ``_compiled`` of what was found."""
    entry, keeps = _entry_of(score_mod, mask_mod, *facts)
    if not keeps:
        raise NotImplementedError(
            "under torch.compile a score_mod or mask_mod may refer to tensors, numbers, functions and tuples of them, by "
            "closures and globals; what else this one refers to could change unnoticed"
        )
    name = f"entry{len(vars(_compiled))}"
    setattr(_compiled, name, _Compiled(score_mod, mask_mod, entry.bindings, entry.program))
    return name


# torch.compile runs it while it compiles (torch.compiler.assume_constant_result, which imports all of torch._dynamo).
_while_compiling._dynamo_marked_constant = True  # type: ignore[attr-defined]


def program_of(score_mod: Optional[Callable], mask_mod: Optional[Callable], facts: Facts) -> Program:
    """The program of two functions, traced at need."""
    if torch.compiler.is_compiling():
        compiled: _Compiled = getattr(_compiled, _while_compiling(score_mod, mask_mod, *facts))
        # Looked at again, for guards: the next call's functions may be others, and refer to other tensors.
        if not _same(score_mod, compiled.score_mod) or not _same(mask_mod, compiled.mask_mod) or not compiled.bindings.hold():
            raise RuntimeError("a function has changed while it was compiled")
        return compiled.program
    return _entry_of(score_mod, mask_mod, *facts)[0].program
