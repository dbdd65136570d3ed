"""Traces functions to programs, and caches the programs.

A function is traced again only if its code or a value that it refers to has changed
(``_guards``); the function object may be a new one. If guards can't cover all values, each call
traces the function, which takes up to a millisecond; the kernel is then found by the program.
"""

from __future__ import annotations

import collections
import threading
from typing import Any, Callable, Deque, Dict, Iterator, List, NamedTuple, Optional, Tuple

import torch

from ...frontend._builder import RegionBuilder
from ...frontend._program import Spec
from ...frontend._spec import COORDINATES, Blocks, Capture, Paged, make_spec, scales_of
from ...runtime._dtypes import dtype_name
from ..ops import _op
from ..ops._autocast import disabled
from ..autograd._derivatives import check_tangents, in_forward_mode
from ..trace._expressions import STORED, Captures, number_as_tensor
from ._guards import Guards, Tensors, code_of
from ..ops._block_mask import Form, rows_of
from ..ops._padding import block_numbers
from ..trace._modes import is_observed, lifted
from ..trace._tracer import trace


#: The keys that a query attends to, from its own position to the left and to the right; the last query has the position
#: of the last key. None leaves a side open.
Window = Tuple[Optional[int], Optional[int]]


class Facts(NamedTuple):
    """The properties besides functions that a program depends on."""

    dtype: torch.dtype
    device: torch.device
    head_dim: int
    value_head_dim: int
    scale: Optional[float]
    gradients: bool
    lse: bool = True
    blocks: Optional[Form] = None
    dropout: float = 0.0
    #: The number of query and key heads, if the program depends on them.
    heads: Optional[Tuple[int, int]] = None
    #: As in ``fovea.attention``, except for pages.
    sequences: str = "dense"
    window: Optional[Window] = None
    #: The number of queries, if the program depends on it.
    queries: Optional[int] = None
    #: Whether each call passes sinks.
    sinks: bool = False
    #: The number of rows of a page, if keys are in pages. A number, since Dynamo unpacks the facts.
    page: Optional[int] = None
    #: Whether the pages of all sequences are one list.
    listed: bool = False
    #: Whether queries are packed and keys are not.
    packs_queries: bool = False
    #: The most packed queries of a sequence, a hint; 0 for any number.
    most_queries: int = 0
    #: Whether a sequence's bits must not depend on other sequences.
    invariant: bool = False
    #: Whether products of float32 may round their factors to tf32.
    tf32: bool = False
    #: The scales that each call passes, as "name:kind" with commas between them, and the output's dtype, which is that of
    #: the inputs by default.
    scales: str = ""
    output: Optional[torch.dtype] = None


class Program(NamedTuple):
    """A program (None while torch.compile traces), the captured tensors in order, and the
    program's text as the op's argument."""

    spec: Optional[Spec]
    captures: List[torch.Tensor]
    text: str
    #: Indices of captures that are numbers of each call, those of ``block_numbers``.
    numbers: Tuple[int, ...] = ()
    #: Indices of captures that the functions created while they were traced.
    made: Tuple[int, ...] = ()


# --- Programs -----------------------------------------------------------------


def build(score_mod: Optional[Callable], mask_mod: Optional[Callable], facts: Facts,
          captures: Optional[Captures] = None) -> Program:
    """Traces both functions. Raises TraceError."""
    if torch.is_inference_mode_enabled():
        # In inference mode traced tensors can't be combined with views of normal captured tensors.
        with torch.inference_mode(False), torch.no_grad():
            return build(score_mod, mask_mod, facts, captures)
    captures = Captures(facts.device) if captures is None else captures
    regions: Dict[str, Optional[RegionBuilder]] = {"score_mod": None, "mask_mod": None}
    with disabled():
        for role, function in (("score_mod", score_mod), ("mask_mod", mask_mod)):
            if function is not None:
                regions[role] = trace(function, role, captures, rows_of(facts.blocks))
    if facts.window is not None:
        regions["mask_mod"] = _within(facts.window, regions["mask_mod"])
    return assemble(captures, facts, regions["score_mod"], regions["mask_mod"])


def _within(window: Window, mask_mod: Optional[RegionBuilder]) -> RegionBuilder:
    """Adds a window to a mask. The last query has the position of the last key."""
    region = RegionBuilder(list(COORDINATES)) if mask_mod is None else mask_mod
    query, key = region.arguments[2:4]
    from_end = region.binary("sub", query, region.query_length())
    position = region.binary("add", from_end, region.key_length())
    left, right = window
    keep = region.result
    for predicate, distance in (("ge", left and -left), ("le", right)):
        if distance is None:
            continue
        end = region.binary("add", position, region.constant(distance, "index")) if distance else position
        visible = region.compare(predicate, key, end)
        keep = visible if keep is None else region.binary("and", keep, visible)
    assert keep is not None, "a window has a side"
    region.finish(keep)
    return region


def assemble(captures: Captures, facts: Facts, score_mod: Optional[RegionBuilder], mask_mod: Optional[RegionBuilder]
             ) -> Program:
    """Builds the program around two regions with the same captured tensors."""
    arguments = captures.arguments()
    declared: Dict[str, Capture] = {}
    for index, argument in enumerate(arguments):
        declared[f"capture{index}"] = Capture(argument[-1], argument[1] if len(argument) == 3 else ())
    for region in (score_mod, mask_mod):
        if region is not None:
            captures.declare(region)
    spec = make_spec(
        dtype=dtype_name(facts.dtype), head_dim=facts.head_dim, value_head_dim=facts.value_head_dim, scale=facts.scale,
        lse=facts.lse, sinks=facts.sinks, blocks=None if facts.blocks is None else Blocks(*facts.blocks[:-1]), dropout=facts.dropout,
        captures=declared, score_mod=score_mod, mask_mod=mask_mod,
        sequences=facts.sequences if facts.page is None else Paged(facts.page, facts.listed), packs_queries=facts.packs_queries, most_queries=facts.most_queries,
        query_length=facts.queries, invariant=facts.invariant, tf32=facts.tf32,
        scales=scales_of(dict(one.split(":") for one in facts.scales.split(",")) if facts.scales else None),
        output_dtype=None if facts.output is None else STORED[facts.output],
        heads=facts.heads and facts.heads[0], kv_heads=facts.heads and facts.heads[1],
    )
    tensors = [lifted(one.tensor.to(facts.device)) if one.constant else one.tensor for one in captures.found]
    made = tuple(index for index, one in enumerate(captures.found) if one.constant)
    return Program(spec, tensors, _op.remember(spec, [one.name for one in captures.found]), captures.numbers(), made)


def captures_of(program: Program, length: int, rows: int) -> List[torch.Tensor]:
    """The captured tensors for a call with `length` queries in blocks of `rows` rows."""
    if not program.numbers:
        return program.captures
    result = list(program.captures)
    for place, number in zip(program.numbers, block_numbers(length, rows)):
        result[place] = torch.tensor(number, dtype=torch.int32, device="cpu")
    return result


class Family:
    """Functions with the same code and equal guards, with their cached programs, by facts, and
    launches, by the form of calls (``_calls``)."""

    __slots__ = ("guards", "programs", "calls", "latest")

    def __init__(self, guards: Optional[Guards] = None):
        #: None if there are no functions.
        self.guards = guards
        #: Programs with their captures: the index among the tensors that the functions refer to, or the tensor itself.
        self.programs: Dict[Tuple, Tuple[Program, Tuple[Any, ...]]] = {}
        self.calls: Dict[Tuple, Any] = {}
        #: The latest of `calls`, or None.
        self.latest: Any = None


#: A family, and the tensors that the functions of a call refer to, in its order.
Known = Tuple[Family, Tensors]

#: Maximum number of families in total, and of functions with the same code.
_MAX_FAMILIES, _MAX_OF_CODE = 512, 64
#: Families by the id() of the functions' code, which the guards keep alive.
_families: Dict[Tuple[int, int], Tuple[Family, ...]] = {}
_order: "Deque[Tuple[Tuple[int, int], Family]]" = collections.deque()
_lock = threading.Lock()


def known_families(score_mod: Optional[Callable], mask_mod: Optional[Callable]) -> Iterator[Known]:
    """The families whose guards match the functions, which may be new objects. The caller
    compares the tensors' signatures. This function is on the fast path of each call."""
    functions = score_mod, mask_mod
    for family in _families.get((id(code_of(score_mod)), id(code_of(mask_mod))), ()):
        tensors = family.guards.match(functions) if family.guards else None
        if tensors is not None:
            yield family, tensors


def _keep(key: Tuple[int, int], family: Family) -> None:
    with _lock:
        # The newest first.
        same = (family, *_families.get(key, ()))
        _families[key] = same[:_MAX_OF_CODE]
        _order.append((key, family))
        while len(_order) > _MAX_FAMILIES:
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
        if family.guards and family.guards.have_same_signatures(tensors):
            return family, tensors, True
    guards = Guards(functions)
    return Family(guards), guards.match(functions) or (), guards.complete


def _without_tensors(program: Program, tensors: Tensors) -> Optional[Tuple[Program, Tuple[Any, ...]]]:
    """A program in the form that a family caches; None if it reads a tensor that no guard
    covers."""
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
    """The program of two functions, traced if needed, and their family if it is cached."""
    if is_observed():  # The program may capture tensors of a mode, which must not be cached.
        captures = Captures(facts.device)
        program = build(score_mod, mask_mod, facts, captures)
        numbers = {id(tensor): symbol for symbol, tensor in captures.opened.values()}
        opened = [number_as_tensor(numbers[id(one)]) if id(one) in numbers else one for one in program.captures]
        return program._replace(captures=opened), None
    family, tensors, keeps = family_of(score_mod, mask_mod)
    if in_forward_mode():  # checked here, since traced tensors have no tangents
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
