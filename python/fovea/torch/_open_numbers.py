"""Numbers that torch.compile leaves open, as values of Dynamo's graph.

A function computes with symbols while it is traced; which symbols the kernel takes as
arguments is known behind that. Here their expressions are written into the graph around
the function, by the symbols that the function was given.
"""

from __future__ import annotations

from typing import Any, Dict, Sequence, Tuple

import torch

from ._expressions import concrete


class OpenNumbers:
    """Dynamo's proxies of symbols."""

    def __init__(self) -> None:
        #: By the symbol of sympy's: a proxy of the number, or of a tensor that holds it; and by that of a size.
        self._proxies: Dict[Any, Any] = {}
        self._sizes: Dict[Any, Tuple[Any, int]] = {}

    def know(self, symbol: Any, proxy: Any) -> None:
        """That a proxy is a symbol's."""
        expression = symbol.node.expr
        if expression.is_symbol:
            self._proxies.setdefault(expression, proxy)

    def know_sizes(self, tensor: torch.Tensor, proxy: Any) -> None:
        """That a proxy is a tensor's: torch.export has no others of its sizes."""
        for dim, extent in enumerate(tensor.shape):
            if isinstance(extent, torch.SymInt):
                self._sizes.setdefault(extent.node.expr, (proxy, dim))

    def can_compute(self, symbol: Any) -> bool:
        return all(one in self._proxies or one in self._sizes for one in symbol.node.expr.free_symbols)

    def variable(self, translator: Any, symbol: Any) -> Any:
        """Dynamo's variable of a number, computed in its graph."""
        from torch._dynamo.variables import ConstantVariable, SymNodeVariable

        if symbol.node.expr.is_number:  # The function asked for it elsewhere.
            return ConstantVariable.create(concrete(symbol))
        return SymNodeVariable.create(translator, self._written(translator, symbol), symbol)

    def _written(self, translator: Any, symbol: Any) -> Any:
        from torch.utils._sympy.interp import sympy_interp
        from torch.utils._sympy.reference import OptimizedPythonReferenceAnalysis

        graph = translator.output.current_tracer.graph
        before = set(graph.nodes)
        expression = symbol.node.expr
        given = {one: self._number(one) for one in expression.free_symbols}
        proxy = sympy_interp(OptimizedPythonReferenceAnalysis, given, expression)
        _add_examples([node for node in graph.nodes if node not in before])
        return proxy

    def _number(self, symbol: Any) -> Any:
        proxy = self._proxies.get(symbol)
        if proxy is None:
            tensor, dim = self._sizes[symbol]
            return tensor.size(dim)
        return proxy.item() if isinstance(proxy.node.meta["example_value"], torch.Tensor) else proxy


def _add_examples(nodes: Sequence[Any]) -> None:
    """What Dynamo expects of each node: a value as an example, here of arithmetic."""
    for node in nodes:
        if "example_value" in node.meta:
            continue
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda one: one.meta["example_value"])
        function = node.target if node.op == "call_function" else getattr(type(args[0]), node.target)
        node.meta["example_value"] = function(*args, **kwargs)


__all__ = ["OpenNumbers"]
