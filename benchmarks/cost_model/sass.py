"""Machine code of a kernel as basic blocks and loops, from the text of nvdisasm.

`roles.py` finds the roles of a specialised kernel in them, `costs.py` computes cycles.
"""

import bisect
import dataclasses
import re
import subprocess

INSTRUCTION = re.compile(
    r"^\s*/\*([0-9a-f]+)\*/\s+(?:\{\s*)?(?:@(!?U?P[0-9T]+)\s+)?([A-Z][A-Z0-9_]*(?:\.[A-Za-z0-9_]+)*)\s*([^;]*);?"
)
LABEL = re.compile(r"^(\S+):\s*$")
SECTION = re.compile(r"^\s*\.section\s+\.text\.([^\s,\"]+)|^//-+ \.text\.(\S+)")
TARGET = re.compile(r"`\(([^)]+)\)")
TARGETS = re.compile(r"BRANCH_TARGETS ([^\"]*)\"")
BRANCHES = ("BRA", "BRX", "JMP", "JMX")
ENDS = ("EXIT", "RET", "BPT")

# The instruction classes; the first match wins. Patterns match the opcode with its modifiers.
CLASSES = [
    ("mma", r"UTC[A-Z]*MMA"),
    ("commit", r"UTCBAR"),
    ("tma load", r"UTMALDG|UBLKCP|UTMAPF"),
    ("tma store", r"UTMASTG|UTMAREDG|UBLKRED"),
    ("mufu", r"MUFU"),
    ("packed", r"FFMA2|FADD2|FMUL2"),
    ("f2fp", r"F2FP"),
    ("fmnmx3", r"FMNMX3"),
    ("fmnmx", r"FMNMX"),
    ("tmem load", r"LDTM"),
    ("tmem store", r"STTM"),
    ("spill", r"LDL|STL"),
    ("shared", r"LDS|STS|LDSM|STSM|ATOMS"),
    ("global", r"LDG|STG|LD|ST|RED|REDG|ATOMG|LDGSTS"),
    ("mbarrier", r"SYNCS"),
    ("branch", r"BRA|BRX|JMP|JMX|BSSY|BSYNC|BREAK|EXIT|RET|CALL|YIELD|WARPSYNC|BMOV"),
    ("uniform", r"U[A-Z0-9]+|R2UR|S2UR|LDCU|VOTEU|REDUX|CS2UR"),
    ("fma", r"FFMA|FADD|FMUL|FSWZADD"),
    ("imad", r"IMAD|I?DP[24]A|HFMA2|HADD2|HMUL2"),
    ("select", r"FSEL|SEL|FSETP|ISETP|FSET|R2P|P2R|PLOP3"),
    ("alu", r"LOP3|IADD3|IADD|SHF|VIADD\w*|VIMNMX\w*|IMNMX|LEA|PRMT|MOV|IABS|BMSK|SGXT|LOP|FCHK|VOTE|MOVM"),
    ("other", r"\w+"),
]
CLASS_NAMES = [name for name, _ in CLASSES]
CLASS_PATTERNS = [(name, re.compile(rf"(?:{pattern})(?:\.|$)")) for name, pattern in CLASSES]


class ModelError(ValueError):
    """Input that the model cannot read; the message says what was found and what was expected."""


def classify(opcode):
    """The class of an opcode with its modifiers, for example 'mufu' for MUFU.EX2."""
    return next(name for name, pattern in CLASS_PATTERNS if pattern.match(opcode))


@dataclasses.dataclass
class Instruction:
    """One line of machine code: its address, guard such as '!P0', opcode and operands."""

    address: int
    guard: str
    opcode: str
    operands: str

    @property
    def base(self):
        return self.opcode.split(".")[0]

    @property
    def is_branch(self):
        return self.base in BRANCHES

    @property
    def is_conditional(self):
        """Whether execution may continue at the next instruction."""
        if self.guard not in ("", "PT", "UPT"):
            return True
        return self.is_branch and self.base != "BRX" and bool(re.match(r"\s*!?~?U?[PR][0-9Z]", self.operands))

    @property
    def ends_block(self):
        return self.is_branch or self.base in ENDS

    @property
    def condition(self):
        """The predicate register of a conditional branch, without its negation."""
        found = re.match(r"\s*!?~?(U?P\d)", self.operands)
        return self.guard.lstrip("!") or (found.group(1) if found else "")

    def targets(self):
        """Labels that a branch names."""
        listed = TARGETS.search(self.operands)
        return listed.group(1).split(",") if listed else TARGET.findall(self.operands)


@dataclasses.dataclass
class Kernel:
    """The instructions of one function, its labels as instruction indices, and its target."""

    name: str
    target: str
    code: list
    labels: dict


def parse(text):
    """All functions in the text of nvdisasm, by name. Raises ModelError without instructions."""
    kernels, current, target = {}, None, ""
    for line in text.splitlines():
        if line.lstrip().startswith(".target"):
            target = line.split()[1]
        section = SECTION.match(line)
        if section:
            name = section.group(1) or section.group(2)
            current = kernels.setdefault(name, Kernel(name, target, [], {}))
            continue
        if current is None:
            continue
        label, found = LABEL.match(line), INSTRUCTION.match(line)
        if label:
            current.labels[label.group(1)] = len(current.code)
        elif found:
            address, guard, opcode, operands = found.groups()
            current.code.append(Instruction(int(address, 16), guard or "", opcode, operands.strip()))
    kernels = {name: kernel for name, kernel in kernels.items() if kernel.code}
    if not kernels:
        raise ModelError("no instructions found: expected the output of nvdisasm for a cubin")
    return kernels


def disassemble(cubin, nvdisasm="nvdisasm"):
    """The text of nvdisasm for a cubin. Raises ModelError if it is not a cubin."""
    try:
        result = subprocess.run([nvdisasm, str(cubin)], capture_output=True, text=True, timeout=300, check=False)
    except FileNotFoundError:
        raise ModelError(f"no nvdisasm at '{nvdisasm}': expected that of CUDA or of nvidia-cuda-nvdisasm") from None
    if result.returncode:
        said = (result.stderr or result.stdout).strip().splitlines()
        raise ModelError(f"'{cubin}' is not a cubin: {said[-1] if said else 'nvdisasm failed'}")
    return result.stdout


@dataclasses.dataclass
class Block:
    """Consecutive instructions and the blocks that follow them."""

    index: int
    code: list
    follows: list = dataclasses.field(default_factory=list)
    before: list = dataclasses.field(default_factory=list)


def split(kernel):
    """The basic blocks of a kernel. Calls, which only end in traps, continue after the call."""
    starts = {0}
    for index, instruction in enumerate(kernel.code):
        if instruction.ends_block:
            starts.add(index + 1)
        if instruction.is_branch:
            starts.update(kernel.labels[name] for name in instruction.targets() if name in kernel.labels)
    starts = sorted(start for start in starts if start < len(kernel.code))
    ends = [*starts[1:], len(kernel.code)]
    blocks = [Block(index, kernel.code[start:end]) for index, (start, end) in enumerate(zip(starts, ends))]
    for block in blocks:
        last = block.code[-1]
        follows = []
        if not last.ends_block or last.is_conditional:
            follows.append(block.index + 1)
        if last.is_branch:
            named = (kernel.labels[name] for name in last.targets() if name in kernel.labels)
            follows += [bisect.bisect_right(starts, place) - 1 for place in named]
        block.follows = [follow for follow in dict.fromkeys(follows) if follow < len(blocks)]
        for follow in block.follows:
            blocks[follow].before.append(block.index)
    return blocks


def order(follows, entry):
    """Reverse postorder of the blocks that `entry` reaches."""
    seen, finished, stack = {entry}, [], [(entry, iter(follows(entry)))]
    while stack:
        block, rest = stack[-1]
        following = next((index for index in rest if index not in seen), None)
        if following is None:
            finished.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(follows(following))))
    return finished[::-1]


def dominators(follows, before, entry):
    """The immediate dominator of each block that `entry` reaches (Cooper, Harvey, Kennedy)."""
    ordered = order(follows, entry)
    rank = {block: index for index, block in enumerate(ordered)}
    parent, changed = {entry: entry}, True
    while changed:
        changed = False
        for block in ordered[1:]:
            known = [index for index in before(block) if index in parent]
            best = known[0]
            for other in known[1:]:
                while best != other:
                    if rank[best] < rank[other]:
                        other = parent[other]
                    else:
                        best = parent[best]
            changed |= parent.get(block) != best
            parent[block] = best
    return parent


def dominates(parent, above, block):
    """Whether `above` dominates `block`."""
    while block in parent:
        if block == above:
            return True
        if parent[block] == block:
            return False
        block = parent[block]
    return False


@dataclasses.dataclass
class Loop:
    """A natural loop: its header, its blocks, the loops inside."""

    header: int
    blocks: set
    inner: list = dataclasses.field(default_factory=list)


def find_loops(blocks, parent):
    """Natural loops by header, with their nesting."""
    bodies = {}
    for block in blocks:
        for header in block.follows:
            if block.index not in parent or not dominates(parent, header, block.index):
                continue
            body = bodies.setdefault(header, {header})
            work = [block.index]
            while work:
                index = work.pop()
                if index not in body:
                    body.add(index)
                    work += [before for before in blocks[index].before if before in parent]
    loops = [Loop(header, body) for header, body in sorted(bodies.items())]
    for loop in loops:
        around = [other for other in loops if other is not loop and loop.header in other.blocks and loop.blocks < other.blocks]
        if around:
            min(around, key=lambda other: len(other.blocks)).inner.append(loop)
    return loops
