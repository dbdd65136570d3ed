"""fovea.torch: float32 kernels, exact to float32 or with tf32 products, against float64."""

import math

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torch.nn.attention.flex_attention")

from test_torch_compile import Graphs  # noqa: E402


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.torch

    return fovea.torch


@pytest.fixture
def precision():
    before = torch.get_float32_matmul_precision()
    yield torch.set_float32_matmul_precision
    torch.set_float32_matmul_precision(before)


def causal(b, h, q, k):
    return q >= k


def soft_cap(score, b, h, q, k):
    return 3.0 * torch.tanh(score / 3.0)


def tensors(dim, value_dim, queries=70, keys=90):
    generator = torch.Generator().manual_seed(dim)
    shapes = (1, 4, queries, dim), (1, 2, keys, dim), (1, 2, keys, value_dim), (1, 4, queries, value_dim)
    return [torch.randn(*shape, generator=generator) for shape in shapes]


def evaluate(q, k, v, do, dtype, capped=False):
    q, k, v = (one.to(dtype).requires_grad_() for one in (q, k, v))
    scores = q @ k.repeat_interleave(2, 1).mT / math.sqrt(q.shape[-1])
    scores = 3.0 * torch.tanh(scores / 3.0) if capped else scores
    scores = scores.masked_fill(torch.arange(q.shape[2])[:, None] < torch.arange(k.shape[2]), -math.inf)
    o = torch.softmax(scores, -1) @ v.repeat_interleave(2, 1)
    return o, *torch.autograd.grad(o, (q, k, v), do.to(dtype))


def attend(ours, q, k, v, do, backend, **options):
    inputs = [one.clone().requires_grad_() for one in (q, k, v)]
    o = ours.flex_attention(*inputs, block_mask=causal, enable_gqa=True, backend=backend, **options)
    return o, *torch.autograd.grad(o, inputs, do)


def errors(found, exact):
    return [((one.double() - other).norm() / other.norm()).item() for one, other in zip(found, exact)]


@pytest.mark.parametrize("backend", ["ptx:sm_80", "ptx:sm_90a"])
@pytest.mark.parametrize("dims", [(64, 64), (40, 72), (128, 128), (256, 64)])
def test_error_of_float32(ours, backend, dims):
    """At most four times that of a plain evaluation in float32, which is rounded once if that is exact."""
    given = tensors(*dims)
    exact = evaluate(*given, torch.float64)
    found = errors(attend(ours, *given, backend), exact)
    for error, plain in zip(found, errors(evaluate(*given, torch.float32), exact)):
        assert error < 4 * max(plain, 2**-24), (found, plain)


def test_functions(ours):
    """tanh is not the approximate instruction, whose error is 2^-16.5."""
    given = tensors(64, 64)
    exact = evaluate(*given, torch.float64, capped=True)
    assert max(errors(attend(ours, *given, "ptx", score_mod=soft_cap), exact)) < 2e-6


def test_tf32(ours, precision):
    """The setting at the call counts, also for repeated calls."""
    given = tensors(64, 64)
    exact = evaluate(*given, torch.float64)
    for value, least, most in (("high", 5e-5, 2e-3), ("highest", 0, 2e-6), ("medium", 5e-5, 2e-3), ("highest", 0, 2e-6)):
        precision(value)
        assert all(least <= error < most for error in errors(attend(ours, *given, "ptx:sm_80"), exact)), value


def test_torch_compile(ours, precision):
    torch.compiler.reset()
    graphs, given = Graphs(), tensors(64, 64)[:3]

    def call(q, k, v):
        return ours.flex_attention(q * 1.0, k, v, block_mask=causal, enable_gqa=True, backend="ptx:sm_80")

    for value in ("highest", "high"):
        precision(value)
        assert torch.equal(graphs.compile(call)(*given), call(*given)), value


def test_kvcache(ours):
    """Split keys, pages of any number of rows, in float32."""
    generator = torch.Generator().manual_seed(0)
    q, pools = torch.randn(2, 1, 8, 64, generator=generator), torch.randn(2, 12, 12, 2, 64, generator=generator)
    table, lengths = torch.arange(12, dtype=torch.int32).flip(0).view(2, 6), torch.tensor([70, 5], dtype=torch.int32)
    for backend in ("ptx:sm_80", "ptx:sm_90a"):
        found = ours.attention_with_kvcache(q, *pools, lengths=lengths, page_table=table, backend=backend)
        for entry, length in enumerate(lengths.tolist()):
            k, v = (pool[table[entry].long()].flatten(0, 1)[:length].repeat_interleave(4, 1).double() for pool in pools)
            p = torch.softmax(torch.einsum("hd,jhd->hj", q[entry, 0].double() / 8, k), -1)
            torch.testing.assert_close(found[entry, 0].double(), torch.einsum("hj,jhd->hd", p, v), rtol=2e-6, atol=2e-6)
