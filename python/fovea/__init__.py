"""Fovea: a compiler for attention.

    >>> import fovea
    >>> spec = fovea.attention(mask_mod=lambda b, h, q, k: q >= k, head_dim=64)
    >>> kernel = fovea.compile(spec, target="sm_90a")
    >>> kernel.ptx, kernel.metadata, kernel.ir("tile")

``attention`` describes a variant of attention, and ``compile`` compiles it to a kernel, which
needs no GPU. ``Kernel.launch`` runs the kernel on a GPU; ``Kernel.interpret`` and ``reference``
run on the CPU. ``gradient`` derives the program of the gradients, and ``merge`` describes the
merge of attention over disjoint sets of keys. ``fovea.math`` has the functions for score_mod and
mask_mod, which are attributes of ``fovea``, too.
"""

import os as _os

from . import _distribution

# Before any other import: a folder of the unrelated project 'fovea' may hide a module of this package.
_distribution.refuse_foreign_files(_os.path.dirname(_os.path.abspath(__file__)))

from . import cache, functions as functions, math as math
from .compiler._kernel import Kernel, compile as compile, find_ptxas, reference, targets, version
from .compiler._lines import SourceLine
from .errors import CompileError, CompileWarning, Diagnostic, Error, LaunchError, MissingPackageError, TraceError
from .frontend._caches import merge
from .frontend._gradient import gradient
from .frontend._program import Spec
from .frontend._spec import Blocks, Capture, Paged, attention
from .frontend._trace import Traced, TracedTensor
# "as": type checkers then export names that __all__ lacks.
from .math import (
    abs as abs, acos as acos, acosh as acosh, and_masks as and_masks, as_float as as_float, as_int as as_int, asin as asin,
    asinh as asinh, atan as atan, atan2 as atan2, atanh as atanh, ceil as ceil, clip as clip, cos as cos, cosh as cosh,
    erf as erf, erfc as erfc, exp as exp, exp2 as exp2, expm1 as expm1, floor as floor, key_length as key_length, log as log,
    log1p as log1p, log2 as log2, logical_and as logical_and, logical_not as logical_not, logical_or as logical_or,
    logical_xor as logical_xor, maximum as maximum, minimum as minimum, or_masks as or_masks, query_length as query_length,
    round as round, rsqrt as rsqrt, sigmoid as sigmoid, signbit as signbit, sin as sin, sinh as sinh, sqrt as sqrt,
    tan as tan, tanh as tanh, trunc as trunc, where as where,
)
from .runtime._launch import DeviceTensor, LoadedKernel, PreparedLaunch, device_info, synchronize
from .tools import ComparedField, Explanation, Statement
from ._version import VERSION as __version__

# Without compile and the functions of fovea.math: a star import must not replace abs, round and compile of builtins, nor
# the module math of the standard library.
__all__ = [
    "Blocks", "Capture", "CompileError", "CompileWarning", "ComparedField", "DeviceTensor", "Diagnostic", "Error",
    "Explanation", "Kernel", "LaunchError", "LoadedKernel", "MissingPackageError", "Paged", "PreparedLaunch", "SourceLine", "Spec",
    "Statement", "TraceError", "Traced", "TracedTensor", "attention", "cache", "device_info", "find_ptxas", "gradient",
    "merge", "reference", "synchronize", "targets", "version",
]
