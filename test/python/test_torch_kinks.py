"""Functions at kinks, bounds, ties, infinities and NaN: values and derivatives are those of
torch.autograd. docs/Specification/Gradients.md lists intended differences."""

import itertools
import math

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torch.nn.attention.flex_attention")
F = torch.nn.functional

INF, NAN = math.inf, math.nan
ORDINARY = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 6.0, 7.0, 20.0, 20.5]
POINTS = [sign * x for x in [0.0, 1e-40, 1e-30, 1e-20, 1e-5, *ORDINARY, 50.0, 88.5, 90.0, 104.0, 1e20, 3e38, INF]
          for sign in (1, -1)] + [NAN]
PAIRS = list(itertools.product([sign * x for x in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 20.0, 1e20, INF) for sign in (1, -1)] + [NAN], repeat=2))
#: Replaces infinity, which has no log-sum-exp.
HUGE = 1.7e38
#: Rows with a larger log-sum-exp have no gradient: such numbers become scores times SMALL.
LARGE, SMALL = 2.0**25, 2.0**-104


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.torch

    return fovea.torch


def found(ours, function, points, backend="interpret"):
    """Values and derivatives at all points. Each value is the only score of a query and thus its log-sum-exp, whose
    derivative with respect to the score is 1."""
    given = [torch.tensor(each, dtype=torch.float32, requires_grad=True) for each in zip(*points)]
    query, key = torch.zeros(1, 1, len(points), 16), torch.zeros(1, 1, 1, 16)
    if backend != "interpret":
        query, key = query.bfloat16(), key.bfloat16()

    def modify(s, b, h, i, j):
        value = function(*(one[i] for one in given)) * 1.0
        return s + torch.where(value == INF, HUGE, value) * torch.where(value.abs() >= LARGE, SMALL, 1.0)

    _, lse = ours.flex_attention(query, key, key, modify, return_lse=True, backend=backend)
    large = expected(function, points, torch.float32)[0].abs() >= LARGE
    value = torch.where(large, lse.detach().flatten() / SMALL, lse.detach().flatten())
    made = torch.autograd.grad((lse / torch.where(large, SMALL, 1.0)).sum(), given, allow_unused=True)
    return torch.where(value == HUGE, INF, value), made


def expected(function, points, dtype):
    given = [torch.tensor(each, dtype=torch.float32).to(dtype).requires_grad_() for each in zip(*points)]
    value = torch.stack([function(*each) for each in zip(*given)]) * 1.0
    made = torch.autograd.grad(value.sum(), given, allow_unused=True) if value.requires_grad else [None] * len(given)
    return value.detach(), made


def disagreements(ours, function, points, backend="interpret", tolerance=1e-5):
    """Points at which the result differs from PyTorch's in float64 and in float32."""
    value, made = found(ours, function, points, backend)
    theirs = [expected(function, points, dtype) for dtype in (torch.float64, torch.float32)]

    def differ(mine, those):
        mine, *those = (torch.zeros(len(points)) if one is None else one for one in (mine, *those))
        close = [torch.isclose(mine.double(), one.double(), rtol=tolerance, atol=1e-6, equal_nan=True) for one in those]
        return ~(close[0] | close[1])

    wrong = differ(value, [one for one, _ in theirs])
    # Without a finite score P is 0, and so is the derivative.
    finite = theirs[1][0].isfinite()
    for number, mine in enumerate(made):
        wrong |= finite & differ(mine, [by[number] for _, by in theirs])
    return [(points[place], value[place].item(), [None if one is None else one[place].item() for one in made],
             *((one[place].item(), [None if each is None else each[place].item() for each in by]) for one, by in theirs))
            for place in wrong.nonzero().flatten().tolist()]


UNARY = {
    **{name: getattr(torch, name) for name in """abs ceil cos cosh deg2rad erf exp exp2 expm1 floor frac isfinite isinf isnan
        isneginf isposinf log log10 log1p log2 logit nan_to_num neg rad2deg reciprocal relu round rsqrt sgn sigmoid sign sin sinc
        sinh sqrt square tan tanh trunc atan positive asin acos asinh acosh atanh erfc signbit angle""".split()},
    "entr": torch.special.entr, "round 1": lambda x: torch.round(x, decimals=1),
    **{name: getattr(F, name) for name in """celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid
        mish relu6 selu silu softplus softshrink softsign tanhshrink""".split()},
    "hardtanh 2": lambda x: F.hardtanh(x, -2.0, 2.5), "hardtanh above": lambda x: F.hardtanh(x, min_val=0.5),
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"), "leaky_relu 0": lambda x: F.leaky_relu(x, 0.0),
    "elu 0.5": lambda x: F.elu(x, 0.5), "celu 0.5": lambda x: F.celu(x, 0.5), "softplus 2": lambda x: F.softplus(x, 2.0, 5.0),
    "threshold": lambda x: F.threshold(x, 1.0, 20.0), "logit within": lambda x: torch.logit(x, 0.25),
    "nan_to_num 1 2 3": lambda x: torch.nan_to_num(x, 1.0, 2.0, 3.0),
    "clamp": lambda x: x.clamp(-1, 1), "clamp_min": lambda x: x.clamp(min=0.0), "clamp_max": lambda x: x.clamp_max(0.0),
    **{f"power {p}": lambda x, p=p: x**p for p in (0, 0.0, 1, 2, 3, -1, -2, 0.5, -0.5, 0.3, -1.5, 67)},
    **{f"power of {base}": lambda x, base=base: base**x for base in (2, 0.5, 10.0, 0.0, -2.0)},
    "fmod 1": lambda x: torch.fmod(x, 1.0), "remainder 1.5": lambda x: x % 1.5, "x |x|": lambda x: x * x.abs(),
}
BINARY = {
    **{name: getattr(torch, name) for name in """add atan2 clamp_max clamp_min copysign div fmax fmin fmod hypot logaddexp
        logaddexp2 maximum minimum mul pow remainder rsub sub xlogy ldexp""".split()},
    "xlog1py": torch.special.xlog1py,
    "float_power": lambda a, b: torch.float_power(a, b).to(a.dtype), "softmax": lambda a, b: torch.softmax(torch.stack([a, b]), 0)[0],
    "add 2": lambda a, b: torch.add(a, b, alpha=2), "div trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "clamp above": lambda a, b: torch.clamp(a, b, torch.ones_like(b)), "clamp below": lambda a, b: torch.clamp(a, torch.ones_like(b), b),
    "where": lambda a, b: torch.where(a > b, a, b), "masked_fill": lambda a, b: a.masked_fill(b > 0, 0.5), "apart": lambda a, b: (a - b).abs(),
    "addcmul": lambda a, b: torch.addcmul(a, a, b, value=0.5), "addcdiv": lambda a, b: torch.addcdiv(a, a, b, value=0.5),
    "lerp": lambda a, b: torch.lerp(a, b, 0.25), "lerp 0.75": lambda a, b: torch.lerp(a, b, 0.75),
    "floor_divide": lambda a, b: torch.floor_divide(a.detach(), b.detach()), "div floor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "dot": lambda a, b: torch.dot(torch.stack([a, b]), torch.stack([b, a])),
    "heaviside": lambda a, b: torch.heaviside(a.detach(), b.detach()) + a,
    **{name: lambda a, b, name=name: getattr(torch.stack([a, b, a]), name)() for name in ("sum", "mean", "prod", "amax", "amin")},
    "amax of a dimension": lambda a, b: torch.stack([a, b, b, torch.ones_like(a), b]).amax(0),
    **{f"norm {p}": lambda a, b, p=p: torch.linalg.vector_norm(torch.stack([a, b, a]), p) for p in (2, 1, 0, INF, -INF, 0.5, -0.5, -1, -2)},
    "norm": lambda a, b: torch.stack([a, b]).norm(), "norm of no dimension": lambda a, b: torch.linalg.vector_norm(torch.stack([a, b]), dim=()),
    "norm of one": lambda a, b: torch.linalg.vector_norm(torch.stack([a, b])[None], dim=0).sum(), "dist": torch.dist,
    "cosine": lambda a, b: F.cosine_similarity(torch.stack([a, b]), torch.stack([b, a]), dim=0),
}
#: Intended differences, by the kind of point.
EXCEPTIONS = {
    # The remainder of a quotient that f32 can't represent.
    **{name: lambda a, b: abs(a) == 1e20 > abs(b) for name in ("fmod", "remainder")},
    # 0 / 0, which does not contribute here.
    "hypot": lambda a, b: a == b == 0,
    "xlogy": lambda a, b: a == 0 and (b == 0 or b == INF),
    "xlog1py": lambda a, b: a == 0 and (b == -1 or b == INF),
    # Minus infinity times 0.
    "entr": lambda x: x == 0,
    # Squares and reciprocals out of the range of f32.
    **{f"norm {p}": lambda a, b: max(abs(a), abs(b)) >= 1e20 for p in (-0.5, -1, -2)},
    "fmod 1": lambda x: 1e20 <= abs(x) < INF, "remainder 1.5": lambda x: 1e20 <= abs(x) < INF,
}


def checked(name, points):
    return [point for point in points if not EXCEPTIONS.get(name, lambda *_: False)(*point)]


@pytest.mark.parametrize("name", UNARY)
def test_of_one_number(ours, name):
    assert not disagreements(ours, UNARY[name], checked(name, [(x,) for x in POINTS]))[:5]


@pytest.mark.parametrize("name", BINARY)
def test_of_two_numbers(ours, name):
    assert not disagreements(ours, BINARY[name], checked(name, PAIRS))[:5]


#: Composed ops, as kernels compute them.
IN_KERNELS = {
    "sinh": UNARY["sinh"], "fmod 1": UNARY["fmod 1"], "norm": lambda x: torch.linalg.vector_norm(torch.stack([x, x * 2])),
    "amax": lambda x: torch.stack([x, x * x, x * 3, x.abs()]).amax(), "hardtanh": F.hardtanh, "relu6": F.relu6,
    "hardsigmoid": F.hardsigmoid, "hardswish": F.hardswish, "sinc": torch.sinc, "fmax": lambda x: torch.fmax(x, x * x),
    "logaddexp": lambda x: torch.logaddexp(x, x * x), "xlogy": lambda x: torch.xlogy(x, x.abs() + 1),
    "remainder": lambda x: torch.remainder(x, x.abs() + 0.5), "hypot": lambda x: torch.hypot(x, x + 1),
}


@pytest.mark.parametrize("backend", ["interpret:warp", "ptx:sm_90a"])
def test_kernels(ours, backend):
    """Kinks are at the same points as in f32, and no result is NaN."""
    points = [(x,) for x in (-6.0, -3.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 3.0, 6.0)]
    for name, function in IN_KERNELS.items():
        assert not disagreements(ours, function, points, backend, 1e-4), name


def test_parameters_that_begin_at_0_learn(ours):
    """The derivative does not come from an absolute value, whose derivative at 0 is 0."""
    key = torch.randn(1, 1, 8, 16, generator=torch.Generator().manual_seed(0))
    for function in (torch.sinh, lambda x: torch.fmod(x, 1.0)):
        shift = torch.zeros(8, requires_grad=True)
        o = ours.flex_attention(key, key, key, lambda s, b, h, i, j, shift=shift: s + function(shift[j]), backend="interpret")
        same = torch.zeros(8, requires_grad=True)
        weights = torch.softmax(key @ key.mT / 4 + same, -1)
        torch.testing.assert_close(*(torch.autograd.grad(one.square().sum(), by)[0] for one, by in ((o, shift), (weights @ key, same))))


@pytest.mark.parametrize("norm", [torch.linalg.vector_norm, torch.norm, lambda x: torch.dist(x, torch.zeros_like(x))])
@pytest.mark.parametrize("backend", ["interpret", "ptx:sm_90a"])
def test_distances_of_positions(ours, norm, backend):
    """The relative position of a key to its own query is 0."""
    generator = torch.Generator().manual_seed(0)
    key = torch.randn(1, 1, 30, 16, generator=generator)
    places = torch.randn(30, 3, generator=generator).requires_grad_()
    given = key if backend == "interpret" else key.bfloat16()
    o = ours.flex_attention(given, given, given, lambda s, b, h, i, j: s - norm(places[i] - places[j]), backend=backend)
    same = places.detach().double().requires_grad_()
    apart = torch.linalg.vector_norm(same[:, None] - same, dim=-1)
    theirs = torch.softmax(given.double() @ given.double().mT / 4 - apart, -1) @ given.double()
    mine, = torch.autograd.grad(o.double().square().sum(), places)
    expected, = torch.autograd.grad(theirs.square().sum(), same)
    tolerance = 1e-5 if backend == "interpret" else 3e-2
    assert (mine.double() - expected).abs().max() < tolerance * expected.abs().max()
