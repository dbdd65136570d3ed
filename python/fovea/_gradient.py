"""From a program of attention to the program of its gradients."""

from __future__ import annotations

import ctypes
import functools
import json
from typing import List, Optional, Sequence, Tuple

from ._library import Context, Options
from ._spec import RESERVED, Program, Spec, as_spec, in_names_of

#: Operands and results that a program of gradients has, and others have not.
_NAMES = ("do", "dlse", "dq", "dk", "dv", "dsinks", "dscale")


def gradient(program: Program, by: Optional[Sequence[str]] = None, *, lse: bool = False,
             deterministic: bool = False) -> Spec:
    """The program of a program's gradients, to be compiled and run like any other.

    program
        a Spec of ``fovea.attention``, MLIR text or a path: one function that is one
        ``attn.forward``, with constants beside it if need be.
    by
        what gradients are by: "q", "k", "v", captured tensors by their names,
        "sinks", "scale". By default all that have one.
    lse
        whether the loss depends on the log-sum-exp, too.
    deterministic
        whether the same tensors give the same gradients, bit for bit, each time. Else
        kernels may add parts of a gradient up as they come, where that is faster: its
        last bits differ from run to run. A gradient by a captured tensor that is read at
        query and key has no such kernel, if batch entries or heads share its elements.

    The result takes q, k, v, then ``o`` and ``lse`` as the program gave them, ``do``, the
    gradient of the loss by o, with ``lse`` ``dlse``, that by the log-sum-exp, and what else
    the program takes. It gives ``dq``, ``dk``, ``dv`` and so on, in this order, captured
    tensors (``d`` and the tensor's name) before sinks and scale. A score_mod is differentiated by the rules on the
    page on gradients.

    Raises CompileError for an op without a derivative, for a name that is unknown or there
    twice, and for another program than one ``attn.forward``; ValueError for a captured
    tensor that has the name of a gradient, and for a program of gradients, which has none.

    >>> spec = attention(head_dim=64, name="dense")
    >>> backward = gradient(spec, by=("q", "k", "v"))
    >>> kernel = compile(backward, target="sm_90a")  # doctest: +SKIP
    >>> kernel.launch(q=q, k=k, v=v, o=o, lse=lse, do=do, dq=dq, dk=dk, dv=dv)  # doctest: +SKIP
    """
    spec = as_spec(program)
    for name in spec.captures:
        if name in _NAMES:
            raise ValueError(f"a captured tensor can't be named {name!r}, which is an argument of gradients")
    internal = {name: f"capture{index}" for index, name in enumerate(spec.captures)}
    return gradient_spec(spec, tuple(internal.get(name, name) for name in by or ()), lse, deterministic)


def gradient_spec(spec: Spec, wants: Tuple[str, ...], lse_gradient: bool, deterministic: bool = False) -> Spec:
    """The same by the program's own names (``capture0``), kept."""
    # Equal programs may come from different lines.
    with in_names_of(spec):
        return _gradient_spec(spec, spec.located, spec.file, wants, lse_gradient, deterministic)


@functools.lru_cache(maxsize=1024)
def _gradient_spec(spec: Spec, located: str, file: str, wants: Tuple[str, ...], lse_gradient: bool,
                   deterministic: bool) -> Spec:
    options = f"only-backward=true lse-gradient={str(lse_gradient).lower()}"
    if deterministic:
        options += " deterministic=true"
    if wants:
        options = f"gradients={','.join(wants)} {options}"
    with Context() as context:
        module = context.parse(located or spec.mlir, file)
        if "do" in _names(context, module)[0]:
            raise ValueError("a program of gradients has no gradients")
        pipeline = f"builtin.module(attn-make-gradient{{{options}}},func.func(attn-differentiate))"
        failed = context.lib.foveaModuleRunPipeline(module, pipeline.encode())
        context.check(None if failed else module)
        given, made = _names(context, module)
        if "do" not in given:
            raise ValueError("gradients are of a program that is one attn.forward, found none")
        _check_names(spec, made)
        text = context.take(context.lib.foveaModulePrint(module)).decode()
        with_lines = Options(ctypes.sizeof(Options), line_info=1)
        relocated = context.take(context.lib.foveaEmit(module, ctypes.byref(with_lines), 0)).decode()
    return Spec(f"{spec.name}_backward", text, spec.captures, relocated, file)


def _names(context: Context, module: int) -> Tuple[List[str], List[str]]:
    """Names of what a program takes and gives."""
    options = Options(ctypes.sizeof(Options))
    text = context.take(context.lib.foveaModuleSignature(module, ctypes.byref(options)))
    signature = json.loads(text)
    return [one["name"] for one in signature["inputs"]], [one["name"] for one in signature["outputs"]]


def _check_names(spec: Spec, made: Sequence[str]) -> None:
    """An argument has one name, and a name one argument."""
    for index, name in enumerate(spec.captures):
        if f"dcapture{index}" in made and f"d{name}" in {*spec.captures, *RESERVED, *_NAMES}:
            raise ValueError(f"'d{name}' would be the gradient by the captured tensor {name!r}, and is another argument")


__all__ = ["gradient", "gradient_spec"]
