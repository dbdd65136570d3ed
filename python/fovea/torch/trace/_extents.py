"""Extents of slices and ranges, whose sizes may be symbols. The code uses arithmetic and
inequalities, as an equality would add a guard that fixes the size."""

from __future__ import annotations

import math
import sys
from typing import Any, Tuple

import torch


def sliced(start: Any, stop: Any, step: Any, extent: Any) -> Tuple[Any, Any, int]:
    """The first element, the number of elements and the step of a slice. ATen has no negative
    steps."""

    def within(bound: Any) -> Any:
        bound = bound + extent if bound < 0 else bound
        return 0 if bound < 0 else extent if bound > extent else bound

    step = 1 if step is None else int(step)
    start = 0 if start is None else within(start)
    stop = extent if stop is None or isinstance(stop, int) and stop == sys.maxsize else within(stop)
    return start, (stop - start + step - 1) // step if stop > start else 0, step


def arange_count(start: Any, end: Any, step: Any) -> Any:
    """The number of elements of an arange; by integers where a size may be a symbol."""
    if not all(isinstance(one, (int, torch.SymInt)) for one in (start, end, step)):
        return max(0, math.ceil((end - start) / step))
    return max(0, -(-(end - start) // step))


__all__ = ["arange_count", "sliced"]
