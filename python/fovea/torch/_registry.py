"""Fovea as an implementation of PyTorch's flash attention, for unmodified programs.

PyTorch's registry activates an implementation by registering kernels for the ATen ops of flash
attention. These kernels run below autograd, whose formulas call the ATen ops of the backward
pass.
"""

from __future__ import annotations

import warnings
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch

from ._attention import _facts
from ._kvcache import attention_with_kvcache
from .autograd import _gradients
from .cache._programs import Program, Window, program_of
from .ops import _op
from .ops._checks import LEVELS, check, checked_backend
from .ops._dropout import dropout_numbers
from .ops._padding import padded
from .trace._attn_mask import causal, check_mask, mask_program

Named = Dict[str, Any]
Tensors = Tuple[torch.Tensor, ...]


def register_flash(name: str = "FOVEA", *, cpu: Optional[str] = None) -> None:
    """Registers Fovea with PyTorch's registry of flash attention implementations, without
    activating it. ``torch.nn.attention.activate_flash_attention_impl(name)`` activates it:

    - ``torch.nn.functional.scaled_dot_product_attention`` wherever PyTorch selects flash
      attention, and so ``torch.nn.MultiheadAttention``, with gradients and dropout;
    - ``torch.nn.attention.varlen.varlen_attn`` and ``varlen_attn_out``, with gradients.

    ``torch.nn.attention.restore_flash_attention_impl()`` restores PyTorch's kernels.

    name
        the implementation's name in the registry.
    cpu
        None: CUDA only. One of ``flex_attention``'s backends for tensors in host memory, such
        as "interpret": the ops on the CPU run that, too, for tests. ``varlen_attn``, which
        PyTorch does not have on the CPU, then works there.

    The kernels raise NotImplementedError for arguments that they do not support: ``seqused_k``
    without pages (``block_table``), ``alibi_slopes``, ``num_splits`` above 1, debug masks and
    8-bit floats. Raises NotImplementedError for a PyTorch without the registry, ValueError for
    another ``cpu``.

    >>> from torch.nn.attention import activate_flash_attention_impl
    >>> register_flash()
    >>> activate_flash_attention_impl("FOVEA")  # doctest: +SKIP
    """
    from torch.nn import attention

    if not isinstance(name, str) or not name:
        raise ValueError(f"name must be a string that is not empty, found {name!r}")
    if cpu is not None and checked_backend(cpu) == "cuda":
        raise ValueError(f"cpu must be None or one of {', '.join(LEVELS)}, found {cpu!r}")
    register = getattr(attention, "register_flash_attention_impl", None)
    if register is None:
        raise NotImplementedError(f"PyTorch {torch.__version__} has no registry of flash attention implementations, expected 2.11 "
                                  "or later")
    register(name, register_fn=lambda: _activate(cpu))


class _Active:
    """The registered kernels; ``remove`` restores PyTorch's."""

    def __init__(self, libraries: List[torch.library.Library]):
        self._libraries = libraries

    def remove(self) -> None:
        for library in self._libraries:
            library._destroy()  # type: ignore[no-untyped-call]
        self._libraries = []


def _activate(cpu: Optional[str]) -> _Active:
    active = _Active([])
    try:
        for key, backend, kernels in (("CUDA", "cuda", _CUDA), ("CPU", cpu, _CPU)):
            if backend is None:
                continue
            library = torch.library.Library("aten", "IMPL", key)
            active._libraries.append(library)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about kernels that are replaced
                for name, kernel in kernels.items():
                    packet, _, overload = name.partition(".")
                    # Releases of PyTorch differ in their ops.
                    op = getattr(getattr(torch.ops.aten, packet, None), overload or "default", None)
                    if op is not None:
                        library.impl(name, _kernel(op, kernel, backend), key)
    except BaseException:
        active.remove()
        raise
    return active


def _kernel(op: Any, kernel: Callable[[Named, str], Any], backend: str) -> Callable[..., Any]:
    """A kernel of an ATen op, which gets all arguments by name. The op's schema, which grows with
    PyTorch's releases, tells names and defaults."""
    arguments = op._schema.arguments
    defaults = {one.name: one.default_value if one.has_default_value() else None for one in arguments}

    def run(*given: Any, **named: Any) -> Any:
        return kernel({**defaults, **{one.name: value for one, value in zip(arguments, given)}, **named}, backend)

    return run


# --- Calls --------------------------------------------------------------------


#: Arguments that change nothing: the lengths are read from the offsets.
_UNUSED = {"max_q", "max_k", "unused", "philox_offset"}


def _reject(given: Named, *supported: str) -> None:
    """Raises NotImplementedError for arguments that are not supported, except None and False."""
    for name, value in given.items():
        if name in supported or name in _UNUSED or value is None or value is False or name == "num_splits" and value == 1:
            continue
        found = f"a tensor of {list(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)
        raise NotImplementedError(f"Fovea's flash attention does not support {name}, expected {name}="
                                  f"{False if value is True else None}, found {found}")


class _Call(NamedTuple):
    """A call of an op: a program, its captured tensors and offsets, and the numbers of dropout."""

    program: Program
    lists: Tensors
    seed: int
    offset: int
    backend: str

    @property
    def level(self) -> str:
        return LEVELS.get(self.backend, "attn")


def _call(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, backend: str, scale: Optional[float], *,
          mask_mod: Optional[Callable] = None, attn_mask: Optional[torch.Tensor] = None, window: Optional[Window] = None,
          dropout: float = 0.0, lists: Tensors = (), numbers: Tuple[int, int] = (0, 0)) -> _Call:
    """Checks (batch, heads, rows, head_dim) and finds the program, the same for both passes."""
    check(query, key, value, True, backend)
    with torch.enable_grad():  # these kernels are below autograd
        facts = _facts(query, value, scale, True, None, dropout, "packed" if lists else "dense", window=window)
    if attn_mask is None:
        program, _ = program_of(None, mask_mod, facts)
    else:
        check_mask(attn_mask, query, key)
        program = mask_program(attn_mask, facts)
    return _Call(program, lists, *numbers, backend)


def _forward(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, call: _Call) -> Tuple[torch.Tensor, torch.Tensor]:
    width = value.shape[-1]
    query, key, value = (padded(one) for one in (query, key, value))
    run = _op.launch if call.backend == "cuda" else _op.interpret
    o, lse = run(query, key, value, _op.Call(call.program.captures, call.lists, call.program.text, True, call.seed, call.offset,
                                             level=call.level))
    assert lse is not None
    return o[..., :width] if o.shape[-1] != width else o, lse


def _backward(tensors: Sequence[torch.Tensor], call: _Call) -> Tensors:
    """The gradients; ``tensors`` are query, key, value, output, log-sum-exp, and the output's
    gradient."""
    lse, widths = tensors[4], [one.shape[-1] for one in tensors[:3]]
    if lse.stride()[-1:] != (1,):
        lse = lse.contiguous()
    query, key, value, o, gradient = (padded(one) for one in (*tensors[:4], tensors[5]))
    wants = (True,) * 3
    deterministic = _gradients._is_deterministic(call.program.text, wants)
    run = _gradients.launch if call.backend == "cuda" else _gradients.interpret
    made = run((query, key, value, o, lse, gradient, None), _gradients.Call(
        call.program.captures, call.lists, call.program.text, wants, call.seed, call.offset, level=call.level,
        deterministic=deterministic))
    return tuple(one[..., :width] if one.shape[-1] != width else one for one, width in zip(made, widths))


# --- scaled_dot_product_attention ---------------------------------------------


def _dense(given: Named, backend: str, numbers: Tuple[int, int] = (0, 0)) -> _Call:
    return _call(given["query"], given["key"], given["value"], backend, given["scale"],
                 mask_mod=causal if given["is_causal"] else None, attn_mask=given.get("attn_mask"),
                 dropout=given["dropout_p"], numbers=numbers)


_DENSE = ("query", "key", "value", "dropout_p", "is_causal", "scale")
_OF_OUTPUT = ("grad_out", "out", "logsumexp")


def _random(dropout: float, query: torch.Tensor) -> Tuple[Tuple[int, int], torch.Tensor]:
    """Seed and offset of dropout, and the tensor that passes them to the backward pass. It is in
    host memory, so that the backward pass does not synchronise."""
    numbers = dropout_numbers(query.device) if dropout else (0, 0)
    return numbers, torch.tensor(numbers, dtype=torch.int64, device="cpu") if dropout else query.new_empty(0)


def _numbers(state: Any, dropout: float) -> Tuple[int, int]:
    if not dropout:
        return 0, 0
    seed, offset = state.tolist()
    return seed, offset


def _sdpa(given: Named, backend: str) -> Any:
    _reject(given, *_DENSE)
    query, key = given["query"], given["key"]
    numbers, state = _random(given["dropout_p"], query)
    o, lse = _forward(query, key, given["value"], _dense(given, backend, numbers))
    # None: offsets, which only nested tensors have.
    return o, lse, None, None, query.shape[2], key.shape[2], state, query.new_empty(0), query.new_empty(0)


def _sdpa_backward(given: Named, backend: str) -> Tensors:
    _reject(given, *_DENSE, *_OF_OUTPUT, "philox_seed", *_empty(given, "cum_seq_q", "cum_seq_k"))
    call = _dense(given, backend, _numbers(given["philox_seed"], given["dropout_p"]))
    return _backward([given[name] for name in ("query", "key", "value", "out", "logsumexp", "grad_out")], call)


def _empty(given: Named, *names: str) -> Tuple[str, ...]:
    """The arguments that are tensors without elements, as compiled graphs pass absent offsets."""
    return tuple(name for name in names if isinstance(given[name], torch.Tensor) and not given[name].numel())


def _sdpa_cpu(given: Named, backend: str) -> Tuple[torch.Tensor, torch.Tensor]:
    _reject({**given, "dropout_p": given["dropout_p"] or None}, *(name for name in _DENSE if name != "dropout_p"), "attn_mask")
    return _forward(given["query"], given["key"], given["value"], _dense(given, backend))


def _sdpa_cpu_backward(given: Named, backend: str) -> Tensors:
    _reject({**given, "dropout_p": given["dropout_p"] or None}, *(name for name in _DENSE if name != "dropout_p"), "attn_mask",
            *_OF_OUTPUT)
    return _backward([given[name] for name in ("query", "key", "value", "out", "logsumexp", "grad_out")], _dense(given, backend))


# --- Flash attention: (batch, rows, heads, head_dim), or packed sequences -----


_PACKED = (*_DENSE, "cum_seq_q", "cum_seq_k", "window_size_left", "window_size_right")


def _is_packed(given: Named) -> bool:
    return given["cum_seq_q"] is not None and given["query"].dim() == 3


def _as_heads(tensor: torch.Tensor) -> torch.Tensor:
    """(batch, heads, rows, head_dim) of an operand; packed sequences are one batch entry."""
    return tensor.transpose(0, 1).unsqueeze(0) if tensor.dim() == 3 else tensor.transpose(1, 2)


def _as_rows(tensor: torch.Tensor, packed: bool) -> torch.Tensor:
    return tensor.squeeze(0).transpose(0, 1) if packed else tensor.transpose(1, 2)


def _window(given: Named) -> Optional[Window]:
    """Causal attention is aligned to the lower right, as windows are. A negative side is open."""
    left, right = (None if side is None or side < 0 else int(side)
                   for side in (given["window_size_left"], given["window_size_right"]))
    right = 0 if given["is_causal"] else right
    return None if left is None and right is None else (left, right)


def _flash(given: Named, backend: str, numbers: Tuple[int, int]) -> _Call:
    lists: Tensors = ()
    if _is_packed(given):
        if given["cum_seq_k"] is None:
            raise NotImplementedError("Fovea's flash attention needs cum_seq_k with packed queries, found None")
        lists = given["cum_seq_q"], given["cum_seq_k"]
        for name, one in zip(("cum_seq_q", "cum_seq_k"), lists):
            if one.dtype != torch.int32:
                raise ValueError(f"{name} must be of torch.int32, found {one.dtype}")
    query, key, value = (_as_heads(given[name]) for name in ("query", "key", "value"))
    return _call(query, key, value, backend, given["scale"], window=_window(given), dropout=given["dropout_p"], lists=lists,
                 numbers=numbers)


def _over_pages(given: Named, backend: str) -> Any:
    """Packed queries over keys in pages."""
    _reject({**given, "dropout_p": given["dropout_p"] or None}, *_PACKED, "block_table", "seqused_k")
    if given["seqused_k"] is None or given["cum_seq_q"] is None:
        raise NotImplementedError("Fovea's flash attention needs cum_seq_q and seqused_k with block_table, found None")
    query = given["query"]
    with torch.no_grad():
        o, lse = attention_with_kvcache(
            query, given["key"], given["value"], lengths=given["seqused_k"], page_table=given["block_table"],
            cu_seq_q=given["cum_seq_q"], max_q=given["max_q"], window=_window(given), scale=given["scale"], return_lse=True,
            invariant=given["num_splits"] == 1, backend=backend)
    return o, lse, query.new_empty(0), query.new_empty(0), query.new_empty(0)


def _flash_forward(given: Named, backend: str) -> Any:
    if given.get("block_table") is not None:
        return _over_pages(given, backend)
    _reject(given, *_PACKED)
    query, packed = given["query"], _is_packed(given)
    numbers, state = _random(given["dropout_p"], query)
    call = _flash(given, backend, numbers)
    o, lse = _forward(*[_as_heads(given[name]) for name in ("query", "key", "value")], call)
    return _as_rows(o, packed), lse.squeeze(0) if packed else lse, state, query.new_empty(0), query.new_empty(0)


def _flash_forward_into(given: Named, backend: str) -> torch.Tensor:
    """Writes the output into ``out``; the kernel's own output is copied."""
    out = given["out"]
    o, lse, *_ = _flash_forward({name: value for name, value in given.items() if name != "out"}, backend)
    out.copy_(o)
    return lse


def _flash_backward(given: Named, backend: str) -> Tensors:
    absent = _empty(given, "cum_seq_q", "cum_seq_k")
    given = {**given, **dict.fromkeys(absent)}
    _reject(given, *_PACKED, *_OF_OUTPUT, "rng_state")
    packed = _is_packed(given)
    call = _flash(given, backend, _numbers(given["rng_state"], given["dropout_p"]))
    lse = given["logsumexp"].unsqueeze(0) if packed else given["logsumexp"]
    query, key, value, o, gradient = (_as_heads(given[name]) for name in ("query", "key", "value", "out", "grad_out"))
    made = _backward([query, key, value, o, lse, gradient], call)
    return tuple(_as_rows(one, packed) for one in made)


def _of_8_bits(given: Named, backend: str) -> Any:
    raise NotImplementedError(f"Fovea's flash attention has no kernels for query of {given['query'].dtype}, expected torch.bfloat16 "
                              "or torch.float16")


_FLASH: Dict[str, Callable[[Named, str], Any]] = {
    "_flash_attention_forward": _flash_forward, "_flash_attention_backward": _flash_backward,
    "_flash_attention_forward_no_dropout_inplace": _flash_forward_into, "_flash_attention_forward.quantized": _of_8_bits,
}
_CUDA: Dict[str, Callable[[Named, str], Any]] = {
    **_FLASH, "_scaled_dot_product_flash_attention": _sdpa, "_scaled_dot_product_flash_attention_backward": _sdpa_backward,
    "_scaled_dot_product_flash_attention.quantized": _of_8_bits,
}
_CPU: Dict[str, Callable[[Named, str], Any]] = {
    **_FLASH, "_scaled_dot_product_flash_attention_for_cpu": _sdpa_cpu,
    "_scaled_dot_product_flash_attention_for_cpu_backward": _sdpa_cpu_backward,
}

__all__ = ["register_flash"]
