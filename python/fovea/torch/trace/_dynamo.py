"""Traces functions under torch.compile.

Dynamo traces a score_mod or mask_mod like the code around it, wherever the function was defined:
tensors that it reads become inputs of the graph, and values that its control flow depends on
become guards. The resulting FX graph is then traced in place of the function.
"""

from __future__ import annotations

import linecache
import re
import types
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch.overrides import TorchFunctionMode

from ...frontend._builder import Place
from ..ops._autocast import disabled
from ..ops._checks import allows_tf32
from ._expressions import SYMBOLS, Captures, concrete, number_as_tensor
from ._symbols import OpenNumbers
from ..cache._programs import Facts, Program, build
from ._attn_mask import mask_program
from ._tracer import at_place, indexed, is_users

#: Tensors that functions create and kernels read, as module attributes, which torch.compile guards.
_constants = types.ModuleType("fovea.torch.constants")


def program_while_compiling(score_mod: Optional[Callable], mask_mod: Optional[Callable], query: torch.Tensor, facts: Facts,
                            attn_mask: Optional[torch.Tensor] = None) -> Optional[Program]:
    """The program of two functions, or of a mask tensor; None if Dynamo could not trace the
    functions and continues after a graph break. Dynamo traces this function and executes
    `_find` meanwhile."""
    from torch._dynamo.comptime import comptime

    found = None
    comptime(_find)
    if found is None:
        return None
    text, places, read, name, numbers, opened = found
    made = getattr(_constants, name) if name else ()
    given = [*read, *map(number_as_tensor, opened)]
    captures = [given[place] if place >= 0 else made[-1 - place] for place in places]
    return Program(None, captures, text, numbers)


def uncompiled(function: Callable) -> Callable:
    """A function that Dynamo does not trace."""
    return torch._dynamo.disable(function)


# --- While Dynamo traces ------------------------------------------------------


def _find(context: Any) -> None:
    """Sets ``found``, a local variable of the function that Dynamo traces."""
    from torch._dynamo.exc import TorchDynamoException, UserError, UserErrorType

    translator = context._i_will_not_complain_if_bc_breaks_InstructionTranslator()
    tracers = list(translator.output.tracers)
    try:
        translator.symbolic_locals["found"] = _found(translator)
    except TorchDynamoException:
        raise
    except Exception as error:
        # Dynamo reports foreign exceptions as internal errors. A UserError starts with the cause and allows a graph break.
        is_internal = isinstance(error, (AssertionError, AttributeError, ImportError, TypeError))  # from Dynamo's private API
        translator.output.tracers[:] = tracers  # some releases pop one tracer too many after a failed start
        told = f"attention's functions can't be traced into a graph by PyTorch {torch.__version__}: " if is_internal else ""
        raise UserError(UserErrorType.INVALID_INPUT, f"{told}{error}") from error


def _found(translator: Any) -> Any:
    """Returns a tuple as Dynamo's variable: the program's text; the index of each captured
    tensor among the tensors that follow and the symbols, or -1 and below for tensors that
    functions create; these tensors; the name of the created tensors in `_constants`; the
    program's numbers; the symbols."""
    from torch._dynamo.variables import ConstantVariable, TensorVariable, TupleVariable

    local = {name: value.realize() for name, value in translator.symbolic_locals.items()}
    read = _Read(translator)
    facts, scale = _facts(local["facts"], read)
    score_mod, mask_mod = (_graph_of(translator, local[role], role, local["query"], read) for role in ("score_mod", "mask_mod"))
    attn_mask = local["attn_mask"]
    captures = Captures(facts.device, read.open.can_compute)
    if not (attn_mask.is_python_constant() and attn_mask.as_python_constant() is None):
        program = mask_program(read.value_of(attn_mask.as_proxy()), facts, scale, captures)
    else:
        program = build(score_mod if scale is None else _scaled(score_mod, scale), mask_mod, facts, captures)
    given = [*read.placeholders, *(placeholder for _, placeholder in captures.opened.values())]
    made: List[torch.Tensor] = []
    places: List[int] = []
    for tensor in program.captures:
        place = next((place for place, one in enumerate(given) if one is tensor), None)
        if place is None:
            made.append(tensor)
            place = -len(made)
        places.append(place)
    name = f"made{len(vars(_constants))}" if made else ""
    if made:
        setattr(_constants, name, tuple(made))
    # Proxies that are in the graph already; no new inputs.
    tensors: List[Any] = [TensorVariable(one, **TensorVariable.specialize(one.node.meta["example_value"])) for one in read.proxies]
    constants = [ConstantVariable.create(one) for one in (program.text, name)]
    numbers = [TupleVariable([ConstantVariable.create(one) for one in some]) for some in (places, program.numbers)]
    opened = TupleVariable([read.open.variable(symbol) for symbol, _ in captures.opened.values()])
    return TupleVariable([constants[0], numbers[0], TupleVariable(tensors), constants[1], numbers[1], opened])


def _facts(variable: Any, read: "_Read") -> Tuple[Facts, Any]:
    """The facts from Dynamo's variable, and the scale if it is a symbol, which the program then
    takes as an argument. Other numbers are constants with guards."""
    items = dict(zip(Facts._fields, variable.items))
    scale = items["scale"].realize()
    symbol = getattr(scale, "sym_num", None)
    if isinstance(symbol, SYMBOLS):
        read.open.know(symbol, scale.as_proxy())
        items["scale"] = None
    else:
        symbol = None
    values: Dict[str, Any] = {name: 1.0 if one is None else _constant(one) for name, one in items.items()}
    values["tf32"] = allows_tf32(values["dtype"])
    return Facts(**values), symbol


def _constant(variable: Any) -> Any:
    variable = variable.realize()
    if isinstance(getattr(variable, "sym_num", None), SYMBOLS):
        return concrete(variable.sym_num)
    return variable.as_python_constant()


def _scaled(score_mod: Optional[Callable], scale: Any) -> Callable:
    """A score_mod that scales the score first."""

    def scaled(score: Any, *coordinates: Any) -> Any:
        score = score * scale
        return score if score_mod is None else score_mod(score, *coordinates)

    return scaled


class _Placeholder(torch.Tensor):
    """A placeholder for a tensor that a function reads. Reading the device of Dynamo's own fake
    tensors would be recorded as an op."""

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def __new__(cls, tensor: torch.Tensor) -> "_Placeholder":
        return torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, tensor.shape, dtype=tensor.dtype, layout=tensor.layout, device=tensor.device)

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{function} of a tensor that is not there")


class _Read:
    """The tensors that functions refer to: Dynamo's proxies, and placeholders for them while the
    functions are traced. A tensor of both functions has one placeholder."""

    def __init__(self, translator: Any) -> None:
        self.proxies: List[Any] = []
        self.placeholders: List[_Placeholder] = []
        self.names: Dict[int, str] = {}
        self.open = OpenNumbers(translator)

    def value_of(self, proxy: Any) -> Any:
        """A placeholder for the proxy's tensor, or its number, which may be a symbol."""
        value = proxy.node.meta["example_value"]
        if isinstance(value, SYMBOLS):
            self.open.know(value, proxy)
            return value
        if not isinstance(value, torch.Tensor):
            raise NotImplementedError(f"under torch.compile a score_mod or mask_mod can't refer to {type(value).__name__}")
        for known, placeholder in zip(self.proxies, self.placeholders):
            if known.node is proxy.node:
                return placeholder
        self.open.know_sizes(value, proxy)
        placeholder = _Placeholder(value)
        self.proxies.append(proxy)
        self.placeholders.append(placeholder)
        self.names[id(placeholder)] = _name_of(proxy.node)
        return placeholder


def _is_open(proxy: Any) -> bool:
    """Whether a proxy or a node is a symbol."""
    return isinstance(getattr(proxy, "node", proxy).meta.get("example_value"), SYMBOLS)


def _name_of(node: Any) -> str:
    """The user's name of an input of the graph, from its source, or ""."""
    source = getattr(node.meta.get("grapharg"), "source", None)
    if getattr(source, "freevar_name", ""):  # a closure cell
        return str(source.freevar_name)  # type: ignore[union-attr]
    name = getattr(source, "name", "")
    found = re.search(r"""(?:^|\.|\[['"])([A-Za-z]\w*)(?:['"]\])?$""", name() if callable(name) else name)
    return found[1] if found and found[1] != "cell_contents" else ""


class _Indexing(TorchFunctionMode):
    """``_tracer._Indexing`` for Dynamo's fake tensors."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return indexed(*args) if function is torch.Tensor.__getitem__ else function(*args, **(kwargs or {}))


def _graph_of(translator: Any, function: Any, role: str, query: Any, read: _Read) -> Optional["_FunctionGraph"]:
    """The graph of a function, given as Dynamo's variable; None for None."""
    from torch._dynamo.variables import VariableTracker
    from torch._dynamo.variables.higher_order_ops import discard_graph_changes, speculate_subgraph
    from torch._higher_order_ops.flex_attention import flex_attention

    if function.is_python_constant() and function.as_python_constant() is None:
        return None
    dtypes = [torch.float32] * (role == "score_mod") + [torch.int64] * 4
    with discard_graph_changes(translator):
        arguments = [query.call_method(translator, "new_empty", [VariableTracker.build(translator, ())],
                                       {"dtype": VariableTracker.build(translator, dtype)}) for dtype in dtypes]
    with _Indexing(), disabled():
        # PyTorch 2.11 requires an op to name the graph.
        _, graph, lifted = speculate_subgraph(translator, function, arguments, {}, f"fovea.torch: {role}",
                                              source_target=flex_attention, set_subgraph_inputs="flatten_manual")
    code = function.get_code() if hasattr(function, "get_code") else None
    # Sizes of tensors are inputs, too; those that the function does not use stay symbols.
    values = [read.value_of(outer) if inner.node.users or _is_open(outer) else None for outer, inner in lifted.items()]
    for outer, inner in lifted.items():
        for user in inner.node.users:
            if user.target == "item" and _is_open(user):  # a dynamic float is passed as a tensor
                read.open.know(user.meta["example_value"], outer)
    return _FunctionGraph(torch.fx.GraphModule(translator.output.nn_modules, graph), code, values, read.names)


class _FunctionGraph(torch.fx.Interpreter):
    """Executes the graph of a function, with the source lines of its nodes."""

    def __init__(self, module: torch.fx.GraphModule, code: Optional[types.CodeType], read: Sequence[Any],
                 names: Dict[int, str]):
        super().__init__(module)
        self.extra_traceback = False
        self._read, self._names = read, names
        if code is not None:
            self.__code__ = code  # the position of errors about the whole function

    def __call__(self, *arguments: Any) -> Any:
        # Restores grad mode if the graph changes it and then raises.
        with torch.set_grad_enabled(torch.is_grad_enabled()):
            return self.run(*arguments, *self._read)

    def run_node(self, node: Any) -> Any:
        symbol = node.meta.get("example_value")
        if node.op != "placeholder" and isinstance(symbol, SYMBOLS) and symbol.node.has_hint():
            return symbol
        with at_place(_place_of(node), self._names):
            return super().run_node(node)


_LINE = re.compile(r'^ *File "(.*)", line (\d+), in (.*)\n(?: *(\S.*)\n)?(?:( *)[~^]+)?', re.MULTILINE)


def _place_of(node: Any) -> Place:
    """The user's line that a node comes from."""
    for found in reversed(list(_LINE.finditer(node.stack_trace or ""))):
        file, line, function, text, indent = found.groups()
        if is_users(file):
            whole = linecache.getline(file, int(line))
            column = len(whole) - len(whole.lstrip()) + max(len(indent or "") - _INDENT, 0)
            return Place(file, int(line), column + 1, function)
    return Place("", 0)


#: Indentation of source lines in a traceback.
_INDENT = 4

__all__ = ["program_while_compiling", "uncompiled"]
