"""Extents of slices and ranges, of sizes that a tracer may leave open: by arithmetic and
inequalities, since each equality would be a guard on the size."""

from __future__ import annotations

import math
import sys
from typing import Any, Tuple

import torch


def sliced(start: Any, stop: Any, step: Any, extent: Any) -> Tuple[Any, Any, int]:
    """The first element of a slice, how many there are, and the step, of sizes that may be
    open; ATen has no negative steps."""

    def within(bound: Any) -> Any:
        bound = bound + extent if bound < 0 else bound
        return 0 if bound < 0 else extent if bound > extent else bound

    step = 1 if step is None else int(step)
    start = 0 if start is None else within(start)
    stop = extent if stop is None or isinstance(stop, int) and stop == sys.maxsize else within(stop)
    return start, (stop - start + step - 1) // step if stop > start else 0, step


def arange_count(start: Any, end: Any, step: Any) -> Any:
    """Elements of an arange; without a quotient of floats where a size may be open."""
    if not all(isinstance(one, (int, torch.SymInt)) for one in (start, end, step)):
        return max(0, math.ceil((end - start) / step))
    return max(0, -(-(end - start) // step))


__all__ = ["arange_count", "sliced"]
