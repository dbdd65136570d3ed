"""HTML fragments for the page's sections."""

from __future__ import annotations

import html
import math
from typing import Any, Callable, Iterable, List, Sequence

from ._variant import Variant

def text(value: Any) -> str:
    """Escapes HTML."""
    return html.escape(str(value))


def quantity(value: float, unit: str) -> str:
    """1.23e-3, "s" as "1.23 ms"."""
    if not value:
        return f"0 {unit}"
    prefixes = {-4: "p", -3: "n", -2: "µ", -1: "m", 0: "", 1: "k", 2: "M", 3: "G", 4: "T", 5: "P"}
    power = max(-4, min(5, math.floor(math.log10(abs(value)) / 3 + 1e-9)))
    return f"{value / 1000.0 ** power:.3g} {prefixes[power]}{unit}"


def microseconds(seconds: float) -> str:
    """12.3e-6 as "12.3 µs"; always µs, so that times in a column are comparable."""
    return f"{1e6 * seconds:,.1f} µs"


def teraflops(rate: float) -> str:
    """FLOP/s in TFLOP/s."""
    return f"{rate * 1e-12:,.1f} TFLOP/s"


def rate(flops: float) -> str:
    """FLOP/s with three digits: "44 TFLOP/s", "0.31 TFLOP/s"."""
    return f"{float(f'{flops * 1e-12:.3g}'):,g} TFLOP/s"


def percent(share: float) -> str:
    """0.176 as "17.6 %"."""
    return f"{100 * share:.1f} %"


def table(rows: Iterable[Sequence[Any]], numbers: Sequence[int] = ()) -> str:
    """A table; columns with numbers are right-aligned."""
    lines = []
    for row in rows:
        cells = (f'<td{" class=n" if n in numbers else ""}>{text(cell)}</td>' for n, cell in enumerate(row))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(lines)}</table>"


def section(name: str, title: str, summary: str, body: str, is_open: bool = True) -> str:
    """A section of the page that can be folded."""
    return (f'<details class="section" id="{name}"{" open" if is_open else ""}><summary><h2>{text(title)}</h2>'
            f"<span>{text(summary)}</span></summary>{body}</details>")


def badge(number: int, variants: Sequence[Variant]) -> str:
    """A variant's name as HTML; "" for a single variant."""
    if len(variants) == 1:
        return ""
    return f"<b class=badge>{text(variants[number].name)}</b> <span class=label>{text(variants[number].label)}</span>"


def beside(variants: Sequence[Variant], body: Callable[[Variant], str]) -> str:
    """The same content for each variant, in columns or one below the other."""
    parts: List[str] = []
    for number, one in enumerate(variants):
        heading = f"<h3 class=which>{badge(number, variants)}</h3>" if len(variants) > 1 else ""
        parts.append(f'<div class=variant data-variant="{number}">{heading}{body(one)}</div>')
    return f'<div class=variants>{"".join(parts)}</div>'


def summaries(variants: Sequence[Variant], of: Callable[[Variant], str]) -> str:
    """A section's summary, or one for each variant if they differ."""
    said = [of(one) for one in variants]
    if len(set(said)) == 1:
        return said[0]
    return "; ".join(f"{variant.name}: {one}" for variant, one in zip(variants, said))
