"""The section on bounds: least times by resource, the roofline, and what was measured."""

from __future__ import annotations

import math
from typing import Dict, Optional, Sequence

from ..runtime._gpus import Gpu
from ._html import beside, percent, quantity, section, summaries, text
from ._measure import Measurement, Times
from ._resources import Facts
from ._variant import Variant


def _roofline(limits: Facts, gpu: Gpu, times: Optional[Times]) -> str:
    """FLOP/s against FLOP per byte, both logarithmic."""
    width, height, left, bottom = 420, 210, 52, 30
    low, high = 0.0, 5.0  # powers of ten of the intensity
    top_rate = math.log10(gpu.tensor_rate) + 0.3
    bottom_rate = top_rate - 3.5

    def x(intensity: float) -> float:
        return left + (math.log10(max(intensity, 1.0)) - low) / (high - low) * (width - left - 8)

    def y(rate: float) -> float:
        return 6 + (top_rate - math.log10(rate)) / (top_rate - bottom_rate) * (height - bottom - 6)

    ridge = gpu.tensor_rate / gpu.memory
    bound = limits["flops"] / least(limits)
    at = max(limits["intensity"], 1.0)
    grid = "".join(
        f'<line x1={x(10 ** p):.1f} x2={x(10 ** p):.1f} y1=6 y2={height - bottom} stroke="var(--line)"/>'
        f'<text class=faint x={x(10 ** p):.1f} y={height - bottom + 14} text-anchor={"end" if p == 5 else "middle"}>{text(quantity(10.0 ** p, "").strip())}</text>'
        for p in range(0, 6))
    rates = "".join(
        f'<line x1={left} x2={width - 8} y1={y(10.0 ** p):.1f} y2={y(10.0 ** p):.1f} stroke="var(--line)"/>'
        f'<text class=faint x={left - 4} y={y(10.0 ** p) + 4:.1f} text-anchor=end>{text(quantity(10.0 ** p, ""))}</text>'
        for p in range(math.ceil(bottom_rate), math.floor(top_rate) + 1))
    start = max(10 ** bottom_rate / gpu.memory, 1.0)
    rate = limits["flops"] / times.median if times else 0.0
    dot = f'<circle cx={x(at):.1f} cy={y(max(rate, 10 ** bottom_rate)):.1f} r=5 fill="var(--masked)"><title>measured</title></circle>' if times else ""
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" style="max-width:100%" role="img">{grid}{rates}'
        f'<polyline fill="none" stroke="var(--all)" stroke-width="2" points="{x(start):.1f},{y(start * gpu.memory):.1f} '
        f'{x(ridge):.1f},{y(gpu.tensor_rate):.1f} {width - 8},{y(gpu.tensor_rate):.1f}"/>'
        f'<circle cx={x(at):.1f} cy={y(max(bound, 10 ** bottom_rate)):.1f} r=5 fill="var(--softmax)"/>{dot}'
        f'<text x={min(max(x(at), left + 70), width - 75):.1f} y={y(max(bound, 10 ** bottom_rate)) + 22:.1f} text-anchor=middle>at most {text(quantity(bound, "FLOP/s"))}</text>'
        f'<text class=faint x={width - 10} y={height - 3} text-anchor=end>FLOP per byte</text>'
        f'<text class=faint x={left + 4} y=16>FLOP/s</text></svg>'
    )


#: Resources, of which one is the bottleneck, and their colours.
UNITS = {"tensor cores": "qk", "special functions": "softmax", "FP32/integer ALU": "other", "memory": "copy_v"}


def least(limits: Facts) -> float:
    """The least time of a kernel, in seconds."""
    return float(max(max(limits["times"].values()), 1e-12))


def binding(limits: Facts) -> str:
    """The bottleneck: the resource with the longest least time."""
    times: Dict[str, float] = limits["times"]
    return max(times, key=lambda name: times[name])


def track(name: str, seconds: float, most: float, colour: str, *cells: str) -> str:
    """A row with a bar."""
    rest = "".join(f"<td>{text(cell)}</td>" for cell in cells[:-1]) + "".join(f"<td class=n>{text(cell)}</td>" for cell in cells[-1:])
    return (f'<tr><td>{name}</td><td class=track><div style="width:{100 * seconds / most:.1f}%;background:var(--{colour})"></div></td>'
            f"<td class=n>{text(quantity(seconds, 's'))}</td>{rest}</tr>")


def _rows(limits: Facts, gpu: Gpu, times: Optional[Times]) -> str:
    most = max(least(limits), times.median if times else 0.0)
    needs = {
        "tensor cores": (f"{quantity(limits['performed'], 'FLOP')} in processed blocks", quantity(gpu.tensor_rate, "FLOP/s")),
        "special functions": (f"{limits['special']:.2f} results per score", quantity(gpu.special_rate, "/s")),
        "FP32/integer ALU": (f"{limits['ordinary']:.1f} operations per score", quantity(gpu.ordinary_rate, "/s")),
        "memory": (f"{quantity(limits['bytes'], 'B')}, each row once", quantity(gpu.memory, "B/s")),
    }
    rows = [track(name, seconds, most, UNITS[name], *needs[name])
            for name, seconds in sorted(limits["times"].items(), key=lambda item: -item[1])]
    if times:
        share = f"{least(limits) / times.median:.0%} of the bound"
        rows.insert(0, track("<b>measured</b>", times.median, most, "masked", share, quantity(limits["flops"] / times.median, "FLOP/s")))
    return "".join(rows)


def _waves(limits: Facts) -> str:
    spread = limits["waves"]
    return "" if spread is None else (
        f"<p class=note>{spread['blocks']:,} tiles on {spread['multiprocessors']} SMs: {spread['waves']} "
        f"wave{'s' if spread['waves'] > 1 else ''}, <b>{spread['used']} SMs in use</b> ({percent(spread['share'])}). Except for memory, least times are those of "
        f"the SMs in use.</p>")


def _body(variant: Variant, times: Optional[Times]) -> str:
    limits, gpu = variant.limits, variant.gpu
    if limits is None:
        return f"<p class=bad>{text(variant.problems['trace'])}</p>"
    waste = 1 - limits["flops"] / max(limits["performed"], 1)
    return (
        f'<div class=split><div><table class=bounds><tr><th>resource</th><th></th><th class=n>least time</th><th>needs</th>'
        f"<th class=n>ceiling</th></tr>{_rows(limits, gpu, times)}</table>{_waves(limits)}"
        f"<p class=note>{text(quantity(limits['flops'], 'FLOP'))} in visible pairs ({text(limits['counted'])} each). Work on masked pairs of processed "
        f"blocks: {percent(waste)} of the executed FLOP. {limits['intensity']:.0f} FLOP per byte of global memory. Operations per score are counted in the trace of "
        f"all warp groups, with masks and rare branches as executed there.</p>"
        f'<p class=note>Ceilings: {text(gpu.source)}. A GPU at its power limit runs at a lower clock.</p></div>'
        f"<div>{_roofline(limits, gpu, times)}</div></div>"
    )


def bound_section(variants: Sequence[Variant], measured: Optional[Measurement]) -> str:
    """Bounds of each variant on its target's GPU, with measured times if that is the device."""
    def body(variant: Variant) -> str:
        is_same = measured is not None and measured.gpu is variant.gpu
        return _body(variant, measured.times[variants.index(variant)] if measured and is_same else None)

    def summary(variant: Variant) -> str:
        if variant.limits is None:
            return "unknown"
        return f"bottleneck: {binding(variant.limits)}, at least {quantity(least(variant.limits), 's')}"

    if all(one.limits is None for one in variants):
        return ""
    return section("roofline", "Bounds", summaries(variants, summary), beside(variants, body))
