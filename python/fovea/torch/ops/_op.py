"""``torch.ops.fovea.attention``: an attention program as a PyTorch op.

The program is a string argument of the op, so that a graph does not depend on the process. On
CUDA the kernel is compiled and loaded at first use and launched on the current stream, without
synchronisation. On the CPU the interpreter runs the program.
"""

from __future__ import annotations

import dataclasses
import operator
import threading
from array import array
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import torch

from ...compiler import _kernel
from ...runtime._gpus import targets_of_capability
from ...runtime._launch import LoadedKernel, PreparedLaunch
from ...frontend._program import DROPOUT, LISTS, QUERY_BLOCK_LISTS, Spec, captured_names, lists_of, output_dtype, own_names, with_names
from ...errors import CompileError, Error, LaunchError
from ..autograd import _gradients
from . import _launches
from ..cache._signatures import signature_matcher
from ._cache_lengths import check_lengths
from ..autograd._derivatives import check_tangents, in_forward_mode, needs_gradient
from ._launches import MAX_SAME_SIZES, MAX_SIZES, empty_like, memory, words
from ._checks import NARROW
from ._layouts import copied, misaligned
from ._orders import HEADS_FIRST, Order
from ._vmap import one_by_one

# The first of `captures` are the sinks, if the program takes them. Without `lse` the second result is empty; `seed` and
# `offset` are those of dropout.
_SCHEMA = (
    "attention(Tensor query, Tensor key, Tensor value, Tensor[] captures, Tensor[] blocks, str program, bool lse=True, "
    "int seed=0, int offset=0, str schedule='auto', str recurrence='auto', str level='attn') -> (Tensor, Tensor)"
)

#: Specs with source lines, for diagnostics, by the program's text.
_located: Dict[str, Spec] = {}
_one_line: Dict[str, str] = {}
#: The user's names of captured tensors, by the program's text and the tensor's index.
_names: Dict[str, Dict[int, List[str]]] = {}


def remember(spec: Spec, names: Sequence[str] = ()) -> str:
    """The program's text as the op's argument: on one line, since inductor (PyTorch 2.11)
    writes strings into generated code without escapes. ``names`` are the user's names of
    captured tensors."""
    text = _one_line.get(spec.mlir)
    if text is None:
        text = " ".join(line.strip() for line in spec.mlir.splitlines())
        _located[text] = spec
        _one_line[spec.mlir] = text
    for index, name in enumerate(names):
        called = _names.setdefault(text, {}).setdefault(index, [])
        if name and name not in called:
            called.append(name)
    return text


def _with_names(program: str, message: str) -> str:
    """A message with the user's names of captured tensors, of all functions with this program."""
    called = _names.get(program, {})
    return with_names(["|".join(called[index]) or f"capture{index}" for index in range(len(called))], message)


def _spec(program: str, captures: int = 0) -> Spec:
    """The Spec of a program with at least `captures` captured tensors: a call passes all of
    them, also those that the simplified program no longer reads."""
    spec = _located.get(program)
    if spec is None:
        spec = Spec("attention", program, (), program)
    names = captured_names(program, captures)[len(own_names(program)):]
    return spec if len(spec.captures) >= len(names) else dataclasses.replace(spec, captures=names)


#: Dtypes of outputs by the program's names.
_OUTPUTS = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


def outputs(query: torch.Tensor, value: torch.Tensor, lse: bool, program: str) -> Tuple[torch.Tensor, Optional[torch.Tensor]]:
    """Allocates the output, with query's order of dimensions in memory, and the log-sum-exp."""
    batch, heads, length, dim = query.shape
    value_dim = value.shape[-1]
    if query.dtype == NARROW:
        query = torch.empty_like(query, dtype=_OUTPUTS[output_dtype(program)])
    if value_dim == dim:
        o = torch.empty_like(query)
    elif query.stride(1) < query.stride(2):
        o = query.new_empty((batch, length, heads, value_dim)).transpose(1, 2)
    else:
        o = query.new_empty((batch, heads, length, value_dim))
    if value_dim != 1 and o.stride(3) != 1:  # kernels write contiguous rows
        order = sorted(range(3), key=lambda n: query.stride(n), reverse=True)
        o = query.new_empty(([query.shape[n] for n in order] + [value_dim])).permute(*(order.index(n) for n in range(3)), 3)
    return o, query.new_empty((batch, heads, length), dtype=torch.float32) if lse else None


def targets_of(device: int) -> Tuple[str, ...]:
    """Targets for a device, the best first."""
    return targets_of_capability(*torch.cuda.get_device_capability(device))


def compiled(spec: Spec, device: int, options: Mapping[str, str]) -> _kernel.Kernel:
    """Compiles a kernel for a device: for the best target that the program compiles for. Raises
    Error for an unsupported device, CompileError of the best target."""
    refusal: Optional[CompileError] = None
    for name in targets_of(device):
        try:
            return _kernel.compile(spec, name, **options)
        except CompileError as error:
            refusal = refusal or error
    raise refusal or Error(f"{torch.cuda.get_device_name(device)} runs no kernels for {', '.join(_kernel.targets())}")


class Launcher(_launches.Arguments):
    """A kernel on a device, and its prepared launches by the tensors' signatures."""

    def __init__(self, kernel: LoadedKernel, program: str, transposed: int = 0):
        # The call's tensors: query, key, value, block-sparse lists, captured tensors, log-sum-exp, output. The kernel does
        # not read the transposed lists, which follow the others.
        lists = (*(name for name in LISTS if name in kernel.tensors), *QUERY_BLOCK_LISTS[:transposed])
        super().__init__(kernel, ("q", "k", "v", *lists), ("lse", "o"), own_names(program))
        self.lse, self.program = "lse" in kernel.tensors, program
        self._prepared: Dict[Tuple, Tuple[Prepared, ...]] = {}

    def prepared(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, others: Tuple[torch.Tensor, ...],
                 out: Optional[torch.Tensor] = None, order: Order = HEADS_FIRST) -> Prepared:
        """The prepared launch for these tensors; `others` are block-sparse lists, then
        captured tensors. ``out`` is the output, if each call passes one. ``order`` is that of
        all these but `others`, and of the results."""
        sizes = (query.shape, key.shape, out is None, order)
        outs = () if out is None else (out,)
        known = self._prepared.get(sizes, ())
        for one in known:
            if one.fits(query, key, value, *others, *outs):
                return one
        if len(self._prepared) >= MAX_SIZES:
            self._prepared.clear()
        try:
            made = Prepared(self, query, key, value, others, out, order)
        except LaunchError as error:
            raise LaunchError(error.status, _with_names(self.program, error.message)) from None
        self._prepared[sizes] = (made, *known)[:MAX_SAME_SIZES]
        return made


class Prepared:
    """A launch that was checked and packed once, for tensors with the same signature (sizes,
    strides, dtypes), which ``fits`` checks. A call adds only addresses and numbers:
    ``run(query, key, value, others, seed, offset, out)`` returns the output and the log-sum-exp
    or None."""

    __slots__ = ("fits", "run")

    def __init__(self, launcher: Launcher, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                 others: Tuple[torch.Tensor, ...], out: Optional[torch.Tensor] = None, order: Order = HEADS_FIRST):
        self.fits = signature_matcher(query, key, value, *others, *(() if out is None else (out,)))
        heads = tuple(map(order.heads_first, (query, key, value)))
        o, lse = outputs(heads[0], heads[2], launcher.lse, launcher.program)
        if not o.numel():
            self.run = _nothing(memory(order.output(o)), None if lse is None else memory(order.lse(lse)))
            return
        o = o if out is None else order.heads_first(out)
        given: List[Any] = [*heads, *others, lse, o]
        # Tensors with unsupported strides; addresses are checked at each call.
        copies = tuple(place for place, layout in launcher.layouts.items() if not layout.fits(given[place]))
        inner, model = (HEADS_FIRST, heads[0]) if copies else (order, query)
        # If the output has query's shape and strides, empty_like is the fastest allocation.
        plain = 0 not in copies and o.dtype == query.dtype and (o.shape, o.stride()) == (heads[0].shape, inner.heads_first(empty_like(model)).stride())
        make_o = None if plain or out is not None else memory(inner.output(o))
        make_lse = None if lse is None else memory(inner.lse(lse))
        for place in copies:
            given[place] = copied(launcher.layouts[place], given[place])
        in_order: Any = operator.itemgetter(*launcher.tensors)
        row = array("q", words(in_order(given)))
        for place in misaligned(launcher.layouts, given):
            # Each call passes its own addresses; this one only has to pass the check.
            row[launcher.first_word(given, place)] &= -launcher.layouts[place].alignment
        row.extend((0,) * len(launcher.numbers))
        run = _runner(launcher.kernel.prepare_packed(row.tobytes()), query.device, launcher, in_order, make_o, make_lse, inner)
        self.run = _with_copies(run, launcher, copies, order) if copies else run


Made = Tuple[torch.Tensor, Optional[torch.Tensor]]
Make = Optional[Callable[[], torch.Tensor]]


def _nothing(make_o: Callable[[], torch.Tensor], make_lse: Make) -> Callable[..., Made]:
    """Allocates empty outputs without a launch."""

    def run(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, others: Tuple[torch.Tensor, ...], seed: int = 0,
            offset: int = 0, out: Optional[torch.Tensor] = None) -> Made:
        return make_o() if out is None else out, None if make_lse is None else make_lse()

    return run


def _runner(launch: PreparedLaunch, place: torch.device, launcher: Launcher, in_order: Any, make_o: Make, make_lse: Make,
            order: Order) -> Callable[..., Made]:
    """The launch as a closure: its variables are faster to access than attributes."""
    numbers, device, pack = launcher.numbers, launcher.device, launcher.row().pack
    start, count = _start(launch, place)
    empty_like, data_ptr, current_stream = _launches.empty_like, _launches.data_ptr, _launches.current_stream

    def run(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, others: Tuple[torch.Tensor, ...], seed: int = 0,
            offset: int = 0, out: Optional[torch.Tensor] = None) -> Made:
        o = out if out is not None else empty_like(query) if make_o is None else make_o()
        lse = None if make_lse is None else make_lse()
        given: Tuple[Any, ...] = (query, key, value, *others, lse, o)
        if numbers:
            row = pack(*map(data_ptr, in_order(given)), *[
                given[place].item() if number is None else (seed, offset)[number] for place, number in numbers])
        else:
            row = pack(*map(data_ptr, in_order(given)))
        status = start(current_stream(device), row, count)
        if status:
            whole = (*map(order.heads_first, (query, key, value)), *others, lse, order.heads_first(o))
            launcher.launch_aligned(status, in_order, whole, (seed, offset))
        return o, lse

    return run


def _start(launch: PreparedLaunch, place: torch.device) -> Tuple[Callable[[int, bytes, int], int], int]:
    """The launch as a function of the stream, the row and the count. PyTorch's allocator has
    scratch memory ready, and keeps it in order of the stream; in a CUDA graph it costs nothing."""
    if not launch.scratch_bytes or place.type != "cuda":
        return launch.entry()
    start, count = launch.entry_with_scratch()
    size = (launch.scratch_bytes,)

    def start_with_scratch(stream: int, row: bytes, count: int) -> int:
        scratch = torch.empty(size, dtype=torch.uint8, device=place)
        return start(stream, row, count, scratch.data_ptr())

    return start_with_scratch, count


def _with_copies(run: Callable[..., Made], launcher: Launcher, places: Tuple[int, ...], order: Order) -> Callable[..., Made]:
    """Wraps a launch, which takes heads first, with copies of tensors with unsupported strides,
    made at each call."""
    layouts = tuple((place, launcher.layouts[place]) for place in places)

    def run_with_copies(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, others: Tuple[torch.Tensor, ...],
                        seed: int = 0, offset: int = 0, out: Optional[torch.Tensor] = None) -> Made:
        given = [*map(order.heads_first, (query, key, value)), *others]
        for place, layout in layouts:
            given[place] = copied(layout, given[place])
        o, lse = run(given[0], given[1], given[2], tuple(given[3:]), seed, offset, None if out is None else order.heads_first(out))
        return order.output(o), None if lse is None else order.lse(lse)

    return run_with_copies


_launchers: Dict[Tuple[str, str, str, int, int], Launcher] = {}
_lock = threading.Lock()


def launcher(call: "Call", device: int) -> Launcher:
    """The launcher of a call's program, compiled and loaded at first use. Raises CompileError,
    LaunchError."""
    transposed = max(len(call.blocks) - len(lists_of(call.program)), 0) if call.blocks else 0
    program, schedule, recurrence = call.program, call.schedule, call.recurrence
    key = (program, schedule, recurrence, transposed, device)
    found = _launchers.get(key)
    if found is None:
        kernel = compiled(_spec(program), device, {"schedule": schedule, "recurrence": recurrence})
        made = Launcher(kernel.loaded(device), program, transposed)
        with _lock:
            found = _launchers.setdefault(key, made)
    return found


class Call(NamedTuple):
    """The op's arguments after query, key and value. Sinks are the first of ``captures``, if the
    program takes them. ``blocks`` may have the transposed lists after the others; only
    gradients read those."""

    captures: Sequence[torch.Tensor]
    blocks: Sequence[torch.Tensor]
    program: str
    lse: bool = True
    seed: int = 0
    offset: int = 0
    schedule: str = "auto"
    recurrence: str = "auto"
    level: str = "attn"


def launch(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, call: Call, out: Optional[torch.Tensor] = None
           ) -> Tuple[torch.Tensor, Optional[torch.Tensor]]:
    """The op on CUDA. The kernel writes the output into ``out``, if it is given."""
    others = (*call.blocks, *call.captures)
    prepared = launcher(call, query.device.index).prepared(query, key, value, others, out)
    return prepared.run(query, key, value, others, call.seed, call.offset, out)


def _signed(tensor: torch.Tensor) -> torch.Tensor:
    """Reinterprets unsigned integers as signed ones, as kernels read them."""
    kinds = {torch.uint8: torch.int8, torch.uint16: torch.int16, torch.uint32: torch.int32}
    return tensor.view(kinds[tensor.dtype]) if tensor.dtype in kinds else tensor


def interpret(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, call: Call, out: Optional[torch.Tensor] = None
              ) -> Tuple[torch.Tensor, Optional[torch.Tensor]]:
    """The op on the CPU: the program at a level of the compilation for sm_80, or the PTX for a
    target."""
    try:
        return _interpret(query, key, value, call, out)
    except CompileError as error:
        raise CompileError(tuple(dataclasses.replace(one, message=_with_names(call.program, one.message))
                                 for one in error.diagnostics)) from None
    except LaunchError as error:
        raise LaunchError(error.status, _with_names(call.program, error.message)) from None


def _interpret(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, call: Call, out: Optional[torch.Tensor]
               ) -> Tuple[torch.Tensor, Optional[torch.Tensor]]:
    names = captured_names(call.program, len(call.captures))
    named: Dict[str, Any] = {name: _signed(tensor.reshape(1) if not tensor.dim() else tensor)
                             for name, tensor in zip(names, call.captures)}
    named.update(zip(lists_of(call.program), call.blocks))
    if "lengths" in named:
        check_lengths(key, named)
    if any(name in call.program for name in DROPOUT):
        named.update(zip(DROPOUT, (call.seed, call.offset)))
    # 8-bit products need Hopper's MMA.
    options = {"target": "sm_90a" if query.dtype == NARROW else "sm_80", "schedule": call.schedule, "recurrence": call.recurrence, "kernel": None}
    spec = _spec(call.program, len(call.captures))
    named.update(q=query, k=key, v=value)
    level, _, target = call.level.partition(":")
    if level == "ptx":
        kernel = _kernel.compile(spec, target, schedule=call.schedule, recurrence=call.recurrence)
        results = kernel.interpret(level=level, **named)
    else:
        results = _kernel._interpret(spec, options, named, level, False, 0)
    made = outputs(query, value, call.lse, call.program)
    made = made if out is None else (out, made[1])
    for one, result in zip(made, results if call.lse else (results,)):
        assert one is not None
        one.copy_(torch.from_numpy(result))
    return made


def _as_op(run: Any) -> Any:
    """Wraps an implementation for the dispatcher, which needs a tensor for each result."""

    def op(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *rest: Any, **named: Any) -> Any:
        o, lse = run(query, key, value, Call(*rest, **named))
        return o, query.new_empty(0, dtype=torch.float32) if lse is None else lse

    return op


_library = torch.library.Library("fovea", "FRAGMENT")
_library.define(_SCHEMA)
_IMPLEMENTATIONS = {"cuda": _as_op(launch), "cpu": _as_op(interpret)}
for _device, _implementation in _IMPLEMENTATIONS.items():
    _library.impl("attention", _implementation, _device.upper())


def _with_derivatives(keys: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *rest: Any, **named: Any
                      ) -> Any:
    """The op for the Autograd key. Unsupported derivatives raise, as they would otherwise
    silently be None or zeros."""
    call = Call(*rest, **named)
    if torch.is_grad_enabled() or in_forward_mode():
        check_tangents((("query", query), ("key", key), ("value", value), *(("a captured tensor", one) for one in call.captures)))
        if needs_gradient(query, key, value, *call.captures):
            if not call.lse:
                raise NotImplementedError("a gradient needs the log-sum-exp: lse must be True, and an output of the program")
            if torch._C._are_functorch_transforms_active():
                raise NotImplementedError("gradients under transformations of torch.func are not supported; use torch.autograd.grad")
            return _gradients.Attention.apply(query, key, value, len(call.captures), call[2:], None, *call.captures,
                                              *call.blocks)
    # Redispatching takes as long as the rest of the call.
    if (type(query) is torch.Tensor and not torch._C._len_torch_dispatch_stack() and query.device.type in _IMPLEMENTATIONS
            and not any([_launches.has_torch_dispatch(one) for one in (key, value, *call.captures, *call.blocks)])):
        return _IMPLEMENTATIONS[query.device.type](query, key, value, *rest, **named)
    with torch._C._AutoDispatchBelowAutograd():
        return torch.ops.fovea.attention.default.redispatch(
            keys & torch._C._after_autograd_keyset, query, key, value, *rest, **named)


_library.impl("attention", _with_derivatives, "Autograd", with_keyset=True)
_gradients.define(_library)


@torch.library.register_vmap("fovea::attention", lib=_library)
def _vmap(info: Any, dims: Any, query: Any, key: Any, value: Any, captures: Any, blocks: Any, program: str, *rest: Any,
          **named: Any) -> Any:
    """vmap: one launch after the other."""
    if any(name in program for name in DROPOUT) and info.randomness != "same":
        raise NotImplementedError("dropout_p can't be given under vmap: each entry would drop the same keys, which "
                                  "only randomness='same' allows")
    return one_by_one(torch.ops.fovea.attention, info, dims, (query, key, value, captures, blocks, program, *rest), named)


@torch.library.register_fake("fovea::attention", lib=_library)
def _fake(query: Any, key: Any, value: Any, *rest: Any, **named: Any) -> Any:
    call = Call(*rest, **named)
    o, lse = outputs(query, value, call.lse, call.program)
    return o, query.new_empty(0, dtype=torch.float32) if lse is None else lse
