"""Runs kernels with random stages and orders of their loops' steps.

    random_orders.py FOVEA_OPT FOVEA_COMPILE FOVEA_RUN PRODUCT COUNT SEED LEVEL...

Programs are a forward kernel, the two kinds of gradient kernels that pipeline their loops, and the
matrix product PRODUCT. Each of the COUNT orders of each is either refused with a diagnostic that
names the dependence, or gives the right numbers at every LEVEL (warp, in three interleavings, or
ptx). Prints a line for each kind of result; exits with 1 after the first failure of a program, with
its order.
"""

import collections
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import run_products

FORWARD = """func.func @f(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>)
    -> tensor<?x?x?x64xbf16> {
  %o = attn.forward %q, %k, %v {mod}: tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
    -> tensor<?x?x?x64xbf16>
  return %o : tensor<?x?x?x64xbf16>
}
"""
CAPPED = """
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %t = math.tanh %s : f32
      attn.yield %t : f32
    } """
DIMS = "B=1,Hq=1,Hkv=1,Sq=70,Skv=200"
# A refusal names both ops and the dependence, or the condition that a loop-carried sum violates.
REFUSALS = (r"the plan's order is illegal: '.+' (must run after '.+' of .+, because |must have the stage of |would have to run before itself)",
            r"plan's 'order' has \".+\" before \".+\", whose result it stores",
            r"can't keep this dot outstanding: ")


def run(command, text):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=300)


def read_plans(fovea_compile, program, *options):
    with tempfile.TemporaryDirectory() as folder:
        metadata = pathlib.Path(folder) / "m.json"
        made = run([fovea_compile, "-", "--target=sm_90a", "-o", "/dev/null", f"--metadata={metadata}", *options], program)
        assert made.returncode == 0, made.stderr
        return re.search(r'"plans": "(.*)"', metadata.read_text())[1]


def parse_order(plans):
    """The plans before and after the order of the first kernel that has one, and its steps."""
    match = re.search(r"order = \[([^]]*)\]", plans)
    steps = [re.fullmatch(r"(['\"])(.*)\1(?: ([+-]) (\d))?", step) for step in match[1].split(", ")]
    return plans[:match.start(1)], plans[match.end(1):], [(step[2], int(f"{step[3] or '+'}{step[4] or 0}")) for step in steps]


def change_order(steps, draw):
    """Moves steps, changes stages, drops steps, or all of that."""
    steps = list(steps)
    for _ in range(draw.choice((1, 1, 2, 3, 6))):
        kind, place = draw.random(), draw.randrange(len(steps))
        if kind < 0.45:
            steps.insert(draw.randrange(len(steps)), steps.pop(place))
        elif kind < 0.8:
            steps[place] = (steps[place][0], 1 - steps[place][1])
        elif len(steps) > 2:
            steps.pop(place)
    if draw.random() < 0.1:
        draw.shuffle(steps)
    seen = set()
    return [step for step in steps if step[0] == "*" or not (step[0] in seen or seen.add(step[0]))]


def print_order(steps, quote):
    # A stage may appear in "*" twice after a change.
    unique = list(dict.fromkeys(steps))
    return ", ".join(f"{quote}{name}{quote}" + (f" + {stage}" if stage else "") for name, stage in unique)


class Attention:
    def __init__(self, tools, program, *options):
        self.tools, self.program, self.options = tools, program, options
        self.plans = read_plans(tools.compile, program, *(option for option in options if option.startswith("--kernel")))
        # Cross-tile pipelining needs the forward order.
        self.before, self.after, self.steps = parse_order(re.sub(r"chain = \d, ", "", self.plans))

    def run(self, steps, level):
        plans = self.before + print_order(steps, "'") + self.after
        options = [option.replace("--kernel", "--entry") for option in self.options]
        # Atomic additions of different interleavings give different bits, so the runs are separate.
        for seed in range(3 if level == "warp" else 1):
            made = run([self.tools.run, "-", *options, f"--level={level}", "--target=sm_90a", "--random=1",
                        f"--dims={DIMS}", "--check", f"--schedule={plans}", f"--seed={seed}"], self.program)
            if made.returncode:
                break
        return made.returncode, made.stdout + made.stderr


class Product:
    def __init__(self, tools, path):
        self.tools, self.program = tools, pathlib.Path(path).read_text()
        self.before, self.after, self.steps = parse_order(self.program)

    def run(self, steps, level):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "product.mlir"
            file.write_text(self.before + print_order(steps, '"') + self.after)
            message = run_products.run(self.tools.run, str(file), level, 3, (70, 40, 200), pathlib.Path(folder))
        return bool(message), message


Tools = collections.namedtuple("Tools", "opt compile run")


def make_gradient(tools, columns):
    program = FORWARD.replace("x64x", f"x{columns}x")
    program = program.replace("{mod}", CAPPED if columns == 256 else "")
    made = run([tools.opt, "-", "--attn-make-gradient", "--attn-differentiate"], program).stdout
    return made, re.search(r"func.func @(\w+_backward)\(", made)[1]


def main(opt, compiler, runner, product, count, seed, *levels):
    tools = Tools(opt, compiler, runner)
    programs = {"forward": Attention(tools, FORWARD.replace("{mod}", "")), "product": Product(tools, product)}
    for kind, columns in (("gradient, one accumulating role", 64), ("gradient, a role for scores", 256)):
        program, entry = make_gradient(tools, columns)
        programs[kind] = Attention(tools, program, f"--kernel={entry}")
    failed = False
    for kind, program in programs.items():
        results = collections.Counter()
        draw = random.Random(f"{seed} {kind}")
        for number in range(int(count)):
            steps = change_order(program.steps, draw) if number else program.steps
            for level in levels:
                code, message = program.run(steps, level)
                refused = code and any(re.search(text, message) for text in REFUSALS)
                results["refused" if refused else "wrong" if code else f"right at level {level}"] += 1
                if refused:
                    break
                if code:
                    print(f"{kind}: order = [{print_order(steps, chr(34))}] at level {level}:\n{message[:2000]}")
                    break
            if results["wrong"]:
                failed = True
                break
        print(f"{kind}: {dict(results)}")
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
