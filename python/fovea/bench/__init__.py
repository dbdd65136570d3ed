"""Times kernels beside what is installed: ``python -m fovea bench``.

Two tables. ``forward``: dense and causal attention of several head dims and lengths,
beside the backends of PyTorch's ``scaled_dot_product_attention``. ``variants``:
PyTorch's own examples of ``flex_attention`` through ``fovea.torch``, beside the
compiled one. Needs PyTorch and a GPU; ``plot`` needs matplotlib alone.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, Union

__all__ = ["TABLES", "plot"]

#: Names of the tables.
TABLES = ("forward", "variants")


def plot(results: Mapping[str, Any], path: Union[str, "os.PathLike[str]"]) -> Dict[str, int]:
    """Draws results as bars, TFLOP/s with the chip's ceiling, into a file whose name
    says its format (.png, .svg, .pdf).

    results
        what ``python -m fovea bench --json`` wrote, or what ``--json`` of
        ``benchmarks/forward.py`` or ``benchmarks/variants.py`` wrote.

    Gives the number of bars by table. Raises Error if there is nothing to draw or no
    matplotlib, OSError if the file can't be written.
    """
    from ._plot import draw

    return draw(results, os.fspath(path))
