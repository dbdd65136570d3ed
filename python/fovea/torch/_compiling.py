"""Functions under torch.compile.

Dynamo follows a score_mod or mask_mod as it follows the code around it, wherever the
function was made and whatever it refers to: what it reads becomes inputs of the graph,
what it is decided by becomes guards. What Dynamo writes down is then traced as the
function would have been.
"""

from __future__ import annotations

import linecache
import re
import types
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch.overrides import TorchFunctionMode

from .._builder import Place
from ._autocast import disabled
from ._expressions import SYMBOLS, Captures, concrete, number_as_tensor
from ._open_numbers import OpenNumbers
from ._programs import Facts, Program, build
from ._tensor_masks import mask_program
from ._tracer import at_place, indexed, is_users

#: Tensors that functions make and kernels read, as attributes: torch.compile guards that they stay these.
_constants = types.ModuleType("fovea.torch.constants")


def program_while_compiling(score_mod: Optional[Callable], mask_mod: Optional[Callable], query: torch.Tensor, facts: Facts,
                            attn_mask: Optional[torch.Tensor] = None) -> Optional[Program]:
    """The program of two functions, or of a mask that is a tensor; None where Dynamo could
    not follow functions, and goes on behind that. Dynamo follows this function, `_find` is
    executed while it does."""
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
    """A function that Dynamo leaves alone."""
    return torch._dynamo.disable(function)


# --- While Dynamo follows -----------------------------------------------------


def _find(context: Any) -> None:
    """Sets ``found``, a variable of the function that Dynamo follows."""
    from torch._dynamo.exc import TorchDynamoException, UserError, UserErrorType

    translator = context._i_will_not_complain_if_bc_breaks_InstructionTranslator()
    tracers = list(translator.output.tracers)
    try:
        translator.symbolic_locals["found"] = _found(translator)
    except TorchDynamoException:
        raise
    except Exception as error:
        # Dynamo takes exceptions that are not its own for errors of its own: it gets one that is the user's, which begins
        # with the cause, and where it may leave the call out of the graph.
        is_elsewhere = isinstance(error, (AssertionError, AttributeError, ImportError, TypeError))  # what we take of Dynamo's insides
        translator.output.tracers[:] = tracers  # some releases give back one too many where they could not begin
        told = f"functions of attention can't be followed into a graph by PyTorch {torch.__version__}: " if is_elsewhere else ""
        raise UserError(UserErrorType.INVALID_INPUT, f"{told}{error}") from error


def _found(translator: Any) -> Any:
    """As Dynamo's variable: the program's text; for each tensor that it reads, which it is
    of the tensors that come next and of the open numbers, or from -1 on down of those that
    functions make; these tensors; the name of those in `_constants`; the program's numbers;
    the open numbers."""
    from torch._dynamo.variables import ConstantVariable, TensorVariable, TupleVariable

    local = {name: value.realize() for name, value in translator.symbolic_locals.items()}
    read = _Read(translator)
    facts, scale = _facts(local["facts"], read)
    score_mod, mask_mod = (_followed(translator, local[role], role, local["query"], read) for role in ("score_mod", "mask_mod"))
    attn_mask = local["attn_mask"]
    captures = Captures(facts.device, read.open.can_compute)
    if not (attn_mask.is_python_constant() and attn_mask.as_python_constant() is None):
        program = mask_program(read.value_of(attn_mask.as_proxy()), facts, scale, captures)
    else:
        program = build(score_mod if scale is None else _scaled(score_mod, scale), mask_mod, facts, captures)
    given = [*read.standing, *(standing for _, standing in captures.opened.values())]
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
    # Of what is in the graph already, it makes no new one.
    tensors: List[Any] = [TensorVariable(one, **TensorVariable.specialize(one.node.meta["example_value"])) for one in read.proxies]
    constants = [ConstantVariable.create(one) for one in (program.text, name)]
    numbers = [TupleVariable([ConstantVariable.create(one) for one in some]) for some in (places, program.numbers)]
    opened = TupleVariable([read.open.variable(symbol) for symbol, _ in captures.opened.values()])
    return TupleVariable([constants[0], numbers[0], TupleVariable(tensors), constants[1], numbers[1], opened])


def _facts(variable: Any, read: "_Read") -> Tuple[Facts, Any]:
    """The facts, Dynamo's variable, and the scale if Dynamo leaves it open: the program is
    for all then. Other numbers are those of this call, of which Dynamo makes guards."""
    items = dict(zip(Facts._fields, variable.items))
    scale = items["scale"].realize()
    symbol = getattr(scale, "sym_num", None)
    if isinstance(symbol, SYMBOLS):
        read.open.know(symbol, scale.as_proxy())
        items["scale"] = None
    else:
        symbol = None
    values: Dict[str, Any] = {name: 1.0 if one is None else _constant(one) for name, one in items.items()}
    return Facts(**values), symbol


def _constant(variable: Any) -> Any:
    variable = variable.realize()
    if isinstance(getattr(variable, "sym_num", None), SYMBOLS):
        return concrete(variable.sym_num)
    return variable.as_python_constant()


def _scaled(score_mod: Optional[Callable], scale: Any) -> Callable:
    """A function of scores that are not scaled yet."""

    def scaled(score: Any, *coordinates: Any) -> Any:
        score = score * scale
        return score if score_mod is None else score_mod(score, *coordinates)

    return scaled


class _Standing(torch.Tensor):
    """Stands for a tensor that a function reads. Dynamo's own are seen as ops where they are
    asked for their device."""

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def __new__(cls, tensor: torch.Tensor) -> "_Standing":
        return torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, tensor.shape, dtype=tensor.dtype, layout=tensor.layout, device=tensor.device)

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError(f"{function} of a tensor that is not there")


class _Read:
    """What functions refer to: Dynamo's proxies and what stands for them while the
    functions are traced. One that both refer to is one."""

    def __init__(self, translator: Any) -> None:
        self.proxies: List[Any] = []
        self.standing: List[_Standing] = []
        self.names: Dict[int, str] = {}
        self.open = OpenNumbers(translator)

    def value_of(self, proxy: Any) -> Any:
        """A tensor that stands for the proxy's; or its number, which may be a symbol."""
        value = proxy.node.meta["example_value"]
        if isinstance(value, SYMBOLS):
            self.open.know(value, proxy)
            return value
        if not isinstance(value, torch.Tensor):
            raise NotImplementedError(f"under torch.compile a score_mod or mask_mod can't refer to {type(value).__name__}")
        for known, standing in zip(self.proxies, self.standing):
            if known.node is proxy.node:
                return standing
        self.open.know_sizes(value, proxy)
        standing = _Standing(value)
        self.proxies.append(proxy)
        self.standing.append(standing)
        self.names[id(standing)] = _name_of(proxy.node)
        return standing


def _is_open(proxy: Any) -> bool:
    """Of a proxy or a node."""
    return isinstance(getattr(proxy, "node", proxy).meta.get("example_value"), SYMBOLS)


def _name_of(node: Any) -> str:
    """What the user calls an input of the graph, if that can be told of its source."""
    source = getattr(node.meta.get("grapharg"), "source", None)
    if getattr(source, "freevar_name", ""):  # of a closure's cell
        return str(source.freevar_name)  # type: ignore[union-attr]
    name = getattr(source, "name", "")
    found = re.search(r"""(?:^|\.|\[['"])([A-Za-z]\w*)(?:['"]\])?$""", name() if callable(name) else name)
    return found[1] if found and found[1] != "cell_contents" else ""


class _Indexing(TorchFunctionMode):
    """``_tracer._Indexing`` for Dynamo's tensors of no contents."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return indexed(*args) if function is torch.Tensor.__getitem__ else function(*args, **(kwargs or {}))


def _followed(translator: Any, function: Any, role: str, query: Any, read: _Read) -> Optional["_Followed"]:
    """What a function, a variable of Dynamo's, does; None for none."""
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
        # PyTorch 2.11 names a graph by the op that it belongs to, and must be given one.
        _, graph, lifted = speculate_subgraph(translator, function, arguments, {}, f"fovea.torch: {role}",
                                              source_target=flex_attention, set_subgraph_inputs="flatten_manual")
    code = function.get_code() if hasattr(function, "get_code") else None
    # Sizes of tensors come along, and stay symbols where the function does not ask for them.
    values = [read.value_of(outer) if inner.node.users or _is_open(outer) else None for outer, inner in lifted.items()]
    for outer, inner in lifted.items():
        for user in inner.node.users:
            if user.target == "item" and _is_open(user):  # a float that was another one before is given as a tensor
                read.open.know(user.meta["example_value"], outer)
    return _Followed(torch.fx.GraphModule(translator.output.nn_modules, graph), code, values, read.names)


class _Followed(torch.fx.Interpreter):
    """A function that Dynamo wrote down: does the same, of the same lines."""

    def __init__(self, module: torch.fx.GraphModule, code: Optional[types.CodeType], read: Sequence[Any],
                 names: Dict[int, str]):
        super().__init__(module)
        self.extra_traceback = False
        self._read, self._names = read, names
        if code is not None:
            self.__code__ = code  # for the place of what is wrong with all of it

    def __call__(self, *arguments: Any) -> Any:
        # What the graph switches is not switched back where it ends in an error.
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


#: Of lines in a traceback.
_INDENT = 4

__all__ = ["program_while_compiling", "uncompiled"]
