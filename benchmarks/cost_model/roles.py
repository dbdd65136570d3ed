"""Roles of a warp-specialised kernel in its machine code, and the instructions of their loops.

Each USETMAXREG starts a region: the blocks that it dominates. The instruction classes of a region's
loops name its roles. A role has bodies, its innermost loops with one iteration per key block, and
instructions per work tile, outside of them.

An iteration is the longest path through the loop: conditional work (rescaling, the scores of the
next block) is done, waits succeed at once. Both sides of a branch on ELECT's predicate count, since
one warp executes both.
"""

import collections
import dataclasses
import functools

from . import sass
from .sass import ModelError

WORK = {"mma", "tma load", "tma store", "tmem load", "tmem store", "mufu"}
SPIN_LENGTH = 20  # instructions of the longest loop that only waits
LEAST_EXP2 = 16  # exponentials in a softmax loop
LEAST_SELECTS = 64  # comparisons and selections in a masked loop
EXIT = -1


def count(code):
    """Instructions by class."""
    return collections.Counter(sass.classify(instruction.opcode) for instruction in code)


def exponentials(code):
    return sum(instruction.opcode.startswith("MUFU.EX2") for instruction in code)


class Graph:
    """Blocks, dominators and loops of a kernel."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.blocks = sass.split(kernel)
        self.parent = sass.dominators(lambda index: self.blocks[index].follows, lambda index: self.blocks[index].before, 0)
        self.loops = sass.find_loops(self.blocks, self.parent)
        self.spins = set().union(*(loop.blocks for loop in self.loops if self.is_spin(loop)))

    def code(self, blocks):
        return [instruction for index in sorted(blocks) for instruction in self.blocks[index].code]

    def is_spin(self, loop):
        """A short loop that waits: it retries an mbarrier, a lock, or USETMAXREG."""
        code = self.code(loop.blocks)
        return len(code) <= SPIN_LENGTH and not WORK & set(count(code)) and not loop.inner

    def dominated(self, entry):
        return {block for block in self.parent if sass.dominates(self.parent, entry, block)}

    def uniform_targets(self, index):
        """Successors without those of BRA.DIV, which leads to the code for a diverged warp."""
        block = self.blocks[index]
        if ".DIV" in block.code[-1].opcode and len(block.follows) > 1:
            return block.follows[:1]
        return block.follows


def elected(code):
    """Predicates that only ELECT defines in this code, hence true in one lane."""
    defined, changed = set(), set()
    for instruction in code:
        destinations = instruction.operands.split(",")
        names = {word.strip() for word in destinations[:2]} if not instruction.is_branch else set()
        predicates = {name for name in names if name[:1] == "P" and name[1:].isdigit()}
        (defined if instruction.base == "ELECT" else changed).update(predicates)
    return defined - changed


class Paths:
    """Longest paths through blocks whose loops run once. Blocks of `free` cost nothing."""

    def __init__(self, graph, allowed, entry, free=(), divergent=()):
        self.graph, self.entry, self.free, self.divergent = graph, entry, set(free), set(divergent)
        self.allowed = set(allowed) - graph.spins
        if not any(self.follows(index) for index in self.allowed) and len(allowed) > 1:
            self.allowed = set(allowed)  # a loop that waits in line
        self.post = self.post_dominators()

    @functools.lru_cache(maxsize=None)  # noqa: B019
    def follows(self, index):
        """Successors inside, without back edges."""
        inside = (to for to in self.graph.uniform_targets(index) if to in self.allowed)
        return tuple(to for to in inside if not sass.dominates(self.graph.parent, to, index))

    def post_dominators(self):
        """The blocks on every path from each block to the end, by block."""
        result = {EXIT: frozenset([EXIT])}
        for index in reversed(sass.order(self.follows, self.entry)):
            following = [result.get(to, frozenset([EXIT])) for to in self.follows(index)] or [result[EXIT]]
            result[index] = frozenset.intersection(*following) | {index}
        return result

    def cost(self, path):
        return sum(len(self.graph.blocks[index].code) for index in path if index not in self.free)

    @functools.lru_cache(maxsize=None)  # noqa: B019
    def longest(self, index, stop=EXIT):
        """The blocks of the longest path from a block to `stop`, exclusive."""
        if index == stop:
            return ()
        sides = self.follows(index)
        if not sides:
            return (index,)
        if len(sides) > 1 and self.graph.blocks[index].code[-1].condition in self.divergent:
            shared = frozenset.intersection(*(self.post[to] for to in sides))
            join = max(shared, key=lambda to: len(self.post[to]))
            both = sum((self.longest(to, join) for to in sides), ())
            return (index, *both, *(self.longest(join, stop) if join != EXIT else ()))
        return (index, *max((self.longest(to, stop) for to in sides), key=self.cost))

    def code(self):
        """The instructions of the longest path, and its blocks."""
        path = tuple(dict.fromkeys(self.longest(self.entry)))
        kept = [index for index in path if index not in self.free]
        return [instruction for index in kept for instruction in self.graph.blocks[index].code], kept


@dataclasses.dataclass
class Body:
    """One iteration of a role's loop, or its code per work tile: instructions and blocks."""

    kind: str  # loop, masked, tile
    code: list
    blocks: list

    @property
    def counts(self):
        return count(self.code)

    def to_json(self):
        return {"kind": self.kind, "instructions": len(self.code), "classes": dict(self.counts)}


@dataclasses.dataclass
class Role:
    """A role: its kind, its bodies, and all blocks of its region."""

    name: str
    kind: str
    bodies: list
    tile: Body
    region: set

    def body(self, kind="loop"):
        """The shortest body of a kind, or None."""
        found = [body for body in self.bodies if body.kind == kind]
        return min(found, key=lambda body: len(body.code)) if found else None

    @property
    def main(self):
        """The body of a block without a mask, or the only one."""
        return self.body("loop") or self.body("masked")


def kind_of(code):
    """The role that executes this code, or None."""
    counts = count(code)
    if counts["mma"]:
        return "mma"
    if counts["tmem load"]:
        return "softmax" if exponentials(code) >= LEAST_EXP2 else "correction"
    if counts["tma load"]:
        return "load"
    return "epilogue" if counts["tma store"] else None


def regions(graph):
    """The blocks that each USETMAXREG dominates, or the whole kernel."""
    starts = [block.index for block in graph.blocks if any(code.base == "USETMAXREG" for code in block.code)]
    starts = [start for start in starts if start in graph.parent]
    found = [graph.dominated(start) for start in starts]
    outer = [set(region) for region in found if not any(region < other for other in found)]
    return outer or [set(graph.parent)]


def is_body(graph, loop, kind):
    """Whether a loop without loops inside does the role's work per block."""
    inner = [inside for inside in loop.inner if not graph.is_spin(inside)]
    return not graph.is_spin(loop) and kind_of(graph.code(loop.blocks)) == kind and not inner


def make_body(graph, loop, kind, divergent):
    code, blocks = Paths(graph, loop.blocks, loop.header, divergent=divergent).code()
    masked = kind == "softmax" and count(code)["select"] >= LEAST_SELECTS
    return Body("masked" if masked else "loop", code, blocks)


def make_role(graph, region, kind, outermost, is_alone):
    """A role from the outermost loops of a region that do its work, which may be alone in the region.
    Returns None without a body.
    """
    inside = set().union(*(loop.blocks for loop in outermost))
    loops = [loop for loop in graph.loops if loop.blocks <= inside and is_body(graph, loop, kind)]
    if not loops:
        return None
    divergent = elected(graph.code(region))
    bodies = [make_body(graph, loop, kind, divergent) for loop in loops]
    if kind == "mma":  # the steady state has most products
        bodies = [max(bodies, key=lambda body: body.counts["mma"])]
    free = set().union(*(loop.blocks for loop in loops))
    around = next((loop for loop in outermost if loop not in loops), None)
    code, blocks = [], []
    if around:
        code, blocks = Paths(graph, around.blocks, around.header, free, divergent).code()
    elif is_alone:
        code, blocks = Paths(graph, region, min(region), free, divergent).code()
    return Role(kind, kind, bodies, Body("tile", code, blocks), region if is_alone else inside)


def find_roles(kernel):
    """The graph of a kernel and its roles in the order of the code. Raises ModelError if no loop does
    work.
    """
    graph, roles = Graph(kernel), []
    for region in regions(graph):
        loops = [loop for loop in graph.loops if loop.blocks <= region and not graph.is_spin(loop)]
        outermost = [loop for loop in loops if not any(loop.blocks < other.blocks for other in loops)]
        kinds = collections.defaultdict(list)
        for loop in outermost:
            kinds[kind_of(graph.code(loop.blocks))].append(loop)
        kinds.pop(None, None)
        roles += [make_role(graph, region, kind, found, len(kinds) == 1) for kind, found in kinds.items()]
    roles = [role for role in roles if role]
    if not roles:
        raise ModelError(f"kernel '{kernel.name}' has no loop with tensor-core, copy or exponential instructions")
    total = collections.Counter(role.kind for role in roles)
    number = collections.Counter()
    for role in roles:
        if total[role.kind] > 1:
            role.name = f"{role.kind} {number[role.kind]}"
            number[role.kind] += 1
    return graph, roles


def main_kernel(kernels, name=None):
    """The kernel to analyse: the named one, or the one with most instructions."""
    if name is None:
        return max(kernels.values(), key=lambda kernel: len(kernel.code))
    if name not in kernels:
        raise ModelError(f"no kernel '{name}': expected one of {', '.join(kernels)}")
    return kernels[name]
