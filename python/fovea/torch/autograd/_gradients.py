"""``torch.ops.fovea.attention_backward``, and the autograd function that calls it.

The forward pass saves query, key, value, the output, the log-sum-exp and captured tensors;
the backward pass recomputes P. Under ``torch.use_deterministic_algorithms`` gradients are
bitwise reproducible, or raise if there is no deterministic kernel.
"""

from __future__ import annotations

import re
import warnings
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

import torch

from ...compiler import _kernel
from ...frontend._gradient import gradient_spec
from ...runtime._launch import LoadedKernel
from ...frontend._program import DROPOUT, Spec, captured_names, gradient_lists_of, lists_of, own_names
from ...errors import CompileError
from . import _gradient_launches
from ._derivatives import check_tangents, needs_gradient
from ._gradient_launches import Tensors
from ..ops._launches import Arguments, is_ordinary, is_unobserved
from ..ops._vmap import one_by_one

#: Tensors with gradients besides captured ones, and all tensors that precede those.
BY = ("q", "k", "v")
TENSORS = (*BY, "o", "lse", "do", "dlse")

# `wants` tells for query, key, value and each captured tensor whether its gradient is
# requested; missing entries are False. The results are these gradients, in this order.
_SCHEMA = (
    "attention_backward(Tensor query, Tensor key, Tensor value, Tensor output, Tensor lse, Tensor output_gradient, "
    "Tensor? lse_gradient, Tensor[] captures, Tensor[] blocks, str program, bool[] wants, int seed=0, int offset=0, "
    "str schedule='auto', str level='attn', bool deterministic=False) -> Tensor[]"
)


class Call(NamedTuple):
    """The op's arguments after the tensors. Sinks are the first of ``captures``, if the program
    takes them. ``blocks`` may have the transposed lists after the others."""

    captures: Sequence[torch.Tensor]
    blocks: Sequence[torch.Tensor]
    program: str
    wants: Sequence[bool]
    seed: int = 0
    offset: int = 0
    schedule: str = "auto"
    level: str = "attn"
    deterministic: bool = False

    def names(self) -> Tuple[str, ...]:
        """Names of the tensors whose gradients are requested, as in the program."""
        every = (*BY, *captured_names(self.program, len(self.captures)))
        return tuple(name for name, wanted in zip(every, self.wants) if wanted)

    def captured(self) -> Dict[str, torch.Tensor]:
        """The captured tensors by their names in the program."""
        return dict(zip(captured_names(self.program, len(self.captures)), self.captures))

    def others(self) -> Tuple[torch.Tensor, ...]:
        """Block-sparse lists, then captured tensors."""
        return (*self.blocks, *self.captures)

    def form(self) -> Tuple[Any, ...]:
        """Properties that a launch depends on besides the tensors."""
        return self.program, tuple(self.wants), self.schedule, len(self.blocks), self.deterministic


def _results(given: Dict[str, torch.Tensor], call: Call) -> List[torch.Tensor]:
    """Allocates contiguous gradients; those of query, key and value have the tensor's order of
    dimensions in memory."""
    made, captured = [], call.captured()
    for name in call.names():
        one = given.get(name)
        if one is None:
            one = captured[name]
            made.append(one.new_empty(one.shape))
            continue
        order = sorted(range(3), key=lambda dim: one.stride(dim), reverse=True)
        back = [order.index(dim) for dim in range(3)]
        made.append(one.new_empty([*(one.shape[dim] for dim in order), one.shape[3]]).permute(*back, 3))
    return made


def _inputs(tensors: Tensors, call: Call) -> Dict[str, Any]:
    """The inputs by the program's names."""
    from ..ops._op import _signed

    named: Dict[str, Any] = {name: one for name, one in zip(TENSORS, tensors) if one is not None}
    for name, tensor in call.captured().items():
        named[name] = _signed(tensor.reshape(1) if not tensor.dim() else tensor)
    named.update(zip(gradient_lists_of(call.program), call.blocks))
    if any(name in call.program for name in DROPOUT):
        named.update(zip(DROPOUT, (call.seed, call.offset)))
    return named


def _spec(call: Call, lse_gradient: bool) -> Spec:
    from ..ops._op import _spec as spec_of

    for name, one in call.captured().items():
        if name in call.names() and not one.is_floating_point():
            raise NotImplementedError(f"{_description(call, name)}, has no gradient: it holds no floats")
    return gradient_spec(spec_of(call.program, len(call.captures)), call.names(), lse_gradient, call.deterministic,
                         len(call.blocks) > len(lists_of(call.program)))


def _description(call: Call, name: str) -> str:
    """A captured tensor in messages, with its dtype and shape."""
    one = call.captured()[name]
    return f"captured tensor {name[len('capture'):]}, {str(one.dtype).rpartition('.')[2]}{list(one.shape)}"


#: The compiler's diagnostic for a gradient without a deterministic algorithm.
_NOT_DETERMINISTIC = re.compile(r"'d(capture\d+)' is to be deterministic, but")

#: Programs without a deterministic kernel, with the requested gradients.
_nondeterministic: Set[Tuple[str, Tuple[bool, ...]]] = set()


def _warn_nondeterministic() -> None:
    warnings.warn("the gradient with respect to a captured tensor does not have a deterministic implementation, and "
                  "torch.use_deterministic_algorithms(True, warn_only=True) is set", stacklevel=3)


def _lowered(call: Call, compile: Callable[[Call], Any]) -> Tuple[Call, Any]:
    """Compiles a call; returns the call and the result. If a gradient must be deterministic and
    there is no such kernel, raises NotImplementedError, or with warn_only warns and compiles
    the non-deterministic call."""
    try:
        return call, compile(call)
    except CompileError as error:
        refused = _NOT_DETERMINISTIC.search(str(error)) if call.deterministic else None
        if not refused:
            raise
        if not torch.is_deterministic_algorithms_warn_only_enabled():
            raise NotImplementedError(
                f"{_description(call, refused[1])}, requires a gradient, and there is no deterministic algorithm for a "
                "tensor that is read at query and key and shared by batch entries or heads: detach it, give it both "
                "dimensions, or call torch.use_deterministic_algorithms(True, warn_only=True)") from error
    _warn_nondeterministic()
    _nondeterministic.add((call.program, tuple(call.wants)))
    call = call._replace(deterministic=False)
    return call, compile(call)


def _is_deterministic(program: str, wants: Tuple[bool, ...]) -> bool:
    """Whether PyTorch's switch requires deterministic gradients. With warn_only, warns and
    returns False if there is no such kernel."""
    if not torch.are_deterministic_algorithms_enabled():
        return False
    if not torch.is_deterministic_algorithms_warn_only_enabled() or (program, wants) not in _nondeterministic:
        return True
    _warn_nondeterministic()
    return False


_loaded: Dict[Tuple[Any, ...], LoadedKernel] = {}


def _kernel_of(call: Call, lse_gradient: bool, device: int) -> LoadedKernel:
    """The kernel of a call on a device, compiled at first use."""
    from ..ops._op import compiled

    key = (call.program, call.names(), lse_gradient, call.schedule, call.deterministic, len(call.blocks), device)
    found = _loaded.get(key)
    if found is None:
        kernel = compiled(_spec(call, lse_gradient), device, {"schedule": call.schedule})
        found = _loaded.setdefault(key, kernel.loaded(device))
    return found


def _prepared(tensors: Tensors, call: Call) -> _gradient_launches.Run:
    """Prepares a launch for these tensors and caches it."""
    query, lse_gradient = tensors[0], tensors[TENSORS.index("dlse")]
    assert query is not None
    device = query.device.index
    call, kernel = _lowered(call, lambda one: _kernel_of(one, lse_gradient is not None, device))
    results = {f"d{name}": one for name, one in zip(call.names(), _results(_by(tensors), call))}
    places = Arguments(kernel, (*TENSORS, *gradient_lists_of(call.program)[:len(call.blocks)]), tuple(results),
                       own_names(call.program))
    others = call.others()
    named = {name: one if one.dim() else one.reshape(1) for name, one in results.items()}
    run = _gradient_launches.prepare(kernel, places, _inputs(tensors, call), tensors, others, results, named)
    return _gradient_launches.keep(tensors, others, call.form(), run)


def launch(tensors: Tensors, call: Call) -> List[torch.Tensor]:
    """The op on CUDA."""
    others = call.others()
    run = _gradient_launches.find(tensors, others, call.form())
    if run is None:
        if not call.names():
            return []
        run = _prepared(tensors, call)
    return run(tensors, others, call.seed, call.offset)


#: Device types on which `launch` implements the op.
_LAUNCHING = {"cuda"}


def _directly(tensors: Tensors, call: Call) -> Optional[List[torch.Tensor]]:
    """The op's results without the dispatcher, which takes longer than the rest; None if the
    op must be dispatched: if ops are observed, or the gradients themselves need gradients."""
    if torch.is_grad_enabled() or not is_unobserved():
        return None
    others = call.others()
    run = _gradient_launches.find(tensors, others, call.form())
    if run is None:
        given = [one for one in (*tensors, *others) if one is not None]
        if given[0].device.type not in _LAUNCHING or not all(map(is_ordinary, given)):
            return None
        run = _prepared(tensors, call)
    return run(tensors, others, call.seed, call.offset)


def _by(tensors: Tensors) -> Dict[str, Any]:
    return dict(zip(BY, tensors))


def interpret(tensors: Tensors, call: Call) -> List[torch.Tensor]:
    """The op on the CPU: the program at a level, or the PTX for a target."""
    if not call.names():
        return []
    has_lse_gradient, named = tensors[TENSORS.index("dlse")] is not None, _inputs(tensors, call)
    made = _results(_by(tensors), call)
    level, _, target = call.level.partition(":")
    if level == "ptx":
        _, kernel = _lowered(call, lambda one: _kernel.compile(_spec(one, has_lse_gradient), target, schedule=call.schedule))
        results = kernel.interpret(*[named.pop(name) for name in BY], level=level, **named)
    else:
        options = {"target": target or "sm_80", "schedule": call.schedule, "kernel": None}
        _, results = _lowered(call, lambda one: _kernel._interpret(_spec(one, has_lse_gradient), options, named, level, False, 0))
    by_name = dict(zip(call.names(), made))
    # The program's results are in another order: sinks are the last.
    for name, result in zip(sorted(by_name, key="sinks".__eq__), results if isinstance(results, tuple) else (results,)):
        by_name[name].copy_(torch.as_tensor(result).reshape(by_name[name].shape))
    return made


# --- The op -------------------------------------------------------------------


def _split(arguments: Sequence[Any], named: Dict[str, Any]) -> Tuple[Tensors, Call]:
    return arguments[:len(TENSORS)], Call(*arguments[len(TENSORS):], **named)


def _check(tensors: Tensors) -> None:
    """Raises ValueError for dtypes that ``attn.backward`` does not accept. A graph may pass
    them, and the op does not convert silently."""
    query, key, value, output, lse, gradient, lse_gradient = tensors
    assert query is not None
    for name, one, whose, wanted in (
            ("key", key, "query's dtype ", query.dtype), ("value", value, "query's dtype ", query.dtype),
            ("output", output, "query's dtype ", query.dtype), ("output_gradient", gradient, "output's dtype ", query.dtype),
            ("lse", lse, "", torch.float32), ("lse_gradient", lse_gradient, "", torch.float32)):
        if one is not None and one.dtype != wanted:
            raise ValueError(f"{name} must be of {whose and 'the ' + whose}{wanted}, found {one.dtype}")


def _as_op(run: Any) -> Any:
    def op(*arguments: Any, **named: Any) -> Any:
        tensors, call = _split(arguments, named)
        _check(tensors)
        return run(tensors, call)

    return op


class _Once(torch.autograd.Function):
    """The op for inputs that require a gradient; its backward raises, as there are no second derivatives."""

    @staticmethod
    def forward(run: Callable[[], List[torch.Tensor]], *tensors: torch.Tensor) -> Any:  # type: ignore[override]
        return tuple(run())

    @staticmethod
    def setup_context(ctx: Any, inputs: Tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError("there are no gradients of gradients of attention (create_graph=True, double backward)")


def _with_autograd_checks(keys: Any, *arguments: Any, **named: Any) -> Any:
    """The op for the Autograd key. Its own derivatives raise, as they would otherwise silently be None."""
    tensors, call = _split(arguments, named)
    given = [one for one in (*tensors, *call.captures) if one is not None]
    check_tangents(("an operand of the gradient of attention", one) for one in given)

    def run() -> List[torch.Tensor]:
        with torch._C._AutoDispatchBelowAutograd():
            return torch.ops.fovea.attention_backward.default.redispatch(
                keys & torch._C._after_autograd_keyset, *arguments, **named)

    return list(_Once.apply(run, *given)) if needs_gradient(*given) else run()


def _reject_batches(*_: Any, **__: Any) -> Any:
    raise NotImplementedError("batches of gradients (is_grads_batched=True) are not supported: use torch.func.vmap of "
                              "torch.autograd.grad, which computes one after the other")


def define(library: torch.library.Library) -> None:
    library.define(_SCHEMA)
    for device, run in (("CUDA", launch), ("CPU", interpret)):
        library.impl("attention_backward", _as_op(run), device)
    library.impl("attention_backward", _with_autograd_checks, "Autograd", with_keyset=True)
    library.impl("attention_backward", _reject_batches, "Batched")

    @torch.library.register_fake("fovea::attention_backward", lib=library)
    def _fake(*arguments: Any, **named: Any) -> Any:
        tensors, call = _split(arguments, named)
        _check(tensors)
        return _results(_by(tensors), call)

    @torch.library.register_vmap("fovea::attention_backward", lib=library)
    def _vmap(info: Any, dims: Any, *arguments: Any, **named: Any) -> Any:
        return one_by_one(torch.ops.fovea.attention_backward, info, dims, arguments, named)


# --- Autograd -----------------------------------------------------------------


class Attention(torch.autograd.Function):
    """The op with derivatives. Arguments: query, key, value, the number of captured tensors,
    the op's other arguments, a prepared launch (``_op.Prepared.run``) or None, captured
    tensors, block-sparse lists. It has no ``setup_context``, with which PyTorch would call
    ``inspect.signature`` at each call."""

    @staticmethod
    def forward(ctx: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, count: int, rest: Tuple[Any, ...],
                run: Optional[Callable[..., Any]], *others: torch.Tensor) -> Any:  # type: ignore[override]
        if run is None:
            output = torch.ops.fovea.attention(query, key, value, others[:count], others[count:], *rest)
        else:
            _, _, seed, offset, *_ = rest
            output = run(query, key, value, (*others[count:], *others[:count]), seed, offset)
        ctx.count, ctx.rest = count, rest
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(query, key, value, *output, *others)
        return output

    @staticmethod
    def backward(ctx: Any, output_gradient: Optional[torch.Tensor], lse_gradient: Optional[torch.Tensor]) -> Any:
        # Three arguments after query, key and value are not tensors.
        needs = ctx.needs_input_grad
        wants = (*needs[:3], *needs[6:6 + ctx.count])
        if output_gradient is None and lse_gradient is None or not any(wants):
            return (None,) * len(needs)
        query, key, value, output, lse, *others = ctx.saved_tensors
        if output_gradient is None:
            output_gradient = torch.zeros_like(output)
        elif output_gradient.dtype != output.dtype:
            output_gradient = output_gradient.to(output.dtype)
        program, _, seed, offset, _, _, level = ctx.rest
        captures, blocks = others[:ctx.count], others[ctx.count:]
        tensors = query, key, value, output, lse, output_gradient, lse_gradient
        chosen = {"level": level, "deterministic": _is_deterministic(program, wants)}
        made = _directly(tensors, Call(captures, blocks, program, wants, seed, offset, **chosen))
        if made is None:
            made = torch.ops.fovea.attention_backward(*tensors, captures, blocks, program, wants, seed, offset, **chosen)
        remaining = iter(made)
        gradients = [next(remaining) if wanted else None for wanted in wants]
        return (*gradients[:3], None, None, None, *gradients[3:], *(None,) * len(blocks))


__all__ = ["Attention", "define"]
