"""Plots results as bars, with the GPU's peak."""

from __future__ import annotations

import pathlib
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..runtime._gpus import Gpu, gpu_of_name
from .._extras import need
from ..errors import Error

#: Kernels in the order of their bars, with colours.
COLOURS = {"fovea": "#e0703c", "golden": "#b9a37c", "CUDNN_ATTENTION": "#2f66b8", "FLASH_ATTENTION": "#7fa9e6",
           "flex_attention": "#9b7fd0", "FlashAttention-3": "#4f9d69"}
#: Titles of the tables, with the counted FLOPs.
TITLES = {"forward": "head dim, length, mask: 4 d FLOPs per pair", "backward": "head dim, length, mask: 10 d FLOPs per pair",
          "variants": "FlexAttention's examples: 4 d FLOPs per visible pair"}
#: TFLOP/s by kernel, for each group of bars.
Groups = Dict[str, Dict[str, float]]


def _contestant(name: str) -> str:
    """The name without options: fovea for fovea[auto] and fovea[stages=3]."""
    return name.partition("[")[0]


def _forward(rows: Sequence[Mapping[str, Any]]) -> Groups:
    groups: Groups = {}
    for row in rows:
        bars = groups.setdefault(row["cell"], {})
        who = _contestant(row["name"])
        bars[who] = max(bars.get(who, 0.0), row["tflops"])
    return groups


def _variants(rows: Sequence[Mapping[str, Any]]) -> Groups:
    """Groups from rows of ``python -m fovea bench``, or of benchmarks/variants.py, which counts
    all pairs and has the share of processed blocks."""
    groups: Groups = {}
    for row in rows:
        bars = groups.setdefault(row["name"], {})
        for who in ("fovea", "flex_attention"):
            if f"{who}_tflops" in row:
                bars[who] = row[f"{who}_tflops"]
            elif f"{who}_ms" in row and "tflops" in row and "fovea_ms" in row:
                share = row.get("share") or 1.0 if row.get("kind") == "sparse" else 1.0
                bars[who] = row["tflops"] * share * row["fovea_ms"] / row[f"{who}_ms"]
    return groups


def read(results: Mapping[str, Any]) -> Tuple[str, Dict[str, Groups]]:
    """The device, and the groups of bars by table. Raises Error."""
    device = results.get("device", "")
    if isinstance(device, Mapping):
        device = device.get("name", "")
    tables = results.get("tables")
    if tables is None:
        rows = results.get("rows")
        if not isinstance(rows, list):
            raise Error("not the results of a benchmark: found neither 'tables' nor 'rows'")
        tables = {"forward" if rows and "cell" in rows[0] else "variants": rows}
    readers = {"forward": _forward, "backward": _forward, "variants": _variants}
    try:
        found = {name: {label: bars for label, bars in readers[name](rows).items() if bars}
                 for name, rows in tables.items() if name in readers}
    except (KeyError, TypeError, AttributeError) as error:
        raise Error(f"not the results of a benchmark: {error!r}") from None
    found = {name: groups for name, groups in found.items() if groups}
    if not found:
        raise Error("the results have nothing to plot")
    return str(device), found


def _draw_table(axes: Any, name: str, groups: Groups, gpu: Optional[Gpu]) -> int:
    present = {who for bars in groups.values() for who in bars}
    contestants = [who for who in COLOURS if who in present] + sorted(present - set(COLOURS))
    width = 0.82 / len(contestants)
    count = 0
    for index, who in enumerate(contestants):
        places = [n for n, bars in enumerate(groups.values()) if who in bars]
        heights = [bars[who] for bars in groups.values() if who in bars]
        offset = (index - (len(contestants) - 1) / 2) * width
        bars = axes.bar([place + offset for place in places], heights, width * 0.94, label=who, color=COLOURS.get(who, "#8898aa"))
        axes.bar_label(bars, fmt="%.0f", fontsize=6, padding=1, rotation=90 if width < 0.3 else 0)
        count += len(heights)
    if gpu:
        ceiling = gpu.tensor_rate / 1e12
        axes.axhline(ceiling, color="#c22", linewidth=1, linestyle="--")
        axes.text(len(groups) - 0.5, ceiling, f"{gpu.name}: {ceiling:.0f} TFLOP/s ", va="bottom", ha="right", fontsize=8, color="#c22")
    top = max(max(bars.values()) for bars in groups.values())
    axes.set_ylim(0, max(top * 1.15, gpu.tensor_rate / 1e12 * 1.08 if gpu else 0))
    axes.set_xlim(-0.6, len(groups) - 0.4)
    axes.set_xticks(range(len(groups)), [label.replace(":", "\n") for label in groups], fontsize=8)
    axes.set_ylabel("TFLOP/s")
    axes.set_title(TITLES[name], fontsize=10, loc="left")
    axes.legend(fontsize=8, ncols=len(contestants), frameon=False, loc="upper left", bbox_to_anchor=(0, 0.93))
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return count


def draw(results: Mapping[str, Any], path: str) -> Dict[str, int]:
    """See fovea.bench.plot."""
    device, tables = read(results)
    need("matplotlib", "plot", "drawing")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    if pathlib.Path(path).suffix.lstrip(".").lower() not in ("png", "svg", "pdf"):
        raise Error(f"a plot must be a .png, .svg or .pdf file, found '{path}'")
    widest = max(len(groups) for groups in tables.values())
    figure, all_axes = pyplot.subplots(len(tables), 1, figsize=(max(7.0, 0.75 * widest + 1.5), 3.9 * len(tables)), squeeze=False)
    gpu = gpu_of_name(device)
    counts: Dict[str, int] = {}
    names: List[str] = list(tables)
    for axes, name in zip(all_axes[:, 0], names):
        counts[name] = _draw_table(axes, name, tables[name], gpu)
    direction = "backward" if names == ["backward"] else "forward"
    figure.suptitle(f"Attention {direction}, bf16, {device or 'unknown device'}", fontsize=11, x=0.01, ha="left")
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
    return counts
