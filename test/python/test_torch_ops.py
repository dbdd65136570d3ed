"""Elementwise ops, searches in small tensors and views in functions: attention and its gradients
match dense attention in float64."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torch.nn.attention.flex_attention")
F = torch.nn.functional

pytestmark = pytest.mark.usefixtures("fovea")

HEADS, SIZE, DIM = 2, 16, 16
GENERATOR = torch.Generator().manual_seed(0)
TABLE = torch.randn(16, generator=GENERATOR)
MATRIX = torch.randn(2, 2, generator=GENERATOR)
SQUARE = torch.randn(SIZE, SIZE, generator=GENERATOR)
EDGES, FLOAT_EDGES = torch.tensor([1, 2, 4, 8]), torch.tensor([-1.0, -0.5, 0.0, 0.5, 1.0])
UNSORTED, ORDER = torch.tensor([0.5, 1.0, -0.5]), torch.tensor([2, 0, 1])
EXPONENTS = torch.tensor([0.5, 1.5])
INTEGERS = torch.randint(-50, 50, (SIZE,), generator=GENERATOR)
SIGNED = torch.tensor([-3, -2, -1, 0, 1, 2, 3])

OPS = {
    "asin": lambda s, h, i, j: s + torch.asin(torch.tanh(s)), "acos": lambda s, h, i, j: s + torch.acos(torch.tanh(s)),
    "asinh": lambda s, h, i, j: torch.asinh(s), "acosh": lambda s, h, i, j: s + torch.acosh(s.abs() + 1),
    "atanh": lambda s, h, i, j: s + torch.atanh(s / 50), "erfc": lambda s, h, i, j: s + torch.erfc(s),
    "sinh": lambda s, h, i, j: torch.sinh(s / 2), "cosh": lambda s, h, i, j: s + torch.cosh(s / 2), "tan": lambda s, h, i, j: s + torch.tan(s / 4),
    "signbit": lambda s, h, i, j: torch.where(torch.signbit(s), s, s * 2), "ldexp": lambda s, h, i, j: torch.ldexp(s, i % 3),
    "fraction": lambda s, h, i, j: (s.abs() + 1) ** 0.3, "tensor exponent": lambda s, h, i, j: (s.abs() + 1) ** EXPONENTS[h],
    "score exponent": lambda s, h, i, j: EXPONENTS[h] ** s, "negative base": lambda s, h, i, j: s + (-1.5) ** i / 1000,
    "float_power": lambda s, h, i, j: torch.float_power(s.abs() + 1, 0.3).to(s.dtype),
    "float_power of tensors": lambda s, h, i, j: torch.float_power(s.abs() + 1, EXPONENTS[h]).to(s.dtype),
    "integer powers": lambda s, h, i, j: s + ((j % 3) ** (i % 4)) / 10.0 + (2 ** (h + 1)) / 5.0,
    "negative integer powers": lambda s, h, i, j: s + (SIGNED[i % 7] ** SIGNED[j % 7]) / 100.0,
    "large power": lambda s, h, i, j: s + (1 + s / 1000) ** 100,
    "gcd": lambda s, h, i, j: s + torch.gcd(i + 1, j + 1) / 4.0, "gcd of any": lambda s, h, i, j: s + torch.gcd(INTEGERS[i], INTEGERS[j]) / 10.0,
    "gcd of 0": lambda s, h, i, j: s + torch.gcd(i % 3, j % 2), "lcm": lambda s, h, i, j: s + torch.lcm(i, j - 3) / 100.0,
    "bucketize": lambda s, h, i, j: s + TABLE[torch.bucketize((i - j).abs(), EDGES)],
    "bucketize right": lambda s, h, i, j: s + TABLE[torch.bucketize((i - j).abs(), EDGES, right=True)],
    "bucketize floats": lambda s, h, i, j: s + TABLE[torch.bucketize(s, FLOAT_EDGES.to(s.dtype), out_int32=True)],
    "searchsorted": lambda s, h, i, j: s + TABLE[torch.searchsorted(EDGES, (i - j).abs())],
    "searchsorted right": lambda s, h, i, j: s + TABLE[torch.searchsorted(EDGES, (i - j).abs(), side="right")],
    "searchsorted by order": lambda s, h, i, j: s + TABLE[torch.searchsorted(UNSORTED.to(s.dtype), s, sorter=ORDER)],
    "isin": lambda s, h, i, j: torch.where(torch.isin(i, EDGES), s, s * 2),
    "isin inverted": lambda s, h, i, j: torch.where(torch.isin(i, EDGES.view(2, 2), invert=True), s, s * 2),
    "isin a number": lambda s, h, i, j: torch.where(torch.isin(i, 3), s, s * 2),
    "chunk": lambda s, h, i, j: s + TABLE.chunk(2)[1][j % 8], "split": lambda s, h, i, j: s + TABLE.split(6)[2][j % 4],
    "split sizes": lambda s, h, i, j: s + TABLE.split([3, 13])[1][j % 13], "tensor_split": lambda s, h, i, j: s + TABLE.tensor_split(3)[2][j % 5],
    "unbind": lambda s, h, i, j: s + TABLE.view(2, 8).unbind(0)[1][j % 8],
    "diagonal": lambda s, h, i, j: s + SQUARE.diagonal(1)[i % 15] + SQUARE.diagonal(-2)[j % 14] + MATRIX.trace(),
    "unfold": lambda s, h, i, j: s + TABLE.unfold(0, 4, 3)[i % 4, j % 4], "take": lambda s, h, i, j: s + SQUARE.take(i * SIZE + j),
    "triangles": lambda s, h, i, j: s + SQUARE.tril()[i, j] + SQUARE.triu(1)[i, j], "embedding": lambda s, h, i, j: s + F.embedding(h, MATRIX)[0],
    "extrema": lambda s, h, i, j: s * TABLE.max() + TABLE.min(), "repeat": lambda s, h, i, j: s + EXPONENTS.repeat(8)[j],
    "addmm": lambda s, h, i, j: s + torch.addmm(EXPONENTS, MATRIX, MATRIX, beta=2, alpha=3)[h, 0],
    "linear": lambda s, h, i, j: s + F.linear(MATRIX[h], MATRIX, EXPONENTS)[0] + F.linear(MATRIX, MATRIX)[h, 1],
    "softmax": lambda s, h, i, j: s + torch.softmax(MATRIX, -1)[h, 0] + torch.log_softmax(MATRIX, -1)[h, 1] + torch.logsumexp(MATRIX, -1)[h],
    "round": lambda s, h, i, j: s + torch.round(s * 0.37, decimals=1).detach() + torch.round(i * 7.3, decimals=-1) / 50,
    "angle": lambda s, h, i, j: s + torch.angle(s) + torch.special.entr(s.abs() + 0.1) + torch.special.xlog1py(s, s.abs()),
}


def inputs():
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(1, HEADS, SIZE, DIM, generator=generator).half() for _ in range(3)]


def dense(function, tensors):
    q, k, v = (one.double().requires_grad_() for one in tensors)
    i, j = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
    scores = q @ k.mT / DIM**0.5
    modified = torch.stack([function(scores[0, h], torch.tensor(h), i, j) for h in range(HEADS)])[None]
    return q, k, v, torch.softmax(modified.double(), -1) @ v


def gradients(q, k, v, o):
    return torch.autograd.grad((o * (torch.arange(DIM) - 5).to(o.dtype)).sum(), (q, k, v))


def compare(function, backend):
    import fovea.torch

    given = [one.detach().requires_grad_() for one in inputs()]
    o = fovea.torch.flex_attention(*given, score_mod=lambda s, b, h, i, j: function(s, h, i, j), backend=backend)
    *tensors, right = dense(function, inputs())
    for mine, theirs in zip((o, *gradients(*given, o)), (right, *gradients(*tensors, right))):
        assert (mine.double() - theirs).abs().max() < 6e-3 * theirs.abs().max() + 1e-5


@pytest.mark.parametrize("name", OPS)
def test_attention(name):
    compare(OPS[name], "interpret")


@pytest.mark.parametrize("name, backend", [
    ("asin", "ptx:sm_80"), ("fraction", "ptx:sm_90a"), ("tensor exponent", "ptx:sm_80"), ("negative integer powers", "ptx:sm_80"),
    ("gcd of 0", "ptx:sm_90a"), ("bucketize floats", "ptx:sm_90a"), ("isin", "ptx:sm_80"),
])
def test_kernels(name, backend):
    compare(OPS[name], backend)


def test_masks():
    """Variants with the distance on a sphere, a search, a common divisor."""
    import fovea.torch

    angles = torch.randn(SIZE, 2, generator=torch.Generator().manual_seed(2))

    def near(b, h, i, j):
        a = torch.sin((angles[i, 0] - angles[j, 0]) / 2) ** 2
        a = a + torch.cos(angles[i, 0]) * torch.cos(angles[j, 0]) * torch.sin((angles[i, 1] - angles[j, 1]) / 2) ** 2
        return 2 * torch.asin(torch.sqrt(a)) < 1

    i, j = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
    for mask in (near, lambda b, h, i, j: torch.bucketize(i, EDGES) == torch.bucketize(j, EDGES), lambda b, h, i, j: torch.gcd(i, j % 8) != 1):
        q, k, v = inputs()
        o = fovea.torch.flex_attention(q, k, v, block_mask=mask, backend="ptx:sm_80")
        scores = (q.double() @ k.double().mT / DIM**0.5).masked_fill(~mask(0, 0, i, j), -torch.inf)
        right = torch.softmax(scores, -1).nan_to_num() @ v.double()
        assert (o.double() - right).abs().max() < 4e-3


def test_layers_of_scores():
    """F.linear of values computed in a function, with and without a bias."""
    import fovea.torch

    q, k, v = inputs()
    for bias in (None, EXPONENTS):
        o = fovea.torch.flex_attention(q, k, v, backend="interpret", score_mod=lambda s, b, h, i, j: F.linear(torch.stack([s, s * s]), MATRIX, bias).sum())
        s = q.double() @ k.double().mT / DIM**0.5
        modified = F.linear(torch.stack([s, s * s], -1), MATRIX.double(), None if bias is None else bias.double()).sum(-1)
        assert (o.double() - torch.softmax(modified, -1) @ v.double()).abs().max() < 4e-3
