"""From a program of attention to the program of its gradients."""

from __future__ import annotations

import functools
from typing import Tuple

from ._library import Context
from ._spec import Spec


@functools.lru_cache(maxsize=1024)
def gradient_spec(spec: Spec, wants: Tuple[str, ...], lse_gradient: bool) -> Spec:
    """One function: of q, k, v, ``o`` and ``lse`` as the program gave them, ``do``, with
    ``lse_gradient`` ``dlse``, and what else the program takes; it gives ``dNAME`` for
    each NAME of ``wants``, which are among q, k, v, captured tensors, sinks, scale, in
    this order. Raises CompileError for what has no gradient."""
    pipeline = (f"builtin.module(attn-make-gradient{{gradients={','.join(wants)} only-backward=true "
                f"lse-gradient={str(lse_gradient).lower()}}},func.func(attn-differentiate))")
    with Context() as context:
        module = context.parse(spec.located or spec.mlir, spec.file)
        failed = context.lib.foveaModuleRunPipeline(module, pipeline.encode())
        context.check(None if failed else module)
        text = context.take(context.lib.foveaModulePrint(module)).decode()
    return Spec(f"{spec.name}_backward", text, spec.captures, text, spec.file)


__all__ = ["gradient_spec"]
