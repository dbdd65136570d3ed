"""Cycles of one SM per key block of a forward kernel on Blackwell, unit by unit.

All figures are computed from instruction counts and shapes, none is measured. The rates of the tensor
core, shared memory and MUFU are published ones. Two cycles for packed arithmetic, conversions, minima
and maxima are too; the other rates of the FMA and ALU pipes are assumed. Latencies and the bandwidth of
tensor memory are unknown and left out.
"""

import collections
import dataclasses

from . import roles as sass_roles
from .sass import ModelError

QUARTERS = 4
TILE_ROWS = 128
MMA_FLOPS = 8192  # 16-bit operations of the tensor core per cycle; 8-bit: twice
SHARED_BYTES = 128  # per cycle
MUFU_CYCLES = {"sm_100": 8, "sm_103": 4}  # of a quarter per warp instruction
FMA_CYCLES = {"packed": 2, "fma": 1, "imad": 2}
ALU_CYCLES = {"f2fp": 2, "fmnmx": 2, "fmnmx3": 2, "select": 2, "alu": 2}
UNITS = ("mma", "shared memory", "mufu", "issue", "fma", "alu", "chain")


@dataclasses.dataclass(frozen=True)
class Shape:
    """Head dims of Q, K and of V, keys per block, tiles of 128 rows per CTA, whether two CTAs form a
    pair, and bits of an element.
    """

    d: int
    dv: int
    keys: int = 128
    row_tiles: int = 2
    pair: int = 0
    bits: int = 16

    def __str__(self):
        dims = f"d {self.d}" if self.d == self.dv else f"d {self.d}/{self.dv}"
        rows = f"{self.row_tiles} x {TILE_ROWS} rows, {self.keys} keys"
        return dims + f", {rows}" + ", pair" * bool(self.pair) + f", {self.bits} bit" * (self.bits != 16)

    @property
    def products(self):
        """mma instructions per key block: 32 bytes of the reduced dimension each."""
        step = 256 // self.bits
        return self.row_tiles * (self.d // step + self.keys // step)


def parse_shape(text):
    """A shape such as d=128,dv=128,keys=128,row_tiles=2,pair=0; dv is d if absent."""
    known, values = [field.name for field in dataclasses.fields(Shape)], {}
    for part in text.split(","):
        key, equals, value = part.strip().partition("=")
        if key not in known:
            raise ModelError(f"unknown shape key '{key}': expected {', '.join(known)}")
        if not equals or not value.strip().isdigit():
            raise ModelError(f"'{part}' has no number: expected for example {key}=128")
        values[key] = int(value)
    if "d" not in values:
        raise ModelError("the shape has no d: expected for example d=128")
    values.setdefault("dv", values["d"])
    shape = Shape(**values)
    if min(shape.d, shape.dv, shape.keys, shape.row_tiles) < 1 or shape.pair > 1 or shape.bits not in (8, 16):
        raise ModelError(f"no such shape '{text}': expected positive sizes, pair 0 or 1, bits 8 or 16")
    return shape


@dataclasses.dataclass
class Load:
    """The work of a role: its warps, and instructions by class of one warp and key block."""

    name: str
    kind: str
    warps: list
    counts: dict

    @property
    def instructions(self):
        return sum(self.counts.values())


def assumed_warps(roles, shape):
    """Warps by role in the usual order: softmax, correction, mma, load, epilogue."""
    softmax = [role.name for role in roles if role.kind == "softmax"]
    first, result = 4 * shape.row_tiles, {}
    for index, name in enumerate(softmax):
        share = first // len(softmax)
        result[name] = list(range(index * share, (index + 1) * share))
    for role in roles:
        if role.kind == "correction":
            result[role.name] = list(range(first, first + 4))
    single = sorted((role for role in roles if role.name not in result), key=lambda role: ("mma", "load", "epilogue").index(role.kind))
    return {**result, **{role.name: [first + 4 + index] for index, role in enumerate(single)}}


def default_loads(roles, shape):
    """One iteration of each role's unmasked loop per key block; the epilogue's is per work tile."""
    warps = assumed_warps(roles, shape)
    return [
        Load(role.name, role.kind, warps[role.name], role.main.counts if role.kind != "epilogue" else collections.Counter())
        for role in roles
    ]


def traced_loads(roles, weights):
    return [Load(role.name, role.kind, weights.warps[role.name], weights.counts(role)) for role in roles]


def busiest(loads, cost):
    """The largest sum over the four quarters of an SM; a warp is in quarter index mod 4."""
    quarters = [0.0] * QUARTERS
    for load in loads:
        for warp in load.warps:
            quarters[warp % QUARTERS] += cost(load.counts)
    return max(quarters)


def pipe(cycles):
    return lambda counts: sum(counts.get(name, 0) * number for name, number in cycles.items())


def product_cycles(shape):
    """Cycles of the tensor core for S and O of one row tile."""
    rate = MMA_FLOPS * 16 // shape.bits
    return [2 * TILE_ROWS * shape.keys * head_dim / rate for head_dim in (shape.d, shape.dv)]


def shared_memory(shape, shared_p=False):
    """Cycles of reads by the tensor core and of writes by TMA. Q is read for each S, P only if it is
    in shared memory; in a pair each CTA reads and writes half of K and V.
    """
    size, part = shape.bits // 8, 1 + shape.pair
    keys_and_values = shape.keys * (shape.d + shape.dv) * size // part
    read = shape.row_tiles * (TILE_ROWS * (shape.d + shared_p * shape.keys) * size + keys_and_values)
    return read / SHARED_BYTES, keys_and_values / SHARED_BYTES


def mufu_cycles(target):
    """Cycles per warp instruction. Raises ModelError for targets without tcgen05."""
    for name, cycles in MUFU_CYCLES.items():
        if target.startswith(name):
            return cycles
    raise ModelError(f"target '{target}' has no rates: expected {' or '.join(MUFU_CYCLES)}")


def units(shape, target, loads, shared_p=False):
    """Cycles per key block by unit."""
    rate = mufu_cycles(target)
    softmax = [load for load in loads if load.kind == "softmax"]
    if not softmax:
        raise ModelError("no softmax role: the model needs a forward kernel")
    products = product_cycles(shape)
    latency = max(max(rate * load.counts.get("mufu", 0), load.instructions) for load in softmax)
    return {
        "mma": shape.row_tiles * sum(products),
        "shared memory": sum(shared_memory(shape, shared_p)),
        "mufu": busiest(loads, pipe({"mufu": rate})),
        "issue": busiest(loads, lambda counts: sum(counts.values())),
        "fma": busiest(loads, pipe(FMA_CYCLES)),
        "alu": busiest(loads, pipe(ALU_CYCLES)),
        "chain": sum(products) + latency,
    }


def bottleneck(cycles):
    """The unit with most cycles."""
    return max(UNITS, key=lambda unit: cycles[unit])


def operands(roles):
    """mma instructions of the loop with A in shared and in tensor memory."""
    found = [code.operands for role in roles if role.kind == "mma" for code in role.main.code if sass_roles.count([code])["mma"]]
    in_shared = sum(text.startswith("gdesc") for text in found)
    return in_shared, len(found) - in_shared
