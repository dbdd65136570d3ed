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
from ._autocast import disabled
from ._derivatives import check_tangents, in_forward_mode
from ._expressions import STORED, Captures, number_as_tensor
from ._masks import Form, rows_of
from ._pieces import block_numbers
from ._shield import is_watched, lifted
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
    #: Heads of queries and of keys, where the program is for so many alone.
    heads: Optional[Tuple[int, int]] = None
    #: As ``fovea.attention`` has it.
    sequences: str = "dense"


class Program(NamedTuple):
    """A program (None where torch.compile follows the call), the tensors that it reads, in
    order, and its text as the op takes it."""

    spec: Optional[Spec]
    captures: List[torch.Tensor]
    text: str
    #: Where among them each call puts numbers of its own: those of ``block_numbers``.
    numbers: Tuple[int, ...] = ()


# --- Guards -------------------------------------------------------------------


class _Bindings:
    """What functions refer to. ``complete`` if a change of it can be noticed."""

    def __init__(self, functions: Tuple[Optional[Callable], ...]):
        self.cells: List[Tuple[Any, Any]] = []
        self.names: List[Tuple[Dict[str, Any], str, Any]] = []
        self.functions: List[Tuple[Any, Any, Any]] = []
        self.tensors: List[Tuple[torch.Tensor, Tuple[Any, ...]]] = []
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
            self.tensors.append((value, _look(value)))
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

    def same_objects(self) -> bool:
        """Whether what is referred to is what it was; tensors may have changed in place."""
        for cell, value in self.cells:
            if cell.cell_contents is not value:
                return False
        for scope, name, value in self.names:
            if scope.get(name, _ABSENT) is not value:
                return False
        for function, code, defaults in self.functions:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                return False
        return True

    def hold(self) -> bool:
        """Whether all is as it was."""
        return self.same_objects() and all(_look(tensor) == look for tensor, look in self.tensors)


def _look(tensor: torch.Tensor) -> Tuple[Any, ...]:
    # Module.half() and Module.to() change a parameter in place.
    return tensor.shape, tensor.dtype, tensor.device, tensor.requires_grad


def _global_names(code: types.CodeType) -> Set[str]:
    """Names that a function, or one inside of it, may look up among globals."""
    names = set(code.co_names)
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            names |= _global_names(one)
    return names


# --- Programs -----------------------------------------------------------------


def build(score_mod: Optional[Callable], mask_mod: Optional[Callable], facts: Facts,
          captures: Optional[Captures] = None) -> Program:
    """Traces both functions. Raises TraceError."""
    if torch.is_inference_mode_enabled():
        # Views of captured tensors that are no inference tensors could not be made of symbols.
        with torch.inference_mode(False), torch.no_grad():
            return build(score_mod, mask_mod, facts, captures)
    captures = Captures(facts.device) if captures is None else captures
    regions: Dict[str, Optional[RegionBuilder]] = {"score_mod": None, "mask_mod": None}
    with disabled():
        for role, function in (("score_mod", score_mod), ("mask_mod", mask_mod)):
            if function is not None:
                regions[role] = trace(function, role, captures, rows_of(facts.blocks))
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
        lse=facts.lse, blocks=None if facts.blocks is None else Blocks(*facts.blocks[:-1]), dropout=facts.dropout,
        captures=declared, score_mod=score_mod, mask_mod=mask_mod,
        sequences=facts.sequences, heads=facts.heads and facts.heads[0], kv_heads=facts.heads and facts.heads[1],
    )
    tensors = [lifted(one.tensor.to(facts.device)) if one.constant else one.tensor for one in captures.found]
    return Program(spec, tensors, _op.remember(spec, [one.name for one in captures.found]), captures.numbers())


def captures_of(program: Program, length: int, rows: int) -> List[torch.Tensor]:
    """What a program reads, in a call of so many queries in blocks of so many rows."""
    if not program.numbers:
        return program.captures
    result = list(program.captures)
    for place, number in zip(program.numbers, block_numbers(length, rows)):
        result[place] = torch.tensor(number, dtype=torch.int32, device="cpu")
    return result


class Family:
    """Two functions, what they refer to, and what came of tracing them: programs by
    their facts, and launches by the forms of calls (``_calls``)."""

    __slots__ = ("functions", "bindings", "programs", "calls", "latest")

    def __init__(self, functions: Tuple[Any, ...] = (None, None), bindings: Optional[_Bindings] = None):
        #: Weak references, or None.
        self.functions = functions
        self.bindings = _Bindings(()) if bindings is None else bindings
        self.programs: Dict[Tuple, Program] = {}
        self.calls: Dict[Tuple, Any] = {}
        #: Of `calls`, or None.
        self.latest: Any = None


_MOST_FAMILIES = 512
_families: "collections.OrderedDict[Tuple[int, int], Family]" = collections.OrderedDict()
# Dropping a family can end the life of another's function, and so forget that within the same call.
_lock = threading.RLock()


def _forget(key: Tuple, families: Any = _families, lock: Any = _lock) -> None:
    with lock:
        families.pop(key, None)


def known_family(score_mod: Optional[Callable], mask_mod: Optional[Callable]) -> Optional[Family]:
    """The functions' family, if they were traced before and refer to the same objects;
    how tensors among these look is the caller's to compare. Written for time."""
    family = _families.get((id(score_mod), id(mask_mod)))
    if family is None:
        return None
    score, mask = family.functions
    if score is not None and score() is not score_mod or mask is not None and mask() is not mask_mod:
        return None
    # bindings.same_objects()
    bindings = family.bindings
    for cell, value in bindings.cells:
        if cell.cell_contents is not value:
            return None
    for scope, name, value in bindings.names:
        if scope.get(name, _ABSENT) is not value:
            return None
    return family if not bindings.functions or bindings.same_objects() else None


def family_of(score_mod: Optional[Callable], mask_mod: Optional[Callable]) -> Tuple[Family, bool]:
    """The functions' family, and whether it is kept."""
    family = known_family(score_mod, mask_mod)
    if family is not None and family.bindings.hold():
        return family, True
    functions, key = (score_mod, mask_mod), (id(score_mod), id(mask_mod))
    bindings = _Bindings(functions)

    def forget(_: Any, key: Tuple = key, forget: Any = _forget) -> None:
        forget(key)

    try:
        held = tuple(None if function is None else weakref.ref(function, forget) for function in functions)
    except TypeError:
        return Family((), bindings), False
    family = Family(held, bindings)
    if bindings.complete:
        with _lock:
            _families[key] = family
            while len(_families) > _MOST_FAMILIES:
                _families.popitem(last=False)
    return family, bindings.complete


def program_in(family: Family, score_mod: Optional[Callable], mask_mod: Optional[Callable], facts: Facts) -> Program:
    """The program of a family for such facts, traced at need."""
    key = (*facts, torch.get_default_dtype())
    program = family.programs.get(key)
    if program is None:
        program = family.programs[key] = build(score_mod, mask_mod, facts)
    return program


def program_of(score_mod: Optional[Callable], mask_mod: Optional[Callable], facts: Facts
               ) -> Tuple[Program, Optional[Family]]:
    """The program of two functions, traced at need, and their family if it is kept."""
    if is_watched():  # Tensors that it reads may be those of a mode, which ends.
        captures = Captures(facts.device)
        program = build(score_mod, mask_mod, facts, captures)
        numbers = {id(tensor): symbol for symbol, tensor in captures.opened.values()}
        tensors = [number_as_tensor(numbers[id(one)]) if id(one) in numbers else one for one in program.captures]
        return program._replace(captures=tensors), None
    family, keeps = family_of(score_mod, mask_mod)
    if in_forward_mode():  # asked for here, since what is traced has no tangents
        check_tangents(("a captured tensor", tensor) for tensor, _ in family.bindings.tensors)
    return program_in(family, score_mod, mask_mod, facts), family if keeps else None
