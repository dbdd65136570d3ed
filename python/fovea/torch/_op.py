"""``torch.ops.fovea.attention``: a program of attention as an op of PyTorch's.

The op carries its program as text, so that a graph with it means the same in any
process. On CUDA the kernel is compiled and loaded at first use, and launched on
the current stream; nothing waits for the device. On the CPU the interpreter runs
the program.
"""

from __future__ import annotations

import struct
import threading
from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple

import torch

from .. import _kernel
from .._launch import LoadedKernel
from .._spec import BLOCK_LISTS, DROPOUT, Spec
from ..errors import Error

# Without `lse` the second result is empty; `seed` and `offset` are those of dropout.
_SCHEMA = (
    "attention(Tensor query, Tensor key, Tensor value, Tensor[] captures, Tensor[] blocks, str program, bool lse=True, "
    "int seed=0, int offset=0, str schedule='auto', str recurrence='auto', str level='attn') -> (Tensor, Tensor)"
)

#: Programs with the lines of Python that they come from, for diagnostics.
_located: Dict[str, Spec] = {}
_one_line: Dict[str, str] = {}


def remember(spec: Spec) -> str:
    """The program's text, as the op takes it: in one line, since inductor (PyTorch
    2.11) writes strings into its code as they are."""
    text = _one_line.get(spec.mlir)
    if text is None:
        text = " ".join(line.strip() for line in spec.mlir.splitlines())
        _located[text] = spec
        _one_line[spec.mlir] = text
    return text


def _spec(program: str) -> Spec:
    return _located.get(program) or Spec("attention", program, (), program)


def outputs(query: torch.Tensor, value: torch.Tensor, lse: bool) -> Tuple[torch.Tensor, Optional[torch.Tensor]]:
    """Memory for the output, its dimensions in memory ordered as the query's, and
    for the log-sum-exp."""
    batch, heads, length, dim = query.shape
    value_dim = value.shape[-1]
    if value_dim == dim:
        o = torch.empty_like(query)
    elif query.stride(1) < query.stride(2):
        o = query.new_empty((batch, length, heads, value_dim)).transpose(1, 2)
    else:
        o = query.new_empty((batch, heads, length, value_dim))
    return o, query.new_empty((batch, heads, length), dtype=torch.float32) if lse else None


def targets_of(device: int) -> Tuple[str, ...]:
    """Names of chips whose kernels a device may run, the best first."""
    major, minor = torch.cuda.get_device_capability(device)
    return f"sm_{major}{minor}a", f"sm_{major}{minor}"


def compiled(spec: Spec, device: int, options: Mapping[str, str]) -> _kernel.Kernel:
    """Raises Error for a device that none can be compiled for, CompileError."""
    names = targets_of(device)
    # What was compiled before is found without loading the compiler, which takes longer than to load a kernel.
    for name in names:
        kernel = _kernel.find(spec, name, **options)
        if kernel is not None:
            return kernel
    known = _kernel.targets()
    for name in names:
        if name in known:
            return _kernel.compile(spec, name, **options)
    raise Error(f"{torch.cuda.get_device_name(device)} would need kernels for {' or '.join(names)}; they can be compiled for "
                + ", ".join(known))


try:
    _current_stream = torch._C._cuda_getCurrentRawStream  # type: ignore[attr-defined]
except AttributeError:
    def _current_stream(device: int) -> int:
        return torch.cuda.current_stream(device).cuda_stream


#: How an address, and all that is said of a tensor of some rank, are packed.
_ADDRESS = struct.Struct("=q").pack
_TENSORS = tuple(struct.Struct("=" + "q" * (1 + 2 * rank)).pack for rank in range(16))


def _described(tensor: torch.Tensor) -> bytes:
    """Address, sizes, strides; a scalar is a tensor of one element."""
    shape = tensor.shape
    if not shape:
        return _TENSORS[1](tensor.data_ptr(), 1, 1)
    return _TENSORS[len(shape)](tensor.data_ptr(), *shape, *tensor.stride())


class Launcher:
    """A kernel on a device, with its arguments in the order that it wants."""

    _NAMES = ("q", "k", "v", "o", "lse", *BLOCK_LISTS)

    def __init__(self, kernel: LoadedKernel):
        self.kernel, self.device = kernel, kernel.device

        def place(name: str) -> int:
            names = self._NAMES
            return names.index(name) if name in names else len(names) + int(name[len("capture"):])

        self.tensors = tuple(place(name) for name in kernel.tensors)
        # Those of dropout, else captured tensors of one element.
        scalars = (DROPOUT.index(name) - len(DROPOUT) if name in DROPOUT else place(name) for name in kernel.scalars)
        self.scalars = tuple(zip(scalars, (struct.Struct("=d" if one else "=q").pack for one in kernel.floating)))
        self.lse = "lse" in kernel.tensors
        self._layouts: Dict[Tuple, Layout] = {}

    def layout(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> Layout:
        """Of a call with such tensors."""
        form = (query.shape, key.shape, value.shape, query.stride(), key.stride(), value.stride())
        found = self._layouts.get(form)
        if found is None:
            if len(self._layouts) >= _MOST_LAYOUTS:
                self._layouts.clear()
            found = self._layouts[form] = Layout(self, query, key, value)
        return found


class Layout:
    """A kernel's call with query, key and value of certain sizes and strides. What
    these decide is packed once; a call adds addresses."""

    __slots__ = ("_launch", "_device", "_empty", "_lse", "_plain", "_sizes", "_tensors", "_scalars")

    def __init__(self, launcher: Launcher, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor):
        self._launch, self._device, self._lse = launcher.kernel.launch_packed, launcher.device, launcher.lse
        o, lse = outputs(query, value, self._lse)
        self._empty = not o.numel()
        # Then empty_like does what `outputs` does, in less time.
        self._plain = value.shape[-1] == query.shape[-1]
        self._sizes = tuple(query.shape[:3])
        known = (query, key, value, o, lse)
        # After the address; None for tensors that each call describes.
        self._tensors = tuple(
            (place, _described(known[place])[8:] if place < len(known) else None) for place in launcher.tensors)
        self._scalars = launcher.scalars

    def __call__(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, captures: Sequence[torch.Tensor],
                 blocks: Sequence[torch.Tensor] = (), seed: int = 0, offset: int = 0
                 ) -> Tuple[torch.Tensor, Optional[torch.Tensor]]:
        lse = None
        if self._plain:
            o = torch.empty_like(query)
            if self._lse:
                lse = torch.empty(self._sizes, dtype=torch.float32, device=query.device)
        else:
            o, lse = outputs(query, value, self._lse)
        if self._empty:
            return o, lse
        given: Tuple[Any, ...] = (query, key, value, o, lse)
        if blocks or captures:
            given += (*blocks, *_NO_LISTS[len(blocks):], *captures)
        row = []
        for place, rest in self._tensors:
            if rest is None:
                row.append(_described(given[place]))
            else:
                row.append(_ADDRESS(given[place].data_ptr()))
                row.append(rest)
        for place, pack in self._scalars:
            row.append(pack(given[place].item() if place >= 0 else (seed, offset)[place]))
        self._launch(_current_stream(self._device), b"".join(row))
        return o, lse


_NO_LISTS = (None,) * len(BLOCK_LISTS)
_MOST_LAYOUTS = 1024
_launchers: Dict[Tuple[str, str, str, int], Launcher] = {}
_lock = threading.Lock()


def launcher(program: str, schedule: str, recurrence: str, device: int) -> Launcher:
    """Compiled and loaded at first use. Raises CompileError, LaunchError."""
    key = (program, schedule, recurrence, device)
    found = _launchers.get(key)
    if found is None:
        kernel = compiled(_spec(program), device, {"schedule": schedule, "recurrence": recurrence})
        made = Launcher(kernel.loaded(device))
        with _lock:
            found = _launchers.setdefault(key, made)
    return found


class Call(NamedTuple):
    """All that the op takes beside query, key and value."""

    captures: Sequence[torch.Tensor]
    blocks: Sequence[torch.Tensor]
    program: str
    lse: bool = True
    seed: int = 0
    offset: int = 0
    schedule: str = "auto"
    recurrence: str = "auto"
    level: str = "attn"


def launch(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, call: Call
           ) -> Tuple[torch.Tensor, Optional[torch.Tensor]]:
    """The op on CUDA."""
    run = launcher(call.program, call.schedule, call.recurrence, query.device.index).layout(query, key, value)
    return run(query, key, value, call.captures, call.blocks, call.seed, call.offset)


def interpret(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, call: Call
              ) -> Tuple[torch.Tensor, Optional[torch.Tensor]]:
    """The op on the CPU: the program at a level, on its way to sm_80."""
    named: Dict[str, Any] = {f"capture{index}": tensor.reshape(1) if not tensor.dim() else tensor
                             for index, tensor in enumerate(call.captures)}
    named.update(zip(BLOCK_LISTS, call.blocks))
    if any(name in call.program for name in DROPOUT):
        named.update(zip(DROPOUT, (call.seed, call.offset)))
    options = {"target": "sm_80", "schedule": call.schedule, "recurrence": call.recurrence, "kernel": None}
    spec = _spec(call.program)
    spec = Spec(spec.name, spec.mlir, (), spec.located or spec.mlir, spec.file)
    results = _kernel._interpret(spec, options, {"q": query, "k": key, "v": value, **named}, call.level, False, 0)
    made = outputs(query, value, call.lse)
    for one, result in zip(made, results if call.lse else (results,)):
        assert one is not None
        one.copy_(torch.from_numpy(result))
    return made


def _as_op(run: Any) -> Any:
    """With a tensor for each result, as an op has it."""

    def op(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *rest: Any, **named: Any) -> Any:
        o, lse = run(query, key, value, Call(*rest, **named))
        return o, query.new_empty(0, dtype=torch.float32) if lse is None else lse

    return op


_library = torch.library.Library("fovea", "FRAGMENT")
_library.define(_SCHEMA)
_library.impl("attention", _as_op(launch), "CUDA")
_library.impl("attention", _as_op(interpret), "CPU")


@torch.library.register_fake("fovea::attention", lib=_library)
def _fake(query: Any, key: Any, value: Any, *rest: Any, **named: Any) -> Any:
    o, lse = outputs(query, value, Call(*rest, **named).lse)
    return o, query.new_empty(0, dtype=torch.float32) if lse is None else lse
