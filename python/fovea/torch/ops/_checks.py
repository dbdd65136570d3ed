"""Checks of the arguments of calls."""

from __future__ import annotations

import logging
import math
import sys
from typing import Any, Dict, Mapping, Optional, Set, Tuple

import torch

from ...compiler._kernel import schedule_text
from ..autograd._derivatives import check_tangents

#: Fovea's own ``kernel_options``.
_OPTIONS = ("schedule", "recurrence")
#: PyTorch's options in lower case (FlexKernelOptions), which are hints for its kernels and are ignored.
_HINTS = frozenset(["num_warps", "num_stages", "num_consumer_groups", "num_buffers_warp_spec", "kpack", "waves_per_eu",
                    "matrix_instr_nonkdim"])
_PREFIXES = ("fwd_", "bwd_")
_log = logging.getLogger("fovea")
#: Ignored options that the log has noted.
_noted: Set[str] = set()
#: Dtypes of query, key and value.
KINDS = (torch.bfloat16, torch.float16, torch.float32)
#: The dtype of quantized tensors, for calls without gradients.
NARROW = torch.float8_e4m3fn
#: Levels by backend on the CPU: a level of the interpreter, or the PTX for a target.
LEVELS = {"interpret": "attn", "interpret:attn": "attn", "interpret:tile": "tile", "interpret:warp": "warp",
          "ptx": "ptx:sm_90a", "ptx:sm_80": "ptx:sm_80", "ptx:sm_90a": "ptx:sm_90a"}


def allows_tf32(dtype: torch.dtype) -> bool:
    """Whether PyTorch's setting allows products of this dtype to round their factors to tf32. Code that Dynamo traces
    cannot read the setting, so the function returns False there; ``_dynamo`` calls it again outside of the trace, and
    Dynamo guards the setting."""
    return (dtype == torch.float32 and not torch.compiler.is_dynamo_compiling()
            and torch.get_float32_matmul_precision() != "highest")


def check_tensor(name: str, tensor: Any) -> None:
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{name} must be a PyTorch tensor, found {type(tensor).__name__}")


#: PyTorch's tensor classes without a rule for attention: module, name, replacement.
_REFUSED = (("torch.distributed.tensor", "DTensor", ".to_local() gives this rank's part"),
            ("torch.masked", "MaskedTensor", ".get_data() gives the numbers; a mask_mod or attn_mask masks keys"))


def refusal(tensor: torch.Tensor) -> Optional[str]:
    """The reason why attention does not support a tensor, or None. Other classes implement the
    op in ``__torch_dispatch__``."""
    if tensor.is_nested:
        return "a nested tensor"
    if tensor.layout is not torch.strided:
        return f"of layout {tensor.layout}: .to_dense() makes it a plain tensor"
    if type(tensor) is torch.Tensor:
        return None
    for module, name, cure in _REFUSED:
        known = sys.modules.get(module)
        if known is not None and isinstance(tensor, getattr(known, name, ())):
            return f"a {name}: {cure}"
    return None


def check_tensors(query: Any, key: Any, value: Any) -> None:
    """Raises TypeError for unsupported tensor classes."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        check_tensor(name, tensor)
        found = refusal(tensor)
        if found is not None:
            more = "; query, key and value must all be nested (of layout torch.jagged), or none of them" * tensor.is_nested
            raise TypeError(f"{name} is {found}{more}")


def check(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, enable_gqa: bool, backend: str,
          kinds: Tuple[torch.dtype, ...] = KINDS) -> None:
    """Raises ValueError for arguments that don't match, NotImplementedError for unsupported
    ones."""
    tensors = (("query", query), ("key", key), ("value", value))
    check_tensors(query, key, value)
    for name, tensor in tensors:
        if tensor.dim() != 4:
            raise ValueError(f"{name} must have 4 dimensions (batch, heads, length, head_dim), found {tensor.dim()}")
        if tensor.dtype != query.dtype:
            raise ValueError(f"query, key and value must be of one dtype, found {query.dtype} and {tensor.dtype}")
        if tensor.device != query.device:
            raise ValueError(f"query, key and value must be on one device, found {query.device} and {tensor.device}")
    if backend == "cuda":
        if query.device.type != "cuda":
            raise NotImplementedError(
                f"query is on {query.device}, but kernels run on CUDA; backend=\"interpret\" runs the reference on the CPU")
    elif query.device.type != "cpu":
        raise ValueError(f"backend=\"{backend}\" runs on the CPU, found query on {query.device}")
    if query.dtype not in kinds:
        raise NotImplementedError(f"query is of {query.dtype}, expected {', '.join(map(str, kinds))}")
    (batch, heads, _, dim), (kv_batch, kv_heads, length, key_dim) = query.shape, key.shape
    if key_dim != dim:
        raise ValueError(f"query and key must have one head_dim, found {dim} and {key_dim}")
    if value.shape[:3] != key.shape[:3]:
        raise ValueError(f"key and value must agree except in head_dim, found {list(key.shape)} and {list(value.shape)}"
                         + _exchanged(key, value, ("key", "value")))
    if kv_batch not in (1, batch):
        raise ValueError(f"key must have query's batch size or 1, found {kv_batch} and {batch}")
    if not enable_gqa and heads != kv_heads:
        raise ValueError(f"query has {heads} heads, but key has {kv_heads}: that needs enable_gqa=True"
                         + _exchanged(query, key, ("query", "key")))
    if kv_heads == 0 or heads % kv_heads:
        raise ValueError(f"query heads must be a multiple of key heads, found {heads} and {kv_heads}"
                         + _exchanged(query, key, ("query", "key")))
    check_tangents(tensors)


#: Dtypes of sinks; kernels read float32.
_SINKS = (torch.float32, torch.bfloat16, torch.float16)


def sinks_as_float(sinks: Any) -> Tuple[torch.Tensor, ...]:
    """The sinks as kernels read them, in float32; () for None. Raises TypeError."""
    if sinks is None:
        return ()
    check_tensor("sinks", sinks)
    found = refusal(sinks)
    if found is not None:
        raise TypeError(f"sinks is {found}")
    if sinks.dtype not in _SINKS:
        raise TypeError(f"sinks is of {sinks.dtype}, expected {', '.join(map(str, _SINKS))}")
    return (sinks.float(),)


def check_sinks(sinks: Tuple[torch.Tensor, ...], heads: int, device: torch.device) -> None:
    """Raises ValueError for sinks that don't match the query heads, NotImplementedError for a
    tangent."""
    for one in sinks:
        if one.dim() != 1 or one.shape[0] != heads:
            raise ValueError(f"sinks must have the shape (heads,) with {heads} query heads, found {list(one.shape)}")
        if one.device != device:
            raise ValueError(f"sinks is on {one.device}, but query is on {device}")
    check_tangents(("sinks", one) for one in sinks)


def checked_scale(scale: Optional[float]) -> Optional[float]:
    if scale is None:
        return None
    if torch.compiler.is_dynamo_compiling() and isinstance(scale, (int, float)):
        return scale  # It may be a symbol: a check of its value would be a guard.
    if isinstance(scale, torch.Tensor) or not hasattr(scale, "__float__") or not math.isfinite(scale):
        raise ValueError(f"scale must be a finite number or None, found {scale!r}")
    return float(scale)


def hints_of(kernel_options: Mapping[str, Any]) -> Optional[Tuple[Any, ...]]:
    """The options as part of a call's form; None if they are not hashable."""
    options = tuple((name, schedule_text(value) if isinstance(value, dict) and name == "schedule" else value)
                    for name, value in kernel_options.items())
    try:
        hash(options)
    except TypeError:
        return None
    return options


def _is_hint(name: str) -> bool:
    """Whether an option is PyTorch's: in its list, or in upper case."""
    plain = name[len(_PREFIXES[0]):] if name.startswith(_PREFIXES) else name
    return plain in _HINTS or plain.isupper()


def _known(value: Any) -> Any:
    """A number of a schedule, which may be a symbol of torch.compile: the length of a range is
    a number that it guards."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return len(range(value)) - len(range(-value)) if is_number else value


def checked_options(kernel_options: Optional[Dict[str, Any]]) -> Tuple[str, str]:
    """The schedule and the recurrence. Raises ValueError, TypeError."""
    if not kernel_options:
        return "auto", "auto"
    for name in kernel_options:
        if name not in _OPTIONS and not _is_hint(name):
            raise ValueError(f"kernel_options has no '{name}', expected {' or '.join(_OPTIONS)}")
    if not torch.compiler.is_compiling():
        ignored = {*kernel_options} - {*_OPTIONS} - _noted
        if ignored:
            _noted.update(ignored)
            _log.info("kernel_options %s are hints for PyTorch's kernels, and are ignored", ", ".join(sorted(ignored)))
    schedule = kernel_options.get("schedule", "auto")
    if isinstance(schedule, dict) and torch.compiler.is_dynamo_compiling():
        schedule = {name: _known(value) for name, value in schedule.items()}
    return schedule if isinstance(schedule, str) else schedule_text(schedule), kernel_options.get("recurrence", "auto")


def exchanged(*names: str) -> str:
    """The end of a message for tensors that look like (batch, length, heads, head_dim)."""
    cures = ", ".join(f"{name}.transpose(1, 2)" for name in names)
    return (f"; shapes are (batch, heads, length, head_dim): were dimensions 1 and 2 of {' and '.join(names)} exchanged ({cures})?"
            if names else "")


def _exchanged(first: torch.Tensor, second: torch.Tensor, names: Tuple[str, str]) -> str:
    """The same for two tensors that don't match, if one has the other's length as its heads, or
    both have more heads than rows."""
    (heads, length), (others, other_length) = first.shape[1:3], second.shape[1:3]
    if heads > length and others > other_length:
        return exchanged("query", "key", "value")
    if length == others > 1 or heads == other_length > 1:
        return exchanged(*(name for name, one in zip(names, (first, second)) if one.shape[1] > one.shape[2]))
    return ""


def checked_backend(name: str) -> str:
    if name != "cuda" and name not in LEVELS:
        raise ValueError(f"backend must be 'cuda' or one of {', '.join(LEVELS)}, found {name!r}")
    return name
