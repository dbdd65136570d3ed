"""Gradients through fovea.torch match those of PyTorch's attention in float64."""

import functools

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
flex = pytest.importorskip("torch.nn.attention.flex_attention")

import test_torch_blocks  # noqa: E402
import torch_variants as variants  # noqa: E402

NAMES = [("mask_mod", name) for name in variants.MASKS] + [("score_mod", name) for name in variants.SCORES]
KERNELS = ["interpret:tile", "interpret:warp", "ptx:sm_80", "ptx:sm_90a"]


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.torch

    return fovea.torch


def tensors(dtype=torch.float32, queries=20, keys=30, heads=4, kv_heads=2, dim=16, value_dim=16, batch=2):
    """Query, key, value, and gradients of the loss with respect to the output and its log-sum-exp."""
    generator = torch.Generator().manual_seed(3)
    shapes = ((batch, heads, queries, dim), (batch, kv_heads, keys, dim), (batch, kv_heads, keys, value_dim),
              (batch, heads, queries, value_dim))
    made = [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]
    return made, torch.randn((batch, heads, queries), generator=generator)


def gradients(attend, given, dlse=None, double=False):
    """The gradients of query, key and value for the loss sum(o * do) + sum(lse * dlse)."""
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
    """A reference of attention and its log-sum-exp."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    i, j = torch.arange(q.shape[2])[:, None], torch.arange(k.shape[2])
    s = modify(q @ k.mT * (scale or q.shape[-1] ** -0.5), i, j).to(q.dtype).masked_fill(~keep(i, j), -torch.inf)
    empty = s.isinf().all(-1, keepdim=True)
    p = s.masked_fill(empty, 0).softmax(-1).masked_fill(empty, 0)
    return p @ v, s.masked_fill(empty, 0).logsumexp(-1).masked_fill(empty[..., 0], -torch.inf)


@pytest.mark.parametrize("role, name", NAMES)
def test_variants(ours, role, name):
    """A reference of flex_attention, evaluated for all scores at once."""
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
    if role == "mask_mod":  # kernels with query tiles and with key tiles process the visible blocks
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
    """Sizes that are not multiples of a tile, rows without visible keys, grouped heads, a loss on the log-sum-exp."""
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
    """Scores far below zero, far apart, -inf from score_mod, an infinite derivative where P is 0."""
    given, _ = tensors()
    for modify in (lambda s, b, h, i, j: s - 6e4, lambda s, b, h, i, j: s * 300, lambda s, b, h, i, j: torch.where(j % 3 == i % 3, -torch.inf, s)):
        expected = gradients(lambda q, k, v: scores(q, k, v, lambda s, i, j: modify(s, 0, 0, i, j)), given, double=True)
        found = gradients(lambda q, k, v: ours.flex_attention(q, k, v, modify, enable_gqa=True, backend="interpret"), given)
        check(found, expected, 2e-2)
    for backend, dtype in (("interpret", torch.float32), ("interpret:warp", torch.bfloat16), ("ptx:sm_90a", torch.bfloat16)):
        found = gradients(lambda q, k, v: ours.flex_attention(q, k, v, lambda s, b, h, i, j: torch.log(torch.relu(s)),
                                                              enable_gqa=True, backend=backend), [one.to(dtype) for one in given])
        assert all(one.isfinite().all() for one in found)


def test_bounds_of_relu_and_clamp(ours):
    """The derivatives at a bound are PyTorch's: 0 for relu, 1 for clamp."""
    given, _ = tensors()

    def bend(p, j):
        return torch.relu(p) * j * 0.1 + torch.clamp(p, -1, 1) * j * 0.07 + p.clamp(min=0) * j * 0.05 + p.clamp_max(1.0) * j * 0.03

    for backend, tolerance in (("interpret", 1e-5), ("ptx:sm_90a", 2e-2)):
        at = torch.tensor([0.0, 1.0, -1.0, 0.5], requires_grad=True)
        q, k, v, do = (one if backend == "interpret" else one.bfloat16() for one in given)
        o = ours.flex_attention(q, k, v, lambda s, b, h, i, j: s + bend(at[h], j), enable_gqa=True, backend=backend)
        found, = torch.autograd.grad((o.float() * do.float()).sum(), at)
        same = at.detach().double().requires_grad_()
        o, _ = scores(q.double(), k.double(), v.double(), lambda s, i, j: s + bend(same[:, None, None], j))
        expected, = torch.autograd.grad((o * do.double()).sum(), same)
        check([found], [expected], tolerance)


def test_scaled_dot_product_attention(ours):
    given, _ = tensors()
    for options in ({}, {"is_causal": True}, {"scale": 0.3}, {"attn_mask": torch.rand(20, 30) > 0.3}):
        theirs = functools.partial(torch.nn.functional.scaled_dot_product_attention, enable_gqa=True, **options)
        mine = functools.partial(ours.scaled_dot_product_attention, enable_gqa=True, backend="interpret", **options)
        check(gradients(mine, given), gradients(theirs, given, double=True), 1e-5)
    # Without leading dimensions, and with keys broadcast over the batch.
    flat = [one[0, 0] for one in given]
    check(gradients(functools.partial(ours.scaled_dot_product_attention, backend="interpret"), flat),
          gradients(torch.nn.functional.scaled_dot_product_attention, flat, double=True), 1e-5)


def test_dropout(ours):
    """The backward pass drops the same keys as the forward pass: the output is linear in the values."""
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
    """Gradients of tensors with other strides; a broadcast gradient of the output."""
    given, _ = tensors(torch.bfloat16)
    turned = [one.transpose(1, 2).contiguous().transpose(1, 2) for one in given]
    turned[3] = turned[3][:1, :1, :1].expand(given[3].shape)
    expected = gradients(scores_alone, turned, double=True)
    found = gradients(lambda q, k, v: ours.flex_attention(q, k, v, enable_gqa=True, backend="ptx:sm_90a"), turned)
    check(found, expected, 2e-2)


def scores_alone(q, k, v):
    return scores(q, k, v)[0]


def test_what_is_asked_for(ours):
    """Only requested gradients are computed, and the forward pass saves only necessary tensors."""
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


def test_deterministic_algorithms(ours, monkeypatch):
    """The op gets the flag, also when compiled."""
    from fovea.torch.autograd import _gradients

    given, _ = tensors()

    def attend(q, k, v):
        return ours.flex_attention(q, k, v, soft_cap, back_three, enable_gqa=True, backend="interpret")

    told, make_spec = [], _gradients._spec
    monkeypatch.setattr(_gradients, "_spec", lambda call, lse: told.append(call.deterministic) or make_spec(call, lse))
    torch._dynamo.reset()
    compiled = torch.compile(attend, backend="aot_eager", fullgraph=True)
    for one in (attend, compiled):
        for wanted in (True, False):
            torch.use_deterministic_algorithms(wanted)
            try:
                gradients(one, given)
            finally:
                torch.use_deterministic_algorithms(False)
    assert told == [True, False, True, False]


def test_heads_of_groups_that_take_turns(ours, monkeypatch):
    """With deterministic gradients of grouped heads, programs have a fixed number of heads, as kernels then iterate over
    the heads of a group per block. Other programs have a dynamic number."""
    from fovea.torch.autograd import _gradients

    texts, make_spec = [], _gradients._spec

    def seen(call, lse):
        spec = make_spec(call, lse)
        texts.append(spec.mlir)
        return spec

    monkeypatch.setattr(_gradients, "_spec", seen)

    def attend(q, k, v):
        return ours.flex_attention(q, k, v, soft_cap, back_three, enable_gqa=True, backend="interpret")

    grouped, _ = tensors()
    alone = [one[:, :1] for one in grouped]
    found = []
    for given, wanted in ((grouped, True), (grouped, False), (alone, True)):
        torch.use_deterministic_algorithms(wanted)
        try:
            found.append(gradients(attend, given))
        finally:
            torch.use_deterministic_algorithms(False)
    q, k = (one.shape[1] for one in grouped[:2])
    assert q != k
    assert f"tensor<?x{q}x?x" in texts[0] and f"tensor<?x{k}x?x" in texts[0]
    assert all("tensor<?x?x?x" in text for text in texts[1:])
    for one, other in zip(found[0], found[1]):
        torch.testing.assert_close(one, other, rtol=2e-2, atol=2e-2)


def test_with_the_rest_of_pytorch(ours):
    """torch.compile, checkpoints, gradient accumulation; bitwise equal results."""
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


@pytest.mark.parametrize("backend", ["interpret", *KERNELS])
@pytest.mark.parametrize("size", [16, 128, (128, 64), (32, 128), (10, 20), (150, 190)])
def test_block_masks(ours, size, backend):
    """Full and partial blocks, partial last blocks, unlisted rows and columns, a score_mod."""
    def windows(b, h, i, j):
        return (j <= i - 3) & (i - j < 30 + 20 * h) & ((b == 0) | (j > 70))

    def theirs(q, k, v):
        b, h = torch.arange(2)[:, None, None, None], torch.arange(4)[:, None, None]
        return scores(q, k, v, lambda s, i, j: soft_cap(s, b, h, i, j), lambda i, j: windows(b, h, i, j))

    given, dlse = tensors(torch.float32 if backend == "interpret" else torch.bfloat16, queries=150, keys=190)
    mask = flex.create_block_mask(windows, 2, 4, 150, 190, device="cpu", BLOCK_SIZE=size)
    found = gradients(lambda q, k, v: ours.flex_attention(q, k, v, soft_cap, mask, enable_gqa=True, return_lse=True, backend=backend),
                      given, dlse)
    check(found, gradients(theirs, given, dlse, double=True), 1e-5 if backend == "interpret" else 2e-2)
    assert all((one[:, :, 150:] == 0).all() for one in found[1:])


@pytest.mark.parametrize("backend", ["interpret", "interpret:tile", "ptx:sm_80", "ptx:sm_90a"])
@pytest.mark.parametrize("size, lists", [((64, 128), (2, 6)), ((128, 128), (1, 1)), ((48, 32), (2, 1)), ((1, 64), (1, 6)),
                                         ((40, 64), (1, 1))], ids=str)
def test_blocks_that_chance_chose(ours, size, lists, backend):
    """Lists shared by or separate for heads and batch entries, groups of three heads, with a gradient of a captured tensor."""
    length = 5 if size[0] == 1 else 140
    given, _ = tensors(torch.float32 if backend == "interpret" else torch.bfloat16, queries=length, keys=150, heads=6)
    slopes = torch.linspace(-1, 1, 6)
    mask = test_torch_blocks.drawn(sum(lists), *lists, size, (length, 150), mask_mod=lambda b, h, i, j: j <= i + 40)

    def changed(s, h, i, j, slopes):
        return s + 0.01 * slopes[h] * (i - j)

    def theirs(q, k, v, slopes):
        seen = test_torch_blocks.visible(mask, 2, 6, length, 150)
        return scores(q, k, v, lambda s, i, j: changed(s, torch.arange(6)[:, None, None], i, j, slopes), lambda i, j: seen)[0]

    def attend(q, k, v, slopes):
        return ours.flex_attention(q, k, v, lambda s, b, h, i, j: changed(s, h, i, j, slopes), mask, enable_gqa=True, backend=backend)

    expected = by_all(theirs, [one.double() for one in given[:3]], [slopes.double()], given[3].double())
    found = by_all(attend, given[:3], [slopes], given[3])
    check(found, expected, 1e-5 if backend == "interpret" else 3e-2)


def test_block_masks_in_one_order(ours):
    """Gradients are bitwise reproducible if requested."""
    given, _ = tensors(torch.bfloat16, queries=130, keys=150)
    mask = test_torch_blocks.drawn(5, 1, 4, (64, 32), (130, 150))
    torch.use_deterministic_algorithms(True)
    try:
        first, again = (gradients(lambda q, k, v: ours.flex_attention(q, k, v, block_mask=mask, enable_gqa=True, backend="ptx:sm_90a"),
                                  given) for _ in range(2))
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(a, b) for a, b in zip(first, again))


def test_refusals(ours):
    """Unsupported gradients raise with the reason."""
    given, _ = tensors()
    q, k, v = (one.clone().requires_grad_() for one in given[:3])
    o = ours.flex_attention(q, k, v, enable_gqa=True, backend="interpret")
    first, = torch.autograd.grad(o.sum(), q, create_graph=True)
    with pytest.raises(NotImplementedError, match="no gradients of gradients"):
        (first.sum() + o.sum()).backward()
    o = ours.flex_attention(q, k, v, enable_gqa=True, backend="interpret")
    with pytest.raises(NotImplementedError, match="batches of gradients .* are not supported"):
        torch.autograd.grad(o, q, torch.stack([given[3], given[3]]), is_grads_batched=True)
    with pytest.raises(NotImplementedError, match="under transformations of torch.func"):
        torch.func.grad(lambda query: ours.flex_attention(query, *given[1:3], enable_gqa=True, backend="interpret").sum())(given[0])


# --- What functions read ----------------------------------------------------------


def read(s, h, i, j, slopes, table, factor):
    """Gradients of a vector, of a table with elements shared by many pairs, of a scalar."""
    return s * factor + slopes[h] * 0.1 * (i - j) + torch.tanh(table[(i + j) % 7] * s)


def captured():
    generator = torch.Generator().manual_seed(4)
    return [torch.randn(4, generator=generator), torch.randn(7, generator=generator), torch.tensor(0.4)]


def by_all(attend, given, tensors, do):
    """Gradients of query, key, value and captured tensors."""
    made = [one.detach().clone().requires_grad_() for one in (*given, *tensors)]
    return torch.autograd.grad((attend(*made) * do).sum(), made)


def written_down(q, k, v, *tensors):
    h = torch.arange(4)[:, None, None]
    return scores(q, k, v, lambda s, i, j: read(s, h, i, j, *tensors), lambda i, j: j <= i + 5)[0]


def with_flex(ours, backend="interpret"):
    def attend(q, k, v, *tensors):
        return ours.flex_attention(q, k, v, lambda s, b, h, i, j: read(s, h, i, j, *tensors), lambda b, h, i, j: j <= i + 5,
                                   enable_gqa=True, backend=backend)
    return attend


def test_captured_tensors(ours):
    (q, k, v, do), _ = tensors()
    expected = by_all(written_down, [one.double() for one in (q, k, v)], [one.double() for one in captured()], do)
    check(by_all(with_flex(ours), (q, k, v), captured(), do), expected, 1e-5)
    # The gradient of a captured tensor only; the caller requests no log-sum-exp.
    slopes, table, factor = captured()
    table.requires_grad_()
    o = with_flex(ours)(q, k, v, slopes, table, factor)
    check(torch.autograd.grad((o * do).sum(), table), expected[4:5], 1e-5)
    # 16-bit floats with strides; a tensor that only a mask reads has zero gradients.
    wide = captured()[1].bfloat16().repeat(2)[::2].requires_grad_()
    by_table, = torch.autograd.grad((with_flex(ours)(q, k, v, slopes, wide, factor) * do).sum(), wide)
    assert by_table.dtype == torch.bfloat16 and by_table.shape == (7,)
    edge = torch.tensor([5.0], requires_grad=True)
    o = ours.flex_attention(q, k, v, None, lambda b, h, i, j: j <= i + edge[0], enable_gqa=True, backend="interpret")
    assert torch.autograd.grad(o.sum(), edge)[0].tolist() == [0]


@pytest.mark.parametrize("backend", KERNELS)
def test_captured_tensors_in_kernels(ours, backend):
    """Elements shared by many pairs, a bfloat16 table, a scalar; with and without gradients of query, key and value."""
    (q, k, v, do), _ = tensors(torch.bfloat16)
    slopes, table, factor = captured()
    read_here = slopes, table.bfloat16(), factor
    expected = by_all(written_down, [one.double() for one in (q, k, v)], [one.double() for one in read_here], do.double())
    found = by_all(with_flex(ours, backend), (q, k, v), read_here, do)
    assert [one.dtype for one in found[3:]] == [torch.float32, torch.bfloat16, torch.float32] and found[5].shape == ()
    check(found, expected, 3e-2)
    given = [one.clone().requires_grad_() for one in read_here]
    alone = torch.autograd.grad((with_flex(ours, backend)(q, k, v, *given) * do).sum(), given)
    check(alone, expected[3:], 3e-2)


def bucket(i, j):
    return torch.clamp((i - j).abs() // 3, max=6)


def t5_bucket(i, j):
    """Buckets of relative positions as in T5: separate ones for later keys, logarithmic from 4 on."""
    distance = (i - j).abs()
    far = 4 + (torch.log(torch.clamp(distance, min=4) / 4) * 2).to(torch.int32)
    return torch.where(j > i, 8, 0) + torch.where(distance < 4, distance, torch.clamp(far, max=7))


# Score modifications with captured tensors of these shapes, indexed by head, query, key, batch entry, relative position and
# pair; read twice, also at both signs of the relative position; transposed.
READS = {
    "head": (lambda t, b, h, i, j: t[h], (4,)),
    "query": (lambda t, b, h, i, j: t[b, h, i], (2, 4, 20)),
    "key": (lambda t, b, h, i, j: t[j], (30,)),
    "batch": (lambda t, b, h, i, j: t[b, 0], (2, 1)),
    "distance": (lambda t, b, h, i, j: t[h, i - j + 29], (4, 49)),
    "bucket": (lambda t, b, h, i, j: t[bucket(i, j), h], (7, 4)),
    "t5": (lambda t, b, h, i, j: t[t5_bucket(i, j), h], (16, 4)),
    "distances": (lambda t, b, h, i, j: t[i - j + 29] + t[torch.clamp(j - i, -5, 9) + 5], (49,)),
    "pairs": (lambda t, b, h, i, j: t[h, i, j], (4, 20, 30)),
    "four": (lambda t, b, h, i, j: t[b, h, i, j], (2, 4, 20, 30)),
    "twice": (lambda t, b, h, i, j: t[i] + t[j], (30,)),
    "transposed": (lambda t, b, h, i, j: t[j, i], (30, 20)),
}


@pytest.mark.parametrize("backend", ["interpret", "interpret:tile", "ptx:sm_80", "ptx:sm_90a"])
@pytest.mark.parametrize("name", READS)
def test_shapes_of_what_is_read(ours, name, backend):
    (q, k, v, do), _ = tensors(torch.float32 if backend == "interpret" else torch.bfloat16)
    take, shape = READS[name]
    table = torch.randn(shape, generator=torch.Generator().manual_seed(5))

    def changed(s, t):
        return s * (1 + 0.3 * t) + t

    def theirs(q, k, v, table):
        b, h = torch.arange(2)[:, None, None, None], torch.arange(4)[:, None, None]
        return scores(q, k, v, lambda s, i, j: changed(s, take(table, b, h, i, j)), lambda i, j: j <= i + 5)[0]

    def attend(q, k, v, table):
        return ours.flex_attention(q, k, v, lambda s, b, h, i, j: changed(s, take(table, b, h, i, j)),
                                   lambda b, h, i, j: j <= i + 5, enable_gqa=True, backend=backend)

    expected = by_all(theirs, [one.double() for one in (q, k, v)], [table.double()], do.double())
    check(by_all(attend, (q, k, v), [table], do), expected, 1e-5 if backend == "interpret" else 3e-2)


def test_captured_tensors_in_one_order(ours):
    """Deterministic gradients of captured tensors are exact sums, equal for both targets and any order."""
    (q, k, v, do), _ = tensors(torch.bfloat16)
    slopes, table, factor = captured()
    for one in (slopes, table, factor):
        one.requires_grad_()

    def attend(backend):
        return torch.autograd.grad((with_flex(ours, backend)(q, k, v, slopes, table, factor) * do).sum(), (slopes, table, factor))

    plain = attend("interpret")
    try:
        torch.use_deterministic_algorithms(True)
        for backend in ("interpret", *KERNELS):
            check(attend(backend), plain, 3e-2)
    finally:
        torch.use_deterministic_algorithms(False)


def test_captured_tensors_in_any_order(ours):
    """There is no deterministic kernel for a tensor indexed by pairs and shared by heads: an error, or with warn_only a
    warning each time, and afterwards an error again."""
    (q, k, v, do), _ = tensors(torch.bfloat16)
    bias = torch.randn(q.shape[2], k.shape[2]).requires_grad_()

    def attend(backend):
        made = ours.flex_attention(q, k, v, lambda s, b, h, i, j: s + bias[i, j], enable_gqa=True, backend=backend)
        return torch.autograd.grad((made * do).sum(), bias)

    plain = attend("ptx:sm_80")
    try:
        torch.use_deterministic_algorithms(True)
        check(attend("interpret"), plain, 1e-2)
        for backend in KERNELS:
            with pytest.raises(NotImplementedError, match=r"captured tensor 0, float32\[\d+, \d+\], requires a gradient, and there is no deterministic algorithm"):
                attend(backend)
        torch.use_deterministic_algorithms(True, warn_only=True)
        for _ in range(2):
            with pytest.warns(UserWarning, match="does not have a deterministic implementation"):
                check(attend("ptx:sm_80"), plain, 1e-2)
        torch.use_deterministic_algorithms(True)
        with pytest.raises(NotImplementedError, match="there is no deterministic algorithm"):
            attend("ptx:sm_80")
    finally:
        torch.use_deterministic_algorithms(False)


def test_attn_mask(ours):
    (q, k, v, do), _ = tensors()
    for shape, dtype, tolerance in (((4, 20, 30), torch.float32, 1e-5), ((2, 1, 1, 30), torch.float32, 1e-5),
                                    ((20, 30), torch.bfloat16, 1e-2)):
        mask = torch.randn(shape, generator=torch.Generator().manual_seed(1)).to(dtype)

        def gradient(attend, *given):
            made = given[3].detach().clone().requires_grad_()
            o = attend(*given[:3], made, enable_gqa=True)
            return torch.autograd.grad((o * do).sum(), made)

        expected = gradient(torch.nn.functional.scaled_dot_product_attention, *(one.double() for one in (q, k, v, mask)))
        check(gradient(functools.partial(ours.scaled_dot_product_attention, backend="interpret"), q, k, v, mask), expected, tolerance)


def test_attn_mask_in_a_graph(ours):
    """A parameter, and booleans."""
    (q, k, v, do), _ = tensors()
    torch._dynamo.reset()

    def attend(q, k, v, mask):
        return ours.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True, backend="interpret")

    compiled = torch.compile(attend, backend="aot_eager", fullgraph=True)
    for mask in (torch.randn(4, 20, 30), torch.rand(20, 30) > 0.3, torch.randn(2, 1, 1, 30)):
        found, expected = [], []
        for function, results in ((attend, expected), (compiled, found)):
            given = [q.clone().requires_grad_(), mask.clone().requires_grad_(mask.is_floating_point())]
            results += torch.autograd.grad((function(given[0], k, v, given[1]) * do).sum(), [one for one in given if one.requires_grad])
        for a, b in zip(found, expected):
            torch.testing.assert_close(a, b)


def detached(s, *_):
    return s * s.detach()


def without_grad(s, b, h, i, j):
    with torch.no_grad():
        factor = torch.tanh(s) + 0.1 * j
    return s * factor


def detached_within(s, *_):
    return torch.exp(s.detach() / 4) + 0 * s


def changed_without_grad(s, b, h, i, j):
    made = s * 1
    with torch.no_grad():
        made.clamp_(-0.5, 0.5)
    return made * s


def hidden_without_grad(s, b, h, i, j):
    """A score of -inf is changed twice."""
    made = s * 1
    with torch.no_grad():
        for n in (2, 3):
            made.masked_fill_((i + j) % n == 0, -torch.inf)
    return made


@pytest.mark.parametrize("modify", [detached, detached_within, without_grad, changed_without_grad, hidden_without_grad])
@pytest.mark.parametrize("backend", ["interpret", "interpret:warp", "ptx:sm_90a"])
def test_what_functions_hide_from_autograd(ours, modify, backend):
    given, _ = tensors(torch.float32 if backend == "interpret" else torch.bfloat16)

    def theirs(q, k, v):
        return scores(q, k, v, lambda s, i, j: modify(s, 0, 0, i, j))[0]

    found = gradients(lambda q, k, v: ours.flex_attention(q, k, v, modify, enable_gqa=True, backend=backend), given)
    check(found, gradients(theirs, given, double=True), 1e-4 if backend == "interpret" else 3e-2)


def test_what_is_read_may_be_detached(ours):
    (q, k, v, do), _ = tensors()
    slopes = captured()[0].requires_grad_()

    def modify(s, b, h, i, j):
        return s * slopes.detach()[h] + slopes[h] * j

    o = ours.flex_attention(q, k, v, modify, enable_gqa=True, backend="interpret")
    h = torch.arange(4)[:, None, None]
    theirs = scores(q.double(), k.double(), v.double(), lambda s, i, j: modify(s, 0, h, i, j))[0]
    check(torch.autograd.grad((o * do).sum(), slopes), torch.autograd.grad((theirs * do).sum(), slopes), 1e-5)


# --- Graphs, transformations, the op ----------------------------------------------

SLOPES = torch.nn.Parameter(torch.tensor([0.1, -0.2, 0.3, 0.05]))


def with_slopes(s, b, h, i, j):
    return torch.tanh(s) + SLOPES[h] * (j - i)


def test_graphs_hold_one_op_for_each_direction(ours):
    """Functions that read a module's parameter, with symbolic sizes."""
    from torch._dynamo.backends.common import aot_autograd
    from torch._functorch.aot_autograd import make_boxed_func

    graphs = []

    def keep(graph, inputs):
        graphs.append([str(node.target) for node in graph.graph.nodes if node.op == "call_function"])
        return make_boxed_func(graph)

    def attend(q, k, v):
        return ours.flex_attention(q, k, v, with_slopes, enable_gqa=True, backend="interpret")

    for dynamic in (False, True):
        torch._dynamo.reset()
        graphs.clear()
        compiled = torch.compile(attend, backend=aot_autograd(fw_compiler=keep, bw_compiler=keep), fullgraph=True, dynamic=dynamic)
        for queries in (20, 21) if dynamic else (20,):
            (q, k, v, do), _ = tensors(queries=queries)
            found, expected = [], []
            for function, results in ((attend, expected), (compiled, found)):
                q.requires_grad_()
                results += torch.autograd.grad((function(q, k, v) * do).sum(), (q, SLOPES))
            for a, b in zip(found, expected):
                torch.testing.assert_close(a, b)
        forward, backward = ([name for name in names if name.startswith("fovea")] for names in graphs)
        assert (forward, backward) == (["fovea.attention.default"], ["fovea.attention_backward.default"])


def test_mixed_precision(ours):
    """Under autocast as in a model: parameters in float32, attention in 16 bits."""
    torch.manual_seed(0)
    layer, (x, _, _, _), _ = torch.nn.Linear(16, 16), *tensors(kv_heads=4)
    results = []
    for attend in (functools.partial(ours.flex_attention, backend="interpret"), torch.nn.functional.scaled_dot_product_attention):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = layer(x)
            o = layer(attend(y, y, y))
        assert o.dtype == torch.bfloat16
        results.append(torch.autograd.grad(o.float().square().sum(), layer.weight)[0])
    check(results[:1], [results[1].double()], 2e-2)


def test_vmap(ours):
    """vmap of the forward pass with gradients, and of the backward pass."""
    (q, k, v, do), _ = tensors()

    def attend(query):
        return ours.flex_attention(query, k, v, soft_cap, enable_gqa=True, backend="interpret")

    stacked = torch.stack([q, 2 * q]).requires_grad_()
    found, = torch.autograd.grad((torch.vmap(attend)(stacked) * do).sum(), stacked)
    expected, = torch.autograd.grad((torch.stack([*map(attend, stacked)]) * do).sum(), stacked)
    torch.testing.assert_close(found, expected)
    q.requires_grad_()
    o = attend(q)
    found = torch.vmap(lambda one: torch.autograd.grad(o, q, one, retain_graph=True)[0])(torch.stack([do, 2 * do]))
    torch.testing.assert_close(found, torch.stack([found[0], 2 * found[0]]))


@pytest.mark.parametrize("queries, keys", [(0, 30), (20, 0)])
@pytest.mark.parametrize("backend", ["interpret", "ptx:sm_80"])
def test_nothing(ours, backend, queries, keys):
    """Without queries or keys gradients are zeros."""
    given, _ = tensors(torch.bfloat16, queries=queries, keys=keys)
    found = gradients(lambda q, k, v: ours.flex_attention(q, k, v, enable_gqa=True, backend=backend), given)
    assert [one.shape for one in found] == [one.shape for one in given[:3]] and not any(one.any() for one in found)


def test_the_op(ours):
    from fovea.torch.cache._programs import Facts, program_of

    (q, k, v, do), dlse = tensors()
    slopes, steps = captured()[0], torch.arange(4)
    program, _ = program_of(lambda s, b, h, i, j: s + slopes[h] * steps[h], None, Facts(q.dtype, q.device, 16, 16, None, True))
    o, lse = torch.ops.fovea.attention(q, k, v, program.captures, [], program.text)
    arguments = q, k, v, o, lse, do, dlse, program.captures, [], program.text
    torch.library.opcheck(torch.ops.fovea.attention_backward.default, (*arguments, [True, False, True, True]))
    torch.library.opcheck(torch.ops.fovea.attention.default, (q.requires_grad_(), k, v, program.captures, [], program.text))
    q.requires_grad_(False)
    found = torch.ops.fovea.attention_backward(*arguments, [False, True])
    assert [one.shape for one in found] == [k.shape]
    assert torch.ops.fovea.attention_backward(*arguments, [False] * 5) == []
    numbers = [one.dtype for one in program.captures].index(torch.int64)
    with pytest.raises(NotImplementedError, match=rf"captured tensor {numbers}, int64\[4\], has no gradient"):
        torch.ops.fovea.attention_backward(*arguments, [False] * 3 + [True] * 2 if numbers == 0 else [False] * 4 + [True])
    with pytest.raises(NotImplementedError, match="a gradient needs the log-sum-exp: lse must be True, and an output of the program"):
        torch.ops.fovea.attention(q.requires_grad_(), k, v, program.captures, [], program.text, False)
    found = torch.ops.fovea.attention_backward(*arguments, [True])
    with pytest.raises(NotImplementedError, match="no gradients of gradients"):
        found[0].sum().backward()


@pytest.mark.parametrize("level", ["attn", "tile", "ptx:sm_80"])
def test_dtypes_of_the_op(ours, level):
    """Wrong dtypes raise and are not converted, also when a graph is built."""
    from fovea.torch.cache._programs import Facts, program_of

    (q, k, v, do), dlse = tensors(torch.bfloat16)
    program, _ = program_of(None, None, Facts(q.dtype, q.device, 16, 16, None, True))
    given = q, k, v, *torch.ops.fovea.attention(q, k, v, [], [], program.text), do, dlse
    for place, dtype, message in ((5, torch.float32, "output_gradient must be of the output's dtype torch.bfloat16, found torch.float32"),
                                  (3, torch.float16, "output must be of the query's dtype torch.bfloat16, found torch.float16"),
                                  (4, torch.float64, "lse must be of torch.float32, found torch.float64"),
                                  (6, torch.bfloat16, "lse_gradient must be of torch.float32, found torch.bfloat16")):
        wrong = [one.to(dtype) if index == place else one for index, one in enumerate(given)]
        for kind in (lambda one: one, lambda one: one.to("meta")):
            with pytest.raises(ValueError, match=message):
                torch.ops.fovea.attention_backward(*map(kind, wrong), [], [], program.text, [True] * 3, level=level)
    assert len(torch.ops.fovea.attention_backward(*given, [], [], program.text, [True] * 3, level=level)) == 3
