"""One line that sums a kernel up: blocks visited, the bottleneck, the attainable rate."""

from __future__ import annotations

from typing import List

from ._bounds import binding, least
from ._html import percent, rate
from ._variant import Variant


def _visits(variant: Variant) -> str:
    """The share of the blocks that the kernel visits, and how many of them in vain."""
    visited, every = variant.blocks("345678"), variant.blocks("012345678")
    if not every:
        return "visits no block"
    wasted = variant.wasted_blocks
    vain = f" ({wasted:,} of {visited:,} in vain)" if wasted else ""
    return ("visits all blocks" if visited == every else f"visits {percent(visited / every)} of blocks") + vain


def verdict(variant: Variant) -> str:
    """The line, for the page and the terminal."""
    parts: List[str] = [_visits(variant)]
    if variant.limits:
        parts += [f"bottleneck: {binding(variant.limits)}", f"at most {rate(variant.limits['flops'] / least(variant.limits))}"]
        spread = variant.limits["waves"]
        if spread and spread["share"] < spread["most"]:
            parts.append(f"{spread['used']} of {spread['multiprocessors']} SMs in use")
    return "; ".join(parts)
