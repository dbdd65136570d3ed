"""Records clocks inside a kernel: instruments its PTX, so that the first thread of each warp group
takes a note at each position where it may wait, and evaluates the notes.

A note is a site and the low half of the SM's clock. Sites are positions in the original PTX: before
and after waits for pipeline barriers, named barriers, dots and bulk copies; at the issue of dots;
and at labels. A note costs 30 to 60 cycles; all notes cost about 10 % of a forward kernel's time.
"""

import collections
import json
import re
import statistics

#: Notes of a warp group, and CTAs that take them.
NOTES, CTAS = 4096, 132
TENSOR = "trace"
WARP_GROUP = 128

#: Beginnings of lines with a note before them, and after them.
_BEFORE = ("WAIT:", "wgmma.wait_group", "bar.sync", "cp.async.bulk.wait_group")
_AFTER = ("DONE:", "wgmma.wait_group", "wgmma.commit_group", "bar.sync", "cp.async.bulk.wait_group", "$L__BB")


def _note(site):
    return [f"\t@%tp st.global.u32 [%tr], {site};", "\tmov.u32 %tc, %clock;", "\t@%tp st.global.u32 [%tr+4], %tc;",
            "\t@%tp add.u64 %tr, %tr, 8;", "\tsetp.lt.and.u64 %tp, %tr, %te, %tp;"]  # fmt: skip


def _setup(parameter, groups):
    size = NOTES * 8
    return [
        "\t.reg .pred %tp;", "\t.reg .b64 %tr, %te;", "\t.reg .b32 %tc, %td;",
        "\tmov.u32 %tc, %tid.x;", f"\tand.b32 %td, %tc, {WARP_GROUP - 1};", "\tsetp.eq.u32 %tp, %td, 0;",
        f"\tshr.u32 %tc, %tc, {WARP_GROUP.bit_length() - 1};", "\tmov.u32 %td, %ctaid.x;",
        f"\tsetp.lt.and.u32 %tp, %td, {CTAS}, %tp;", f"\tmad.lo.u32 %tc, %td, {groups}, %tc;",
        f"\tmul.wide.u32 %tr, %tc, {size};", f"\tld.param.u64 %te, [{parameter}];", "\tadd.u64 %tr, %tr, %te;",
        f"\tadd.u64 %te, %tr, {size};",
    ]  # fmt: skip


def instrument(ptx, metadata):
    """PTX and metadata (text) of a kernel with one more tensor, `trace`, and a
    description of each site by its number."""
    facts = json.loads(metadata)
    name, groups = facts["kernel"], facts["block"][0] // WARP_GROUP
    parameter = f"{name}_param_{len(facts['parameters'])}"
    facts["parameters"].append({"kind": "pointer", "tensor": TENSOR})
    dims = [f"{TENSOR}.0"]
    facts["tensors"].append(
        {"name": TENSOR, "access": "write", "dtype": "i32", "shape": dims, "dims": dims, "alignment": 8}
    )
    lines, written, sites = ptx.split("\n"), [], {}
    starts = [i for i, line in enumerate(lines) if re.match(rf"\.visible \.entry {name}\(", line)]
    if not starts or groups == 0:
        raise ValueError(f"found no kernel '{name}' of warp groups")
    first = lines.index("{", starts[0])
    end = lines.index("}", first)
    is_set_up = False
    for index, line in enumerate(lines):
        text = line.strip()
        if starts[0] < index < first and text == ")":
            written[-1] += ","
            written.append(f"\t.param .u64 .ptr .global .align 8 {parameter}")
        if not first < index < end:
            written.append(line)
            continue
        if not is_set_up and text and not text.startswith((".", "//")):
            written += _setup(parameter, groups)
            is_set_up = True
        for behind, starts_of in ((0, _BEFORE), (1, _AFTER)):
            if behind:
                written.append(line)
            if text.startswith(starts_of):
                site = 2 * (index + 1) + behind
                sites[site] = f"{'after' if behind else 'before'} {index + 1}: {text[:40]}"
                written += _note(site)
    return "\n".join(written), json.dumps(facts), sites


def read_notes(values):
    """(site, clock) pairs of one warp group's row of numbers, in order; clocks count
    from the first."""
    notes, clock = [], 0
    for site, low in zip(values[::2], values[1::2]):
        if site == 0:
            break
        low &= 0xFFFFFFFF
        clock += (low - notes[-1][2]) & 0xFFFFFFFF if notes else 0
        notes.append((site, clock, low))
    return [(site, clock) for site, clock, _ in notes]


def summarise(rows):
    """Statistics of a warp group's notes in several CTAs: the mean and the longest time from first
    to last, and the steps from a site to the next as (share of the time, times per CTA, mean
    cycles, from, to), the largest share first.
    """
    rows = [notes for notes in rows if len(notes) > 1]
    if not rows:
        raise ValueError("no warp group took notes")
    spans, steps = [notes[-1][1] for notes in rows], collections.defaultdict(list)
    for notes in rows:
        for (site, clock), (following, then) in zip(notes, notes[1:]):
            steps[site, following].append(then - clock)
    table = [
        (sum(cycles) / max(1, sum(spans)), len(cycles) / len(rows), statistics.mean(cycles), *places)
        for places, cycles in steps.items()
    ]
    return statistics.mean(spans), max(spans), sorted(table, reverse=True)
