"""``attn_mask`` of scaled_dot_product_attention: a tensor that the kernel reads, or a CausalBias,
which becomes a mask_mod."""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable, Dict, Optional, Tuple

import torch

from ...frontend._builder import RegionBuilder
from ..ops._checks import exchanged
from ._expressions import Captures, number_as_tensor, scalar
from ..ops._launches import is_compiling
from ..cache._programs import Facts, Family, Program, assemble
from ._tracer import Tracer

_KINDS = (torch.bool, torch.float16, torch.bfloat16, torch.float32)


def _broadcasts(attn_mask: torch.Tensor, full: Tuple[int, ...]) -> bool:
    shape = (1,) * (4 - attn_mask.dim()) + tuple(attn_mask.shape)
    return len(shape) == 4 and all(found in (1, wanted) for found, wanted in zip(shape, full))


def check_mask(attn_mask: torch.Tensor, query: torch.Tensor, key: torch.Tensor) -> None:
    """Checks dtype and shape. Raises ValueError."""
    if attn_mask.dtype not in _KINDS:
        raise ValueError(f"attn_mask is of {attn_mask.dtype}, expected {', '.join(map(str, _KINDS))}")
    full = (*query.shape[:3], key.shape[2])
    if not _broadcasts(attn_mask, full):
        batch, length, heads, _ = query.shape
        are_exchanged = _broadcasts(attn_mask, (batch, heads, length, key.shape[1]))
        raise ValueError(f"attn_mask must broadcast to {list(full)}, found {list(attn_mask.shape)}"
                         + (exchanged("query", "key", "value") if are_exchanged else ""))


def mask_program(attn_mask: torch.Tensor, facts: Facts, scale: Any = None, captures: Optional[Captures] = None) -> Program:
    """The program of a mask tensor: booleans select keys, numbers are added to the scores.
    `scale` is None or a symbol that scores are first multiplied by."""
    names = [(name, "index") for name in ("b", "h", "i", "j")]
    captures = Captures(facts.device) if captures is None else captures
    problem = captures.problem(attn_mask, False)
    if problem is not None:
        raise ValueError(problem.replace("a captured tensor", "attn_mask"))
    score_mod, mask_mod = RegionBuilder([("s", "f32"), *names]), RegionBuilder(names)
    is_mask = attn_mask.dtype == torch.bool
    region = mask_mod if is_mask else score_mod
    coordinates = tuple(region.arguments[-4:])
    element = Tracer(region, captures).capture(attn_mask).at(region, coordinates)
    if is_mask:
        mask_mod.finish(element)
        if scale is None:
            return assemble(captures, facts, None, mask_mod)
    tracer, score = Tracer(score_mod, captures), score_mod.arguments[0]
    if scale is not None:
        score = score_mod.binary("mul", score, tracer.converted(tracer.expression(scale), torch.float32).read(()))
    if not is_mask:
        score = score_mod.binary("add", score, tracer.converted(scalar(element, attn_mask.dtype), torch.float32).read(()))
    score_mod.finish(score)
    return assemble(captures, facts, score_mod, mask_mod if is_mask else None)


#: Programs of mask tensors, by dtype and by which sizes are 1, as those are broadcast.
_families: Dict[Tuple[Any, ...], Family] = {}


def mask_family(attn_mask: torch.Tensor) -> Family:
    form = (attn_mask.dtype, attn_mask.get_device(), *[extent == 1 for extent in attn_mask.shape])
    found = _families.get(form)
    return _families.setdefault(form, Family()) if found is None else found


# --- Biases that are functions ------------------------------------------------


def causal(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
    return q_idx >= kv_idx


def _causal_with_offset(first: Any) -> Callable:
    """A causal mask in which query i sees the keys 0 to i + `first`. The number is a tensor in
    host memory, so a scalar argument of the kernel, which serves all lengths."""
    more = number_as_tensor(first)

    def mask(b: Any, h: Any, q_idx: Any, kv_idx: Any) -> Any:
        return q_idx + more >= kv_idx

    return mask


_cached_causal_with_offset = functools.lru_cache(maxsize=256)(_causal_with_offset)


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
    # Not cached if the tensor may belong to a mode (a fake tensor), a transformation or a graph of torch.compile.
    theirs = is_compiling() or torch._C._len_torch_dispatch_stack() or torch._C._functorch.maybe_current_level() is not None
    make = _causal_with_offset if theirs else _cached_causal_with_offset
    return make(lengths[1] - lengths[0])
