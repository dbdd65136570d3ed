"""From functions to programs, and when a function must be traced again.

A function that was traced is not called again while its code and all that it refers to
are what they were (``_guards``), be it the same function object or a new one. Where that
can't be told, each call traces it anew, which takes up to a millisecond; the kernel is found by the
program that comes of it.
"""

from __future__ import annotations

import collections
import threading
from typing import Any, Callable, Deque, Dict, Iterator, List, NamedTuple, Optional, Tuple

import torch

from .._builder import RegionBuilder
from .._spec import Blocks, Capture, Spec, make_spec
from . import _op
from ._autocast import disabled
from ._derivatives import check_tangents, in_forward_mode
from ._expressions import STORED, Captures, number_as_tensor
from ._guards import Guards, Tensors, code_of
from ._masks import Form, rows_of
from ._pieces import block_numbers
from ._shield import is_watched, lifted
from ._tracer import trace


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
    #: Where tensors are that were made while the functions were traced.
    made: Tuple[int, ...] = ()


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
    made = tuple(index for index, one in enumerate(captures.found) if one.constant)
    return Program(spec, tensors, _op.remember(spec, [one.name for one in captures.found]), captures.numbers(), made)


def captures_of(program: Program, length: int, rows: int) -> List[torch.Tensor]:
    """What a program reads, in a call of so many queries in blocks of so many rows."""
    if not program.numbers:
        return program.captures
    result = list(program.captures)
    for place, number in zip(program.numbers, block_numbers(length, rows)):
        result[place] = torch.tensor(number, dtype=torch.int32, device="cpu")
    return result


class Family:
    """Functions of the same code that refer to the same, and what came of tracing them:
    programs by their facts, and launches by the forms of calls (``_calls``)."""

    __slots__ = ("guards", "programs", "calls", "latest")

    def __init__(self, guards: Optional[Guards] = None):
        #: None where there are no functions.
        self.guards = guards
        #: Captured tensors by their place among those that the functions refer to, others as they are.
        self.programs: Dict[Tuple, Tuple[Program, Tuple[Any, ...]]] = {}
        self.calls: Dict[Tuple, Any] = {}
        #: Of `calls`, or None.
        self.latest: Any = None


#: A family, and the tensors that the functions of a call refer to, in its order.
Known = Tuple[Family, Tensors]

#: In all, and of functions that have the same code.
_MOST_FAMILIES, _MOST_OF_CODE = 512, 64
#: By the identity of the functions' code, which the families' guards keep alive.
_families: Dict[Tuple[int, int], Tuple[Family, ...]] = {}
_order: "Deque[Tuple[Tuple[int, int], Family]]" = collections.deque()
_lock = threading.Lock()


def known_families(score_mod: Optional[Callable], mask_mod: Optional[Callable]) -> Iterator[Known]:
    """The families of functions that were traced before, perhaps as other objects, if they
    refer to the same; how the tensors among that look is the caller's to compare.
    Written for time."""
    functions = score_mod, mask_mod
    for family in _families.get((id(code_of(score_mod)), id(code_of(mask_mod))), ()):
        tensors = family.guards.match(functions) if family.guards else None
        if tensors is not None:
            yield family, tensors


def _keep(key: Tuple[int, int], family: Family) -> None:
    with _lock:
        # The newest first.
        same = (family, *_families.get(key, ()))
        _families[key] = same[:_MOST_OF_CODE]
        _order.append((key, family))
        while len(_order) > _MOST_FAMILIES:
            old, oldest = _order.popleft()
            left = tuple(one for one in _families.get(old, ()) if one is not oldest)
            if left:
                _families[old] = left
            else:
                _families.pop(old, None)


def family_of(score_mod: Optional[Callable], mask_mod: Optional[Callable]) -> Tuple[Family, Tensors, bool]:
    """The functions' family, the tensors that they refer to, and whether it may be kept."""
    functions = score_mod, mask_mod
    for family, tensors in known_families(score_mod, mask_mod):
        if family.guards and family.guards.look_alike(tensors):
            return family, tensors, True
    guards = Guards(functions)
    return Family(guards), guards.match(functions) or (), guards.complete


def _without_tensors(program: Program, tensors: Tensors) -> Optional[Tuple[Program, Tuple[Any, ...]]]:
    """A program as a family keeps it; None where it reads a tensor that the functions reach
    in a way that is not guarded."""
    places = {id(tensor): place for place, tensor in enumerate(tensors)}
    read: List[Any] = []
    for index, tensor in enumerate(program.captures):
        if index in program.made or index in program.numbers:
            read.append(tensor)
        elif id(tensor) in places:
            read.append(places[id(tensor)])
        else:
            return None
    return program._replace(captures=[]), tuple(read)


def program_of(score_mod: Optional[Callable], mask_mod: Optional[Callable], facts: Facts
               ) -> Tuple[Program, Optional[Known]]:
    """The program of two functions, traced at need, and their family if it is kept."""
    if is_watched():  # Tensors that it reads may be those of a mode, which ends.
        captures = Captures(facts.device)
        program = build(score_mod, mask_mod, facts, captures)
        numbers = {id(tensor): symbol for symbol, tensor in captures.opened.values()}
        opened = [number_as_tensor(numbers[id(one)]) if id(one) in numbers else one for one in program.captures]
        return program._replace(captures=opened), None
    family, tensors, keeps = family_of(score_mod, mask_mod)
    if in_forward_mode():  # asked for here, since what is traced has no tangents
        check_tangents(("a captured tensor", tensor) for tensor in tensors)
    key = (*facts, torch.get_default_dtype())
    kept = family.programs.get(key) if keeps else None
    if kept is not None:
        program, read = kept
        return program._replace(captures=[tensors[one] if isinstance(one, int) else one for one in read]), (family, tensors)
    program = build(score_mod, mask_mod, facts)
    kept = _without_tensors(program, tensors) if keeps else None
    if kept is None:
        return program, None
    if not family.programs:
        _keep((id(code_of(score_mod)), id(code_of(mask_mod))), family)
    family.programs[key] = kept
    return program, (family, tensors)
