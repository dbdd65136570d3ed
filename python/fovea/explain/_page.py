"""The page: one HTML file that needs no network."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import html
import json
import math
import pathlib
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from .._chips import Chip
from .._explanation import KINDS, Statement, place_of_all
from .._kernel import Kernel
from .._lines import SourceLine
from ._blocks import BlockMap
from ._inputs import Sizes
from ._links import Level, numbered
from ._resources import Facts
from ._timeline import Timeline

_FOLDER = pathlib.Path(__file__).resolve().parent
_COLOURS = {"Q": "copy_q", "K": "copy_k", "V": "copy_v"}


def _text(value: Any) -> str:
    return html.escape(str(value))


def quantity(value: float, unit: str) -> str:
    """1.23e-3, "s" as "1.23 ms"."""
    if not value:
        return f"0 {unit}"
    prefixes = {-4: "p", -3: "n", -2: "µ", -1: "m", 0: "", 1: "k", 2: "M", 3: "G", 4: "T", 5: "P"}
    power = max(-4, min(5, math.floor(math.log10(abs(value)) / 3 + 1e-9)))
    return f"{value / 1000.0 ** power:.3g} {prefixes[power]}{unit}"


def _table(rows: Iterable[Sequence[Any]], numbers: Sequence[int] = ()) -> str:
    lines = []
    for row in rows:
        cells = (f'<td{" class=n" if n in numbers else ""}>{_text(cell)}</td>' for n, cell in enumerate(row))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(lines)}</table>"


def _section(name: str, title: str, summary: str, body: str, is_open: bool = True) -> str:
    return (f'<details class="section" id="{name}"{" open" if is_open else ""}><summary><h2>{_text(title)}</h2>'
            f"<span>{_text(summary)}</span></summary>{body}</details>")


# --- Sections -----------------------------------------------------------------


def _header(title: str, kernel: Kernel, chip: Chip, sizes: Sizes, assembly: Optional[Facts], notes: Mapping[str, str]) -> str:
    facts = kernel.metadata
    schedule = facts["schedule"]
    items: List[Tuple[str, str]] = [
        ("kernel", kernel.name), ("target", f"{kernel.target} ({chip.name})"), ("tile", f"{schedule['tile_m']} x {schedule['tile_n']}"),
        ("threads", str(facts["block"][0])), ("shared memory", f"{facts['shared_memory'] / 1024:.1f} KiB"),
    ]
    if facts.get("persistent"):
        items.append(("persistent", f"{schedule.get('work', 'single')} work"))
    if assembly:
        spills = assembly.get("spill_stores", 0) + assembly.get("spill_loads", 0)
        items += [("registers", str(assembly.get("registers", "?"))), ("spills", f"{spills} bytes" if spills else "none")]
    items.append(("sizes", f"batch {sizes.batch}, heads {sizes.heads}/{sizes.kv_heads}, {sizes.queries} queries, "
                           f"{sizes.keys} keys"))
    chosen = ", ".join(f"{name} = {value}" for name, value in schedule.items())
    parts = [
        f"<header><h1>{_text(title)}</h1><button id=theme type=button>light / dark</button></header>",
        "<ul class=facts>", *(f"<li>{_text(name)} <b>{_text(value)}</b></li>" for name, value in items), "</ul>",
        f'<p class=note>Schedule: {_text(chosen)}.</p>',
    ]
    if notes:
        made = "; ".join(f"{name}: {what}" for name, what in notes.items())
        parts.append(f"<p class=note>Inputs that were not given are made up. {_text(made)}. --set NAME=FILE.npy gives others.</p>")
    return "\n".join(parts)


def _map_section(maps: Sequence[BlockMap], problem: str) -> str:
    if not maps:
        return _section("blocks", "Block map", "", f"<p class=bad>{_text(problem)}</p>")
    first = maps[0]
    pairs = sum(m.visible_pairs for m in maps)
    share = pairs / max(sum(m.queries * m.keys for m in maps), 1)
    body = (
        '<div class="split map"><div><canvas id=map></canvas><div class=note id=mapwhere>queries downwards, keys to the right</div>'
        "</div><div><div class=row><label>map <select id=which></select></label></div><table id=maplegend></table>"
        f'<p class=note>What is visible is the mask evaluated at every pair: {pairs:,} pairs, {share:.1%}. What is visited follows '
        "from the program's bounds, verdicts and lists, for a tile's rows; each warp group masks only the blocks in which its own "
        "rows need it. Click on a block for its pairs.</p>"
        '<div id=elements hidden><h3>Pairs of a block</h3><div class=row><label>head <select id=pairhead></select></label>'
        '<label>colour <select id=pairvalue></select></label><span id=pairlegend class=row></span></div>'
        "<div class=note id=pairblock></div><canvas id=pairs></canvas><div class=note id=pairwhere></div>"
        "<p class=note>Evaluated pair by pair, as the program is written. The page has room for some blocks' pairs, and scores of those with a "
        "dot; fovea.explain.elements gives any.</p></div></div></div>"
    )
    return _section("blocks", "Block map", f"{first.queries} x {first.keys}, {len(maps)} differ" if len(maps) > 1 else
                    f"{first.queries} x {first.keys}", body)


def _why_section(statements: Sequence[Statement]) -> str:
    """What the compiler says, by kind; places stand beside it."""
    whole = place_of_all(statements)
    parts = [f"<p class=note>What has no place of its own is about the kernel as a whole: {_place(whole)}</p>"] if whole else []
    for kind, title in KINDS.items():
        rows = []
        for one in statements:
            if one.kind != kind:
                continue
            # The schedule stands above, field by field.
            head = " = ".join(part for part in (one.subject, "" if one.subject == "schedule" else one.value) if part)
            where = _place(one.where) if one.where and one.where != whole else ""
            rows.append(f"<tr><td>{_text(head)}</td><td>{_text(one.text)}</td><td class=place>{where}</td></tr>")
        if rows:
            mark = " class=bad" if kind in ("unknown", "warning") else ""
            parts.append(f"<h3{mark}>{_text(title[0].upper() + title[1:])}</h3><table class=why>{''.join(rows)}</table>")
    unknown = sum(one.kind == "unknown" for one in statements)
    left_out = sum(one.kind == "left out" for one in statements)
    gave_up = f"the analysis gave up at {unknown} op{'' if unknown == 1 else 's'} of the mask" if unknown else "nothing of the mask is unknown"
    return _section("why", "Why", f"{gave_up}, {left_out} transformation{'' if left_out == 1 else 's'} left out", "".join(parts),
                    is_open=unknown > 0)


def _place(where: SourceLine) -> str:
    return f"<code>{_text(where.text)}</code> <span class=note>{_text(where.file.rpartition('/')[2])}:{where.line}</span>"


def _timeline_section(lines: Optional[Timeline], chip: Chip, problem: str) -> str:
    if lines is None:
        return _section("schedule", "Schedule", "", f"<p class=bad>{_text(problem)}</p>")
    busy = "; ".join(f"{_text(lane)} {part:.0%}" for lane, part in lines.busy.items())
    body = (
        "<div class=row><label>zoom <input id=zoom type=range min=1 max=12 step=0.25 value=1></label>"
        '<span id=timelegend class=row></span></div><div id=timeline><div class=scroll id=lanes></div></div>'
        "<p class=note>The first CTA's first work items. What happens, and in which order within each lane, is what the interpreter "
        "executed at the warp level. <b>The lengths are modelled, not measured</b>: every unit at the full rate of one "
        f"multiprocessor of the {_text(chip.name)} ({chip.tensor} bf16 FLOP, {chip.special} special-function results and "
        f"{chip.ordinary} other operations a clock), warp groups that compute at once share them, copies take 64 bytes a clock and "
        "700 clocks at least. "
        f"Busy between the first and the last product: {busy}.</p>"
    )
    return _section("schedule", "Schedule", "roles against time, by a model", body)


def _resource_section(kernel: Kernel, chip: Chip, parts: Sequence[Facts], roles: Sequence[Mapping[str, Any]],
                      assembly: Optional[Facts], problem: str) -> str:
    limit = chip.shared_memory
    used = kernel.metadata["shared_memory"]
    cells = []
    for part in parts:
        share = 100 * part["bytes"] / max(limit, used)
        colour = _COLOURS.get(part["name"], "copy")
        title = f"{part['name']}: {part['what']}, {part['bytes']} bytes"
        # A name that would be cut off says less than none.
        name = part["name"] if share >= 1.5 * len(part["name"]) else ""
        cells.append(f'<span style="width:{share:.2f}%;background:var(--{colour})" title="{_text(title)}">{_text(name)}</span>')
    cells.append(f'<span class=rest style="flex:1">{_text("free" if limit - used > limit * 0.06 else "")}</span>')
    rows = [[part["name"], part["what"], f"{part['bytes'] / 1024:.2f} KiB"] for part in parts]
    rows.append(["all", f"of {limit / 1024:.0f} KiB that a CTA can have", f"{used / 1024:.2f} KiB"])
    register_rows: List[List[str]] = []
    seen = set()
    for role in roles:
        if role.get("role") and role["role"] not in seen:
            seen.add(role["role"])
            register_rows.append([f"role {role['role']}", f"{role['groups'] * role['warps'] // kernel.metadata['cluster'][0]} warps",
                                  f"{role['registers']} registers a thread"])
    if assembly:
        register_rows.append(["ptxas", f"{assembly['bytes']} bytes of machine code",
                              f"{assembly.get('registers', '?')} registers at launch"])
        if any(role.get("role") for role in roles):
            register_rows.append(["", "then roles that copy give registers to those that compute", ""])
        register_rows.append(["spills", "stores / loads", f"{assembly.get('spill_stores', 0)} / {assembly.get('spill_loads', 0)} bytes"])
        register_rows += [["ptxas says", warning, ""] for warning in assembly["warnings"]]
    else:
        register_rows.append(["ptxas", problem, ""])
    body = (f'<div class=bar>{"".join(cells)}</div><div class=split><div>{_table(rows, [2])}</div>'
            f"<div>{_table(register_rows)}</div></div>")
    return _section("resources", "Resources", "shared memory by buffer, registers", body)


def _roofline(limits: Facts, chip: Chip) -> str:
    """FLOP/s against FLOPs a byte, both logarithmic."""
    width, height, left, bottom = 420, 210, 52, 30
    low, high = 0.0, 5.0  # powers of ten of the intensity
    top_rate = math.log10(chip.tensor_rate) + 0.3
    bottom_rate = top_rate - 3.5

    def x(intensity: float) -> float:
        return left + (math.log10(max(intensity, 1.0)) - low) / (high - low) * (width - left - 8)

    def y(rate: float) -> float:
        return 6 + (top_rate - math.log10(rate)) / (top_rate - bottom_rate) * (height - bottom - 6)

    ridge = chip.tensor_rate / chip.memory
    bound = limits["flops"] / max(max(limits["times"].values()), 1e-12)
    at = max(limits["intensity"], 1.0)
    grid = "".join(
        f'<line x1={x(10 ** p):.1f} x2={x(10 ** p):.1f} y1=6 y2={height - bottom} stroke="var(--line)"/>'
        f'<text class=faint x={x(10 ** p):.1f} y={height - bottom + 14} text-anchor={"end" if p == 5 else "middle"}>{_text(quantity(10.0 ** p, "").strip())}</text>'
        for p in range(0, 6))
    rates = "".join(
        f'<line x1={left} x2={width - 8} y1={y(10.0 ** p):.1f} y2={y(10.0 ** p):.1f} stroke="var(--line)"/>'
        f'<text class=faint x={left - 4} y={y(10.0 ** p) + 4:.1f} text-anchor=end>{_text(quantity(10.0 ** p, ""))}</text>'
        for p in range(math.ceil(bottom_rate), math.floor(top_rate) + 1))
    start = max(10 ** bottom_rate / chip.memory, 1.0)
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" style="max-width:100%" role="img">{grid}{rates}'
        f'<polyline fill="none" stroke="var(--all)" stroke-width="2" points="{x(start):.1f},{y(start * chip.memory):.1f} '
        f'{x(ridge):.1f},{y(chip.tensor_rate):.1f} {width - 8},{y(chip.tensor_rate):.1f}"/>'
        f'<circle cx={x(at):.1f} cy={y(max(bound, 10 ** bottom_rate)):.1f} r=5 fill="var(--softmax)"/>'
        f'<text x={min(max(x(at), left + 70), width - 75):.1f} y={y(max(bound, 10 ** bottom_rate)) + 22:.1f} text-anchor=middle>at most {_text(quantity(bound, "FLOP/s"))}</text>'
        f'<text class=faint x={width - 10} y={height - 3} text-anchor=end>FLOPs a byte</text>'
        f'<text class=faint x={left + 4} y=16>FLOP/s</text></svg>'
    )


def _bound_section(limits: Optional[Facts], chip: Chip) -> str:
    if limits is None:
        return ""
    most = max(max(limits["times"].values()), 1e-12)
    names = {
        "tensor cores": (f"{quantity(limits['performed'], 'FLOP')} in visited blocks", quantity(chip.tensor_rate, "FLOP/s"), "qk"),
        "special functions": (f"{limits['special']:.2f} results a score", quantity(chip.special_rate, "/s"), "softmax"),
        "other arithmetic": (f"{limits['ordinary']:.1f} operations a score", quantity(chip.ordinary_rate, "/s"), "other"),
        "memory": (f"{quantity(limits['bytes'], 'B')}, each visited row once", quantity(chip.memory, "B/s"), "copy_v"),
    }
    rows = []
    for name, seconds in sorted(limits["times"].items(), key=lambda item: -item[1]):
        what, rate, colour = names[name]
        rows.append(f'<tr><td>{name}</td><td class=track><div style="width:{100 * seconds / most:.1f}%;background:var(--{colour})"></div></td>'
                    f"<td class=n>{_text(quantity(seconds, 's'))}</td><td>{_text(what)}</td><td class=n>{_text(rate)}</td></tr>")
    binding = max(limits["times"], key=lambda name: limits["times"][name])
    spread = limits["waves"]
    waves = "" if spread is None else (
        f"<p class=note>{spread['blocks']:,} tiles on {spread['multiprocessors']} multiprocessors: {spread['waves']} "
        f"wave{'s' if spread['waves'] > 1 else ''}, <b>{spread['share']:.0%} of the chip</b> works. Least times are those of "
        f"{spread['used']} multiprocessors, but for memory.</p>")
    waste = 1 - limits["flops"] / max(limits["performed"], 1)
    body = (
        f'<div class=split><div><table class=bounds><tr><th>resource</th><th></th><th class=n>least time</th><th>needs</th>'
        f"<th class=n>ceiling</th></tr>{''.join(rows)}</table>{waves}"
        f"<p class=note>{_text(quantity(limits['flops'], 'FLOP'))} in visible pairs (2 (D + Dv) each); {waste:.1%} of what is performed is for hidden "
        f"pairs in visited blocks. {limits['intensity']:.0f} FLOPs a byte. Operations of a score are counted in the trace: all groups together, masks "
        f"and rare branches as they were executed there.</p>"
        f'<p class=note>Ceilings: {_text(chip.source)}. A chip at its power limit has a lower clock.</p></div><div>{_roofline(limits, chip)}</div></div>'
    )
    return _section("roofline", "Bounds", f"bound by {binding}, at least {quantity(most, 's')}", body)


def _ir_section(levels: Mapping[str, Level]) -> str:
    pane = '<div class=pane><div><select></select><span class=count></span></div><div class=ir tabindex=0></div></div>'
    body = (f"<div class=row id=topics>show only</div><div class=panes>{pane * 3}</div>"
            "<p class=note>Click on a line to fold what belongs to it. Colours on the left say what a line is about, at every level. "
            "Lines that come from the line of the program under the pointer are marked in all panes<span id=irplace>.</span></p>")
    return _section("ir", "IR", ", ".join(levels), body)


def _packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


# --- All ----------------------------------------------------------------------


def render(title: str, kernel: Kernel, chip: Chip, sizes: Sizes, notes: Mapping[str, str], maps: Sequence[BlockMap],
           lines: Optional[Timeline], parts: Sequence[Facts], roles: Sequence[Mapping[str, Any]],
           assembly: Optional[Facts], limits: Optional[Facts], levels: Mapping[str, Level],
           problems: Mapping[str, str], version: str, statements: Sequence[Statement], pairs: Facts) -> str:
    """The page's text."""
    names, places = numbered(levels)
    data: Dict[str, Any] = {
        "maps": [dataclasses.asdict(m) for m in maps],
        "timeline": dataclasses.asdict(lines) if lines else None,
        "levels": {name: _packed(level.text) for name, level in levels.items()},
        "places": {"names": names, "levels": {name: _packed(" ".join(map(str, each))) for name, each in places.items()}},
        "elements": pairs,
    }
    for span in (data["timeline"] or {}).get("spans", ()):
        span["begin"], span["end"] = round(span["begin"], 1), round(span["end"], 1)
    sections = [
        _header(title, kernel, chip, sizes, assembly, notes), _map_section(maps, problems.get("blocks", "")),
        _why_section(statements),
        _timeline_section(lines, chip, problems.get("trace", "")),
        _resource_section(kernel, chip, parts, roles, assembly, problems.get("ptxas", "")),
        _bound_section(limits, chip), _ir_section(levels),
    ]
    # "</" would end the element that the data stands in.
    packed = json.dumps(data, separators=(",", ":")).replace("</", "<\\/")
    style, script = ((_FOLDER / name).read_text() for name in ("page.css", "page.js"))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(title)} for {_text(kernel.target)}</title>\n<style>\n{style}</style></head><body>\n"
        + "\n".join(sections)
        + f'\n<footer>Fovea {_text(version)}</footer>\n<script type="application/json" id="data">{packed}</script>\n'
        f"<script>\n{script}</script>\n</body></html>\n"
    )
