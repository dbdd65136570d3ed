"""Captured tensors of high rank, and large numbers of captured tensors."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torch.nn.attention.flex_attention")

BACKENDS = ["interpret", "interpret:tile", "ptx:sm_80", "ptx:sm_90a"]
LENGTH = 20


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.torch

    return fovea.torch


def inputs(dtype=torch.float16):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(1, 2, LENGTH, 16, generator=generator).half().to(dtype).requires_grad_() for _ in range(3)]


def check(attend, read, bias):
    """Compares with the dense bias that the function adds."""
    q, k, v = inputs()
    o = attend(q, k, v)
    found = torch.autograd.grad(o.double().square().sum(), (q, k, v, *read))
    q, k, v = inputs(torch.float64)
    wanted = torch.nn.functional.scaled_dot_product_attention(q, k, v, bias().double())
    made = torch.autograd.grad(wanted.square().sum(), (q, k, v, *read))
    for one, other in zip((o, *found), (wanted, *made)):
        assert (one.double() - other).abs().max() <= 5e-3 * max(1, other.abs().max())


@pytest.mark.parametrize("shape, order", [((1, 2, 2, 5, 4), None), ((1, 2, 2, 5, 4, 3), None), ((4, 2, 2, 5, 1), (4, 1, 2, 3, 0))])
@pytest.mark.parametrize("backend", BACKENDS)
def test_many_dimensions(ours, backend, shape, order):
    made = torch.randn(shape, generator=torch.Generator().manual_seed(2)).requires_grad_()

    def bias():
        i, j = torch.arange(LENGTH)[:, None], torch.arange(LENGTH)
        table = made if order is None else made.permute(order)
        return torch.stack([table[(0, h, i % 2, j % 5, -1, *[2] * (table.dim() - 5))] for h in range(2)])[None]

    def attend(q, k, v):
        table = made if order is None else made.permute(order)  # whose leading dimensions can't be flattened as a view
        more = [2] * (table.dim() - 5)
        return ours.flex_attention(q, k, v, lambda s, b, h, i, j: s + table[(b, h, i % 2, j % 5, -1, *more)], backend=backend)

    check(attend, [made], bias)


def test_many_parameters(fovea):
    """More than 512 scalars of each call; parameters of 4352 bytes need a later PTX version on sm_80."""
    import numpy

    for count, version in ((520, "7.4"), (1100, "8.1")):
        names = [f"n{index}" for index in range(count)]
        scope = {}
        exec(f"def score(s, b, h, i, j, {', '.join(names)}):\n    return s * ({' + '.join(names)})", scope)
        spec = fovea.attention(scope["score"], dtype="f16", head_dim=16, captures=dict.fromkeys(names, ("f32", ())))
        kernel = fovea.compile(spec, "sm_80")
        assert len(kernel.metadata["parameters"]) > count and f".version {version}" in kernel.ptx
        x = numpy.random.default_rng(1).standard_normal((1, 1, 8, 16)).astype("float16")
        numbers = {name: (-1) ** index * (index % 7) for index, name in enumerate(names)}
        (o, _), (wanted, _) = (kernel.interpret(x, x, x, level=level, **numbers) for level in ("ptx", "attn"))
        assert abs(o - wanted).max() < 5e-3
