"""Weights of machine code from a trace of the PTX emulator.

A trace says how often each warp issued each asynchronous PTX instruction. The n-th tcgen05.ld of the
PTX is the n-th LDTM of the machine code, and so on for the other kinds. That gives the executions of
the blocks with such instructions, and the warps of each role.
"""

import collections
import json
import re

from . import roles as sass_roles
from .sass import ModelError

# Name in the trace, PTX instruction, opcode of the machine code.
KINDS = (
    ("tcgen05.ld", r"tcgen05\.ld\.", "LDTM"),
    ("tcgen05.st", r"tcgen05\.st\.", "STTM"),
    ("tcgen05.mma", r"tcgen05\.mma\.", r"UTC[A-Z]*MMA"),
    ("tensor load", r"cp\.async\.bulk\.tensor\.\S*shared::c\w+\.global", "UTMALDG"),
    ("bulk store", r"cp\.async\.bulk\.tensor\.\S*global\.shared", "UTMASTG"),
)


def read(path):
    """Executions by (name, PTX line), as a Counter by warp. Launches and CTAs add up."""
    try:
        with open(path, encoding="utf-8") as file:
            events = json.load(file)
        issued = [event for event in events if event["ph"] == "b" and event["cat"] == "work"]
        result = collections.defaultdict(collections.Counter)
        for event in issued:
            result[event["name"], event["args"]["line"]][event["tid"]] += 1
    except (ValueError, KeyError, TypeError):
        raise ModelError(f"'{path}' is not a trace: expected JSON written by --trace") from None
    if not result:
        raise ModelError(f"'{path}' has no asynchronous work: expected a trace of a tcgen05 kernel")
    return result


def anchors(graph, executed, ptx=None):
    """Executions of instructions by index and warp. Without the PTX, every one must have run."""
    lines = [line.split("//")[0] for line in ptx.splitlines()] if ptx is not None else []
    result = {}
    for name, pattern, opcode in KINDS:
        places = [index for index, code in enumerate(graph.kernel.code) if re.match(rf"{opcode}(\.|$)", code.opcode)]
        known = [number for number, line in enumerate(lines, 1) if re.search(pattern, line)]
        if ptx is None:
            known = sorted(line for kind, line in executed if kind == name)
        if len(known) != len(places):
            source = "the PTX" if ptx is not None else "the trace"
            hint = "" if ptx is not None else "; name the PTX with --ptx"
            raise ModelError(f"{source} has {len(known)} instructions '{name}', the machine code {len(places)}{hint}")
        for line, place in zip(known, places):
            result[place] = executed.get((name, line), collections.Counter())
    return result


class Weights:
    """Executions of blocks and bodies per warp of a role, and the key blocks of a warp."""

    def __init__(self, graph, roles, executed, ptx=None):
        self.graph = graph
        by_place = anchors(graph, executed, ptx)
        starts, place = {}, 0
        for block in graph.blocks:
            starts[block.index] = place
            place += len(block.code)
        self.of_block = {}
        for block in graph.blocks:
            inside = range(starts[block.index], starts[block.index] + len(block.code))
            self.of_block[block.index] = [by_place[index] for index in inside if index in by_place]
        self.warps = {role.name: self.find_warps(role) for role in roles}
        self.check_warps()
        softmax = [self.key_blocks(role) for role in roles if role.kind == "softmax"]
        self.blocks = sum(softmax) / len(softmax) if softmax else 0
        if not self.blocks:
            raise ModelError("the trace has no key block of a softmax role")

    def find_warps(self, role):
        blocks = set(role.region).union(*(body.blocks for body in role.bodies))
        return sorted(set().union(*(counter for block in blocks for counter in self.of_block[block])))

    def check_warps(self):
        warps = [warp for found in self.warps.values() for warp in found]
        if len(warps) != len(set(warps)):
            raise ModelError(f"the trace does not fit the machine code: roles share warps, {self.warps}")

    def runs(self, role, blocks):
        """How often a warp of the role issued the most frequent instruction of these blocks."""
        number = len(self.warps[role.name])
        counters = [counter for block in blocks for counter in self.of_block[block]]
        return max((sum(counter.values()) for counter in counters), default=0) / number if number else 0

    def key_blocks(self, role):
        peeled = role.tile.blocks if sass_roles.exponentials(role.tile.code) >= sass_roles.LEAST_EXP2 else ()
        return sum(self.runs(role, body.blocks) for body in role.bodies) + self.runs(role, peeled)

    def share(self, role, blocks):
        return self.runs(role, blocks) / self.blocks

    def counts(self, role):
        """Instructions by class of one warp and key block, on average."""
        bodies = list(role.bodies)
        if role.kind == "softmax" and sass_roles.exponentials(role.tile.code) >= sass_roles.LEAST_EXP2:
            bodies.append(role.tile)
        result = collections.Counter()
        for body in bodies:
            # The correction's loop may change no accumulator; it runs once per key block.
            runs = self.blocks if role.kind == "correction" else self.runs(role, body.blocks)
            for block in body.blocks:
                weight = self.runs(role, [block]) if self.of_block[block] else runs
                for name, number in sass_roles.count(self.graph.blocks[block].code).items():
                    result[name] += number * weight / self.blocks
        return result

    def rescaled(self, roles):
        """The share of key blocks after which the correction role stores an accumulator."""
        shares = [
            self.share(role, [block])
            for role in roles if role.kind == "correction"
            for block in role.main.blocks
            if any(code.base == "STTM" for code in self.graph.blocks[block].code)
        ]  # fmt: skip
        return sum(shares) / len(shares) if shares else 0.0

    def masked(self, roles):
        """The share of key blocks in a masked loop or outside of the loops."""
        softmax = [role for role in roles if role.kind == "softmax"]
        plain = sum(self.runs(role, body.blocks) for role in softmax for body in role.bodies if body.kind == "loop")
        return 1 - plain / len(softmax) / self.blocks
