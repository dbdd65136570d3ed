"""``torch.ops.fovea.attention_backward``, and how autograd comes to it.

The forward keeps query, key, value, the output, the log-sum-exp and what it read;
the weights are computed again. Nothing is summed in memory by several blocks, so a
gradient is the same, bit for bit, each time.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch
from torch.autograd.function import once_differentiable

from .. import _kernel
from .._gradient import gradient_spec
from .._launch import LoadedKernel
from .._spec import BLOCK_LISTS, DROPOUT, Spec
from ._layouts import copied, layouts_of

#: Gradients that a call may ask for, in the order of its results.
NAMES = ("q", "k", "v")

_SCHEMA = (
    "attention_backward(Tensor query, Tensor key, Tensor value, Tensor output, Tensor lse, Tensor output_gradient, "
    "Tensor? lse_gradient, Tensor[] captures, Tensor[] blocks, str program, bool[] wants, int seed=0, int offset=0, "
    "str level='attn') -> Tensor[]"
)


class Call(NamedTuple):
    """All that the op takes behind the tensors of the output."""

    captures: Sequence[torch.Tensor]
    blocks: Sequence[torch.Tensor]
    program: str
    wants: Sequence[bool]
    seed: int = 0
    offset: int = 0
    level: str = "attn"

    def names(self) -> Tuple[str, ...]:
        return tuple(name for name, wanted in zip(NAMES, self.wants) if wanted)


def _results(inputs: Dict[str, torch.Tensor], names: Tuple[str, ...]) -> List[torch.Tensor]:
    """Memory for gradients: dense, in the order of dimensions of what they are by."""
    made = []
    for name in names:
        one = inputs[name]
        order = sorted(range(3), key=lambda dim: one.stride(dim), reverse=True)
        back = [order.index(dim) for dim in range(3)]
        made.append(one.new_empty([*(one.shape[dim] for dim in order), one.shape[3]]).permute(*back, 3))
    return made


def _inputs(tensors: Sequence[Optional[torch.Tensor]], call: Call) -> Dict[str, Any]:
    """By the names that the program has for them."""
    from ._op import _signed

    named: Dict[str, Any] = dict(zip(("q", "k", "v", "o", "lse", "do", "dlse"), tensors))
    if named["dlse"] is None:
        del named["dlse"]
    for index, tensor in enumerate(call.captures):
        named[f"capture{index}"] = _signed(tensor.reshape(1) if not tensor.dim() else tensor)
    named.update(zip(BLOCK_LISTS, call.blocks))
    if any(name in call.program for name in DROPOUT):
        named.update(zip(DROPOUT, (call.seed, call.offset)))
    return named


def _spec(call: Call, lse_gradient: bool) -> Spec:
    from ._op import _spec as spec_of

    return gradient_spec(spec_of(call.program), call.names(), lse_gradient)


_loaded: Dict[Tuple[Any, ...], Tuple[LoadedKernel, Dict[str, Any]]] = {}


def _kernel_of(call: Call, lse_gradient: bool, device: int) -> Tuple[LoadedKernel, Dict[str, Any]]:
    """The kernel on a device, and what it asks of its tensors; compiled at first use."""
    from ._op import compiled

    key = (call.program, call.names(), lse_gradient, device)
    found = _loaded.get(key)
    if found is None:
        kernel = compiled(_spec(call, lse_gradient), device, {}).loaded(device)
        layouts = dict(zip(kernel.tensors, layouts_of(kernel.facts, kernel.tensors)))
        found = _loaded.setdefault(key, (kernel, layouts))
    return found


def launch(tensors: Sequence[Optional[torch.Tensor]], call: Call) -> List[torch.Tensor]:
    """The op on CUDA."""
    from ._op import _current_stream

    query = tensors[0]
    assert query is not None
    kernel, layouts = _kernel_of(call, tensors[6] is not None, query.device.index)
    named = _inputs(tensors, call)
    made = _results(named, call.names())
    for name, tensor in list(named.items()):
        layout = layouts.get(name)
        if layout is not None and not (layout.fits(tensor) and layout.is_aligned(tensor)):
            named[name] = copied(layout, tensor)
        elif name in kernel.scalars and isinstance(tensor, torch.Tensor):
            named[name] = tensor.item()
    named.update((f"d{name}", one) for name, one in zip(call.names(), made))
    kernel.launch_named(_current_stream(query.device.index), named)
    return made


def interpret(tensors: Sequence[Optional[torch.Tensor]], call: Call) -> List[torch.Tensor]:
    """The op on the CPU: the program at a level, or the PTX for a chip."""
    spec, named = _spec(call, tensors[6] is not None), _inputs(tensors, call)
    made = _results(named, call.names())
    level, _, target = call.level.partition(":")
    if level == "ptx":
        results = _kernel.compile(spec, target).interpret(named.pop("q"), named.pop("k"), named.pop("v"), level=level, **named)
    else:
        results = _kernel._interpret(spec, {"target": target or "sm_80", "kernel": None}, named, level, False, 0)
    for one, result in zip(made, results if isinstance(results, tuple) else (results,)):
        one.copy_(torch.from_numpy(result))
    return made


def _as_op(run: Any) -> Any:
    def op(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, output: torch.Tensor, lse: torch.Tensor,
           output_gradient: torch.Tensor, lse_gradient: Optional[torch.Tensor], *rest: Any, **named: Any) -> Any:
        return run((query, key, value, output, lse, output_gradient, lse_gradient), Call(*rest, **named))

    return op


def define(library: torch.library.Library) -> None:
    library.define(_SCHEMA)
    for device, run in (("CUDA", launch), ("CPU", interpret)):
        library.impl("attention_backward", _as_op(run), device)

    @torch.library.register_fake("fovea::attention_backward", lib=library)
    def _fake(query: Any, key: Any, value: Any, *rest: Any, **named: Any) -> Any:
        return _results(dict(zip(NAMES, (query, key, value))), Call(*rest[4:], **named).names())


class Attention(torch.autograd.Function):
    """The op with derivatives by query, key and value."""

    @staticmethod
    def forward(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, captures: Tuple[torch.Tensor, ...],
                blocks: Tuple[torch.Tensor, ...], *rest: Any) -> Any:  # type: ignore[override]
        return torch.ops.fovea.attention(query, key, value, captures, blocks, *rest)

    @staticmethod
    def setup_context(ctx: Any, inputs: Tuple[Any, ...], output: Any) -> None:
        query, key, value, captures, blocks, *rest = inputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(query, key, value, *output, *captures, *blocks)
        ctx.captures, ctx.rest = len(captures), rest

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, output_gradient: Optional[torch.Tensor], lse_gradient: Optional[torch.Tensor]) -> Any:
        nothing = (None,) * (2 + len(ctx.rest))
        wants = list(ctx.needs_input_grad[:3])
        if output_gradient is None and lse_gradient is None or not any(wants):
            return None, None, None, *nothing
        query, key, value, output, lse, *others = ctx.saved_tensors
        if output_gradient is None:
            output_gradient = torch.zeros_like(output)
        program, _, seed, offset, _, _, level = ctx.rest
        made = iter(torch.ops.fovea.attention_backward(
            query, key, value, output, lse, output_gradient.to(output.dtype), lse_gradient, others[:ctx.captures],
            others[ctx.captures:], program, wants, seed, offset, level))
        return *(next(made) if wanted else None for wanted in wants), *nothing


__all__ = ["Attention", "define"]
