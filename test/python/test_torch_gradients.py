"""Gradients through fovea.torch are those of PyTorch's own attention in float64."""

import functools

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
flex = pytest.importorskip("torch.nn.attention.flex_attention")

import torch_variants as variants  # noqa: E402

NAMES = [("mask_mod", name) for name in variants.MASKS] + [("score_mod", name) for name in variants.SCORES]
KERNELS = ["interpret:tile", "interpret:warp", "ptx:sm_80", "ptx:sm_90a"]


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.torch

    return fovea.torch


def tensors(dtype=torch.float32, queries=20, keys=30, heads=4, kv_heads=2, dim=16, value_dim=16, batch=2):
    """Query, key, value, and gradients of the loss by the output and its log-sum-exp."""
    generator = torch.Generator().manual_seed(3)
    shapes = ((batch, heads, queries, dim), (batch, kv_heads, keys, dim), (batch, kv_heads, keys, value_dim),
              (batch, heads, queries, value_dim))
    made = [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]
    return made, torch.randn((batch, heads, queries), generator=generator)


def gradients(attend, given, dlse=None, double=False):
    """By query, key and value, of the sum of o * do, and of lse * dlse."""
    q, k, v = (one.detach().to(torch.float64 if double else one.dtype).requires_grad_() for one in given[:3])
    result = attend(q, k, v)
    o, lse = result if isinstance(result, tuple) else (result, None)
    loss = (o * given[3]).sum()
    if dlse is not None:
        loss = loss + (lse.masked_fill(lse.isinf(), 0) * dlse).sum()
    made = torch.autograd.grad(loss, (q, k, v), allow_unused=True)
    return [torch.zeros_like(by) if one is None else one for by, one in zip((q, k, v), made)]


def check(found, expected, tolerance):
    for a, b in zip(found, expected):
        assert a.shape == b.shape and a.isfinite().all()
        assert (a.double() - b).abs().max() <= tolerance * max(b.abs().max(), 1e-3)


def scores(q, k, v, modify=lambda s, i, j: s, keep=lambda i, j: torch.tensor(True), scale=None):
    """Attention and its log-sum-exp, written down."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    i, j = torch.arange(q.shape[2])[:, None], torch.arange(k.shape[2])
    s = modify(q @ k.mT * (scale or q.shape[-1] ** -0.5), i, j).to(q.dtype).masked_fill(~keep(i, j), -torch.inf)
    empty = s.isinf().all(-1, keepdim=True)
    p = s.masked_fill(empty, 0).softmax(-1).masked_fill(empty, 0)
    return p @ v, s.masked_fill(empty, 0).logsumexp(-1).masked_fill(empty[..., 0], -torch.inf)


@pytest.mark.parametrize("role, name", NAMES)
def test_variants(ours, role, name):
    """What flex_attention takes, written down for all scores at once."""
    function = (variants.MASKS if role == "mask_mod" else variants.SCORES)[name]
    given, _ = tensors(queries=variants.QUERIES, keys=variants.KEYS, heads=variants.HEADS, kv_heads=variants.KV_HEADS,
                       dim=variants.DIM, value_dim=variants.DIM, batch=variants.BATCH)
    options = {"score_mod": function} if role == "score_mod" else {}
    coordinates = [torch.arange(n) for n in (variants.BATCH, variants.HEADS, variants.QUERIES, variants.KEYS)]
    of_all = flex._vmap_for_bhqkv(function, prefix=(0,) if options else ())

    def theirs(q, k, v):
        if options:
            return scores(q, k, v, lambda s, i, j: of_all(s, *coordinates))
        return scores(q, k, v, keep=lambda i, j: of_all(*coordinates))

    expected = gradients(theirs, given, double=True)
    masked = {"block_mask": function} if role == "mask_mod" else {}
    found = gradients(lambda q, k, v: ours.flex_attention(q, k, v, enable_gqa=True, backend="interpret", **options, **masked), given)
    check(found, expected, 1e-4)
    if role == "mask_mod":  # kernels visit the blocks that the mask leaves, from both sides
        given = [one.to(torch.bfloat16) for one in given]
        found = gradients(lambda q, k, v: ours.flex_attention(q, k, v, enable_gqa=True, backend="interpret:tile", **masked), given)
        check(found, gradients(theirs, given, double=True), 2e-2)


def soft_cap(s, b, h, i, j):
    return 2 * torch.tanh(s / 2) + 0.1 * (i - j)


def back_three(b, h, i, j):
    return j <= i - 3


@pytest.mark.parametrize("backend", ["interpret", *KERNELS])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_kernels(ours, backend, dtype):
    """Sizes that divide no tile, rows that see nothing, heads that share keys, a loss on the log-sum-exp."""
    given, dlse = tensors(dtype, queries=70, keys=90, dim=24, value_dim=40)
    expected = gradients(lambda q, k, v: scores(q, k, v, lambda s, i, j: soft_cap(s, 0, 0, i, j), lambda i, j: j <= i - 3),
                         given, dlse, double=True)
    found = gradients(lambda q, k, v: ours.flex_attention(q, k, v, soft_cap, back_three, enable_gqa=True, return_lse=True,
                                                          backend=backend), given, dlse)
    check(found, expected, 2e-2 if dtype == torch.bfloat16 else 4e-3)


@pytest.mark.parametrize("shape", [{"queries": 1, "keys": 65}, {"queries": 127, "keys": 1}, {"heads": 6, "kv_heads": 2},
                                   {"dim": 8, "value_dim": 64}, {"dim": 64, "value_dim": 8}, {"batch": 1, "kv_heads": 1}], ids=str)
def test_shapes(ours, shape):
    given, _ = tensors(torch.bfloat16, **shape)
    expected = gradients(scores, given, double=True)
    found = gradients(lambda q, k, v: ours.flex_attention(q, k, v, enable_gqa=True, return_lse=True, backend="ptx:sm_80"), given)
    check(found, expected, 2e-2)


def test_loss_on_lse_alone(ours):
    given, dlse = tensors()
    given[3] = torch.zeros_like(given[3])
    for backend, dtype, tolerance in (("interpret", torch.float32, 1e-5), ("interpret:warp", torch.bfloat16, 2e-2)):
        given = [one.to(dtype) for one in given]
        expected = gradients(scores, given, dlse, double=True)
        q, k, v = (one.clone().requires_grad_() for one in given[:3])
        _, lse = ours.flex_attention(q, k, v, enable_gqa=True, return_lse=True, backend=backend)
        found = torch.autograd.grad((lse * dlse).sum(), (q, k, v), allow_unused=True)
        check(found, expected, tolerance)


def test_extreme_scores(ours):
    """All far below zero, far apart, -inf by score_mod alone, a derivative that is infinite where a weight is 0."""
    given, _ = tensors()
    for modify in (lambda s, b, h, i, j: s - 6e4, lambda s, b, h, i, j: s * 300, lambda s, b, h, i, j: torch.where(j % 3 == i % 3, -torch.inf, s)):
        expected = gradients(lambda q, k, v: scores(q, k, v, lambda s, i, j: modify(s, 0, 0, i, j)), given, double=True)
        found = gradients(lambda q, k, v: ours.flex_attention(q, k, v, modify, enable_gqa=True, backend="interpret"), given)
        check(found, expected, 2e-2)
    for backend, dtype in (("interpret", torch.float32), ("interpret:warp", torch.bfloat16), ("ptx:sm_90a", torch.bfloat16)):
        found = gradients(lambda q, k, v: ours.flex_attention(q, k, v, lambda s, b, h, i, j: torch.log(torch.relu(s)),
                                                              enable_gqa=True, backend=backend), [one.to(dtype) for one in given])
        assert all(one.isfinite().all() for one in found)


def test_scaled_dot_product_attention(ours):
    given, _ = tensors()
    for options in ({}, {"is_causal": True}, {"scale": 0.3}, {"attn_mask": torch.rand(20, 30) > 0.3}):
        theirs = functools.partial(torch.nn.functional.scaled_dot_product_attention, enable_gqa=True, **options)
        mine = functools.partial(ours.scaled_dot_product_attention, enable_gqa=True, backend="interpret", **options)
        check(gradients(mine, given), gradients(theirs, given, double=True), 1e-5)
    # Without leading dimensions, and with keys that a batch shares.
    flat = [one[0, 0] for one in given]
    check(gradients(functools.partial(ours.scaled_dot_product_attention, backend="interpret"), flat),
          gradients(torch.nn.functional.scaled_dot_product_attention, flat, double=True), 1e-5)


def test_dropout(ours):
    """The backward pass leaves out what the forward did: the function is linear in the values."""
    for backend, dtype in (("interpret", torch.float32), ("ptx:sm_80", torch.bfloat16)):
        (q, k, v, do), _ = tensors(dtype, heads=2)
        eye = torch.eye(30, 32, dtype=dtype).expand(2, 2, 30, 32)
        attend = functools.partial(ours.scaled_dot_product_attention, dropout_p=0.4, backend=backend)
        torch.manual_seed(5)
        weights = attend(q, k, eye)[..., :30].double()
        torch.manual_seed(5)
        v.requires_grad_()
        (attend(q, k, v) * do).sum().backward()
        assert (weights == 0).any()
        check([v.grad], [weights.mT @ do.double()], 2e-2 if dtype == torch.bfloat16 else 1e-5)


def test_strides(ours):
    """Gradients of tensors that lie in other ways; that of the output broadcast."""
    given, _ = tensors(torch.bfloat16)
    turned = [one.transpose(1, 2).contiguous().transpose(1, 2) for one in given]
    turned[3] = turned[3][:1, :1, :1].expand(given[3].shape)
    expected = gradients(scores_alone, turned, double=True)
    found = gradients(lambda q, k, v: ours.flex_attention(q, k, v, enable_gqa=True, backend="ptx:sm_90a"), turned)
    check(found, expected, 2e-2)


def scores_alone(q, k, v):
    return scores(q, k, v)[0]


def test_what_is_asked_for(ours):
    """Only gradients that somebody wants are computed; the forward keeps no more than it must."""
    given, _ = tensors()
    q, k, v = given[:3]
    for wanted in (q, k, v):
        one = wanted.clone().requires_grad_()
        o = ours.flex_attention(*(one if other is wanted else other for other in (q, k, v)), enable_gqa=True, backend="interpret")
        kept = [tensor.shape for tensor in o.grad_fn.saved_tensors]
        assert kept == [q.shape, k.shape, v.shape, o.shape, o.shape[:3]]
        calls = []
        with _watched(calls):
            (o * given[3]).sum().backward()
        assert [list(call) for call in calls] == [[other is wanted for other in (q, k, v)]]
        check([one.grad], [gradients(scores, given, double=True)[[q is wanted, k is wanted, v is wanted].index(True)]], 1e-5)


class _watched(torch.utils._python_dispatch.TorchDispatchMode):
    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        if function is torch.ops.fovea.attention_backward.default:
            self.calls.append(arguments[10])
        return function(*arguments, **(options or {}))


def test_with_the_rest_of_pytorch(ours):
    """torch.compile, checkpoints, accumulation; equal bits each time."""
    from torch.utils.checkpoint import checkpoint

    given, _ = tensors()

    def attend(q, k, v):
        return ours.flex_attention(q, k, v, soft_cap, back_three, enable_gqa=True, backend="interpret")

    once = gradients(attend, given)
    again = gradients(attend, given)
    assert all(torch.equal(a, b) for a, b in zip(once, again))
    torch._dynamo.reset()
    compiled = torch.compile(attend, backend="aot_eager", fullgraph=True)
    for other in (compiled, lambda q, k, v: checkpoint(attend, q, k, v, use_reentrant=False)):
        for a, b in zip(gradients(other, given), once):
            torch.testing.assert_close(a, b)
    q, k, v = (one.clone().requires_grad_() for one in given[:3])
    for _ in range(2):
        (attend(q, k, v) * given[3]).sum().backward()
    torch.testing.assert_close(q.grad, 2 * once[0])


def test_detached_scores(ours):
    """What a score_mod detaches, or computes without gradients, is a constant."""

    def quietly(s, b, h, i, j):
        with torch.no_grad():
            gate = torch.sigmoid(s)
        return s * gate

    given, _ = tensors()
    for modify in (lambda s, b, h, i, j: s * s.detach(), quietly, lambda s, b, h, i, j: torch.exp(s.detach() / 4) + 0 * s):
        expected = gradients(lambda q, k, v: scores(q, k, v, lambda s, i, j: modify(s, 0, 0, i, j)), given, double=True)
        for backend, tolerance in (("interpret", 1e-4), ("interpret:tile", 2e-2)):
            some = given if backend == "interpret" else [one.to(torch.bfloat16) for one in given]
            wanted = expected if backend == "interpret" else gradients(
                lambda q, k, v: scores(q, k, v, lambda s, i, j: modify(s, 0, 0, i, j)), some, double=True)
            check(gradients(lambda q, k, v: ours.flex_attention(q, k, v, modify, enable_gqa=True, backend=backend), some), wanted,
                  tolerance)


def test_block_masks(fovea, ours):
    """The interpreter goes by the lists; kernels say that they can't yet."""
    given, _ = tensors()
    mask = flex.create_block_mask(back_three, 2, 4, 20, 30, device="cpu", BLOCK_SIZE=16)
    expected = gradients(lambda q, k, v: scores(q, k, v, keep=lambda i, j: j <= i - 3), given, double=True)
    check(gradients(lambda q, k, v: ours.flex_attention(q, k, v, block_mask=mask, enable_gqa=True, backend="interpret"), given),
          expected, 1e-5)
    halves = [one.to(torch.bfloat16) for one in given]
    with pytest.raises(fovea.CompileError, match="gradients of listed blocks are not lowered to kernels yet"):
        gradients(lambda q, k, v: ours.flex_attention(q, k, v, block_mask=mask, enable_gqa=True, backend="interpret:tile"), halves)


def test_refusals(ours):
    """Gradients that there are none of raise, with the reason."""
    given, _ = tensors()
    q, k, v = (one.clone().requires_grad_() for one in given[:3])
    o = ours.flex_attention(q, k, v, enable_gqa=True, backend="interpret")
    first, = torch.autograd.grad(o.sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable|does not require grad"):
        first.sum().backward()
    with pytest.raises(NotImplementedError, match="under transformations of torch.func"):
        torch.func.grad(lambda query: ours.flex_attention(query, *given[1:3], enable_gqa=True, backend="interpret").sum())(given[0])
    bias = torch.ones(3, requires_grad=True)
    with pytest.raises(Exception, match="captured tensor requires a gradient"):
        ours.flex_attention(q, k, v, lambda s, b, h, i, j: s + bias[0], enable_gqa=True, backend="interpret")
    with pytest.raises(NotImplementedError, match="attn_mask requires a gradient"):
        ours.scaled_dot_product_attention(q, k, v, torch.zeros(20, 30, requires_grad=True), enable_gqa=True, backend="interpret")
