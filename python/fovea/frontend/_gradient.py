"""Derives the program of gradients from an attention program."""

from __future__ import annotations

import ctypes
import functools
import json
from typing import List, Optional, Sequence, Tuple

from ..compiler._library import Context
from ..compiler._structs import Options
from ._program import Program, Spec, as_spec, in_names_of, internal_names

#: Operands and results that only programs of gradients have.
_NAMES = ("do", "dlse", "dq", "dk", "dv", "dsinks", "dscale")


def gradient(program: Program, by: Optional[Sequence[str]] = None, *, lse: bool = False,
             deterministic: bool = False, query_blocks: bool = False) -> Spec:
    """Derives the program of a program's gradients, which is compiled and run like any other.

    program
        a Spec of ``fovea.attention``, MLIR text or a path: one function that consists of
        one ``attn.forward`` and constants.
    by
        the tensors that the gradients are with respect to: "q", "k", "v", names of
        captured tensors, "sinks", "scale". By default all that have a gradient.
    lse
        whether the loss depends on the log-sum-exp, too.
    deterministic
        whether equal inputs give bitwise equal gradients in each run. Without it, kernels
        may add parts of a gradient in any order where that is faster, so that the last
        bits differ between runs. There is no deterministic kernel for a captured tensor
        that is read at query and key and shared by batch entries or heads.
    query_blocks
        whether each call passes the program's block-sparse lists also transposed: for each
        key block the query blocks that attend to it, as FlexAttention's BlockMask has them.
        Otherwise a kernel transposes the lists. A call passes ``partial_query_count`` and
        ``full_query_count``, i32 tensors of (batch or 1, heads or 1, key blocks), and
        ``partial_query_index`` and ``full_query_index``, with one dimension more. The
        gradients are undefined if the lists differ from those transposed.

    The program takes q, k and v, the forward pass's ``o`` and ``lse``, ``do``, the gradient
    of the loss with respect to o, with ``lse`` also ``dlse``, that with respect to the
    log-sum-exp, and the forward program's other operands. It returns ``dq``, ``dk``, ``dv``,
    then gradients with respect to captured tensors (``d`` and the tensor's name), sinks and
    scale. docs/Specification/Gradients.md has the derivatives of score_mod.

    Raises CompileError for an op without a derivative, a name that is unknown or repeated,
    a gradient with the name of a captured tensor, and a program that is not one
    ``attn.forward``; ValueError for a captured tensor that is called ``do``, ``dlse``, ``dq``,
    ``dk``, ``dv``, ``dsinks`` or ``dscale``, and for a program of gradients.

    >>> spec = attention(head_dim=64, name="dense")
    >>> backward = gradient(spec, by=("q", "k", "v"))
    >>> kernel = compile(backward, target="sm_90a")  # doctest: +SKIP
    >>> kernel.launch(q=q, k=k, v=v, o=o, lse=lse, do=do, dq=dq, dk=dk, dv=dv)  # doctest: +SKIP
    """
    spec = as_spec(program)
    for name in spec.captures:
        if name in _NAMES:
            raise ValueError(f"a captured tensor can't be named {name!r}, which is an argument of programs of gradients")
    internal = internal_names(spec)
    return gradient_spec(spec, tuple(internal.get(name, name) for name in by or ()), lse, deterministic, query_blocks)


def gradient_spec(spec: Spec, wants: Tuple[str, ...], lse_gradient: bool, deterministic: bool = False,
                  query_blocks: bool = False) -> Spec:
    """``gradient`` with the names of captured tensors in the IR, cached."""
    with in_names_of(spec):
        return _gradient_spec(spec, spec.located, spec.file, wants, lse_gradient, deterministic, query_blocks)


@functools.lru_cache(maxsize=1024)
def _gradient_spec(spec: Spec, located: str, file: str, wants: Tuple[str, ...], lse_gradient: bool,
                   deterministic: bool, query_blocks: bool) -> Spec:
    options = f"only-backward=true lse-gradient={str(lse_gradient).lower()}"
    if deterministic:
        options += " deterministic=true"
    if query_blocks:
        options += " query-blocks=true"
    if wants:
        options = f"gradients={','.join(wants)} {options}"
    with Context() as context:
        module = context.parse(located or spec.mlir, file)
        if "do" in _names(context, module)[0]:
            raise ValueError("a program of gradients has no gradients")
        pipeline = f"builtin.module(attn-make-gradient{{{options}}},func.func(attn-differentiate))"
        failed = context.lib.foveaModuleRunPipeline(module, pipeline.encode())
        context.check(None if failed else module)
        given, _ = _names(context, module)
        if "do" not in given:
            raise ValueError("expected a program that is one attn.forward, found none")
        text = context.take(context.lib.foveaModulePrint(module)).decode()
        with_lines = Options(ctypes.sizeof(Options), line_info=1)
        relocated = context.take(context.lib.foveaEmit(module, ctypes.byref(with_lines), 0)).decode()
    return Spec(f"{spec.name}_backward", text, spec.captures, relocated, file)


def _names(context: Context, module: int) -> Tuple[List[str], List[str]]:
    """Names of a program's inputs and outputs."""
    options = Options(ctypes.sizeof(Options))
    text = context.take(context.lib.foveaModuleSignature(module, ctypes.byref(options)))
    signature = json.loads(text)
    return [one["name"] for one in signature["inputs"]], [one["name"] for one in signature["outputs"]]


__all__ = ["gradient", "gradient_spec"]
