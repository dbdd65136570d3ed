"""Checks the kv_bounds of attn-analyze-mask against the masks themselves.

    mask_bounds.py generate SEED COUNT > masks.mlir
    mask_bounds.py check [--exact] SEED < generic-form.mlir

`generate` writes functions with random masks. `check` reads the pass's output
in generic form, evaluates mask_mod on every (i, j) of small problems, and
kv_bounds on random blocks of queries: a visible key outside [lb, ub), or a
hidden one in [fb, fe), is an error. With --exact, [lb, ub) must also be the
smallest range, and [fb, fe) as long as the longest.
"""

import random
import re
import sys

import numpy as np

# ---------------------------------------------------------------- generate


class Program:
    """One random mask_mod. Values are (name, type) with type index or i32."""

    def __init__(self, rng):
        self.rng = rng
        self.lines = []

    def emit(self, text):
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def constant(self, value, type):
        return self.emit(f"arith.constant {value} : {type}")

    def uniform(self, type):
        rng = self.rng
        kind = rng.randrange(6)
        if kind == 0:
            value, source = self.emit("tensor.extract %l[%b] : tensor<?xi32>"), "i32"
        elif kind == 1:
            value, source = "%x", "index"
        elif kind == 2:
            value, source = self.emit(f"attn.{rng.choice(['query', 'key'])}_length"), "index"
        else:
            return self.constant(rng.choice([0, 1, 3, 7, 16, 25, 40, -2, -9]), type)
        if source == type:
            return value
        return self.emit(f"arith.index_cast {value} : {source} to {type}")

    def coordinate(self, name, type):
        if type == "index":
            return name
        return self.emit(f"arith.index_cast {name} : index to i32")

    def expression(self, atoms, type, depth):
        """An expression over coordinates in `atoms` and uniform values."""
        rng = self.rng
        if depth == 0 or rng.random() < 0.25:
            if atoms and rng.random() < 0.75:
                return self.coordinate(rng.choice(atoms), type)
            return self.uniform(type)
        x = self.expression(atoms, type, depth - 1)
        kind = rng.choice("add add sub sub mul div div cdiv tdiv rem min max shl shr select".split())
        if kind in ("add", "sub", "min", "max"):
            y = self.expression(atoms, type, depth - 1)
            op = {"add": "addi", "sub": "subi", "min": "minsi", "max": "maxsi"}[kind]
            return self.emit(f"arith.{op} {x}, {y} : {type}")
        if kind == "mul":
            return self.emit(f"arith.muli {x}, {self.constant(rng.choice([1, 2, 3, -1, -2]), type)} : {type}")
        if kind in ("div", "cdiv", "tdiv", "rem"):
            op = {"div": "floordivsi", "cdiv": "ceildivsi", "tdiv": "divsi", "rem": "remsi"}[kind]
            if rng.random() < 0.2:
                one = self.constant(1, type)
                divisor = self.emit(f"arith.maxsi {self.uniform(type)}, {one} : {type}")
            else:
                divisor = self.constant(rng.choice([1, 2, 3, 8, 10, -3]), type)
            return self.emit(f"arith.{op} {x}, {divisor} : {type}")
        if kind in ("shl", "shr"):
            op = {"shl": "shli", "shr": "shrsi"}[kind]
            return self.emit(f"arith.{op} {x}, {self.constant(rng.choice([0, 1, 3]), type)} : {type}")
        y = self.expression(atoms, type, depth - 1)
        c = self.compare([a for a in atoms if a == "%i"], 1)
        return self.emit(f"arith.select {c}, {x}, {y} : {type}")

    def compare(self, atoms, depth):
        rng = self.rng
        type = rng.choice(["index", "index", "i32"])
        x = self.expression(atoms, type, depth)
        y = self.expression([a for a in atoms if a == "%i" or rng.random() < 0.3], type, depth)
        if rng.random() < 0.5:
            x, y = y, x
        predicate = rng.choice("slt sle sgt sge slt sle sgt sge eq ne ult ule ugt uge".split())
        return self.emit(f"arith.cmpi {predicate}, {x}, {y} : {type}")

    def condition(self, depth):
        rng = self.rng
        if depth == 0 or rng.random() < 0.2:
            if rng.random() < 0.3:
                return self.emit("arith.cmpi sge, %i, %j : index")
            atoms = rng.choice([["%j"], ["%i", "%j"], ["%i", "%j"], ["%i"], []])
            return self.compare(atoms, rng.choice([1, 2, 3]))
        x = self.condition(depth - 1)
        kind = rng.choice("and and or or not xor select".split())
        if kind == "not":
            return self.emit(f"arith.xori {x}, {self.emit('arith.constant true')} : i1")
        y = self.condition(depth - 1)
        if kind == "select":
            return self.emit(f"arith.select {self.compare(['%i'], 1)}, {x}, {y} : i1")
        return self.emit(f"arith.{kind}i {x}, {y} : i1")


def generate(seed, count):
    rng = random.Random(seed)
    tensor = "tensor<?x?x?x16xbf16>"
    for index in range(count):
        program = Program(rng)
        result = program.condition(rng.choice([0, 1, 1, 2, 2]))
        body = "\n      ".join(program.lines)
        print(
            f"""func.func @mask{index}(%q: {tensor}, %lens: tensor<?xi32>, %w: index) -> {tensor} {{
  %o = attn.forward %q, %q, %q captures(%lens, %w : tensor<?xi32>, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %l: tensor<?xi32>, %x: index) {{
      {body}
      attn.yield {result} : i1
    }}
    : {tensor}, {tensor}, {tensor} -> {tensor}
  return %o : {tensor}
}}"""
        )


# ---------------------------------------------------------------- evaluate


def trunc_div(x, y):
    q = np.abs(x) // np.abs(y)
    return np.where((x < 0) != (y < 0), -q, q)


def unsigned(x):
    return np.asarray(x).astype(np.uint64)


BINARY = {
    "arith.addi": lambda x, y: x + y,
    "arith.subi": lambda x, y: x - y,
    "arith.muli": lambda x, y: x * y,
    "arith.shli": lambda x, y: x << y,
    "arith.shrsi": lambda x, y: x >> y,
    "arith.shrui": lambda x, y: (unsigned(x) >> unsigned(y)).astype(np.int64),
    "arith.floordivsi": lambda x, y: x // y,
    "arith.ceildivsi": lambda x, y: -((-x) // y),
    "arith.divsi": trunc_div,
    "arith.divui": lambda x, y: (unsigned(x) // unsigned(y)).astype(np.int64),
    "arith.remsi": lambda x, y: x - trunc_div(x, y) * y,
    "arith.remui": lambda x, y: (unsigned(x) % unsigned(y)).astype(np.int64),
    "arith.minsi": np.minimum,
    "arith.maxsi": np.maximum,
    "arith.andi": lambda x, y: x & y,
    "arith.ori": lambda x, y: x | y,
    "arith.xori": lambda x, y: x ^ y,
}
COMPARE = [
    lambda x, y: x == y,
    lambda x, y: x != y,
    lambda x, y: x < y,
    lambda x, y: x <= y,
    lambda x, y: x > y,
    lambda x, y: x >= y,
    lambda x, y: unsigned(x) < unsigned(y),
    lambda x, y: unsigned(x) <= unsigned(y),
    lambda x, y: unsigned(x) > unsigned(y),
    lambda x, y: unsigned(x) >= unsigned(y),
]
OPERATION = re.compile(r"\s*(?:(%\S+) = )?\"([\w.]+)\"\(([^)]*)\)(.*)$")


def evaluate(region, arguments, problem):
    """Runs a region; arguments are numpy arrays or scalars, by position."""
    values = dict(zip(region["arguments"], arguments))
    for line in region["lines"]:
        result, name, operands, rest = OPERATION.match(line).groups()
        x = [values[o.strip()] for o in operands.split(",") if o.strip()]
        if name == "attn.yield":
            return x
        type = rest.split(" -> ")[-1].strip()
        if name in BINARY:
            value = BINARY[name](*x)
        elif name == "arith.constant":
            literal = re.search(r"value = (\S+?)(?: :|})", rest).group(1)
            value = {"true": np.bool_(1), "false": np.bool_(0)}.get(literal)
            value = np.int64(literal) if value is None else value
        elif name == "arith.cmpi":
            value = COMPARE[int(re.search(r"predicate = (\d+)", rest).group(1))](*x)
        elif name == "arith.select":
            value = np.where(*x)
        elif name in ("arith.index_cast", "arith.trunci"):  # wrapped below
            value = x[0]
        elif name == "tensor.extract":
            value = x[0][x[1]]
        elif name == "attn.key_length":
            value = np.int64(problem["keys"])
        elif name == "attn.query_length":
            value = np.int64(problem["queries"])
        else:
            sys.exit(f"mask_bounds.py: can't evaluate {line}")
        if type == "i32":
            value = np.asarray(value).astype(np.int64)
            value = ((value + 2**31) % 2**32) - 2**31
        values[result] = value
    sys.exit("mask_bounds.py: region without yield")


def parse(text):
    """The regions of each function: {function: [mask_mod, kv_bounds, ...]}."""
    functions, current, region = {}, None, None
    for line in text.splitlines():
        if match := re.search(r'sym_name = "(\w+)"', line):
            current = functions.setdefault(match.group(1), [])
        if match := re.match(r"\s*\^bb0\((.*)\):", line):
            names = re.findall(r"(%\w+): ", match.group(1))
            region = {"arguments": names, "lines": []}
        elif region is not None and '"attn.yield"' in line:
            region["lines"].append(line)
            current.append(region)
            region = None
        elif region is not None:
            region["lines"].append(line)
    return functions


def longest_run(flags):
    best = run = 0
    for flag in flags:
        run = run + 1 if flag else 0
        best = max(best, run)
    return best


def check(text, seed, exact):
    rng = random.Random(seed)
    functions = parse(text)
    visits = total = 0
    for name, regions in functions.items():
        if len(regions) < 2:
            sys.exit(f"mask_bounds.py: @{name} has no kv_bounds")
        mask, bounds = regions[:2]  # kv_classify may follow
        for _ in range(12):
            problem = {"queries": rng.choice([1, 7, 40, 64]), "keys": rng.choice([0, 1, 13, 40, 64, 70])}
            lengths = np.array([rng.choice([0, 5, 33, 64, 100, -3]) for _ in range(2)])
            captures = [lengths, np.int64(rng.choice([0, 4, 20, -6, 1000]))]
            b, h = rng.randrange(2), rng.randrange(3)
            i0 = rng.randrange(problem["queries"])
            i1 = rng.randrange(i0, problem["queries"])
            i, j = np.arange(i0, i1 + 1)[:, None], np.arange(problem["keys"])[None, :]
            shape = (i1 - i0 + 1, problem["keys"])
            (visible,) = evaluate(mask, [b, h, i, j, *captures], problem)
            visible = np.broadcast_to(visible, shape)
            arguments = [b, h, np.int64(i0), np.int64(i1), *captures]
            lb, fb, fe, ub = (int(x) for x in evaluate(bounds, arguments, problem))
            some, every = visible.any(axis=0), visible.all(axis=0)
            seen = np.flatnonzero(some)
            problems = []
            if not 0 <= lb <= fb <= fe <= ub <= problem["keys"]:
                problems.append("bounds out of order")
            if seen.size and (seen[0] < lb or seen[-1] >= ub):
                problems.append("a visible key is outside [lb, ub)")
            if not every[fb:fe].all():
                problems.append("a hidden key is in [fb, fe)")
            if exact and ub - lb != (seen[-1] - seen[0] + 1 if seen.size else 0):
                problems.append("[lb, ub) is not the smallest range")
            if exact and fe - fb != longest_run(every):
                problems.append("[fb, fe) is not the longest range")
            if problems:
                sys.exit(
                    f"@{name}: {', '.join(problems)}\n  {problem} lengths={lengths.tolist()} w={captures[1]} "
                    f"b={b} h={h} i0={i0} i1={i1}: [{lb}, {ub}) full [{fb}, {fe})\n"
                    f"  visible to some: {seen.tolist()}\n  visible to all: {np.flatnonzero(every).tolist()}"
                )
            visits += ub - lb
            total += problem["keys"]
    print(f"{len(functions)} masks hold; {visits} of {total} keys in bounds")


if __name__ == "__main__":
    if sys.argv[1] == "generate":
        generate(int(sys.argv[2]), int(sys.argv[3]))
    else:
        check(sys.stdin.read(), int(sys.argv[-1]), "--exact" in sys.argv)
