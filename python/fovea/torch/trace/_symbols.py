"""Symbolic numbers under torch.compile, as values of Dynamo's graph.

A function is traced with symbols, and the kernel takes those that it uses as arguments.
This module adds the computation of these symbols to the graph around the function, in terms
of the symbols that Dynamo passes to the function.
"""

from __future__ import annotations

from typing import Any, Dict, Sequence, Tuple

import torch

from ._expressions import SYMBOLS, concrete


class OpenNumbers:
    """Dynamo's proxies of symbols."""

    def __init__(self, translator: Any) -> None:
        self._translator = translator
        #: By sympy expression: a proxy of the number or of a tensor that holds it; the tensor and the dimension of a size.
        self._proxies: Dict[Any, Any] = {}
        self._sizes: Dict[Any, Tuple[Any, int]] = {}

    def know(self, symbol: Any, proxy: Any) -> None:
        """Records the proxy of a symbol."""
        self._proxies.setdefault(symbol.node.expr, proxy)

    def know_sizes(self, tensor: torch.Tensor, proxy: Any) -> None:
        """Records the proxy of a tensor; torch.export has no proxies for its sizes."""
        for dim, extent in enumerate(tensor.shape):
            if isinstance(extent, torch.SymInt):
                self._sizes.setdefault(extent.node.expr, (proxy, dim))

    def can_compute(self, symbol: Any) -> bool:
        expression = symbol.node.expr
        return expression in self._proxies or all(self._is_known(one) for one in expression.free_symbols)

    def _is_known(self, symbol: Any) -> bool:
        if symbol in self._proxies or symbol in self._sizes:
            return True
        tracer = self._translator.output.current_tracer
        for node in tracer.graph.nodes:  # Dynamo may pass a sum, but not its terms.
            number = node.meta.get("example_value")
            if isinstance(number, SYMBOLS) and number.node.expr == symbol:
                self._proxies[symbol] = torch.fx.Proxy(node, tracer)
                return True
        return False

    def variable(self, symbol: Any) -> Any:
        """Dynamo's variable of a number that the graph computes."""
        from torch._dynamo.variables import ConstantVariable, SymNodeVariable

        if symbol.node.expr.is_number:  # Another use of the symbol has specialised it.
            return ConstantVariable.create(concrete(symbol))
        return SymNodeVariable.create(self._translator, self._written(symbol), symbol)

    def _written(self, symbol: Any) -> Any:
        from torch.utils._sympy.interp import sympy_interp
        from torch.utils._sympy.reference import OptimizedPythonReferenceAnalysis

        graph = self._translator.output.current_tracer.graph
        before = set(graph.nodes)
        expression = symbol.node.expr
        if expression in self._proxies:
            return self._number(expression)
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
    """Gives each node the example value that Dynamo expects."""
    for node in nodes:
        if "example_value" in node.meta:
            continue
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda one: one.meta["example_value"])
        function = node.target if node.op == "call_function" else getattr(type(args[0]), node.target)
        node.meta["example_value"] = function(*args, **kwargs)


__all__ = ["OpenNumbers"]
