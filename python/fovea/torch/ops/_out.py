"""``torch.ops.fovea.attention_out``: attention that writes its output into a tensor of the caller."""

from __future__ import annotations

from typing import Any, Callable, Optional, Sequence, Tuple

import torch

from ..autograd._derivatives import needs_gradient
from . import _op

# As for ``attention``, without dropout. The result is the log-sum-exp, or empty.
_SCHEMA = (
    "attention_out(Tensor query, Tensor key, Tensor value, Tensor(a!) out, Tensor[] captures, Tensor[] blocks, str program, "
    "bool lse=True, str schedule='auto', str recurrence='auto', str level='attn') -> Tensor"
)
#: Alignment of rows that kernels write, in bytes.
_ALIGNMENT = 16


def launch_into(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, out: torch.Tensor, call: _op.Call
                ) -> Optional[torch.Tensor]:
    """Writes the output into ``out``, (batch, heads, queries, head_dim), through the dispatcher,
    and returns the log-sum-exp."""
    lse = torch.ops.fovea.attention_out(query, key, value, out, call.captures, call.blocks, call.program, call.lse, call.schedule,
                                        call.recurrence, call.level)
    return lse if call.lse else None


def run_into(run: Callable[..., _op.Made], query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, out: torch.Tensor
             ) -> Callable[..., _op.Made]:
    """A prepared launch that takes the output as the first of the other tensors. Tensors are as
    for ``launch_into``; calls may have other orders of dimensions. Raises ValueError as the op."""
    check = _memory_check(out, query, key, value)

    def run_again(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, others: Tuple[torch.Tensor, ...]) -> _op.Made:
        out, *rest = others
        check(out, query, key, value)
        made = run(query, key, value, rest, 0, 0, out)
        _note_write(out)
        return made

    return run_again


def _extent(tensor: torch.Tensor) -> int:
    """The number of elements from the first to the last in memory."""
    return 1 + sum([(size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride())])


def _memory_check(out: torch.Tensor, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> Callable[..., None]:
    """Raises ValueError for sizes and strides of rows that a kernel can't write. Returns a
    function that raises it for addresses: of such rows, and of memory that is shared with an
    input, as far as addresses and extents tell. It accepts other tensors with these sizes and
    strides."""
    if not out.numel():
        return lambda *tensors: None
    granule, extent, strides = _ALIGNMENT // out.element_size(), _extent(out), list(out.transpose(1, 2).stride())
    rows = f"out must have contiguous rows that start at multiples of {_ALIGNMENT} bytes, found strides {strides}"
    if out.stride(3) != 1 or any([size != 1 and stride % granule for size, stride in zip(out.shape[:3], out.stride()[:3])]):
        raise ValueError(f"{rows} at address {out.data_ptr():#x}")
    if extent < out.numel():
        raise ValueError(f"out must not be expanded, found strides {strides} of {list(out.transpose(1, 2).shape)}")
    size, inputs = extent * out.element_size(), []
    for place, (name, one) in enumerate((("q", query), ("k_cache", key), ("v_cache", value))):
        if one.numel():
            count = _extent(one)
            # Extents that intersect share elements if both are dense.
            dense = extent == out.numel() and count == one.numel()
            inputs.append((name, place, count * one.element_size() if dense else 0))

    def check(out: torch.Tensor, *given: torch.Tensor) -> None:
        first = out.data_ptr()
        if first % _ALIGNMENT:
            raise ValueError(f"{rows} at address {first:#x}")
        for name, place, bytes_of_dense in inputs:
            start = given[place].data_ptr()
            if start == first or bytes_of_dense and start < first + size and first < start + bytes_of_dense:
                raise ValueError(f"out must not share memory with {name}")

    return check


def _note_write(out: torch.Tensor) -> None:
    """Raises the version that autograd compares with that of saved tensors."""
    if not out.is_inference():
        torch.autograd.graph.increment_version(out)


def _as_op(run: Any) -> Any:
    def op(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, out: torch.Tensor, captures: Sequence[torch.Tensor],
           blocks: Sequence[torch.Tensor], program: str, lse: bool = True, schedule: str = "auto", recurrence: str = "auto",
           level: str = "attn") -> torch.Tensor:
        _memory_check(out, query, key, value)(out, query, key, value)
        call = _op.Call(captures, blocks, program, lse, schedule=schedule, recurrence=recurrence, level=level)
        _, sums = run(query, key, value, call, out)
        return query.new_empty(0, dtype=torch.float32) if sums is None else sums

    return op


def _without_gradients(keys: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, out: torch.Tensor,
                       captures: Sequence[torch.Tensor], *rest: Any, **named: Any) -> Any:
    if needs_gradient(query, key, value, out, *captures):
        raise NotImplementedError("attention with an output of the caller has no gradients: call it under torch.no_grad()")
    with torch._C._AutoDispatchBelowAutograd():
        lse = torch.ops.fovea.attention_out.default.redispatch(
            keys & torch._C._after_autograd_keyset, query, key, value, out, captures, *rest, **named)
    _note_write(out)
    return lse


_library = torch.library.Library("fovea", "FRAGMENT")
_library.define(_SCHEMA)
_library.impl("attention_out", _as_op(_op.launch), "CUDA")
_library.impl("attention_out", _as_op(_op.interpret), "CPU")
_library.impl("attention_out", _without_gradients, "Autograd", with_keyset=True)


@torch.library.register_fake("fovea::attention_out", lib=_library)
def _fake(query: Any, key: Any, value: Any, out: Any, captures: Any, blocks: Any, program: str, lse: bool = True, *rest: Any,
          **named: Any) -> Any:
    return query.new_empty(query.shape[:3] if lse else 0, dtype=torch.float32)


__all__ = ["launch_into", "run_into"]
