"""fovea.torch under torch.autocast: tensors are cast as PyTorch's attention casts them."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
flex = pytest.importorskip("torch.nn.attention.flex_attention")

FLOAT, HALF, BFLOAT = torch.float32, torch.float16, torch.bfloat16


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.torch

    return fovea.torch


def tensors(*dtypes, shape=(1, 2, 20, 16)):
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(shape, generator=generator).to(dtype).requires_grad_() for dtype in dtypes]


def step(attend, given, dtype=BFLOAT):
    """The output, and gradients in the dtypes of the inputs."""
    with torch.autocast("cpu", dtype=dtype):
        o = attend(*given)
    assert o.dtype == dtype
    by = [one for one in given if one.requires_grad]
    found = torch.autograd.grad(o.float().square().sum(), by)
    assert [one.dtype for one in found] == [one.dtype for one in by]
    return [o.float(), *(one.float() for one in found)]


def check(found, expected, tolerance=3e-2):
    for a, b in zip(found, expected):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("mask", [None, FLOAT, BFLOAT, torch.bool])
@pytest.mark.parametrize("dtypes", [(FLOAT, FLOAT, FLOAT), (BFLOAT, FLOAT, HALF)])
def test_as_pytorch(ours, dtypes, mask):
    generator = torch.Generator().manual_seed(6)
    given = tensors(*dtypes)
    if mask is not None:
        drawn = torch.randn(20, 20, generator=generator)
        given.append(drawn > 0 if mask == torch.bool else drawn.to(mask).requires_grad_())
    expected = step(torch.nn.functional.scaled_dot_product_attention, given)
    check(step(lambda *all: ours.scaled_dot_product_attention(*all, backend="interpret"), given), expected)


def test_half_and_what_is_not_cast(ours):
    def attend(q, k, v):
        return ours.scaled_dot_product_attention(q, k, v, is_causal=True, backend="interpret")

    given = tensors(FLOAT, FLOAT, FLOAT, shape=(3, 20, 16))
    check(step(attend, given, HALF),
          step(lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True), given, HALF))
    assert attend(*given).dtype == FLOAT
    with torch.autocast("cpu", dtype=BFLOAT), pytest.raises(ValueError, match="of one dtype, found torch.bfloat16 and torch.float64"):
        attend(*tensors(FLOAT, torch.float64, FLOAT))
    with torch.autocast("cpu", dtype=BFLOAT), pytest.raises(TypeError, match="query must be a PyTorch tensor"):
        attend([1.0], *given[1:])


@pytest.mark.parametrize("compiled", ["", "within", "around"])
def test_functions(ours, compiled):
    """Neither values computed in functions, nor captured tensors, nor their gradients are cast; the same
    program is used with and without autocast."""
    table = (torch.randn(20, 8, generator=torch.Generator().manual_seed(7)) * 0.2).requires_grad_()

    def score(s, b, h, i, j):
        return s + table[i] @ table[j]

    def attend(q, k, v, captured=None):
        return ours.flex_attention(q, k, v, score, lambda b, h, i, j: i >= j, backend="interpret")

    given, run = [*tensors(FLOAT, BFLOAT, FLOAT), table], attend
    if compiled:
        run = torch.compile(attend, backend="aot_eager", fullgraph=True)
    if compiled == "within":
        def run(*all):
            def inner(*all):
                with torch.autocast("cpu", dtype=BFLOAT):
                    return attend(*all)

            return torch.compile(inner, backend="aot_eager", fullgraph=True)(*all)
    exact = [one.detach().to(BFLOAT).float().requires_grad_() for one in given[:3]]
    o = attend(*exact)
    expected = [o, *torch.autograd.grad(o.square().sum(), [*exact, table])]
    check(step(run, given), expected, 0.1)


def test_traced_without_autocast(ours, monkeypatch):
    from fovea.torch.ops import _op
    from fovea.torch.cache import _programs

    programs, remember = [], _op.remember
    monkeypatch.setattr(_op, "remember", lambda spec, names: programs.append(spec.mlir) or remember(spec, names))
    table = torch.randn(20, 8)
    given = tensors(BFLOAT, BFLOAT, BFLOAT)
    for enabled in (True, False):
        _programs._families.clear()  # otherwise the cached program would be used
        with torch.no_grad(), torch.autocast("cpu", dtype=HALF, enabled=enabled):
            ours.flex_attention(*[one.to(HALF) for one in given], lambda s, b, h, i, j: s + table[i] @ table[j],
                                backend="interpret")
    assert len(programs) == 2 and programs[0] == programs[1]
