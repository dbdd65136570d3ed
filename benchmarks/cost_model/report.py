"""Tables of the cost model, and the loops of FlashAttention-4 beside ours."""

import dataclasses
import textwrap

from . import costs, sass
from . import roles as sass_roles

NOTE = "Computed, not measured"
BLOCK_KEYS = 128


@dataclasses.dataclass(frozen=True)
class Bar:
    """FlashAttention-4's loops: warp instructions per block of 128 keys (0: not counted), MUFU among
    those of softmax, whether it uses a pair of CTAs.
    """

    softmax: int
    masked: int
    correction: int
    mma: int
    mufu: int
    pair: int


BAR_SOURCE = (
    "FlashAttention-4 at commit 0251105a, two row tiles, blocks of 128 keys, bf16: warp instructions of its loops, "
    "counted in machine code from ptxas 13.0"
)
# By family of targets, d, dv: kernels with one CTA and with pairs.
BARS = {
    ("sm_100", 64, 64): [Bar(517, 690, 107, 172, 113, 0)],
    ("sm_100", 128, 128): [Bar(517, 690, 186, 199, 113, 0), Bar(583, 0, 186, 199, 105, 1)],
    ("sm_100", 192, 128): [Bar(545, 0, 185, 255, 105, 1)],
    ("sm_103", 64, 64): [Bar(388, 0, 107, 172, 129, 0)],
    ("sm_103", 128, 128): [Bar(388, 0, 186, 199, 129, 1)],
}


def find_bar(shape, target):
    """FlashAttention-4's loops for a shape, with as many CTAs if there are such; or None."""
    known = BARS.get((target[:6], shape.d, shape.dv), []) if shape.bits == 16 else []
    return next((bar for bar in known if bar.pair == shape.pair), known[0] if known else None)


def bar_units(bar, shape, target):
    """Cycles of FlashAttention-4 by the same rules; FMA and ALU pipes are unknown."""
    shape = dataclasses.replace(shape, pair=bar.pair, keys=BLOCK_KEYS, row_tiles=2)
    softmax = {"mufu": bar.mufu, "other": bar.softmax - bar.mufu}
    loads = [
        costs.Load("softmax", "softmax", list(range(8)), softmax),
        costs.Load("correction", "correction", list(range(8, 12)), {"other": bar.correction}),
        costs.Load("mma", "mma", [12], {"other": bar.mma}),
    ]
    return costs.units(shape, target, loads)


@dataclasses.dataclass
class Result:
    """A kernel and its figures; `weights` names the source of the weights."""

    name: str
    target: str
    shape: costs.Shape
    roles: list
    loads: list
    cycles: dict
    weights: str
    notes: list
    rescaled: float = None
    masked: float = None

    @property
    def bottleneck(self):
        return costs.bottleneck(self.cycles)

    @property
    def bar(self):
        return find_bar(self.shape, self.target)

    @property
    def tensor_share(self):
        """The share of time in which the tensor core is busy if the bottleneck is all."""
        return self.cycles["mma"] / self.cycles[self.bottleneck]

    def exponentials(self):
        """MUFU.EX2 of a row per key block, without that of the rescaling factor. A thread has a row."""
        return max(sass_roles.exponentials(role.main.code) - 1 for role in self.roles if role.kind == "softmax")

    def scale(self):
        """Factor from a block of this kernel to 128 keys."""
        return BLOCK_KEYS / self.shape.keys

    def longest(self, kind, body=None):
        """Instructions of the longest loop of a kind of role, or None."""
        found = [role.body(body) if body else role.main for role in self.roles if role.kind == kind]
        return max((len(one.code) for one in found if one), default=None)


def analyse(name, target, shape, found, loads, weights, facts=()):
    """The result for a kernel whose roles are found."""
    in_shared, in_tensor = costs.operands(found)
    expected_shared = shape.row_tiles * shape.d * shape.bits // 256
    shared_p = in_tensor == 0 and in_shared == shape.products
    notes = []
    if in_shared + in_tensor != shape.products:
        notes.append(f"the mma loop has {in_shared + in_tensor} products, the shape needs {shape.products}")
    elif in_shared != expected_shared and not shared_p:
        notes.append(f"{in_shared} products have A in shared memory, S needs {expected_shared}")
    for role in found:
        spills = sum(body.counts["spill"] for body in role.bodies)
        if spills:
            notes.append(f"{role.name} has {spills} spill instructions in its loops")
    cycles = costs.units(shape, target, loads, shared_p)
    return Result(name, target, shape, found, loads, cycles, weights, notes, **dict(facts))


def describe(counts):
    ordered = sorted(counts.items(), key=lambda item: (-item[1], sass.CLASS_NAMES.index(item[0])))
    return ", ".join(f"{name} {number:g}" for name, number in ordered if number)


def format_roles(result):
    """Lines with the instructions of each role by class."""
    warps = {load.name: load.warps for load in result.loads}
    lines = [f"{result.name}: {result.target}, {result.shape}", f"  weights: {result.weights}"]
    if result.rescaled is not None:
        lines.append(f"  trace: accumulators rescaled after {result.rescaled:.0%} of the key blocks, {result.masked:.0%} masked")
    for role in result.roles:
        listed = ",".join(map(str, warps[role.name]))
        for body in role.bodies:
            kind = "work tile" if role.kind == "epilogue" else "key block" if body.kind == "loop" else "masked block"
            lines.append(f"  {role.name:<11} warps {listed:<16} {kind:<12} {len(body.code):>5}: {describe(body.counts)}")
        if role.tile.code:
            lines.append(f"  {role.name:<11} {'':<22} {'outside loop':<12} {len(role.tile.code):>5}: {describe(role.tile.counts)}")
    return [*lines, *(f"  note: {note}" for note in result.notes)]


def format_units(result):
    """Lines with the cycles of each unit."""
    _, writes = costs.shared_memory(result.shape)
    reads = result.cycles["shared memory"] - writes
    lines = [f"  cycles per block of {result.shape.keys} keys ({NOTE.lower()}):"]
    for unit in costs.UNITS:
        more = f"  (reads {reads:.0f}, TMA writes {writes:.0f})" if unit == "shared memory" else ""
        lines.append(f"    {unit:<14}{result.cycles[unit]:>7.0f}{more}{'  <- bottleneck' if unit == result.bottleneck else ''}")
    exp2 = result.exponentials()
    by_polynomial = max(0, 1 - exp2 / result.shape.keys)
    lines.append(f"  exponentials of a row: {exp2} of {result.shape.keys} by MUFU, {by_polynomial:.0%} by polynomial")
    return [*lines, f"  tensor core at most {result.tensor_share:.0%} busy, without latencies"]


def pair_of(ours, bar):
    """Our number of instructions and FlashAttention-4's."""
    return "-" if ours is None else f"{ours:.0f} ({bar if bar else '-'})"


HEADER = (
    "kernel", "softmax", "masked", "correction", "mma loop", "mma", "shared", "MUFU", "issue", "FMA", "ALU", "chain", "bottleneck",
    "tensor core", "bar",
)  # fmt: skip


def table_row(result):
    """The cells of a kernel: instructions per block, ours and the bar's, then cycles per 128 keys."""
    bar, scale = result.bar, result.scale()
    same_block = bar and scale == 1
    loops = [
        pair_of(result.longest("softmax"), same_block and bar.softmax),
        pair_of(result.longest("softmax", "masked"), same_block and bar.masked),
        pair_of(result.longest("correction"), same_block and bar.correction),
        pair_of(result.longest("mma"), same_block and bar.mma),
    ]
    cycles = [f"{result.cycles[unit] * scale:.0f}" for unit in costs.UNITS]
    bound = "-"
    if bar and result.shape.row_tiles == 2:
        known = bar_units(bar, result.shape, result.target)
        unit = costs.bottleneck(known)
        bound = f"{unit} {known[unit]:.0f}" + ", pair" * (bar.pair > result.shape.pair)
    most = f"{result.bottleneck} {result.cycles[result.bottleneck] * scale:.0f}"
    return [result.name, *loops, *cycles, most, f"{result.tensor_share:.0%}", bound]


def format_table(results, markdown=False):
    """Lines of the table of all kernels."""
    rows = [list(HEADER), *(table_row(result) for result in results)]
    text = f"{NOTE}: cycles of one SM per 128 keys by unit; warp instructions per key block, in parentheses the bar."
    limits = "Not modelled: latencies, the bandwidth of tensor memory, work per tile. Below 10 % there is no difference"
    source = f"Bar: {BAR_SOURCE}. {limits}."
    weights = f"Weights: {'; '.join(dict.fromkeys(result.weights for result in results))}."
    if markdown:
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        text, source, weights = (textwrap.fill(part, 100) for part in (text, source, weights))
        return [text, "", lines[0], "|" + "---|" * len(HEADER), *lines[1:], "", source, weights]
    widths = [max(len(row[index]) for row in rows) for index in range(len(HEADER))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return [text, *lines, source, weights]


def to_json(result):
    """The figures of a kernel as plain values."""
    bar = result.bar
    return {
        "kernel": result.name,
        "target": result.target,
        "shape": dataclasses.asdict(result.shape),
        "weights": result.weights,
        "rescaled": result.rescaled,
        "masked": result.masked,
        "notes": result.notes,
        "roles": [
            {"name": role.name, "kind": role.kind, "bodies": [body.to_json() for body in [*role.bodies, role.tile]]}
            for role in result.roles
        ],
        "per_block": {load.name: {"warps": load.warps, "instructions": load.instructions} for load in result.loads},
        "cycles": result.cycles,
        "bottleneck": result.bottleneck,
        "tensor_share": result.tensor_share,
        "exponentials": result.exponentials(),
        "bar": {**dataclasses.asdict(bar), "cycles": bar_units(bar, result.shape, result.target), "source": BAR_SOURCE} if bar else None,
        "computed": True,
    }
