"""A one-line summary of a kernel: processed blocks, the bottleneck, the attainable rate."""

from __future__ import annotations

from typing import List

from ._bounds import binding, least
from ._html import percent, rate
from ._variant import Variant


def _blocks(variant: Variant) -> str:
    """The share of the blocks that the kernel processes, and how many of them needlessly."""
    processed, every = variant.blocks("345678"), variant.blocks("012345678")
    if not every:
        return "processes no block"
    wasted = variant.wasted_blocks
    needless = f" ({wasted:,} of {processed:,} needlessly)" if wasted else ""
    return ("processes all blocks" if processed == every else f"processes {percent(processed / every)} of blocks") + needless


def verdict(variant: Variant) -> str:
    """The line, for the page and the terminal."""
    parts: List[str] = [_blocks(variant)]
    if variant.limits:
        parts += [f"bottleneck: {binding(variant.limits)}", f"at most {rate(variant.limits['flops'] / least(variant.limits))}"]
        spread = variant.limits["waves"]
        if spread and spread["share"] < spread["most"]:
            parts.append(f"{spread['used']} of {spread['multiprocessors']} SMs in use")
    return "; ".join(parts)
