"""Sections that compare variants in tables: fields of the plans, resources, measured times."""

from __future__ import annotations

from typing import Callable, Dict, List, Optional, Sequence, Tuple, Union

from ..tools._explanation import ComparedField, fields_of
from ._bounds import UNITS, binding, least
from ._html import badge, microseconds, quantity, section, teraflops, text
from ._measure import Measurement
from ._resources import Facts
from ._variant import Variant

Number = Union[None, int, float]


# --- Plans ------------------------------------------------------------------------


def _reasons(field: ComparedField, variants: Sequence[Variant]) -> str:
    if field.reasons[0] == field.reasons[1]:
        return text(field.reasons[0])
    return "".join(f"<div><b class=badge>{letter}</b> {text(reason)}</div>" for letter, reason in zip((one.name for one in variants), field.reasons) if reason)


def _value(value: Optional[str]) -> str:
    return "<td class=none>no such field</td>" if value is None else f"<td>{text(value)}</td>"


def _plans(fields: Sequence[ComparedField], head: str, variants: Sequence[Variant]) -> str:
    rows: List[str] = []
    for one in fields:
        kind = "differs" if one.differs else "same"
        rows.append(f"<tr class={kind}><td>{text(one.name)}</td>{_value(one.values[0])}{_value(one.values[1])}</tr>")
        if any(one.reasons):
            rows.append(f"<tr class='why {kind}'><td colspan=3>{_reasons(one, variants)}</td></tr>")
    return f"<table class=compare><tr><th>field</th>{head}</tr>{''.join(rows)}</table>"


# --- Numbers ----------------------------------------------------------------------


def _resources(variant: Variant) -> List[Tuple[str, Number, str]]:
    """Names, numbers and units of a kernel's resources."""
    facts, assembly = variant.kernel.metadata, variant.assembly or {}
    spills = assembly.get("spill_stores", 0) + assembly.get("spill_loads", 0) if assembly else None
    return [
        ("threads per CTA", facts["block"][0], ""), ("shared memory per CTA", facts["shared_memory"] / 1024, "KiB"),
        ("registers at launch", assembly.get("registers"), ""), ("spilled", spills, "bytes"),
        ("machine code", assembly.get("bytes"), "bytes"), ("lines of PTX", variant.kernel.ptx.count("\n"), ""),
    ]


def _blocks(variant: Variant) -> List[Tuple[str, Number, str]]:
    counts = [one.count() for one in variant.maps]
    limits = variant.limits
    waste = 100 * (1 - limits["flops"] / max(limits["performed"], 1)) if limits else None
    return [
        ("blocks processed", sum(one["masked"] + one["plain"] for one in counts), ""),
        ("of them with the mask evaluated", sum(one["masked"] for one in counts), ""),
        ("work on masked pairs", waste, "%"),
    ]


def _model(variant: Variant) -> List[Tuple[str, Number, str]]:
    limits = variant.limits
    spread = limits["waves"] or {} if limits else {}
    rows: List[Tuple[str, Number, str]] = [
        ("tiles", spread.get("blocks"), ""), ("waves", spread.get("waves"), ""),
        ("SMs in use", 100 * spread["share"] if spread else None, "%"),
    ]
    rows += [(f"least time, {name}", limits["times"][name] if limits else None, "s") for name in UNITS]
    busy = variant.lines.busy if variant.lines else {}
    part = max((share for lane, share in busy.items() if lane.startswith("tensor")), default=None)
    return rows + [("at least", least(limits) if limits else None, "s"),
                   ("tensor cores busy in the modelled timeline", None if part is None else 100 * part, "%")]


#: Formats of numbers with some units.
_FORMATS: Dict[str, Callable[[float], str]] = {"s": lambda value: quantity(value, "s"), "µs": microseconds, "TFLOP/s": teraflops}


def _shown(value: Number, unit: str) -> str:
    if value is None:
        return "<td class='n none'>?</td>"
    said = _FORMATS[unit](value) if unit in _FORMATS else f"{value:,.4g} {unit}" if isinstance(value, float) else f"{value:,} {unit}"
    return f"<td class=n>{text(said.strip())}</td>"


def _ratio(first: Number, second: Number) -> str:
    return f"{second / first:.3g}" if first and second is not None and first != second else ""


def _group(title: str, variants: Sequence[Variant], of: Callable[[Variant], List[Tuple[str, Number, str]]]) -> str:
    rows = [f"<tr><th colspan=4>{title}</th></tr>"]
    for (name, first, unit), (_, second, _) in zip(*(of(one) for one in variants)):
        if first is None and second is None:
            continue
        rows.append(f"<tr class={'differs' if first != second else 'same'}><td>{text(name)}</td>{_shown(first, unit)}{_shown(second, unit)}"
                    f"<td class=n>{_ratio(first, second)}</td></tr>")
    return "".join(rows) if len(rows) > 1 else ""


def _of_measurement(measured: Optional[Measurement], variants: Sequence[Variant]) -> Callable[[Variant], List[Tuple[str, Number, str]]]:
    def rows(variant: Variant) -> List[Tuple[str, Number, str]]:
        times = measured.times[variants.index(variant)] if measured else None
        limits = _limits(measured, variant)
        return [
            ("time", times.median if times else None, "µs"),
            ("visible pairs", variant.flops / times.median if times and variant.flops else None, "TFLOP/s"),
            ("at least, on this device", least(limits) if times and limits else None, "µs"),
            ("of the bound", 100 * least(limits) / times.median if times and limits else None, "%"),
        ]

    return rows


def comparison_section(variants: Sequence[Variant], measured: Optional[Measurement]) -> str:
    """Both plans' fields and numbers."""
    fields = fields_of(*(one.explanation for one in variants))
    head = "".join(f"<th>{badge(number, variants)}</th>" for number in range(len(variants)))
    groups = [_group("resources", variants, _resources), _group("blocks", variants, _blocks),
              _group("model: bounds on the GPU that stands for the target", variants, _model)]
    if measured:
        groups.append(_group(f"measured on {text(measured.device)}", variants, _of_measurement(measured, variants)))
    numbers = f"<table class=compare><tr><th></th>{head.replace('<th>', '<th class=n>')}<th class=n>B / A</th></tr>{''.join(groups)}</table>"
    count = sum(one.differs for one in fields)
    body = (f'<div class="split compared"><div>{_plans(fields, head, variants)}</div><div>{numbers}</div></div>'
            "<p class=note>Fields that differ are marked. The compiler's reason is below a field; a field without one follows from the planner's rules "
            "for the target.</p>")
    return section("compared", "Side by side", f"{count} field{'' if count == 1 else 's'} of the plan differ{'s' if count == 1 else ''}", body)


# --- Measured ---------------------------------------------------------------------


def _limits(measured: Optional[Measurement], variant: Variant) -> Optional[Facts]:
    """Bounds on the measuring device; None if its rates are unknown."""
    return variant.bounds_on(measured.gpu) if measured and measured.gpu else None


def _measured_row(number: int, variants: Sequence[Variant], measured: Measurement, most: float) -> str:
    variant, times, problem = variants[number], measured.times[number], measured.problems[number]
    name = badge(number, variants) or text(variant.kernel.target)
    if times is None:
        return f"<tr><td>{name}</td><td colspan=6 class=bad>not measured: {text(problem)}</td></tr>"
    limits = _limits(measured, variant)
    share = min(least(limits) / times.median, 1.0) if limits else 0.0
    bound = [microseconds(least(limits)), f"{least(limits) / times.median:.0%}", binding(limits)] if limits else ["?", "?", "rates unknown"]
    cells = [microseconds(times.median), f"{microseconds(times.low)} to {microseconds(times.high)}",
             teraflops(variant.flops / times.median), *bound]
    row = (f'<tr><td>{name}</td><td class=track><div style="width:{100 * times.median / most:.1f}%;background:var(--softmax)">'
           f'<div style="width:{100 * share:.1f}%;background:var(--qk)"></div></div></td>'
           + "".join(f"<td{' class=n' if n != 5 else ''}>{text(cell)}</td>" for n, cell in enumerate(cells)) + "</tr>")
    return row + (f"<tr><td></td><td colspan=7 class=bad>{text(problem)}</td></tr>" if problem else "")


def report(variants: Sequence[Variant], measured: Optional[Measurement]) -> List[str]:
    """Measured times as lines for a terminal."""
    lines: List[str] = []
    for number, (variant, times) in enumerate(zip(variants, measured.times if measured else ())):
        assert measured
        problem, limits = measured.problems[number], _limits(measured, variant)
        name = f"{variant.kernel.name} for {variant.kernel.target}" + (f" ({variant.label})" if variant.label else "")
        said = "not measured"
        if times:
            said = f"{microseconds(times.median)}, {teraflops(variant.flops / times.median)}"
            said += f"; at least {microseconds(least(limits))} (bottleneck on {measured.gpu.name}: {binding(limits)})" if limits and measured.gpu else ""
        lines.append(f"{name}: {said}" + (f"; {problem}" if problem else ""))
    return lines


def measured_section(variants: Sequence[Variant], measured: Optional[Measurement]) -> str:
    """Measured times with the bounds of the device; "" if nothing was measured."""
    if measured is None:
        return ""
    found = [one for one in measured.times if one]
    most = max(one.median for one in found) if found else 1.0
    rows = "".join(_measured_row(number, variants, measured, most) for number in range(len(variants)))
    launches = found[0].launches if found else 0
    gpu = f"the rates of the {measured.gpu.name}" if measured.gpu else "unknown rates, so there is no bound"
    body = (
        "<div class=scroll><table class=bounds><tr><th></th><th></th><th class=n>median</th><th class=n>quartiles</th><th class=n>visible pairs</th><th class=n>at least</th>"
        f"<th class=n>of the bound</th><th>bottleneck</th></tr>{rows}</table></div>"
        f"<p class=note>{launches} launches on {text(measured.device)} ({measured.capability}, driver {measured.driver}) with random q, k and v. The kernels alternate in "
        "random order; each series follows 30 ms of warm-up. FLOP/s count visible pairs, 2 (D + Dv) each. The bound (the blue part of a bar) is no "
        f"prediction: it is the least time of the processed blocks on each unit, by {text(gpu)}.</p>")
    return section("measured", "Measured", f"on {measured.device}, with bounds", body)
