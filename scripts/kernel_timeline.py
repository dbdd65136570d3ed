#!/usr/bin/env python3
"""Draws docs/img/hopper-kernel.svg: a Hopper kernel with roles in time.

Two consumer warp groups, four blocks of keys, two stages each of K and V. Times are in units of one
dot and follow from the dependences in the IR of docs/Tutorial/2-ThroughTheLevels.md: in one ping-pong
section a group issues the next block's scores and the last block's product, and it releases a stage
when the dot that reads it is done.
"""

import sys

BLOCKS, GROUPS, STAGES = 4, 2, 2
COPY, DOT, SOFTMAX, STORE = 2, 2, 4, 2

UNIT, LEFT, ROW, GAP = 21, 128, 22, 6

STYLE = """
  text { font: 12px sans-serif; fill: #24292f; }
  .inside { font-size: 11px; fill: #111; text-anchor: middle; }
  .copy { fill: #9ecae9; } .held { fill: #d4e6f4; } .scores { fill: #f2a65a; } .product { fill: #e4774f; }
  .softmax { fill: #a8d5a2; } .wait { fill: none; stroke: #8c959f; stroke-dasharray: 3 2; } .store { fill: #c9b6e4; }
  .axis { stroke: #8c959f; }
  @media (prefers-color-scheme: dark) { text { fill: #d0d7de; } .inside { fill: #111; } }
"""


def schedule():
    """All events, as (row, kind, label, from, to)."""
    events = []
    unit_free = 0  # time at which the tensor cores have completed all issued dots
    copies = {}  # (stream, block) -> completion of the copy
    released = {}  # (stream, block) -> completion of the last group's dot
    load = 0

    def copy(stream, block):
        nonlocal load
        free = released.get((stream, block - STAGES), 0)
        if free > load:
            events.append(("load", "wait", "", load, free))
        load = max(load, free)
        events.append(("load", "copy", f"{stream}{block}" if stream != "Q" else "Q", load, load + 1))
        copies[stream, block] = load + COPY
        load += 1

    def dot(group, stream, kind, label, block, ready):
        nonlocal unit_free
        start = max(ready, unit_free, copies[stream, block])
        unit_free = start + DOT
        events.append(("units", kind, f"{label}{block}", start, unit_free))
        events.append((f"dots {group}", kind, f"{label}{block}", start, unit_free))
        released[stream, block] = unit_free
        return unit_free

    def softmax(group, block, start):
        events.append((f"softmax {group}", "softmax", f"softmax {block}", start, start + SOFTMAX))
        return start + SOFTMAX

    copy("Q", 0)
    copy("K", 0)
    ready = [softmax(group, 0, dot(group, "K", "scores", "S", 0, 0)) for group in range(GROUPS)]
    for block in range(1, BLOCKS):
        copy("K", block)
        copy("V", block - 1)
        for group in range(GROUPS):
            done = dot(group, "K", "scores", "S", block, ready[group])
            dot(group, "V", "product", "PV", block - 1, ready[group])
            ready[group] = softmax(group, block, done)
    copy("V", BLOCKS - 1)
    for group in range(GROUPS):
        done = dot(group, "V", "product", "PV", BLOCKS - 1, ready[group])
        events.append((f"softmax {group}", "store", "store", done, done + STORE))

    issued = {label: start for row, kind, label, start, _ in events if kind == "copy"}
    for (stream, block), end in released.items():
        start = issued[f"{stream}{block}"]
        row = f"{stream}, stage {block % STAGES}"
        events.append((row, "copy", "", start, start + COPY))
        events.append((row, "held", f"{stream}{block}", start + COPY, end))
    return events


ROWS = [
    ("load", "load: issues copies"),
    *((f"{stream}, stage {stage}",) * 2 for stream in "KV" for stage in range(STAGES)),
    ("units", "tensor cores"),
    *((f"{what} {group}", f"compute, group {group}" if what == "dots" else "") for group in range(GROUPS) for what in ("dots", "softmax")),
]
LAST_OF_ITS_KIND = ("load", f"K, stage {STAGES - 1}", f"V, stage {STAGES - 1}", "units", "softmax 0")

LEGEND = [
    ("copy", "copy outstanding"), ("held", "stage is full"), ("wait", "waits for a free stage"), ("scores", "S = Q K^T"),
    ("product", "O += P V"), ("softmax", "softmax"), ("store", "output"),
]


def box(kind, x, y, width, height, label=""):
    text = f'<text class="inside" x="{x + width / 2:g}" y="{y + height - 7:g}">{label}</text>' if label else ""
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="2"/>{text}'


def draw():
    events = schedule()
    end = max(event[4] for event in events)
    places, y = {}, 34
    for row, _ in ROWS:
        places[row] = y
        y += ROW + (GAP if row in LAST_OF_ITS_KIND else 1)
    parts, x = [], 8
    for kind, text in LEGEND:
        parts.append(box(kind, x, 6, 14, 14) + f'<text x="{x + 19}" y="17">{text}</text>')
        x += 40 + 7 * len(text)
    for row, label in ROWS:
        parts.append(f'<text x="8" y="{places[row] + 15}">{label}</text>')
    for row, kind, label, start, stop in events:
        parts.append(box(kind, LEFT + start * UNIT, places[row], (stop - start) * UNIT - 1, ROW - 2, label))
    width, height = LEFT + end * UNIT + 8, y + 16
    parts.append(f'<line class="axis" x1="{LEFT}" y1="{y}" x2="{width - 8}" y2="{y}"/><text x="{width - 40}" y="{y + 13}">time</text>')
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
        f"<style>{STYLE}</style>\n{body}\n</svg>\n"
    )


if __name__ == "__main__":
    sys.stdout.write(draw())
