"""``torch.ops.fovea.attention_backward``, and how autograd comes to it.

The forward keeps query, key, value, the output, the log-sum-exp and what it read;
the weights are computed again. Under ``torch.use_deterministic_algorithms`` a gradient
is the same, bit for bit, each time, or raises where kernels have no such algorithm.
"""

from __future__ import annotations

import re
import warnings
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

import torch

from .. import _kernel
from .._gradient import gradient_spec
from .._launch import LoadedKernel
from .._spec import DROPOUT, Spec, lists_of
from ..errors import CompileError
from . import _gradient_launches
from ._derivatives import check_tangents, needs_gradient
from ._gradient_launches import Tensors
from ._launches import Arguments, is_ordinary, is_unwatched
from ._vmap import one_by_one

#: The tensors that gradients are by beside captured ones, and all that come before these.
BY = ("q", "k", "v")
TENSORS = (*BY, "o", "lse", "do", "dlse")

# `wants` says of query, key, value and each captured tensor whether its gradient is
# asked for; what it doesn't reach is not. The results are those, in this order.
_SCHEMA = (
    "attention_backward(Tensor query, Tensor key, Tensor value, Tensor output, Tensor lse, Tensor output_gradient, "
    "Tensor? lse_gradient, Tensor[] captures, Tensor[] blocks, str program, bool[] wants, int seed=0, int offset=0, "
    "str schedule='auto', str level='attn', bool deterministic=False) -> Tensor[]"
)


class Call(NamedTuple):
    """All that the op takes behind the tensors of the output."""

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
        """What gradients are by, as programs name it."""
        every = (*BY, *(f"capture{index}" for index, _ in enumerate(self.captures)))
        return tuple(name for name, wanted in zip(every, self.wants) if wanted)

    def others(self) -> Tuple[torch.Tensor, ...]:
        """Tensors that are read beside those of the output."""
        return (*self.blocks, *self.captures)

    def form(self) -> Tuple[Any, ...]:
        """What launches are told apart by, beside tensors."""
        return self.program, tuple(self.wants), self.schedule, len(self.blocks), self.deterministic


def _results(given: Dict[str, torch.Tensor], call: Call) -> List[torch.Tensor]:
    """Memory for gradients: dense, that of query, key and value in the order of their
    own dimensions."""
    made = []
    for name in call.names():
        one = given.get(name)
        if one is None:
            one = call.captures[int(name[len("capture"):])]
            made.append(one.new_empty(one.shape))
            continue
        order = sorted(range(3), key=lambda dim: one.stride(dim), reverse=True)
        back = [order.index(dim) for dim in range(3)]
        made.append(one.new_empty([*(one.shape[dim] for dim in order), one.shape[3]]).permute(*back, 3))
    return made


def _inputs(tensors: Tensors, call: Call) -> Dict[str, Any]:
    """By the names that the program has for them."""
    from ._op import _signed

    named: Dict[str, Any] = {name: one for name, one in zip(TENSORS, tensors) if one is not None}
    for index, tensor in enumerate(call.captures):
        named[f"capture{index}"] = _signed(tensor.reshape(1) if not tensor.dim() else tensor)
    named.update(zip(lists_of(call.program), call.blocks))
    if any(name in call.program for name in DROPOUT):
        named.update(zip(DROPOUT, (call.seed, call.offset)))
    return named


def _spec(call: Call, lse_gradient: bool) -> Spec:
    from ._op import _spec as spec_of

    for index, (one, wanted) in enumerate(zip(call.captures, call.wants[len(BY):])):
        if wanted and not one.is_floating_point():
            raise NotImplementedError(f"{_told(call, index)}, has no gradient: it holds no floats")
    return gradient_spec(spec_of(call.program, len(call.captures)), call.names(), lse_gradient, call.deterministic)


def _told(call: Call, index: int) -> str:
    """A captured tensor, by what the user can know it by."""
    one = call.captures[index]
    return f"captured tensor {index}, {str(one.dtype).rpartition('.')[2]}{list(one.shape)}"


#: What the compiler says where a sum has too many elements to be the same in any order.
_NO_ORDER = re.compile(r"'dcapture(\d+)' is to be deterministic, but")

#: Programs, and what is wanted of them, whose gradients have no deterministic kernel.
_in_any_order: Set[Tuple[str, Tuple[bool, ...]]] = set()


def _warn_of_order() -> None:
    warnings.warn("a gradient by a captured tensor does not have a deterministic implementation in kernels, and "
                  "torch.use_deterministic_algorithms(True, warn_only=True) is set", stacklevel=3)


def _lowered(call: Call, compile: Callable[[Call], Any]) -> Tuple[Call, Any]:
    """The call and what compiling it gives. Where a gradient is to be deterministic and no
    kernel is, NotImplementedError, which names what it is by; where PyTorch is to warn of
    that only, the call whose sums have any order."""
    try:
        return call, compile(call)
    except CompileError as error:
        refused = _NO_ORDER.search(str(error)) if call.deterministic else None
        if not refused:
            raise
        if not torch.is_deterministic_algorithms_warn_only_enabled():
            raise NotImplementedError(
                f"{_told(call, int(refused[1]))}, requires a gradient, and kernels have no deterministic algorithm for "
                "one that each pair of query and key adds to, for several batch entries or heads: detach it, give it both "
                "dimensions, or torch.use_deterministic_algorithms(True, warn_only=True)") from error
    _warn_of_order()
    _in_any_order.add((call.program, tuple(call.wants)))
    call = call._replace(deterministic=False)
    return call, compile(call)


def _is_deterministic(program: str, wants: Tuple[bool, ...]) -> bool:
    """Whether gradients are to be the same each time: where PyTorch's switch says so. One
    that only warns does where there is no such kernel."""
    if not torch.are_deterministic_algorithms_enabled():
        return False
    if not torch.is_deterministic_algorithms_warn_only_enabled() or (program, wants) not in _in_any_order:
        return True
    _warn_of_order()
    return False


_loaded: Dict[Tuple[Any, ...], LoadedKernel] = {}


def _kernel_of(call: Call, lse_gradient: bool, device: int) -> LoadedKernel:
    """The kernel on a device; compiled at first use."""
    from ._op import compiled

    key = (call.program, call.names(), lse_gradient, call.schedule, call.deterministic, device)
    found = _loaded.get(key)
    if found is None:
        kernel = compiled(_spec(call, lse_gradient), device, {"schedule": call.schedule})
        found = _loaded.setdefault(key, kernel.loaded(device))
    return found


def _prepared(tensors: Tensors, call: Call) -> _gradient_launches.Run:
    """A launch with such tensors, kept for calls that are like this one."""
    query, lse_gradient = tensors[0], tensors[TENSORS.index("dlse")]
    assert query is not None
    device = query.device.index
    call, kernel = _lowered(call, lambda one: _kernel_of(one, lse_gradient is not None, device))
    results = {f"d{name}": one for name, one in zip(call.names(), _results(_by(tensors), call))}
    places = Arguments(kernel, (*TENSORS, *lists_of(call.program)[:len(call.blocks)]), tuple(results))
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


#: Types of devices on which the op is `launch`.
_LAUNCHING = {"cuda"}


def _directly(tensors: Tensors, call: Call) -> Optional[List[torch.Tensor]]:
    """What the op gives, without the dispatcher, which takes longer than all else; None
    where the op must be seen, or where a gradient of its own is asked for."""
    if torch.is_grad_enabled() or not is_unwatched():
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
    """The op on the CPU: the program at a level, or the PTX for a chip."""
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
    for one, result in zip(made, results if isinstance(results, tuple) else (results,)):
        one.copy_(torch.as_tensor(result).reshape(one.shape))
    return made


# --- The op -------------------------------------------------------------------


def _split(arguments: Sequence[Any], named: Dict[str, Any]) -> Tuple[Tensors, Call]:
    return arguments[:len(TENSORS)], Call(*arguments[len(TENSORS):], **named)


def _check(tensors: Tensors) -> None:
    """Raises ValueError for dtypes that ``attn.backward`` would not have: a graph may give
    them, and nothing is converted unasked."""
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
    """The op, where what it is given requires a gradient: there is no second one."""

    @staticmethod
    def forward(run: Callable[[], List[torch.Tensor]], *tensors: torch.Tensor) -> Any:  # type: ignore[override]
        return tuple(run())

    @staticmethod
    def setup_context(ctx: Any, inputs: Tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError("there are no gradients of gradients of attention (create_graph=True, double backward)")


def _with_refusals(keys: Any, *arguments: Any, **named: Any) -> Any:
    """The op as Autograd has it: its own derivatives would silently be none."""
    tensors, call = _split(arguments, named)
    given = [one for one in (*tensors, *call.captures) if one is not None]
    check_tangents(("what a gradient of attention is computed from", one) for one in given)

    def run() -> List[torch.Tensor]:
        with torch._C._AutoDispatchBelowAutograd():
            return torch.ops.fovea.attention_backward.default.redispatch(
                keys & torch._C._after_autograd_keyset, *arguments, **named)

    return list(_Once.apply(run, *given)) if needs_gradient(*given) else run()


def _refuse_batches(*_: Any, **__: Any) -> Any:
    raise NotImplementedError("batches of gradients (is_grads_batched=True) are not computed: torch.func.vmap of "
                              "torch.autograd.grad does, one after the other")


def define(library: torch.library.Library) -> None:
    library.define(_SCHEMA)
    for device, run in (("CUDA", launch), ("CPU", interpret)):
        library.impl("attention_backward", _as_op(run), device)
    library.impl("attention_backward", _with_refusals, "Autograd", with_keyset=True)
    library.impl("attention_backward", _refuse_batches, "Batched")

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
    """The op with derivatives: of query, key and value, how many captured tensors there
    are, what the op takes behind the tensors, a launch of it (``_op.Prepared.run``) or
    None, the captured tensors, lists of blocks. Without ``setup_context``, since PyTorch
    would ask `inspect` for the signature at each call."""

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
        # Behind query, key and value stand three that are no tensors.
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
