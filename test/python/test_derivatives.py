"""The derivatives of attn-differentiate against PyTorch's autograd, at ordinary numbers, at
kinks and at infinities, and against finite differences."""

import itertools
import math
import random

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
import derivatives  # noqa: E402

INF, NAN = math.inf, math.nan
GRID = [-INF, -3.0, -2.0, -1.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, INF, NAN]

UNARY = """exp exp2 expm1 log log2 log10 log1p sqrt rsqrt cbrt erf erfc sin cos tan asin acos atan sinh cosh tanh
asinh acosh atanh absf floor ceil trunc round roundeven""".split()
BINARY = """arith.addf arith.subf arith.mulf arith.divf arith.remf arith.maximumf arith.minimumf arith.maxnumf
arith.minnumf math.powf math.atan2 math.copysign""".split()

BODIES = {
    "negf": "%r0 = arith.negf %x0 : f32",
    "casts": "%n = arith.truncf %x0 : f32 to bf16\n%r0 = arith.extf %n : bf16 to f32",
    "fma": "%r0 = math.fma %x0, %y0, %z0 : f32",
    "clampf": "%r0 = math.clampf %x0 to [%y0, %z0] : f32",
    "select": "%c = arith.cmpf olt, %z0, %y0 : f32\n%r0 = arith.select %c, %x0, %y0 : f32",
    "fpowi": "%n = arith.fptosi %y0 : f32 to i32\n%r0 = math.fpowi %x0, %n : f32, i32",
    "score": "%t = math.tanh %s : f32\n%p = arith.mulf %t, %x0 : f32\n%r0 = arith.addf %p, %t : f32",
    **{name: f"%r0 = math.{name} %x0 : f32" for name in UNARY},
    **{name.split(".")[1]: f"%r0 = {name} %x0, %y0 : f32" for name in BINARY},
    **{f"power {p}": f"%c = arith.constant {p} : f32\n%r0 = math.powf %x0, %c : f32" for p in (0.0, 1.0, 2.0, 3.0, -1.0, 0.5)},
    **{f"base {p}": f"%c = arith.constant {p} : f32\n%r0 = math.powf %c, %x0 : f32" for p in (0.0, 2.0)},
}

# Intended differences; docs/Specification/Gradients.md lists them.
EXCEPTIONS = {
    # PyTorch has no cube root; the reference is composed of other ops.
    "cbrt": lambda x, y, z: x == 0 or math.isinf(x),
    # PyTorch divides the result by the operand.
    "copysign": lambda x, y, z: not math.isfinite(x),
}
# Numbers at which all unary functions are defined and have no kink.
DOMAINS = {"acosh": (1.1, 3.0)}
DEFAULT_DOMAIN = (0.1, 0.4)


@pytest.fixture(scope="module")
def differentiate(run_tool):
    def run(body):
        result = run_tool("fovea-opt", "--attn-differentiate", "-", stdin=derivatives.program(body))
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run


def disagreements(text, points, seed, tolerance=1e-6):
    tensors = [torch.tensor(each, dtype=torch.float64) for each in zip(*points)]
    found = derivatives.compare(text, tensors, torch.full_like(tensors[0], seed))
    for name, (ours, theirs) in zip("sxyz", found):
        for place in (~torch.isclose(ours, theirs, rtol=tolerance, atol=1e-9, equal_nan=True)).nonzero().flatten().tolist():
            yield name, points[place], ours[place].item(), theirs[place].item()


@pytest.mark.parametrize("name", BODIES)
def test_rule_is_that_of_pytorch(name, differentiate):
    body = BODIES[name]
    exponents = [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0] if name == "fpowi" else GRID
    points = [
        (s, *point)
        for s in ([-1.0, 0.0, INF] if "%s" in body else [0.5])
        for point in itertools.product(GRID, exponents if "%y0" in body else [0.5], GRID if "%z0" in body else [0.5])
        if not EXCEPTIONS.get(name, lambda *_: False)(*point)
    ]
    text = differentiate(body)
    for seed in (1.25, -0.5):
        assert not list(disagreements(text, points, seed))[:5]


@pytest.mark.parametrize("name", BODIES)
def test_rule_is_a_slope(name, differentiate):
    body, text = BODIES[name], differentiate(BODIES[name])
    draw = random.Random(name)
    low, high = DOMAINS.get(name, DEFAULT_DOMAIN)
    # y and z differ from x and from each other, so that no select is near a tie.
    points = [(draw.uniform(-1, 1), draw.uniform(low, high), draw.choice([draw.uniform(0.5, 0.7), -0.3]), draw.uniform(0.8, 0.9))
              for _ in range(50)]
    tensors = [torch.tensor(each, dtype=torch.float64) for each in zip(*points)]
    region = derivatives.parse(text, "score_mod")
    zeros = [torch.zeros(len(points), dtype=torch.long)] * 4

    def value(s, *captures):
        return derivatives.evaluate(region, [s, *zeros, *captures])[0]

    found = derivatives.compare(text, tensors, torch.ones(len(points), dtype=torch.float64))
    for number, (ours, _) in enumerate(found):
        step = 1e-6
        ends = [value(*(each + sign * step * (place == number) for place, each in enumerate(tensors))) for sign in (1, -1)]
        slope = (ends[0] - ends[1]) / (2 * step)
        assert torch.allclose(ours, slope, rtol=1e-5, atol=1e-7), (name, "sxyz"[number])


def test_kinks(differentiate):
    """The conventions at kinks."""
    for name, points in {
        "absf": {(0.0,): (0.0,)},
        "sqrt": {(0.0,): (INF,)},
        "cbrt": {(0.0,): (INF,), (INF,): (0.0,)},
        "floor": {(1.0,): (0.0,)},
        "maximumf": {(1.0, 1.0): (0.5, 0.5), (NAN, 1.0): (1.0, 1.0)},
        "minimumf": {(1.0, 1.0): (0.5, 0.5)},
        "maxnumf": {(1.0, 1.0): (1.0, 0.0), (NAN, 1.0): (0.0, 1.0)},
        "powf": {(0.0, 0.0): (0.0, 0.0), (3.0, 0.0): (0.0, math.log(3)), (0.0, 2.0): (0.0, 0.0), (-2.0, 3.0): (12.0, NAN)},
        "power 2.0": {(0.0,): (0.0,), (-3.0,): (-6.0,)},
        "remf": {(5.5, 2.0): (1.0, -2.0), (-5.5, 2.0): (1.0, 2.0)},
        "atan2": {(0.0, 0.0): (0.0, 0.0)},
        "copysign": {(0.0, -1.0): (0.0, 0.0), (-INF, 1.0): (-1.0, 0.0)},
        "clampf": {(1.0, 1.0, 2.0): (1.0, 0.0, 0.0), (2.0, 1.0, 2.0): (1.0, 0.0, 0.0), (1.5, 2.0, 1.0): (0.0, 0.0, 1.0)},
    }.items():
        text = differentiate(BODIES[name])
        for point, expected in points.items():
            values = [torch.tensor([each], dtype=torch.float64) for each in (0.0, *point, *[0.0] * (3 - len(point)))]
            found = [ours.item() for ours, _ in derivatives.compare(text, values, torch.ones(1, dtype=torch.float64))][1:]
            assert all(math.isclose(a, b, rel_tol=1e-6) or (a != a and b != b) for a, b in zip(found, expected)), (name, point, found)


# The expected values are those of PyTorch's dedicated op, or of the usual workaround; PyTorch's
# autograd of these compositions gives NaN.
HARMLESS = {
    "elu": (
        """%zero = arith.constant 0.0 : f32
        %c = arith.cmpf ogt, %x0, %zero : f32
        %e = math.expm1 %x0 : f32
        %r0 = arith.select %c, %x0, %e : f32""", {1000.0: 1.0, -1000.0: 0.0}),
    "softplus": (
        """%twenty = arith.constant 20.0 : f32
        %c = arith.cmpf ogt, %x0, %twenty : f32
        %e = math.exp %x0 : f32
        %l = math.log1p %e : f32
        %r0 = arith.select %c, %x0, %l : f32""", {1000.0: 1.0, -1000.0: 0.0}),
    "sigmoid": (
        """%one = arith.constant 1.0 : f32
        %n = arith.negf %x0 : f32
        %e = math.exp %n : f32
        %d = arith.addf %one, %e : f32
        %r0 = arith.divf %one, %d : f32""", {1000.0: 0.0, -1000.0: 0.0, 0.0: 0.25}),
    "guarded log": (
        """%zero = arith.constant 0.0 : f32
        %c = arith.cmpf ogt, %x0, %zero : f32
        %l = math.log %x0 : f32
        %t = arith.mulf %l, %x0 : f32
        %r0 = arith.select %c, %t, %zero : f32""", {0.0: 0.0, 1.0: 1.0}),
    "guarded root, two choices deep": (
        """%zero = arith.constant 0.0 : f32
        %one = arith.constant 1.0 : f32
        %c = arith.cmpf ogt, %x0, %zero : f32
        %d = arith.cmpf olt, %x0, %one : f32
        %l = math.sqrt %x0 : f32
        %t = arith.select %c, %l, %zero : f32
        %u = arith.mulf %t, %t : f32
        %r0 = arith.select %d, %u, %x0 : f32""", {0.0: 0.0, -1.0: 0.0, 0.25: 1.0, 2.0: 1.0}),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_has_no_influence_makes_no_nan(name, differentiate):
    body, points = HARMLESS[name]
    text = differentiate(body)
    for x, expected in points.items():
        values = [torch.tensor([each], dtype=torch.float64) for each in (0.0, x, 0.0, 0.0)]
        found = derivatives.compare(text, values, torch.ones(1, dtype=torch.float64))[1][0].item()
        assert math.isclose(found, expected, rel_tol=1e-6), (x, found)


def test_what_is_not_chosen_has_no_influence(differentiate):
    """Not even for an infinite adjoint, since it is selected and not multiplied."""
    text = differentiate("%zero = arith.constant 0.0 : f32\n%c = arith.cmpf ogt, %x0, %zero : f32\n%r0 = arith.select %c, %y0, %s : f32")
    values = [torch.tensor([each], dtype=torch.float64) for each in (1.0, -1.0, 2.0, 0.0)]
    found = [ours.item() for ours, _ in derivatives.compare(text, values, torch.full((1,), INF, dtype=torch.float64))]
    assert found == [INF, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("seed", range(25))
def test_compositions(seed, differentiate):
    """Values with several uses, by all kinds of ops."""
    draw = random.Random(seed)
    values, lines = ["%s", "%x0", "%y0", "%z0"], []
    smooth = "exp expm1 erf sin cos atan tanh asinh absf floor".split()
    for number in reversed(range(12)):
        result, kind = f"%r{number}", draw.randrange(4)
        a, b, c = (draw.choice(values) for _ in range(3))
        if kind == 0:
            lines.append(f"{result} = math.{draw.choice(smooth)} {a} : f32")
        elif kind == 1:
            name = draw.choice(["addf", "subf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf"])
            lines.append(f"{result} = arith.{name} {a}, {b} : f32")
        elif kind == 2:
            lines.append(f"{result} = math.fma {a}, {b}, {c} : f32")
        else:
            lines += [f"%c{number} = arith.cmpf olt, {a}, {b} : f32", f"{result} = arith.select %c{number}, {b}, {c} : f32"]
        # Recent values more often, so that most contribute to the result.
        values += [result] * 3
    points = [tuple(draw.uniform(-1, 1) for _ in range(4)) for _ in range(50)]
    assert not list(disagreements(differentiate("\n".join(lines)), points, 1.0, tolerance=1e-5))[:5]
