"""Parses the SASS of cuobjdump: instructions, loops, and hot paths.

Loops are natural loops, so that code which ptxas places out of line (retries of waits,
rare branches) belongs to the loop that it returns to.
"""

import re
import subprocess
from dataclasses import dataclass, field

INSTRUCTION = re.compile(r"/\*([0-9a-f]{4,6})\*/\s+(.*?)\s*;")
GUARD = re.compile(r"^@!?U?P\w+\s+")
ENDS = ("BRA", "EXIT", "RET", "BRX", "JMP")


@dataclass
class Instruction:
    address: int
    text: str

    def __post_init__(self):
        bare = GUARD.sub("", self.text)
        self.is_guarded = bare != self.text
        #: With its modifiers, such as HGMMA.64x128x16.F32.BF16.
        self.opcode = bare.split()[0]
        self.name = self.opcode.split(".")[0]

    @property
    def target(self):
        match = re.search(r"0x([0-9a-f]+)\)?$", self.text) if self.name == "BRA" else None
        return int(match.group(1), 16) if match else None


@dataclass
class Block:
    instructions: list
    successors: list = field(default_factory=list)
    predecessors: list = field(default_factory=list)


def disassemble(cuobjdump, cubin):
    text = subprocess.run([cuobjdump, "-sass", cubin], check=True, capture_output=True, text=True).stdout
    return [Instruction(int(match[1], 16), match[2]) for match in INSTRUCTION.finditer(text)]


def find_blocks(instructions):
    """Basic blocks by their first address."""
    leaders = {instructions[0].address}
    for instruction, following in zip(instructions, instructions[1:]):
        if instruction.target is not None:
            leaders.add(instruction.target)
        if instruction.name in ENDS:
            leaders.add(following.address)
    blocks, current = {}, None
    for instruction in instructions:
        if instruction.address in leaders:
            current = blocks.setdefault(instruction.address, Block([]))
        current.instructions.append(instruction)
    order = sorted(blocks)
    for start, following in zip(order, order[1:] + [None]):
        last = blocks[start].instructions[-1]
        if last.target in blocks:
            blocks[start].successors.append(last.target)
        if (last.name not in ENDS or last.is_guarded) and following is not None:
            blocks[start].successors.append(following)
        for successor in blocks[start].successors:
            blocks[successor].predecessors.append(start)
    return blocks


def find_dominators(blocks):
    """The dominators of each reachable block."""
    entry = min(blocks)
    reached, work = set(), [entry]
    while work:
        block = work.pop()
        if block not in reached:
            reached.add(block)
            work += blocks[block].successors
    dominators = {block: set(reached) for block in reached}
    dominators[entry] = {entry}
    changed = True
    while changed:
        changed = False
        for block in sorted(reached - {entry}):
            before = [dominators[p] for p in blocks[block].predecessors if p in reached]
            now = set.intersection(*before) | {block}
            if now != dominators[block]:
                dominators[block], changed = now, True
    return dominators


@dataclass
class Loop:
    """`blocks` by their first address; the loop starts at `header`."""

    header: int
    blocks: dict

    @property
    def instructions(self):
        return [i for start in sorted(self.blocks) for i in self.blocks[start].instructions]

    def hot_path(self):
        """The instructions of the shortest path through the loop, which every iteration executes."""
        best = {self.header: (len(self.blocks[self.header].instructions), None)}
        work, ends = [self.header], []
        while work:
            start = work.pop(0)
            for successor in self.blocks[start].successors:
                if successor == self.header:
                    ends.append(start)
                if successor == self.header or successor not in self.blocks:
                    continue
                length = best[start][0] + len(self.blocks[successor].instructions)
                if successor not in best or length < best[successor][0]:
                    best[successor] = (length, start)
                    work.append(successor)
        end, path = min(ends, key=lambda start: best[start][0]), []
        while end is not None:
            path.append(end)
            end = best[end][1]
        return [i for start in reversed(path) for i in self.blocks[start].instructions]


def find_loops(instructions):
    """Natural loops; loops with the same header are merged."""
    blocks = find_blocks(instructions)
    dominators = find_dominators(blocks)
    loops = {}
    for start in dominators:
        for header in blocks[start].successors:
            if header not in dominators[start]:
                continue
            body, work = loops.setdefault(header, {header}), [start]
            while work:
                block = work.pop()
                if block not in body:
                    body.add(block)
                    work += [p for p in blocks[block].predecessors if p in dominators]
    return [Loop(header, {start: blocks[start] for start in body}) for header, body in sorted(loops.items())]


def find_innermost(loops, name):
    """Loops with an instruction of that name, without an inner loop that has one."""
    having = [loop for loop in loops if any(i.name == name for i in loop.instructions)]
    return [loop for loop in having if not any(other is not loop and set(other.blocks) < set(loop.blocks) for other in having)]
