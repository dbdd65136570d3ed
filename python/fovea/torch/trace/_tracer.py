"""Traces functions written for FlexAttention into regions of ``attn.forward``.

A function is called once with symbolic tensors. A dispatch mode, as in torch.fx, intercepts
every ATen op, including ops on captured tensors only, and emits MLIR for it or decomposes it.
"""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import linecache
import os
import sys
import types
from typing import Any, Callable, Dict, Iterator, List, Mapping, NoReturn, Optional, Sequence, Tuple

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from ...frontend._builder import MAX_SEQUENCE, Place, RegionBuilder, Value, place_of
from ...frontend._suggestions import Advice, explained, names
from ...frontend._trace import SIGNATURES
from ..._files import PACKAGE
from ...errors import TraceError
from ._decompositions import decomposition, linear
from ._expressions import (
    SYMBOLS, TYPES, Captures, Expression, concrete, constant, elementwise, folded_indices, scalar, typed,
)
from ._modes import without_modes

Emitter = Callable[["Tracer", str, Sequence[Any], Dict[str, Any]], Any]

_FOLDERS = (PACKAGE, os.path.dirname(os.path.abspath(torch.__file__)) + os.sep)
_CONTROL = (
    "is not known while the function is traced, so 'if', 'while', 'and', 'or', 'not', int(), float() and "
    ".item() can't depend on it; use &, |, ~ of comparisons in parentheses, (a >= b) & (c < d), and torch.where(condition, a, b)"
)

#: Functions that emit MLIR for an op, by the op's name without the overload. Their arguments are the tracer, the name,
#: and the op's arguments. ``_aten`` and others register them.
EMITTERS: Dict[str, Emitter] = {}
#: Properties of tensors that some tensor classes compute by an op.
_PROPERTIES = {"dim", "size", "sym_size", "stride", "sym_stride", "numel", "sym_numel", "storage_offset", "sym_storage_offset",
          "is_contiguous"}
#: Emitters that accept symbols (``_expressions.SYMBOLS``); others get constants.
OPEN = {
    "add", "sub", "rsub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "remainder", "fmod",
    "eq", "ne", "lt", "le", "gt", "ge", "where", "masked_fill", "clamp", "clip", "clamp_min", "clamp_max", "scalar_tensor", "full",
    "new_full", "full_like", "zeros", "ones", "new_zeros", "new_ones", "arange", "select", "slice", "expand", "broadcast_to", "view",
    "reshape", "_unsafe_view", "_reshape_alias",
}
_ADVICE = Advice(
    captures="make it a tensor on query's device, torch.as_tensor(...)",
    lists="make it a tensor on query's device, torch.as_tensor(...)",
    functions="use the functions of torch",
    extrema="use torch.maximum, torch.minimum or torch.clamp",
    arrays=("numpy", "jax", "jaxlib", "cupy"),
    libraries=("numpy", "math", "cmath", "jax", "fovea"),
)


#: While a graph of torch.compile is executed: the node's source position, and names of tensors.
_executed_node: "contextvars.ContextVar[Optional[Tuple[Place, Mapping[int, str]]]]" = contextvars.ContextVar("executed_node", default=None)


@contextlib.contextmanager
def at_place(place: Place, names: Mapping[int, str]) -> Iterator[None]:
    """Overrides the user's position, which otherwise comes from the stack. `names` has names
    of tensors by id()."""
    token = _executed_node.set((place, names))
    try:
        yield
    finally:
        _executed_node.reset(token)


def is_users(filename: str) -> bool:
    """Whether a file belongs to neither PyTorch nor Fovea."""
    return not filename.startswith(_FOLDERS) and not filename.startswith("<frozen")


def _user_frame() -> Optional[types.FrameType]:
    """The innermost frame of the user's code."""
    frame: Optional[types.FrameType] = sys._getframe(1)
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return frame
        frame = frame.f_back
    return None


def user_place() -> Place:
    node = _executed_node.get()
    if node is not None:
        return node[0]
    frame = _user_frame()
    return Place("", 0) if frame is None else place_of(frame)


def _name_of(tensor: torch.Tensor) -> str:
    """The name of a tensor in the user's line, or ""."""
    node = _executed_node.get()
    if node is not None:
        return node[1].get(id(tensor), "")
    frame = _user_frame()
    if frame is None:
        return ""
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    return next((name for name, value in names(frame, line) if value is tensor), "")


def fail(message: str, place: Optional[Place] = None) -> NoReturn:
    """Raises a TraceError that names the user's line."""
    filename, line = (place or user_place())[:2]
    raise TraceError(message, filename, line, linecache.getline(filename, line).strip())


def _fail_written(tensor: Any) -> NoReturn:
    """Raises TraceError for a write to a captured tensor."""
    name = _name_of(tensor) if isinstance(tensor, torch.Tensor) else ""
    called = f"captured tensor '{name}'" if name else "a captured tensor"
    fail(f"{called} can't be written in a function: kernels only read captured tensors; write it before the call, or compute a new "
         f"tensor, as in '{name or 'tensor'} + 1' and torch.where(condition, a, b)")


class Symbol(torch.Tensor):
    """A symbolic tensor of a traced function; wraps an Expression."""

    expression: Expression

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, expression: Expression, device: torch.device) -> "Symbol":
        made = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, expression.shape, dtype=expression.dtype, device=device
        )
        made.expression = expression
        return made

    def __repr__(self, **_: Any) -> str:
        kind = str(self.dtype).rpartition(".")[2]
        return f"<traced {kind}{list(self.shape) if self.shape else ''}>"

    def __format__(self, spec: str) -> str:
        return repr(self)

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        fail("a traced tensor is used outside of the function that it was traced in")


class Tracer(TorchDispatchMode):
    """Records one function into ``region``."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # The default imports all of torch._dynamo at the first op.
        return False

    def __init__(self, region: RegionBuilder, captures: Captures, derived: bool = False):
        super().__init__()
        #: Whether the recorded ops may need derivatives.
        self.derived = derived and torch.is_grad_enabled()
        self.region, self.captures = region, captures

    # --- Operands ------------------------------------------------------------

    def symbol(self, expression: Expression) -> Symbol:
        return Symbol(expression, self.captures.device)

    def expression(self, value: Any) -> Expression:
        """The Expression of a tensor, traced or captured, or of a number."""
        if isinstance(value, Symbol):
            return value.expression
        if isinstance(value, torch.Tensor):
            return self.capture(value)
        if isinstance(value, SYMBOLS):
            return self._open(value)
        if isinstance(value, bool):
            return constant(self.region, value, torch.bool)
        if isinstance(value, int):
            if not -(1 << 63) <= value < 1 << 63:
                fail(f"the integer {value} does not fit 64 bits")
            return constant(self.region, value, torch.int64)
        if isinstance(value, float):
            return constant(self.region, value, torch.get_default_dtype())
        fail(f"expected a tensor or a number, found {type(value).__name__}")

    def _open(self, symbol: Any) -> Expression:
        """The Expression of a symbol, an argument of the kernel, so that one program serves all values."""
        is_known = isinstance(symbol, torch.SymBool) or symbol.node.expr.is_number
        tensor = None if is_known else self.captures.tensor_of(symbol)
        if tensor is None:
            return self.expression(concrete(symbol))
        read = self.capture(tensor)
        if isinstance(symbol, torch.SymFloat):
            return self.converted(read, torch.get_default_dtype())
        element = read.read(())
        low = symbol.node.shape_env.bound_sympy(symbol.node.expr).lower
        if low >= 0:  # divisions by non-negative numbers take fewer instructions
            element.low = max(element.low, int(low))
        return scalar(element, torch.int64)

    def index(self, number: Any) -> Value:
        """An integer or a symbol as a value of type index."""
        if isinstance(number, int):
            return self.region.constant(number, "index")
        return self.region.cast(self.expression(number).read(()), "index")

    def capture(self, tensor: torch.Tensor, made_here: bool = False) -> Expression:
        """The Expression of a captured tensor."""
        problem = self.captures.problem(tensor, made_here, _name_of)
        if problem is not None:
            fail(problem)
        number = self.captures.number_of(tensor, made_here, _name_of)
        self.captures.declare(self.region)
        argument = self.region.arguments[len(self.region.arguments) - len(self.captures.found) + number]
        if not argument.shape:
            return scalar(typed(self.region, argument, tensor.dtype), tensor.dtype)
        if not tensor.dim():
            zero = self.region.constant(0, "index")
            return scalar(typed(self.region, self.region.extract(argument, [zero]), tensor.dtype), tensor.dtype)

        def read(indices: Tuple[Value, ...]) -> Value:
            own = folded_indices(self.region, tensor.shape, indices, self.index)
            return typed(self.region, self.region.extract(argument, own), tensor.dtype)

        return Expression(tensor.shape, tensor.dtype, read)

    def converted(self, source: Expression, dtype: torch.dtype) -> Expression:
        """Converts to another dtype."""
        if dtype not in TYPES:
            fail(f"a kernel can't compute with {dtype}")
        if source.dtype == dtype:
            return source
        if source.number is not None and not (isinstance(source.number, float) and not dtype.is_floating_point):
            return constant(self.region, source.number, dtype)
        return elementwise(self.region, lambda value: typed(self.region, value, dtype), [source], dtype)

    def without_derivative(self, source: Expression) -> Expression:
        """The same tensor without a derivative."""
        if not self.derived or not source.dtype.is_floating_point or source.number is not None:
            return source
        return elementwise(self.region, self.region.without_derivative, [source], source.dtype)

    def _with_derivative_of(self, source: Expression, result: Expression) -> Expression:
        """The value of `result` with the derivative of `source`: the tensor after an in-place op
        under torch.no_grad(), as in PyTorch's cosine_similarity."""
        if not self.derived or not result.dtype.is_floating_point:
            return result
        region = self.region

        def element(old: Value, new: Value) -> Value:
            # 0, or NaN if the old number is infinite.
            nothing = region.binary("sub", old, region.without_derivative(old))
            nothing = region.select(region.compare("eq", nothing, nothing), nothing, region.constant(0.0, nothing.type))
            return region.binary("add", region.without_derivative(new), nothing)

        return elementwise(region, element, [source, result], result.dtype)

    # --- Ops -----------------------------------------------------------------

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        self.region.place = user_place()
        namespace, name = function._schema.name.split("::")
        if namespace == "prim" or name in _PROPERTIES and not isinstance(args[0], Symbol):
            return self._property(function, args[0])
        if name not in OPEN:
            args, kwargs = _closed(args), _closed(kwargs)
        emit = EMITTERS.get(name) if namespace in ("aten", "prims") else None
        if emit is not None:
            try:
                return self._result(emit(self, name, args, kwargs))
            except KeyError:  # the builder has no such op for that type
                fail(f"{function} can't be part of a kernel for tensors of {_dtypes(args)}")
        if name in ("_local_scalar_dense", "is_nonzero", "equal", "nonzero", "masked_select"):
            fail(f"the value of a traced tensor {_CONTROL}")
        base = EMITTERS.get(name[:-1]) if namespace == "aten" and name.endswith("_") else None
        if base is not None:
            return self._in_place(function, base, name[:-1], args, kwargs)
        decomposed = decomposition(function)
        if decomposed is not None:
            with self:
                try:
                    return decomposed(*args, **kwargs)
                except TypeError as error:  # for wrong dtypes, where eager PyTorch raises RuntimeError
                    fail(f"{function} can't be part of a kernel for tensors of {_dtypes(args)}: {error}")
        if namespace not in ("aten", "prims"):
            fail(f"{function} can't be part of a kernel: it has no decomposition; torch._decomp.register_decomposition gives it one")
        # An op on captured tensors only can run before the call.
        alone = not any(isinstance(one, Symbol) and not one.expression.shape for one in (*args, *kwargs.values()))
        fail(f"{function} can't be part of a kernel" + ("; compute it outside of the function, since its operands are known before the call" if alone else ""))

    def _property(self, function: Any, tensor: torch.Tensor) -> Any:
        """A property, such as the device, of a captured tensor whose class computes it by an op."""
        problem = self.captures.problem(tensor, False, _name_of)
        return fail(problem) if problem is not None else function(tensor)

    def _result(self, result: Any) -> Any:
        if not isinstance(result, Expression):
            return result
        # Results under torch.no_grad() have no derivative.
        return self.symbol(result if torch.is_grad_enabled() else self.without_derivative(result))

    def _in_place(self, function: Any, emit: Callable, name: str, args: Sequence[Any], kwargs: Dict[str, Any]) -> Any:
        target = args[0]
        if not isinstance(target, Symbol):
            _fail_written(target)
        result: Expression = emit(self, name, args, kwargs)
        if result.shape != target.expression.shape:
            fail(f"{function}: a result of shape {list(result.shape)} can't be written to a tensor of shape {list(target.shape)}")
        result = self.converted(result, target.dtype)
        target.expression = result if torch.is_grad_enabled() else self._with_derivative_of(target.expression, result)
        return target


def _dtypes(args: Sequence[Any]) -> str:
    return ", ".join(str(one.dtype) for one in args if isinstance(one, torch.Tensor))


def _closed(given: Any) -> Any:
    """Replaces symbols in arguments by their numbers."""
    if isinstance(given, SYMBOLS):
        return concrete(given)
    if isinstance(given, dict):
        return {key: _closed(one) for key, one in given.items()}
    return type(given)(_closed(one) for one in given) if type(given) in (list, tuple) else given


class _Indexing(TorchFunctionMode):
    """Makes ``t[i]`` an op if i is a tensor. Python's indexing would read the value of a scalar
    tensor."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.Tensor.__setitem__ and not isinstance(args[0], Symbol):
            _fail_written(args[0])
        if function is torch.nn.functional.linear:
            return linear(*args, **(kwargs or {}))
        return indexed(*args) if function is torch.Tensor.__getitem__ else function(*args, **(kwargs or {}))


def indexed(tensor: torch.Tensor, index: Any) -> torch.Tensor:
    """``tensor[index]``."""
    items = list(index) if isinstance(index, tuple) else [index]
    if not any(isinstance(item, torch.Tensor) for item in items):
        return torch.Tensor.__getitem__(tensor, index)
    if any(isinstance(item, torch.Tensor) and item.dtype == torch.bool for item in items):
        fail("a tensor is indexed by a boolean in a kernel, expected integers")
    given = sum(item is not None and item is not Ellipsis for item in items)
    if given > tensor.dim():
        fail(f"too many indices for a tensor of {tensor.dim()} dimensions: {given}")
    # Apply plain indices first; tensors then index the remaining dimensions.
    basic = tuple(slice(None) if isinstance(item, torch.Tensor) else item for item in items)
    viewed = torch.Tensor.__getitem__(tensor, basic)
    places: List[Optional[torch.Tensor]] = []
    for item in items:
        if item is Ellipsis:
            consumed = sum(1 for other in items if other is not None and other is not Ellipsis)
            places += [None] * (tensor.dim() - consumed)
        elif isinstance(item, torch.Tensor):
            places.append(item)
        elif not isinstance(item, int) or isinstance(item, bool):
            places.append(None)
    return torch.ops.aten.index.Tensor(viewed, places)


def _where_defined(function: Any) -> Place:
    while hasattr(function, "func"):
        function = function.func
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return Place(code.co_filename, code.co_firstlineno, function=code.co_name) if code else Place("", 0)


def _check_parameters(error: Exception, function: Callable, role: str, arguments: Sequence[Any]) -> None:
    """Raises TraceError if the error comes from calling the function with these arguments."""
    if not isinstance(error, TypeError):
        return
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*arguments)
    except TypeError as wrong:
        parameters = signature.parameters.values()
        plain = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
        named = next((one.name for one in parameters if one.kind == one.KEYWORD_ONLY and one.default is one.empty), None)
        count = f"{len(plain)} parameter{'s' * (len(plain) != 1)}"
        told = f"takes {count}, is" if len(plain) != len(arguments) else f"needs the keyword argument '{named}', and is" if named else f"is ({wrong})"
        fail(f"{role} {told} called with {len(arguments)}, {SIGNATURES[role]}; it reads captured tensors from its closure",
             _where_defined(function))


def _within_blocks(tracer: Tracer, coordinates: Sequence[Value], rows: int) -> List[Value]:
    """The original coordinates, if query blocks of `rows` rows are heads of the kernel. Rows
    after the last query are clamped to it, so that functions read within bounds."""
    region, captures = tracer.region, tracer.captures
    if not captures.block_numbers:
        captures.block_numbers = [torch.tensor(0, dtype=torch.int32, device="cpu") for _ in range(2)]
    count, last = (region.cast(tracer.capture(one).read(()), "index") for one in captures.block_numbers)
    # A divisor with a positive range keeps the ranges of the coordinates.
    count = region.binary("max", count, region.constant(1, "index"))
    count.high, last.low = MAX_SEQUENCE, 0
    b, h, i, j = coordinates
    block = region.binary("mod", h, count)
    row = region.binary("add", region.binary("mul", block, region.constant(rows, "index")), i)
    return [b, region.binary("floordiv", h, count), region.binary("min", row, last), j]


def trace(function: Callable, role: str, captures: Captures, rows: int = 0) -> RegionBuilder:
    """Traces a function into a region: a "score_mod" with the arguments (score, b, h, q_idx,
    kv_idx), or a "mask_mod" with the last four. Coordinates are int64, as in eager PyTorch.
    With `rows`, query blocks of that size are heads of the kernel (``ops/_padding``)."""
    names: List[Tuple] = [(name, "index") for name in ("b", "h", "i", "j")]
    region = RegionBuilder(([("s", "f32")] if role == "score_mod" else []) + names)
    tracer = Tracer(region, captures, derived=role == "score_mod")
    dtypes = {"f32": torch.float32, "index": torch.int64}
    given = list(region.arguments)
    if rows:
        given[-4:] = _within_blocks(tracer, given[-4:], rows)
    arguments = [tracer.symbol(scalar(value, dtypes[value.type])) for value in given]
    try:
        with without_modes(), tracer, _Indexing():
            result = function(*arguments)
    except (RuntimeError, IndexError, TypeError, TraceError) as error:
        _check_parameters(error, function, role, arguments)
        told = explained(error, _ADVICE)
        if told is None:
            raise
        fail(told[0], Place(*told[1:]))
    place = _where_defined(function)
    region.place = place if place[0] else None
    if not isinstance(result, (torch.Tensor, bool, int, float)):
        fail(f"{role} must return a tensor, found {type(result).__name__}", place)
    found = tracer.expression(result)
    if found.shape not in ((), (1,)):
        fail(f"{role} must return a single element, found a tensor of shape {list(found.shape)}", place)
    if role == "score_mod" and found.dtype == torch.bool:
        fail("score_mod must return a number, found torch.bool; return booleans from a mask_mod", place)
    if role == "mask_mod" and found.dtype != torch.bool:
        fail(f"mask_mod must return a boolean, found {found.dtype}", place)
    value = found.at(region, (region.constant(0, "index"),) * len(found.shape))
    region.finish(region.cast(value, "i1" if role == "mask_mod" else "f32"))
    return region
