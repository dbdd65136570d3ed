"""Times kernels against PyTorch's: ``python -m fovea bench``.

There are two tables. ``forward``: dense and causal attention with several head dims and
lengths, against the backends of PyTorch's ``scaled_dot_product_attention``. ``variants``:
PyTorch's examples of ``flex_attention`` through ``fovea.torch``, against the compiled
``flex_attention``. Timing needs PyTorch and a GPU; ``plot`` only needs matplotlib.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, Union

__all__ = ["TABLES", "plot"]

#: Names of the tables.
TABLES = ("forward", "variants")


def plot(results: Mapping[str, Any], path: Union[str, "os.PathLike[str]"]) -> Dict[str, int]:
    """Plots results as bars of TFLOP/s with the GPU's peak, to a .png, .svg or .pdf file.

    results
        the output of ``python -m fovea bench --json``, or of ``--json`` of
        ``benchmarks/forward.py`` or ``benchmarks/variants.py``.

    Returns the number of bars by table. Raises Error if there is nothing to plot or
    matplotlib is missing, OSError if the file can't be written.
    """
    from ._plot import draw

    return draw(results, os.fspath(path))
