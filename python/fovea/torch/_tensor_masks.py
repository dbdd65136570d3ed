"""``attn_mask`` of scaled_dot_product_attention: a tensor that the kernel reads, or
a bias that stands for a function."""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from .._builder import RegionBuilder
from ._checks import exchanged
from ._expressions import Captures, scalar
from ._programs import Facts, Family, Program, assemble
from ._tracer import Tracer

_KINDS = (torch.bool, torch.float16, torch.bfloat16, torch.float32)


def _broadcasts(attn_mask: torch.Tensor, full: Tuple[int, ...]) -> bool:
    shape = (1,) * (4 - attn_mask.dim()) + tuple(attn_mask.shape)
    return len(shape) == 4 and all(found in (1, wanted) for found, wanted in zip(shape, full))


def check_mask(attn_mask: torch.Tensor, query: torch.Tensor, key: torch.Tensor) -> None:
    """Raises ValueError."""
    if attn_mask.dtype not in _KINDS:
        raise ValueError(f"attn_mask is of {attn_mask.dtype}, expected {', '.join(map(str, _KINDS))}")
    full = (*query.shape[:3], key.shape[2])
    if not _broadcasts(attn_mask, full):
        batch, length, heads, _ = query.shape
        are_exchanged = _broadcasts(attn_mask, (batch, heads, length, key.shape[1]))
        raise ValueError(f"attn_mask must broadcast to {list(full)}, found {list(attn_mask.shape)}"
                         + (exchanged("query", "key", "value") if are_exchanged else ""))


def mask_program(attn_mask: torch.Tensor, facts: Facts) -> Program:
    """A mask that is a tensor: booleans keep, numbers are added to the scores."""
    role = "mask_mod" if attn_mask.dtype == torch.bool else "score_mod"
    names = [(name, "index") for name in ("b", "h", "i", "j")]
    region = RegionBuilder(([("s", "f32")] if role == "score_mod" else []) + names)
    captures = Captures(facts.device)
    problem = captures.problem(attn_mask, False)
    if problem is not None:
        raise ValueError(problem.replace("a captured tensor", "attn_mask"))
    tracer = Tracer(region, captures)
    coordinates = tuple(region.arguments[-4:])
    element = tracer.capture(attn_mask)
    if role == "mask_mod":
        region.finish(element.at(region, coordinates))
        return assemble(captures, facts, None, region)
    bias = tracer.converted(scalar(element.at(region, coordinates), attn_mask.dtype), torch.float32)
    region.finish(region.binary("add", region.arguments[0], bias.read(())))
    return assemble(captures, facts, region, None)


def mask_call(attn_mask: torch.Tensor, facts: Facts) -> Tuple[List[torch.Tensor], str]:
    """What the program of a mask reads, and its text. torch.compile can't follow how it
    is made: the type and which sizes are 1 are all that it depends on."""
    if torch.compiler.is_compiling():
        # Chosen by the comparison, not its result: torch.compile guards that of a symbol.
        ones = tuple([True if extent == 1 else False for extent in attn_mask.shape])
        return [attn_mask], _text_while_compiling(attn_mask.dtype, ones, *facts)
    program = mask_program(attn_mask, facts)
    return program.captures, program.text


def _text_while_compiling(dtype: torch.dtype, ones: Tuple[bool, ...], *facts: Any) -> str:
    made = Facts(*facts)
    return mask_program(torch.empty([1 if one else 2 for one in ones], dtype=dtype, device=made.device), made).text


# torch.compile runs it while it compiles (torch.compiler.assume_constant_result, which imports all of torch._dynamo).
_text_while_compiling._dynamo_marked_constant = True  # type: ignore[attr-defined]

#: Programs around a tensor by its type and by which of its sizes are 1: these are read for all.
_families: Dict[Tuple[Any, ...], Family] = {}


def mask_family(attn_mask: torch.Tensor) -> Family:
    form = (attn_mask.dtype, attn_mask.get_device(), *[extent == 1 for extent in attn_mask.shape])
    found = _families.get(form)
    return _families.setdefault(form, Family()) if found is None else found


# --- Biases that are functions ------------------------------------------------


def causal(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return q_idx >= kv_idx


@functools.lru_cache(maxsize=256)
def _causal_from(first: int) -> Callable:
    """Causal, where the first query sees so many keys beside its own. A number in host
    memory is an argument of the kernel: it serves all lengths."""
    more = torch.tensor(first, device="cpu")

    def mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return q_idx + more >= kv_idx

    return mask


def causal_bias(attn_mask: torch.Tensor, query: torch.Tensor, key: torch.Tensor) -> Optional[Callable]:
    """The mask_mod of a CausalBias, None for another tensor. Raises ValueError."""
    module = sys.modules.get("torch.nn.attention.bias")
    if module is None or not isinstance(attn_mask, module.CausalBias):
        return None
    lengths, wanted = (attn_mask.seq_len_q, attn_mask.seq_len_kv), (query.shape[-2], key.shape[-2])
    if lengths != wanted:
        raise ValueError(f"attn_mask is a CausalBias of {lengths[0]} queries and {lengths[1]} keys, found {wanted[0]} and "
                         f"{wanted[1]}")
    upper_left = attn_mask.variant == module.CausalVariant.UPPER_LEFT
    if upper_left or lengths[0] == lengths[1]:
        return causal
    # A tensor that is made under a mode (a fake one) or a transformation is theirs.
    theirs = torch._C._len_torch_dispatch_stack() or torch._C._functorch.maybe_current_level() is not None
    make = _causal_from.__wrapped__ if theirs else _causal_from
    return make(lengths[1] - lengths[0])
