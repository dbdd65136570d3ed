"""Output of the forward benchmark: ratios, means and tables. Needs no GPU."""

import math

OURS, GOLDEN = "fovea", "golden"
PEERS = {"golden": "golden", "fa3": "FlashAttention-3", "flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION"}
HEADERS = {"golden": "/golden", "fa3": "/FA3", "flash": "/FLASH", "cudnn": "/cuDNN"}


def geometric_mean(values):
    """None of no values."""
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def belongs(row, kind):
    """Whether a row is of a kind of contestants: fovea[...], golden[...], or a
    name of torch's."""
    return row["name"] == kind or row["name"].startswith(kind + "[")


def best_rate(rows, kind):
    return max((row["tflops"] for row in rows if belongs(row, kind)), default=None)


def add_ratios(rows):
    """Gives each row of one cell its rate over each peer's best."""
    for key, kind in PEERS.items():
        peer = best_rate(rows, kind)
        for row in rows:
            row[f"of_{key}"] = row["tflops"] / peer if peer else None


def summarise(rows):
    """For each of our contestants, and for the best of them in each cell, the
    geometric means of the ratios: {name: {"golden": mean, "cells": n, ...}}."""
    cells = {}
    for row in rows:
        if belongs(row, OURS):
            cells.setdefault(row["cell"], []).append(row)
    groups = {}
    for ours in cells.values():
        for row in ours:
            groups.setdefault(row["name"], []).append(row)
        groups.setdefault("best of ours", []).append(max(ours, key=lambda row: row["tflops"]))
    return {
        name: {
            "cells": len(group),
            **{key: geometric_mean(row[f"of_{key}"] for row in group if row.get(f"of_{key}")) for key in PEERS},
        }
        for name, group in groups.items()
    }


def ratio_text(value):
    return f"{value:.2f}" if value else "-"


def ratio_columns(texts):
    """Texts by peer, as columns."""
    return " ".join(f"{texts[key]:>{len(HEADERS[key]) + 1}}" for key in PEERS)


def error_text(value):
    """An error, norm by norm, in eight columns."""
    return f"{'-':>8}" if value is None else f"{value:>8.2e}"


def format_table(rows):
    """Lines of all rows, best of each cell first as the caller sorted them."""
    lines = [
        f"{'cell':<18} {'kernel':<60} {'TFLOP/s':>8} {ratio_columns(HEADERS)} "
        f"{'error':>8} {'regs':>5} {'spills':>6} {'smem':>7} {'CTAs/SM':>7}"
    ]
    for row in rows:
        ratios = ratio_columns({key: ratio_text(row[f"of_{key}"]) for key in PEERS})
        spills = row.get("spill_stores", row.get("local_memory", "-"))
        lines.append(
            f"{row['cell']:<18} {row['name']:<60} {row['tflops']:>8.1f} {ratios} {error_text(row.get('error'))} "
            f"{row.get('registers', '-'):>5} "
            f"{spills:>6} {row.get('shared_memory', '-'):>7} {row.get('blocks_per_multiprocessor', '-'):>7}"
        )
    return lines


def format_summary(summary):
    lines = [f"{'geometric means':<60} {'cells':>5} {ratio_columns(HEADERS)}"]
    for name, means in summary.items():
        texts = ratio_columns({key: ratio_text(means[key]) for key in PEERS})
        lines.append(f"{name:<60} {means['cells']:>5} {texts}")
    return lines


def format_ablation(rows, overrides, base):
    """A line for each override, a column for each cell: TFLOP/s and how much of
    the rate of `base` that is. '=' is a schedule that the override does not
    change, '-' one that does not compile, run, or compute attention."""
    cells = list(dict.fromkeys(row["cell"] for row in rows))
    found = {(row["cell"], row["name"]): row for row in rows}
    lines = [f"{'override':<32}" + "".join(f" {cell:>18}" for cell in cells)]
    for override in overrides:
        texts = []
        for cell in cells:
            row, reference = found.get((cell, f"{OURS}[{override}]")), found.get((cell, f"{OURS}[{base}]"))
            if row is None:
                texts.append("-")
            elif override != base and reference and row.get("schedule") and row["schedule"] == reference.get("schedule"):
                texts.append("=")
            else:
                change = f" {100 * (row['tflops'] / reference['tflops'] - 1):+6.1f}%" if reference else ""
                texts.append(f"{row['tflops']:.1f}{change}")
        lines.append(f"{override:<32}" + "".join(f" {text:>18}" for text in texts))
    return lines
