"""fovea.torch: sinks, one more key of value 0 for each head, against a dense softmax with one more
column."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
flex = pytest.importorskip("torch.nn.attention.flex_attention")

from test_torch_backward_calls import START, check_steps  # noqa: E402
from test_torch_calls import run_on_stand_in  # noqa: E402
from test_torch_compile import Graphs  # noqa: E402

HEADS, KV_HEADS, QUERIES, KEYS, DIM = 4, 2, 33, 40, 16
I, J = torch.arange(QUERIES)[:, None], torch.arange(KEYS)


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.torch

    return fovea.torch


def tensors(dtype=torch.float32, value_dim=DIM):
    generator = torch.Generator().manual_seed(0)
    shapes = (2, HEADS, QUERIES, DIM), (2, KV_HEADS, KEYS, DIM), (2, KV_HEADS, KEYS, value_dim)
    made = [torch.randn(*shape, generator=generator).to(dtype) for shape in shapes]
    return [one.requires_grad_() for one in (*made, torch.randn(HEADS, generator=generator))]


def reference(q, k, v, sinks, mask=None, bias=None):
    q, k, v = q.double(), *(one.double().repeat_interleave(q.shape[1] // k.shape[1], 1) for one in (k, v))
    scores = q @ k.mT * q.shape[-1] ** -0.5
    scores = scores if bias is None else scores + bias
    scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
    scores = torch.cat([scores, sinks.double()[:, None, None].expand(*scores.shape[:3], 1)], -1)
    return torch.softmax(scores, -1)[..., :-1] @ v, torch.logsumexp(scores, -1)


def check(found, expected, by, tolerance):
    """Compares the output and the log-sum-exp, and gradients of a loss of both."""
    losses = []
    for one, other in zip(found, expected):
        torch.testing.assert_close(one.double(), other, rtol=tolerance, atol=tolerance)
    for o, lse in (found, expected):
        losses.append(o.double().square().sum() + lse.double().sum())
    for one, other in zip(*(torch.autograd.grad(loss, by) for loss in losses)):
        assert other.abs().max() > 0
        assert (one - other).norm() / other.norm() < tolerance


def causal(b, h, i, j):
    return i - 3 >= j


@pytest.mark.parametrize("backend, dtype, tolerance", [
    ("interpret", torch.float32, 1e-5), ("interpret:tile", torch.bfloat16, 2e-2), ("interpret:warp", torch.float16, 5e-3),
    ("ptx", torch.bfloat16, 2e-2), ("ptx:sm_80", torch.float16, 5e-3),
])
def test_flex_attention(ours, backend, dtype, tolerance):
    """Rows without a visible key have output 0, and the sink as their log-sum-exp."""
    q, k, v, sinks = tensors(dtype)
    found = ours.flex_attention(q, k, v, block_mask=causal, enable_gqa=True, return_lse=True, sinks=sinks, backend=backend)
    assert not found[0][:, :, :3].any()
    assert torch.equal(found[1][:, :, :3], sinks[:, None].expand(2, HEADS, 3))
    check(found, reference(q, k, v, sinks, I - 3 >= J), (q, k, v, sinks), tolerance)


@pytest.mark.parametrize("by", [(3,), (0,), (1, 3), (4,), (3, 4)])
def test_gradients_with_a_captured_tensor(ours, by):
    """Gradients of any of the tensors; those of sinks come before those of captured tensors."""
    every = [*tensors(), torch.randn(HEADS, requires_grad=True)]
    for place, one in enumerate(every):
        one.requires_grad_(place in by)
    q, k, v, sinks, slopes = every
    found = ours.flex_attention(q, k, v, lambda s, b, h, i, j: s + slopes[h] * j, enable_gqa=True, return_lse=True, sinks=sinks,
                                backend="interpret")
    expected = reference(q, k, v, sinks, bias=slopes[:, None, None] * J)
    check(found, expected, [every[place] for place in by], 1e-5)


@pytest.mark.parametrize("size", [(16, 16), (8, 32), (1, 16), (20, 20)])
def test_block_masks(ours, size):
    """Block sizes that kernels support, and others, whose query blocks become heads."""
    q, k, v, sinks = tensors()
    mask = flex.create_block_mask(causal, None, None, QUERIES, KEYS, device="cpu", BLOCK_SIZE=size)
    found = ours.flex_attention(q, k, v, block_mask=mask, enable_gqa=True, return_lse=True, sinks=sinks, backend="interpret")
    check(found, reference(q, k, v, sinks, I - 3 >= J), (q, k, v, sinks), 1e-5)


def test_wide_values(ours):
    """Values in several launches: each has the whole softmax, and a part of the sinks' gradient."""
    q, k, v, sinks = tensors(value_dim=264)
    found = ours.flex_attention(q, k, v, enable_gqa=True, return_lse=True, sinks=sinks, backend="interpret")
    check(found, reference(q, k, v, sinks), (q, k, v, sinks), 1e-5)


@pytest.mark.parametrize("masked", [False, True])
def test_scaled_dot_product_attention(ours, masked):
    q, k, v, sinks = tensors()
    bias = torch.randn(QUERIES, KEYS)
    o = ours.scaled_dot_product_attention(q, k, v, bias if masked else None, enable_gqa=True, sinks=sinks, backend="interpret")
    expected, _ = reference(q, k, v, sinks, bias=bias if masked else None)
    check((o, o.new_zeros(1)), (expected, expected.new_zeros(1)), (q, k, v, sinks), 1e-5)


def test_nested_tensors(ours):
    offsets, sinks = torch.tensor([0, 5, 5, 45]), torch.randn(2, requires_grad=True)
    three = [torch.nested.nested_tensor_from_jagged(torch.randn(45, 2, DIM), offsets).transpose(1, 2) for _ in range(3)]
    found = ours.flex_attention(*three, sinks=sinks, backend="interpret")
    each = zip(*([one.transpose(0, 1)[None] for one in given.transpose(1, 2).unbind()] for given in three))
    expected = [reference(*given, sinks)[0] for given in each]
    rows = found.transpose(1, 2).values()
    torch.testing.assert_close(rows.double(), torch.cat([one[0].transpose(0, 1) for one in expected]), rtol=1e-5, atol=1e-5)
    gradients = [torch.autograd.grad(one.square().sum(), sinks)[0] for one in (rows, torch.cat(expected, 2))]
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("queries, backend", [(1, "interpret"), (5, "ptx"), (20, "ptx:sm_80")])
def test_attention_with_kvcache(ours, queries, backend):
    """One query and few, whose heads are packed, and many."""
    lengths, dtype = torch.tensor([40, 33], dtype=torch.int32), torch.float32 if backend == "interpret" else torch.bfloat16
    q, (k, v) = torch.randn(2, queries, HEADS, DIM).to(dtype), (torch.randn(2, KEYS, KV_HEADS, DIM).to(dtype) for _ in range(2))
    sinks = torch.randn(HEADS)
    o, lse = ours.attention_with_kvcache(q, k, v, lengths=lengths, causal=True, sinks=sinks, return_lse=True, backend=backend)
    for entry, length in enumerate(lengths.tolist()):
        mask = torch.arange(length) <= torch.arange(queries)[:, None] + length - queries
        three = (one[entry:entry + 1, :rows].transpose(1, 2) for one, rows in ((q, queries), (k, length), (v, length)))
        expected, sums = reference(*three, sinks, mask)
        tolerance = 1e-5 if backend == "interpret" else 2e-2
        torch.testing.assert_close(o[entry].double(), expected[0].transpose(0, 1), rtol=tolerance, atol=tolerance)
        torch.testing.assert_close(lse[entry].double(), sums[0], rtol=tolerance, atol=tolerance)
    with pytest.raises(NotImplementedError, match="no gradients"):
        ours.attention_with_kvcache(q, k, v, lengths=lengths, sinks=sinks.requires_grad_(), backend=backend)


def test_bfloat16_sinks(ours):
    """They are read as float32; their gradient has their dtype."""
    q, k, v, sinks = tensors()
    half = sinks.detach().bfloat16().requires_grad_()
    found = [ours.flex_attention(q, k, v, enable_gqa=True, sinks=one, backend="interpret") for one in (half, half.float())]
    assert torch.equal(*found)
    gradient, = torch.autograd.grad(found[0].sum(), half)
    assert gradient.dtype == torch.bfloat16 and gradient.any()


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled(ours, dynamic):
    torch.compiler.reset()
    q, k, v, sinks = tensors()

    def call(q, k, v, sinks):
        return ours.flex_attention(q, k, v, block_mask=causal, enable_gqa=True, sinks=sinks, backend="interpret") * 2

    graphs = Graphs()
    compiled = graphs.compile(call, dynamic=dynamic)
    results = [function(q, k, v, sinks) for function in (compiled, call)]
    assert graphs.count == 1 and torch.equal(*results)
    for one, other in zip(*(torch.autograd.grad(o.sum(), (q, sinks)) for o in results)):
        torch.testing.assert_close(one, other)


def test_vmap(ours):
    q, k, v, sinks = (one.detach() for one in tensors())
    several = torch.stack([sinks, sinks + 1])
    found = torch.func.vmap(lambda one: ours.flex_attention(q, k, v, enable_gqa=True, sinks=one, backend="interpret"))(several)
    expected = [ours.flex_attention(q, k, v, enable_gqa=True, sinks=one, backend="interpret") for one in several]
    assert torch.equal(found, torch.stack(expected)) and not torch.equal(*expected)


@pytest.mark.parametrize("sinks, error, message", [
    ([1.0] * HEADS, TypeError, "sinks must be a PyTorch tensor, found list"),
    (torch.zeros(KV_HEADS), ValueError, r"sinks must have the shape \(heads,\) with 4 query heads, found \[2\]"),
    (torch.zeros(HEADS, 1), ValueError, r"found \[4, 1\]"),
    (torch.zeros(HEADS, dtype=torch.float64), TypeError, "sinks is of torch.float64, expected torch.float32, torch.bfloat16, torch.float16"),
    (torch.zeros(HEADS, device="meta"), ValueError, "sinks is on meta, but query is on cpu"),
    (torch.zeros(HEADS).to_sparse(), TypeError, "sinks is of layout torch.sparse_coo"),
])
def test_refused(ours, sinks, error, message):
    q, k, v, _ = tensors()
    calls = (lambda: ours.flex_attention(q, k, v, enable_gqa=True, sinks=sinks, backend="interpret"),
             lambda: ours.scaled_dot_product_attention(q, k, v, enable_gqa=True, sinks=sinks, backend="interpret"),
             lambda: ours.attention_with_kvcache(*(one.transpose(1, 2) for one in (q, k, v)), sinks=sinks, backend="interpret",
                                                 lengths=torch.full((2,), KEYS, dtype=torch.int32)))
    for call in calls:
        with pytest.raises(error, match=message):
            call()


LAUNCHES = """
from fovea.torch import scaled_dot_product_attention

def attend(call):
    before = len(stand_in.long_ways)
    kept.append(call())
    return kept[-1], "long" if len(stand_in.long_ways) > before else "short"

q, k, v = tensors()
for number in range(3):
    sinks = torch.zeros(2, requires_grad=True)
    kept.append(sinks)
    (o, lse), way = attend(lambda: flex_attention(q, k, v, score, sinks=sinks, return_lse=True))
    assert way == ("short" if number else "long"), way
    do = torch.zeros_like(o)
    step(way, backward(o, (q, k, v, sinks), do), q, k, v, o, lse, do, slopes, sinks)
    (o, lse), _ = attend(lambda: flex_attention(q, k.detach(), v.detach(), score, sinks=sinks.detach(), return_lse=True))
    step(way, backward(o, q, do), q, k, v, lse, slopes)
_, way = attend(lambda: flex_attention(q, k, v, score, return_lse=True))
assert way == "long", way
with torch.no_grad():
    for wanted in ("long", "short"):
        print("step:", flush=True)
        mask = torch.zeros(32, 32); kept.append(mask)
        o, way = attend(lambda: scaled_dot_product_attention(q, k, v, mask, sinks=sinks))
        assert way == wanted, way
        print("wanted:", *(hex(one.data_ptr()) for one in (q, k, v, mask, sinks, o)), flush=True)
"""


def test_launches(run_python, build):
    """Kernels get the sinks of each call and write their gradient, on the fast path as well."""
    assert check_steps(run_on_stand_in(run_python, build, LAUNCHES, START)) == 8
