"""Captured tensors that the simplified program does not read: calls pass them to kernels that ignore
them, and their gradients are zeros, as in PyTorch."""

import numpy
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
flex = pytest.importorskip("torch.nn.attention.flex_attention")

BACKENDS = ["interpret", "interpret:tile", "ptx:sm_80", "ptx:sm_90a"]
LENGTH = 20
generator = torch.Generator().manual_seed(4)
keep, rows = (torch.rand(LENGTH, generator=generator) < 0.5 for _ in range(2))
weight = torch.randn(LENGTH, generator=generator, requires_grad=True)

CASES = {
    "both arms": (lambda s, b, h, i, j: torch.where(keep[j], s, s), None),
    "xor": (None, lambda b, h, i, j: torch.logical_xor(keep[j], keep[j])),
    "none": (None, lambda b, h, i, j: rows[i] & ~rows[i]),
    "all": (None, lambda b, h, i, j: rows[i] | ~rows[i]),
    "unused": (lambda s, b, h, i, j: (weight[j], s)[1], None),
    "a difference of the same": (lambda s, b, h, i, j: s + (weight[j] - weight[j]), None),
    "arms of a tensor": (lambda s, b, h, i, j: s + torch.where(keep[j], weight[j], weight[j]) * 0, None),
    "in a mask": (None, lambda b, h, i, j: (weight[i] > 0) | ~(weight[i] > 0)),
    "beside one that is read": (lambda s, b, h, i, j: s + torch.where(keep[j], weight[j], weight[j]), lambda b, h, i, j: rows[i] | ~rows[i]),
}


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.torch

    return fovea.torch


def results(attend, score_mod, mask_mod, dtype):
    made = torch.Generator().manual_seed(1)
    given = [torch.randn(1, 2, LENGTH, 16, generator=made).half().to(dtype).requires_grad_() for _ in range(3)]
    weight.grad = None
    o = attend(*given, score_mod, mask_mod)
    o.double().square().sum().backward()
    return o, *(one.grad for one in given), torch.zeros(LENGTH) if weight.grad is None else weight.grad


def wanted(name):
    """PyTorch's result for the simplified program."""
    def attend(q, k, v, *_):
        bias = weight.double().expand(LENGTH, LENGTH) if name == "beside one that is read" else None
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, bias)

    return results(attend, None, None, torch.float64)


@pytest.mark.filterwarnings("ignore:.*hides every key")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_unread_tensors(ours, name, backend):
    score_mod, mask_mod = CASES[name]
    found = results(lambda *given: ours.flex_attention(*given, backend=backend), score_mod, mask_mod, torch.float16)
    if name in ("xor", "none"):
        assert all(not one.any() for one in found)
        return
    expected = wanted(name)
    for one, other in zip(found, expected):
        assert (one.double() - other).abs().max() <= 5e-3 * max(1, other.abs().max())


def test_block_masks(ours):
    for name in ("all", "in a mask"):
        block_mask = flex.create_block_mask(CASES[name][1], None, None, LENGTH, LENGTH, device="cpu")
        for backend in BACKENDS:
            found = results(lambda *given: ours.flex_attention(*given, backend=backend), None, block_mask, torch.float16)
            assert all((one.double() - other).abs().max() < 2e-2 for one, other in zip(found, wanted(name)))


def test_programs_of_other_processes(ours, monkeypatch):
    """A program of which only the text is known."""
    from fovea.torch.ops import _op

    monkeypatch.setattr(_op, "_located", type("Nothing", (dict,), {"get": lambda self, key: None})())
    for backend in BACKENDS:
        test_unread_tensors(ours, "beside one that is read", backend)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_kernels_of_declared_tensors(fovea, target):
    captures = {"weight": ("f32", (None,)), "number": ("f32", ()), "keep": ("i1", (None,)), "gain": ("f32", (None,))}
    spec = fovea.attention(
        lambda s, b, h, i, j, weight, number, keep, gain: fovea.where(keep[j], s, s) + 0 * number + (weight[i], gain[h])[1],
        lambda b, h, i, j, keep: keep[i] | ~keep[i], dtype="f16", head_dim=16, captures=captures, gradient=True)
    kernel = fovea.compile(spec, target)
    x = numpy.random.default_rng(1).standard_normal((1, 2, LENGTH, 16)).astype("float16")
    ones = numpy.ones(LENGTH, "float32")
    read = {"weight": ones, "number": 2.0, "keep": ones > 0, "gain": numpy.ones(2, "float32")}
    names = [one["name"] for one in kernel.metadata["tensors"]]
    assert names == ["q", "k", "v", "gain", "o", "lse"]
    for level in ("attn", "tile", "ptx"):
        o, lse = kernel.interpret(x, x, x, level=level, **read)
        made = kernel.backward.interpret(x, x, x, o=o, lse=lse, do=x, level=level, **read)
        assert len(made) == 6 and made[0].any() and not made[3].any() and not made[4].any()
    with pytest.raises(TypeError, match="takes no 'other' here; it takes q, k, v, gain"):
        kernel.interpret(x, x, x, level="ptx", other=ones, **read)
    # A launch checks the same.
    assert set(kernel._named(dict(q=x, k=x, v=x, o=x, lse=x, **read), names)) >= set(names)
