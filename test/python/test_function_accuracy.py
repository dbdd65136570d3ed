"""Functions in PTX kernels against float64: errors are within the bounds of docs/Guides/Debugging.md at
ordinary numbers, large ones, zeros, infinities and NaN."""

import math

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torch.nn.attention.flex_attention")

pytestmark = pytest.mark.usefixtures("fovea")

INF, NAN = math.inf, math.nan
TARGETS = ["ptx:sm_80", "ptx:sm_90a"]
#: The function, and its error in units of the last place.
OF_THE_RESULT = {
    "exp": (torch.exp, 4), "exp2": (torch.exp2, 3), "expm1": (torch.expm1, 4), "log1p": (torch.log1p, 4), "sinh": (torch.sinh, 4),
    "cosh": (torch.cosh, 4), "asinh": (torch.asinh, 4), "acosh": (torch.acosh, 4), "atanh": (torch.atanh, 4),
    "sin": (torch.sin, 4), "cos": (torch.cos, 4), "tan": (torch.tan, 4), "asin": (torch.asin, 3), "acos": (torch.acos, 3),
    "atan": (torch.atan, 3), "atan2": (lambda x: torch.atan2(x, 0.5 - x), 4),
    "power 0.3125": (lambda x: x**0.3125, 4), "power -2.75": (lambda x: x**-2.75, 4), "power 67": (lambda x: x**67, 4),
    "power of -3": (lambda x: torch.pow(-3.0, torch.round(x)), 4), "erf": (torch.erf, 4), "erfc": (torch.erfc, 4),
}
#: Absolute errors.
OF_ONE = {"log": (torch.log, 4), "log2": (torch.log2, 4), "log10": (torch.log10, 4), "tanh": (torch.tanh, 4), "sigmoid": (torch.sigmoid, 4)}

SPECIAL = [
    0.0, -0.0, 1e-30, 1e-20, -1e-10, 1e-5, 1e-3, 0.1, 0.25, 0.5, -0.5, 0.75, 1.0, -1.0, 1.0000001, 0.9999999, 1.5, 2.0, -2.0, 3.0, 6.0,
    20.0, -20.0, 50.0, 80.0, 88.7, 88.72, 89.0, -87.0, 104.0, -104.0, math.pi, math.pi / 2, -math.pi / 2, INF, -INF, NAN,
    # Positions, timestamps, and the float closest to a multiple of pi/2.
    1e3, 1.7e4, 1e5, 262143.0, 262145.0, -3.3e5, 1.3e6, 1e7, 16777217.0, 1e8, -1e9, 1.7e9, 1e12, 1e20, -1e30, 3e38, -3e38, 16367173 * 2.0**72,
]


def points():
    generator = torch.Generator().manual_seed(0)

    def draw(count, low, high):
        return torch.empty(count).uniform_(low, high, generator=generator)

    wide = draw(200, -1, 1).sign() * torch.exp(draw(200, -30, 60))
    return torch.cat([torch.tensor(SPECIAL), wide, draw(150, -1.1, 1.1), draw(150, -90, 90), 1 + draw(50, -1e-3, 1e-3)])


def evaluated(functions, x, backend):
    """Evaluates each function at all numbers. A query has one score, which is its log-sum-exp; a head has one function."""
    import fovea.torch

    query, key = torch.zeros(1, len(functions), len(x), 16).half(), torch.zeros(1, len(functions), 1, 16).half()

    def modify(s, b, h, i, j):
        value = functions[0](x[i])
        for number, function in enumerate(functions[1:], 1):
            value = torch.where(h == number, function(x[i]), value)
        return encoded(value)

    with torch.no_grad():
        return fovea.torch.flex_attention(query, key, key, modify, return_lse=True, backend=backend)[1][0]


def encoded(value):
    """Replaces NaN and numbers that are too large for a log-sum-exp."""
    return torch.where(value.isnan(), 3.0e6, value.clamp(-2.0e6, 2.0e6))


def unit(value):
    return torch.exp2(value.abs().clamp(min=2.0**-126).log2().floor() - 23)


@pytest.mark.parametrize("backend", TARGETS)
def test_error(backend):
    x, both = points(), {**OF_THE_RESULT, **OF_ONE}
    found = evaluated([function for function, _ in both.values()], x, backend)
    for (name, (function, bound)), mine in zip(both.items(), found):
        right = encoded(function(x.double()))
        error = (mine.double() - right).abs() / unit(right if name in OF_THE_RESULT else torch.maximum(right.abs(), torch.ones(())))
        # Subnormal results are treated as 0.
        error[right.abs() < 2.0**-126] = 0
        worst = error.argmax()
        assert error[worst] <= bound, (name, x[worst].item(), mine[worst].item(), right[worst].item(), error[worst].item())


@pytest.mark.parametrize("backend", TARGETS)
def test_angles_of_scores(backend):
    """Many arguments in a lane, some of them large, in some warps."""
    import fovea.torch

    size = 96
    x = torch.arange(size * size).view(size, size) * 37.0
    x[:, :24] *= 0.001
    query, key, value = torch.zeros(1, 1, size, 16).half(), torch.zeros(1, 1, size, 16).half(), torch.eye(size).half()[None, None]
    for function in (torch.sin, torch.cos, torch.tan):
        o = fovea.torch.flex_attention(query, key, value, lambda s, b, h, i, j: function(x[i, j]).clamp(-4, 4), backend=backend)
        right = torch.softmax(function(x.double()).clamp(-4, 4), -1)
        torch.testing.assert_close(o[0, 0].double(), right, rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize("backend", TARGETS)
def test_signs_of_zeros(backend):
    """Signs of results: odd functions are -0 at -0, and atan2 depends on the sign of zero."""
    odd = [torch.sin, torch.tan, torch.asin, torch.atan, torch.sinh, torch.asinh, torch.atanh, torch.expm1, torch.log1p, lambda x: x**5.0,
           lambda x: torch.pow(x, x * 0 + 3)]
    functions = [lambda x, f=f: torch.copysign(torch.ones_like(x), f(x)) for f in odd]
    x = torch.tensor([0.0, -0.0])
    assert evaluated(functions, x, backend).tolist() == [[1.0, -1.0]] * len(odd)
    sides = torch.tensor([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN])
    found = evaluated([lambda y, x=x: torch.atan2(y, torch.full_like(y, x)) for x in sides.tolist()], sides, backend)
    right = torch.stack([torch.atan2(sides, x) for x in sides])
    torch.testing.assert_close(found, encoded(right), rtol=1e-6, atol=0)
    negative = evaluated([lambda y, x=x: torch.copysign(torch.ones_like(y), torch.atan2(y, torch.full_like(y, x))) for x in (0.0, 1.0, INF)], sides[:2], backend)
    assert negative.tolist() == [[1.0, -1.0]] * 3


@pytest.mark.parametrize("backend", TARGETS)
def test_powers(backend):
    """All pairs of special numbers, compared with PyTorch."""
    special = torch.tensor([0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 1.5, INF, -INF, NAN])
    bases, exponents = (one.flatten() for one in torch.meshgrid(special, special, indexing="ij"))
    places = torch.arange(len(bases)).float()
    found = evaluated([lambda n: torch.pow(bases[n.long()], exponents[n.long()])], places, backend)[0]
    torch.testing.assert_close(found, encoded(torch.pow(bases, exponents)), rtol=1e-6, atol=0)


@pytest.mark.parametrize("backend", TARGETS)
def test_derivatives(backend):
    """Large angles, the axes and the origin."""
    import fovea.torch

    cases = {
        "sin": (torch.sin, [1e5, 1e7, -1e9, 0.0]), "cos": (torch.cos, [1e5, 1e7, -1e9, -0.0]), "tan": (torch.tan, [1e5, 1.3e6, 1e9]),
        "atan2": (lambda x: torch.atan2(x, x - 1), [0.0, 1.0, -0.0, 1e20]), "origin": (lambda x: torch.atan2(x, -x), [0.0, -0.0, 2.0]),
        "power": (lambda x: x.abs() ** 1.3, [0.0, 1.0, 30.0]),
    }
    for name, (function, numbers) in cases.items():
        mine, theirs = (torch.tensor(numbers, dtype=torch.float32).to(dtype).requires_grad_() for dtype in (torch.float32, torch.float64))
        query, key = torch.zeros(1, 1, len(numbers), 16).half(), torch.zeros(1, 1, 1, 16).half()
        lse = fovea.torch.flex_attention(query, key, key, lambda s, b, h, i, j: s + function(mine[i]), return_lse=True, backend=backend)[1]
        found, = torch.autograd.grad(lse.sum(), mine)
        right, = torch.autograd.grad(function(theirs).sum(), theirs)
        torch.testing.assert_close(found.double(), right, rtol=1e-5, atol=1e-6, msg=lambda text: f"{name}: {text}")
