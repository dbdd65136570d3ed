"""Fovea: a compiler for attention.

    >>> import fovea
    >>> spec = fovea.attention(mask_mod=lambda b, h, q, k: q >= k, head_dim=64)
    >>> kernel = fovea.compile(spec, target="sm_90a")
    >>> kernel.ptx, kernel.metadata, kernel.ir("tile")

``attention`` describes a variant, ``compile`` makes a kernel of it, without a GPU;
``Kernel.launch`` runs it on one, ``Kernel.interpret`` and ``reference`` on the CPU.
``gradient`` gives the program of a program's gradients.
"""

import os as _os

from . import _distribution

# Before anything else is imported: a folder of the other project may hide a module of this one.
_distribution.refuse_foreign_files(_os.path.dirname(_os.path.abspath(__file__)))

from . import cache
from ._comparison import ComparedField
from ._explanation import Explanation, Statement
from ._gradient import gradient
from ._kernel import Kernel, compile, find_ptxas, reference, targets, version
from ._lines import SourceLine
from ._launch import DeviceTensor, LoadedKernel, PreparedLaunch, device_info, synchronize
from ._spec import Blocks, Capture, Spec, attention
from ._version import VERSION as __version__
from ._trace import Traced, TracedTensor
from .errors import CompileError, CompileWarning, Diagnostic, Error, LaunchError, MissingPackageError, TraceError
from .functions import (
    abs, and_masks, as_float, as_int, ceil, clip, cos, erf, exp, exp2, expm1, floor, key_length, log, log1p, log2,
    logical_and, logical_not, logical_or, logical_xor, maximum, minimum, or_masks, query_length, round, rsqrt,
    sigmoid, sin, sqrt, tanh, trunc, where,
)
from .functions import acos, acosh, asin, asinh, atan, atan2, atanh, cosh, erfc, signbit, sinh, tan

__all__ = [
    "Blocks", "Capture", "CompileError", "CompileWarning", "ComparedField", "DeviceTensor", "Diagnostic", "Error", "Explanation", "Kernel", "LaunchError",
    "LoadedKernel", "MissingPackageError", "PreparedLaunch", "SourceLine", "Spec", "Statement", "TraceError", "Traced", "TracedTensor", "abs", "and_masks", "as_float", "as_int", "attention", "cache", "ceil", "clip", "compile", "cos",
    "device_info", "erf", "exp", "exp2", "expm1", "find_ptxas", "floor", "gradient", "key_length", "log", "log1p", "log2",
    "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "or_masks", "query_length",
    "reference", "round", "rsqrt", "sigmoid", "sin", "sqrt", "synchronize", "tanh", "targets", "trunc", "version",
    "where",
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cosh", "erfc", "signbit", "sinh", "tan",
]
