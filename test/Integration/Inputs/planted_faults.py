"""Plants one synchronisation fault at a time in a kernel's PTX, and runs each mutant.

    planted_faults.py FOVEA_COMPILE FOVEA_RUN PROGRAM TARGET --dims=DIMS... [option...]

A mutant is found if the emulator reports it or --check finds wrong numbers. `find_reason` recognises
equivalent mutants, where another instruction has the effect of the changed one. One CTA executes all
tiles, so that each pipeline of a persistent kernel serves several tiles. Prints a table by kind of
change, and the mutants that no run finds.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import itertools
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile


@dataclasses.dataclass(frozen=True)
class Fault:
    kind: str
    change: str
    #: The index of the first changed line, the number of lines, and their replacement.
    line: int
    count: int
    replacement: str


# Instructions to remove, by kind of fault.
REMOVED = {
    "tcgen05.fence before": r"tcgen05\.fence::before_thread_sync",
    "tcgen05.fence after": r"tcgen05\.fence::after_thread_sync",
    "tcgen05.wait ld": r"tcgen05\.wait::ld",
    "tcgen05.wait st": r"tcgen05\.wait::st",
    "mbarrier.arrive": r"mbarrier\.arrive\.(?!expect_tx)",
    "tcgen05.commit": r"tcgen05\.commit",
    "expect_tx": r"mbarrier\.arrive\.expect_tx",
    "fence.proxy.async": r"fence\.proxy\.async",
    "fence.mbarrier_init": r"fence\.mbarrier_init",
    "bar.warp.sync": r"bar\.warp\.sync",
    "bar.sync": r"bar\.sync",
    "bulk group": r"cp\.async\.bulk\.(commit|wait)_group",
    "tcgen05.alloc": r"tcgen05\.alloc",
    "tcgen05.relinquish": r"tcgen05\.relinquish",
    "tcgen05.dealloc": r"tcgen05\.dealloc",
    "setmaxnreg": r"setmaxnreg",
}

# Bits to invert: one of each field. LBO is left out, since swizzled K-major operands ignore it.
INSTRUCTION_BITS = {4: "D type", 7: "A type", 10: "B type", 13: "-A", 14: "-B", 15: "A major", 16: "B major", 19: "N", 26: "M"}
SHARED_BITS = {1: "address", 9: "address", 32: "stride", 38: "stride", 46: "fixed", 49: "base offset", 61: "swizzle", 62: "swizzle"}


def constants(lines):
    """Values of registers that one `mov` of a number writes, and nothing else."""
    values = collections.defaultdict(list)
    for line in lines:
        found = re.match(r"\s*(?:@!?%p\d+ )?([\w.:]+)\s+(%\w+), (.*);", line)
        if found:
            number = found[1].startswith("mov") and re.fullmatch(r"-?\d+", found[3])
            values[found[2]].append(int(found[3]) if number else None)
    return {name: value[0] for name, value in values.items() if len(value) == 1 and value[0] is not None}


def with_operand(line, operand, instruction, number):
    """The line with an operand that an instruction has combined with a number."""
    changed = re.sub(re.escape(operand) + r"\b", "fault", line)
    return f"\t{{\n\t.reg .b32 fault;\n\t{instruction} fault, {operand}, {number};\n{changed}\n\t}}"


def find_faults(text):
    """All faults of a module, in the order of its lines."""
    lines = text.split("\n")
    values = constants(lines)
    bits = collections.Counter()

    def next_bit(fields, kind):
        bits[kind] += 1
        return list(fields.items())[(bits[kind] - 1) % len(fields)]

    for n, line in enumerate(lines):

        def change(kind, what, replacement, first=0, count=1):
            return Fault(kind, what, n + first, count, replacement)

        def number(operand):
            return values.get(operand, None) if operand[0] == "%" else int(operand)

        for kind, pattern in REMOVED.items():
            if re.search(pattern, line):
                yield change(kind, "removed", "")
        if "fence.proxy.async.shared::cta" in line:
            yield change("fence.proxy.async", "of global memory", line.replace("shared::cta", "global"))
        if scope := re.search(r"\.(?:acquire|release)\.(cta|cluster)\b", line):
            other = {"cta": "cluster", "cluster": "cta"}[scope[1]]
            if "mbarrier_init" not in line:
                yield change("scope", f"{scope[1]} to {other}", line[: scope.start(1)] + other + line[scope.end(1) :])
        if wait := re.search(r"mbarrier\.try_wait\.parity.*, (%\w+);", line):
            assert "bra DONE" in lines[n + 1] and "bra WAIT" in lines[n + 2], "expected a loop of three lines"
            yield change("try_wait", "removed", "", count=3)
            instruction = f"\txor.b32 fault, {wait[1]}, 1;"
            assert "WAIT:" in lines[n - 1]
            waits = re.sub(re.escape(wait[1]) + r"\b", "fault", line)
            yield change("parity", "inverted", f"\t.reg .b32 fault;\n{instruction}\n\tWAIT:\n{waits}", first=-1, count=2)
        if (tx := re.search(r"expect_tx.*, (%\w+|\d+);", line)) and number(tx[1]) is not None:
            for delta in (16, -16):
                yield change("expect_tx", f"{delta:+} bytes", line[: tx.start(1)] + str(number(tx[1]) + delta) + line[tx.end(1) :])
        if (init := re.search(r"mbarrier\.init.*, (%\w+|\d+);", line)) and number(init[1]) is not None:
            for delta in (1, -1):
                yield change("mbarrier.init", f"count {number(init[1])}{delta:+}", line[: init.start(1)] + str(number(init[1]) + delta) + line[init.end(1) :])
        if (size := re.search(r"tcgen05\.(alloc|dealloc)\b.*, (%\w+|\d+);", line)) and number(size[2]) is not None:
            for columns in (number(size[2]) // 2, number(size[2]) * 2):
                yield change(f"tcgen05.{size[1]}", f"{columns} columns", line[: size.start(2)] + str(columns) + line[size.end(2) :])
        if registers := re.search(r"setmaxnreg.*\s(\d+);", line):
            more = int(registers[1]) + 8
            yield change("setmaxnreg", f"{more} registers", line[: registers.start(1)] + str(more) + line[registers.end(1) :])
        if access := re.search(r"tcgen05\.(ld|st)\.sync.*\[(%\w+)\]", line):
            yield change(f"tcgen05.{access[1]} column", "+1", with_operand(line, access[2], "add.u32", 1))
        if product := re.search(r"tcgen05\.mma\S*\s+\[%\w+\], [^,]+, %rd\d+, (%r\d+), ", line):
            bit, field = next_bit(INSTRUCTION_BITS, "instruction")
            yield change("instruction descriptor", f"bit {bit}, {field}", with_operand(line, product[1], "xor.b32", 1 << bit))
        if (descriptor := re.match(r"\s*or\.b64\s+(%rd\d+), %rd\d+, (\d+);", line)) and int(descriptor[2]) >> 46 & 7 == 1:
            bit, field = next_bit(SHARED_BITS, "shared")
            name = descriptor[1]
            yield change("shared descriptor", f"bit {bit}, {field}", f"{line}\n\txor.b64 {name}, {name}, {1 << bit};")

class Flow:
    """The instructions of a module's only kernel, and the order in which they can be executed."""

    def __init__(self, text):
        self.lines = text.split("\n")
        labels = {line[:-1]: n for n, line in enumerate(self.lines) if line.startswith("$")}
        self.next = collections.defaultdict(list)
        self.previous = collections.defaultdict(list)
        for n, line in enumerate(self.lines[:-1]):
            target = re.match(r"\s*(@!?%p\d+ )?bra(?:\.uni)?\s+(\$\w+);", line)
            ends = (target and not target[1]) or line.strip() == "ret;"
            for after in ([labels[target[2]]] if target else []) + ([] if ends else [n + 1]):
                self.next[n].append(after)
                self.previous[after].append(n)
        self.elected = re.findall(r"elect\.sync\s+%r\d+\|(%p\d+)", text)

    def find(self, edges, start, wanted, end):
        """Whether an instruction is reached without passing another: patterns of both."""
        seen, left = set(), list(edges[start])
        while left:
            n = left.pop()
            if n in seen or n == start:
                continue
            seen.add(n)
            if re.search(wanted, self.lines[n]):
                return True
            if not re.search(end, self.lines[n]):
                left += edges[n]
        return False

    def is_for_idle_lanes(self, n):
        """Whether the block of an instruction is for lanes that skip the next block."""
        start = next(m for m in range(n, 0, -1) if self.lines[m].startswith("$"))
        end = next(m for m in range(n, len(self.lines)) if self.lines[m].startswith("$"))
        skip = re.match(r"\t@(%p\d+) bra", self.lines[end + 1])
        return bool(skip) and f"\t@{skip[1]} bra \t{self.lines[start][:-1]};" in self.lines


def find_reason(flow, fault):
    """The reason why a mutant is correct by the PTX ISA, or ''."""
    kind, line = fault.kind, fault.line
    if kind == "tcgen05.relinquish":
        return "no other CTA allocates tensor memory of the SM"
    if kind == "setmaxnreg" and ".inc" in flow.lines[line] and fault.change == "removed":
        return "setmaxnreg is a hint; registers of PTX are unlimited"
    if kind == "tcgen05.fence before" and not flow.find(flow.previous, line, r"tcgen05\.(ld|st)\.", "fence::before"):
        return "no access since an earlier fence"
    if kind == "tcgen05.fence after" and not flow.find(flow.next, line, r"tcgen05\.(ld|st|mma|cp)\.", "fence::after"):
        return "a later fence precedes the next access"
    if kind in ("tcgen05.wait ld", "tcgen05.wait st"):
        name = kind[-2:]
        if not flow.find(flow.previous, line, rf"tcgen05\.{name}\.", f"wait::{name}"):
            return "nothing is outstanding"
    if kind == "bar.warp.sync" and "bulk.wait_group" in flow.lines[line - 1]:
        return "the lane that arrives has issued the copies"
    if kind == "bar.warp.sync":
        # The elected lane's own accesses are in program order.
        other = rf"^\s*(?!@(?:{'|'.join(flow.elected)}) )(?:@\S+ )?((ld|st)\.(volatile\.)?shared|tcgen05\.(ld|st)\.)"
        if not flow.find(flow.previous, line, other, r"bar\.(warp\.)?sync"):
            return "no access of other lanes since an earlier barrier"
    if kind == "fence.proxy.async" and not flow.find(flow.previous, line, r"st\.shared\.v", r"fence\.proxy\.async"):
        return "the generic proxy reads the broadcast scalar"
    if kind in ("try_wait", "parity") and flow.is_for_idle_lanes(line):
        return "the waiting lanes issue nothing"
    return ""


def plant(text, fault):
    lines = text.split("\n")
    lines[fault.line : fault.line + fault.count] = [fault.replacement]
    return "\n".join(lines)


def run(command, ptx, shapes, seeds, limit):
    """How a mutant is found: the word of a report, 'numbers', or '' if no run shows it."""
    for seed, dims in itertools.product(range(seeds), shapes):
        arguments = [*command, f"--kernel={ptx}", f"--dims={dims}", f"--seed={seed}"]
        try:
            result = subprocess.run(arguments, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return "timeout", ""
        if result.returncode == 1:
            return "numbers", result.stdout
        if result.returncode != 0:
            words = re.findall(r"error: .* \[([\w-]+)\]$", result.stderr, re.M)
            return words[0] if words else f"exit code {result.returncode}", result.stderr
    return "", ""


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("compiler")
    parser.add_argument("runner")
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("target")
    parser.add_argument("--dims", required=True, action="append", help="sizes of dynamic dimensions; other runs if the first finds nothing")
    parser.add_argument("--schedule", default="auto")
    parser.add_argument("--random", default="1", help="seed of the inputs")
    parser.add_argument("--magnitude", default="10", help="factor of q: large scores make the maximum grow")
    parser.add_argument("--seeds", type=int, default=2, help="interleavings of a mutant, while none shows the fault")
    parser.add_argument("--limit", type=float, default=60, help="seconds for one run")
    parser.add_argument("--only", default="", help="regular expression of kinds of faults")
    parser.add_argument("--sample", type=int, help="number of faults, drawn with --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check", type=float, metavar="PERCENT", help="exit with 1 if fewer are found")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, help="write each fault and its result")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the PTX of faults that are not found")
    return parser.parse_args()


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory() as folder:
        ptx, metadata = f"{folder}/kernel.ptx", f"{folder}/kernel.json"
        compile = [options.compiler, str(options.program), f"--target={options.target}", f"--schedule={options.schedule}", "-o", ptx]
        subprocess.run([*compile, f"--metadata={metadata}"], check=True)
        launch = json.loads(pathlib.Path(metadata).read_text())
        launch["grid"] = [1, 1, 1]
        pathlib.Path(metadata).write_text(json.dumps(launch))
        command = [options.runner, "--level=ptx", str(options.program), f"--metadata={metadata}", f"--target={options.target}"]
        command += [f"--random={options.random}", f"--magnitude={options.magnitude}", "--check"]
        text = pathlib.Path(ptx).read_text()
        found, output = run(command, ptx, options.dims, options.seeds, options.limit)
        if found:
            sys.exit(f"the program without a fault fails: {found}\n{output}")
        faults = [fault for fault in find_faults(text) if re.search(options.only, fault.kind)]
        if options.sample and options.sample < len(faults):
            faults = random.Random(options.seed).sample(faults, options.sample)

        def judge(numbered):
            number, fault = numbered
            path = f"{folder}/{number}.ptx"
            pathlib.Path(path).write_text(plant(text, fault))
            result = run(command, path, options.dims, options.seeds, options.limit)
            if options.keep and not result[0]:
                options.keep.mkdir(parents=True, exist_ok=True)
                (options.keep / f"{fault.line + 1}-{fault.kind}-{fault.change}.ptx".replace(" ", "-")).write_text(plant(text, fault))
            os.remove(path)
            return result

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = list(pool.map(judge, enumerate(faults)))
    return summarize(options, faults, results, text)


def summarize(options, faults, results, text):
    flow = Flow(text)
    reasons = ["" if found else find_reason(flow, fault) for fault, (found, _) in zip(faults, results)]
    kinds = {}
    for fault, (found, _), reason in zip(faults, results, reasons):
        kinds.setdefault(fault.kind, collections.Counter())[found or ("equivalent" if reason else "not found")] += 1
    total = sum(kinds.values(), collections.Counter())
    print("| change | planted | reported | wrong numbers | equivalent | not found | reports |")
    print("|---|---|---|---|---|---|---|")
    for kind, counts in [*sorted(kinds.items()), ("total", total)]:
        words = {word: count for word, count in counts.most_common() if word not in ("numbers", "equivalent", "not found")}
        reports = ", ".join(f"`{word}` {count}" for word, count in words.items())
        numbers = " | ".join(str(counts[name]) for name in ("numbers", "equivalent", "not found"))
        print(f"| {kind} | {sum(counts.values())} | {sum(words.values())} | {numbers} | {reports} |")
    for fault, (found, _), reason in sorted(zip(faults, results, reasons), key=lambda row: row[2]):
        if not found:
            # Of an inverted parity, the line of the wait, not of its label.
            line = fault.line + (fault.kind == "parity")
            print(f"{reason or 'not found'}: {line + 1}: {fault.change}: {flow.lines[line].strip()[:100]}")
    if options.json:
        rows = [{**dataclasses.asdict(f), "found": found, "output": output, "reason": reason} for f, (found, output), reason in zip(faults, results, reasons)]
        options.json.write_text(json.dumps(rows, indent=1))
    real = sum(total.values()) - total["equivalent"]
    percent = 100 * (real - total["not found"]) / max(real, 1)
    print(f"{options.program.stem}: found {percent:.1f} % of {real} faults")
    return options.check is not None and percent < options.check


if __name__ == "__main__":
    sys.exit(main())
