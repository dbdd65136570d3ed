"""Renders the page: one HTML file that needs no network."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
import pathlib
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..tools._explanation import KINDS, place_of_all
from ..compiler._lines import SourceLine
from .._version import VERSION
from ._beside import comparison_section, measured_section
from ._bounds import bound_section
from ._html import badge, beside, percent, section, summaries, table, text
from ._links import numbered
from ._measure import Measurement
from ._variant import Call, Variant
from ._verdict import verdict

_FOLDER = pathlib.Path(__file__).resolve().parent
_COLOURS = {"Q": "copy_q", "K": "copy_k", "V": "copy_v", "dO": "copy_do"}


# --- Sections -----------------------------------------------------------------


def _roles(variant: Variant) -> Dict[str, Tuple[int, int]]:
    """Warps per CTA and registers per thread, by role, in the order of registers."""
    ctas = variant.kernel.metadata["cluster"][0]
    roles = {role["role"]: (role["groups"] * role["warps"] // ctas, role["registers"]) for role in variant.roles if role.get("role")}
    return dict(sorted(roles.items(), key=lambda item: item[1][1]))


def _registers(variant: Variant) -> str:
    """Registers per thread at launch, and per role after redistribution."""
    launched = str((variant.assembly or {}).get("registers", "?"))
    roles = ", ".join(f"{name} {registers}" for name, (_, registers) in _roles(variant).items())
    return f"{launched} at launch; {roles}" if roles else launched


def _facts(variant: Variant) -> List[Tuple[str, str]]:
    """The facts in the header."""
    kernel, assembly = variant.kernel, variant.assembly
    facts = kernel.metadata
    schedule = facts["schedule"]
    items: List[Tuple[str, str]] = [
        ("kernel", kernel.name), ("target", f"{kernel.target} ({variant.gpu.name})"), ("tile", f"{schedule['tile_m']} x {schedule['tile_n']}"),
        ("threads", str(facts["block"][0])), ("shared memory", f"{facts['shared_memory'] / 1024:.1f} KiB"),
    ]
    if variant.helpers:
        items.append(("helper kernels", ", ".join(variant.helpers)))
    if facts.get("persistent"):
        items.append(("persistent", f"{schedule.get('work', 'single')} work"))
    if assembly:
        spills = assembly.get("spill_stores", 0) + assembly.get("spill_loads", 0)
        items += [("registers", _registers(variant)), ("spills", f"{spills} bytes" if spills else "none")]
        if assembly.get("stack") and not spills:
            items.append(("stack frame", f"{assembly['stack']} bytes, used by a rare edge path"))
    return items


def _verdicts(variants: Sequence[Variant]) -> str:
    """The line under the title, for each kernel."""
    lines: List[str] = []
    for number, one in enumerate(variants):
        said, name = verdict(one), badge(number, variants)
        lines.append(f"<p class=verdict>{f'{name}: {text(said)}' if name else text(said[0].upper() + said[1:])}.</p>")
    return "".join(lines)


def _list(items: Sequence[Tuple[str, str]], heading: str = "") -> str:
    first = f"<li class=which>{heading}</li>" if heading else ""
    return f"<ul class=facts>{first}{''.join(f'<li>{text(name)} <b>{text(value)}</b></li>' for name, value in items)}</ul>"


def _plan(variant: Variant) -> str:
    """The fields of the plan."""
    chosen = ", ".join(f"{name} = {value}" for name, value in variant.kernel.metadata["schedule"].items())
    return f"<p class=note>Plan: {text(chosen)}.</p>"


def _header(title: str, variants: Sequence[Variant], call: Call, compares: bool) -> str:
    sizes = call.sizes
    items = [("sizes", f"batch {sizes.batch}, heads {sizes.heads}/{sizes.kv_heads}, {sizes.queries} queries, {sizes.keys} keys")]
    parts = [f"<header><h1>{text(title)}</h1><button id=theme type=button>light / dark</button></header>", _verdicts(variants)]
    if len(variants) == 1:
        parts += [_list(_facts(variants[0]) + items), _plan(variants[0])]
    else:
        for number, one in enumerate(variants):
            # The comparison section shows the plans of variants.
            parts += [_list(_facts(one), badge(number, variants)), "" if compares else _plan(one)]
        parts += [_list(items)]
    if call.notes:
        made = "; ".join(f"{name}: {what}" for name, what in call.notes.items())
        parts.append(f"<p class=note>Inputs without a given value are generated ({text(made)}). --set NAME=FILE.npy sets one.</p>")
    if len(variants) > 1:
        buttons = "".join(f'<button type=button data-show="{value}" aria-pressed={"true" if value == "both" else "false"}>{text(label)}</button>'
                          for value, label in (("0", variants[0].name), ("1", variants[1].name), ("both", "both")))
        parts.append(f"<nav id=show>show {buttons}</nav>")
    return "\n".join(parts)


def _map_body(variant: Variant) -> str:
    pairs = sum(m.visible_pairs for m in variant.maps)
    share = pairs / max(sum(m.queries * m.keys for m in variant.maps), 1)
    tiles = ("Each tile of keys iterates over its blocks of queries" if variant.has_key_tiles else
             "Each tile of queries iterates over its blocks of keys")
    return (
        '<div class="split map"><div><canvas data-part=map></canvas><div class=note data-part=mapwhere>queries downwards, keys to the right</div>'
        "</div><div><div class=row><label>map <select data-part=which></select></label></div><table data-part=maplegend></table>"
        f"<p class=note>Visible pairs: {pairs:,} ({percent(share)}), from the mask evaluated at every pair. Processed blocks: from the program's "
        f"bounds, block predicates and block-sparse lists. {tiles}. A warp group evaluates the mask only in blocks that are "
        "partially visible to its own rows. Click a block to see its pairs.</p>"
        '<div data-part=elements hidden><h3>Pairs of a block</h3><div class=row><label>head <select data-part=pairhead></select></label>'
        '<label>colour <select data-part=pairvalue></select></label><span data-part=pairlegend class=row></span></div>'
        "<div class=note data-part=pairblock></div><canvas data-part=pairs></canvas><div class=note data-part=pairwhere></div>"
        "<p class=note>Each pair is evaluated as the program is written. The page holds the pairs of some blocks, and the scores of the blocks "
        "with a dot; fovea.explain.elements returns any.</p></div></div></div>"
    )


def _map_section(variants: Sequence[Variant]) -> str:
    maps = variants[0].maps
    size = f"{maps[0].queries} x {maps[0].keys}" + (f", {len(maps)} differ" if len(maps) > 1 else "")
    return section("blocks", "Block map", size, beside(variants, _map_body))


def _title_of(kind: str, variant: Variant) -> Tuple[str, bool]:
    """The title of statements of a kind, and whether it is an alarm."""
    title = KINDS[kind]
    if kind != "unknown":
        return title[0].upper() + title[1:], kind == "warning"
    if variant.wasted_blocks:
        checkable = any(one.subject == "kv_classify" for one in variant.explanation.of_kind("derived"))
        plan = ", and this plan has no warp roles, which evaluate a block predicate" if checkable and not variant.checks_blocks else ""
        return f"{variant.wasted_blocks:,} blocks are processed needlessly: ranges do not describe the mask{plan}", True
    if variant.checks_blocks:
        return "Ranges are not enough: a predicate checks each block (nothing wasted)", False
    return "Ranges are not enough: processed blocks evaluate the mask (nothing wasted)", False


def _why_rows(variant: Variant, kind: str, whole: Optional[SourceLine]) -> str:
    rows = []
    for one in variant.explanation.of_kind(kind):
        # The header has the fields of the plan.
        head = " = ".join(part for part in (one.subject, "" if one.subject == "schedule" else one.value) if part)
        where = _place(one.where) if one.where and one.where != whole else ""
        rows.append(f"<tr><td>{text(head)}</td><td>{text(one.text)}</td><td class=place>{where}</td></tr>")
    return "".join(rows)


def _why_body(variant: Variant) -> str:
    """The compiler's statements, by kind, with source positions."""
    whole = place_of_all(variant.explanation.statements)
    parts = [f"<p class=note>Lines without a source position concern the whole kernel: {_place(whole)}</p>"] if whole else []
    for kind in KINDS:
        rows = _why_rows(variant, kind, whole)
        if rows:
            title, is_alarm = _title_of(kind, variant)
            parts.append(f"<h3{' class=bad' if is_alarm else ''}>{text(title)}</h3><table class=why>{rows}</table>")
    return "".join(parts)


def _why_summary(variant: Variant) -> str:
    left_out, wasted = len(variant.explanation.of_kind("left out")), variant.wasted_blocks
    blocks = (f"{wasted:,} block{'' if wasted == 1 else 's'} processed needlessly" if wasted else
              "ranges are not enough, nothing wasted" if variant.explanation.of_kind("unknown") else "no block processed needlessly")
    return f"{blocks}; {left_out} transformation{'' if left_out == 1 else 's'} not applied"


def _why_section(variants: Sequence[Variant]) -> str:
    return section("why", "Why", summaries(variants, _why_summary), beside(variants, _why_body),
                   is_open=any(one.wasted_blocks for one in variants))


def _place(where: SourceLine) -> str:
    return f"<code>{text(where.text)}</code> <span class=note>{text(where.file.rpartition('/')[2])}:{where.line}</span>"


def _of_small(variant: Variant) -> str:
    """The lengths of the trace."""
    return f" (at {variant.traced.queries} queries and {variant.traced.keys} keys)"


def _timeline_body(variant: Variant) -> str:
    lines, gpu = variant.lines, variant.gpu
    if lines is None:
        return f"<p class=bad>{text(variant.problems['trace'])}</p>"
    busy = "; ".join(f"{text(lane)} {part:.0%}" for lane, part in lines.busy.items())
    return (
        "<div class=row><label>zoom <input data-part=zoom type=range min=1 max=12 step=0.25 value=1></label>"
        '<span data-part=timelegend class=row></span></div><div data-part=timeline><div class=scroll data-part=lanes></div></div>'
        f"<p class=note>The first work items of the first CTA{_of_small(variant)}. The interpreter executed the warp program: it gives the operations and "
        "their order in each lane. <b>The durations are modelled, not measured</b>: each unit runs at the full rate of one "
        f"SM of the {text(gpu.name)} ({gpu.tensor} bf16 FLOP, {gpu.special} special-function results and "
        f"{gpu.ordinary} FP32 or integer operations per clock), warp groups that compute at the same time share the units, a copy moves 64 bytes "
        f"per clock and takes at least 700 clocks. Busy between the first and the last product: {busy}.</p>"
    )


def _timeline_section(variants: Sequence[Variant]) -> str:
    both = "<p class=note>Both timelines have the same scale. They hold as much work as was traced, which may differ.</p>" if len(variants) > 1 else ""
    return section("schedule", "Timeline", "modelled timeline per warp role", beside(variants, _timeline_body) + both)


def _memory_bar(variant: Variant) -> str:
    """Shared memory by buffer, as a bar."""
    limit, used = variant.gpu.shared_memory, variant.kernel.metadata["shared_memory"]
    cells = []
    for part in variant.parts:
        share = 100 * part["bytes"] / max(limit, used)
        colour = _COLOURS.get(part["name"], "copy")
        title = f"{part['name']}: {part['what']}, {part['bytes']} bytes"
        # Omit names that would be cut off.
        name = part["name"] if share >= 1.5 * len(part["name"]) else ""
        cells.append(f'<span style="width:{share:.2f}%;background:var(--{colour})" title="{text(title)}">{text(name)}</span>')
    cells.append(f'<span class=rest style="flex:1">{text("free" if limit - used > limit * 0.06 else "")}</span>')
    return f'<div class=bar>{"".join(cells)}</div>'


def _stack(assembly: Mapping[str, Any]) -> str:
    """The purpose of a stack frame, which ptxas reports apart from spills."""
    spills = assembly.get("spill_stores", 0) + assembly.get("spill_loads", 0)
    return "with the spills" if spills else "no spills: a rarely executed edge path (the last block of a captured vector) indexes local memory"


def _register_rows(variant: Variant) -> List[List[str]]:
    rows: List[List[str]] = []
    roles, assembly = _roles(variant), variant.assembly
    for name, (warps, registers) in roles.items():
        rows.append([f"role {name}", f"{warps} warps", f"{registers} registers per thread"])
    if not assembly:
        return [*rows, ["ptxas", variant.problems.get("ptxas", ""), ""]]
    rows.append(["ptxas", f"{assembly['bytes']} bytes of machine code", f"{assembly.get('registers', '?')} registers at launch"])
    if roles and "registers" in assembly:
        launched = variant.kernel.metadata["block"][0] // 32
        shares = " + ".join(f"{warps} x {registers}" for warps, registers in roles.values())
        rows.append(["", "redistributed among the roles (setmaxnreg)", f"{launched} x {assembly['registers']} as {shares}"])
    rows.append(["spills", "stores / loads", f"{assembly.get('spill_stores', 0)} / {assembly.get('spill_loads', 0)} bytes"])
    if assembly.get("stack"):
        rows.append(["stack frame", _stack(assembly), f"{assembly['stack']} bytes"])
    return rows + [["ptxas warning", warning, ""] for warning in assembly["warnings"]]


def _resource_body(variant: Variant) -> str:
    limit, used = variant.gpu.shared_memory, variant.kernel.metadata["shared_memory"]
    rows = [[part["name"], part["what"], f"{part['bytes'] / 1024:.2f} KiB"] for part in variant.parts]
    rows.append(["all", f"of {limit / 1024:.0f} KiB available to a CTA", f"{used / 1024:.2f} KiB"])
    return (f"{_memory_bar(variant)}<div class=split><div>{table(rows, [2])}</div>"
            f"<div>{table(_register_rows(variant))}</div></div>")


def _ir_section(variants: Sequence[Variant]) -> str:
    pane = '<div class=pane><div><select aria-label=level></select><span class=count></span></div><div class=ir tabindex=0></div></div>'
    follow = "<label><input type=checkbox id=follow checked> the same level in both</label>" if len(variants) > 1 else ""
    body = (f"<div class=row id=topics>show only</div>{follow}{beside(variants, lambda one: f'<div class=panes>{pane * 3}</div>')}"
            "<p class=note>Click a line to fold its region. The colour on the left is the line's topic, the same at every level. "
            "Hover a line: all panes mark the lines that come from the same line of the program<span id=irplace>.</span></p>")
    return section("ir", "IR", ", ".join(dict.fromkeys(name for one in variants for name in one.levels)), body)


def _packed(content: str) -> str:
    return base64.b64encode(gzip.compress(content.encode(), mtime=0)).decode()


# --- All ----------------------------------------------------------------------


def _data(variants: Sequence[Variant]) -> Dict[str, Any]:
    """The data of the page's script. All variants share the numbering of source positions."""
    names, places = numbered({f"{number} {name}": level for number, one in enumerate(variants) for name, level in one.levels.items()})
    result: Dict[str, Any] = {"places": names, "variants": []}
    for number, one in enumerate(variants):
        lines = dataclasses.asdict(one.lines) if one.lines else None
        for span in (lines or {}).get("spans", ()):
            span["begin"], span["end"] = round(span["begin"], 1), round(span["end"], 1)
        result["variants"].append({
            "maps": [dataclasses.asdict(m) for m in one.maps], "timeline": lines, "elements": one.pairs,
            "levels": {name: _packed(level.text) for name, level in one.levels.items()},
            "places": {name: _packed(" ".join(map(str, places[f"{number} {name}"]))) for name in one.levels},
        })
    return result


@dataclasses.dataclass(frozen=True)
class Look:
    """The content of a page: one or two kernels, and measured times. Two kernels are variants
    of one program, or the kernels of both passes."""

    title: str
    variants: Sequence[Variant]
    measured: Optional[Measurement] = None

    @property
    def compares(self) -> bool:
        """Whether there are two variants of one program."""
        return len(self.variants) > 1 and self.variants[0].is_backward == self.variants[1].is_backward


def render(look: Look) -> str:
    """The page as HTML."""
    variants, measured, title = look.variants, look.measured, look.title
    sections = [
        _header(title, variants, variants[0].call, look.compares), comparison_section(variants, measured) if look.compares else "", measured_section(variants, measured),
        _map_section(variants), _why_section(variants),
        _timeline_section(variants),
        section("resources", "Resources", "shared memory by buffer, registers", beside(variants, _resource_body)),
        bound_section(variants, measured), _ir_section(variants),
    ]
    # "</" would end the element that contains the data.
    packed = json.dumps(_data(variants), separators=(",", ":")).replace("</", "<\\/")
    style, script = ((_FOLDER / name).read_text() for name in ("page.css", "page.js"))
    targets = " and ".join(dict.fromkeys(one.kernel.target for one in variants))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)} for {text(targets)}</title>\n<style>\n{style}</style></head><body{' class=two data-show=both' if len(variants) > 1 else ''}>\n"
        + "\n".join(part for part in sections if part)
        + f'\n<footer>Fovea {text(VERSION)}</footer>\n<script type="application/json" id="data">{packed}</script>\n'
        f"<script>\n{script}</script>\n</body></html>\n"
    )
