"""flex_attention on float8 tensors with scales."""

import pytest

torch = pytest.importorskip("torch")

NARROW = torch.float8_e4m3fn


@pytest.fixture
def ours(fovea):
    import fovea.torch

    return fovea.torch


def exact(q, k, v, scales, group, keep=None):
    """Attention of the rounded tensors in float64."""
    def wide(name, tensor):
        scale = scales[name].double() if name in scales else torch.ones(1, 1, dtype=torch.float64)
        return tensor.double() * scale.expand(k.shape[0], k.shape[1]).repeat_interleave(tensor.shape[1] // k.shape[1], 1)[..., None, None]

    values = wide("v", v) + (scales["v_mean"].double()[:, :, None] if "v_mean" in scales else 0)
    scores = wide("q", q) @ wide("k", k).repeat_interleave(group, 1).mT * q.shape[-1] ** -0.5
    if keep is not None:
        scores = scores.masked_fill(~keep, -torch.inf)
    return torch.softmax(scores, -1).nan_to_num(0) @ values.repeat_interleave(group, 1), torch.logsumexp(scores, -1)


def is_close(found, wanted, by=1.0):
    """Within the rounding of P to 4 bits: on average, and for rows that see few keys."""
    error = (found.double() - wanted.double()).abs()
    return error.pow(2).mean().sqrt() < 2e-2 * by and error.max() < 0.25 * by


def tensors(seed=0, heads=4, kv_heads=2, dim=64):
    torch.manual_seed(seed)
    return torch.randn(2, heads, 70, dim), torch.randn(2, kv_heads, 90, dim), torch.randn(2, kv_heads, 90, dim) + 1


@pytest.mark.parametrize("backend", ["interpret", "interpret:tile", "ptx"])
@pytest.mark.parametrize("per_head", [False, True])
@pytest.mark.parametrize("v_mean", [False, True])
def test_against_float64(ours, backend, per_head, v_mean):
    q, k, v, scales = ours.quantize_attention_inputs(*tensors(), per_head=per_head, v_mean=v_mean)
    assert q.dtype == k.dtype == v.dtype == NARROW and set(scales) == {"q", "k", "v", *["v_mean"] * v_mean}
    o, lse = ours.flex_attention(q, k, v, scales=scales, enable_gqa=True, return_lse=True, backend=backend)
    wanted, sums = exact(q, k, v, scales, 2)
    assert o.dtype == torch.bfloat16 and o.shape == wanted.shape
    assert is_close(o, wanted) and (lse.double() - sums).abs().max() < 1e-3


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_variants(ours, dtype):
    """Masks with rows that see no key, score_mods on the scaled scores, and every output."""
    q, k, v, scales = ours.quantize_attention_inputs(*tensors(1))

    def late(b, h, i, j):
        return i > j + 5

    i, j = torch.arange(70)[:, None], torch.arange(90)
    wanted, _ = exact(q, k, v, scales, 2, i > j + 5)
    o = ours.flex_attention(q, k, v, None, late, scales=scales, enable_gqa=True, output_dtype=dtype, backend="interpret:tile")
    assert o.dtype == dtype and is_close(o, wanted, 2) and not o[:, :, :6].any()
    doubled = {**scales, "q": scales["q"] * 2}
    halved = ours.flex_attention(q, k, v, lambda s, b, h, i, j: s / 2, scales=doubled, enable_gqa=True, output_dtype=dtype,
                                 backend="interpret:tile")
    plain = ours.flex_attention(q, k, v, scales=scales, enable_gqa=True, output_dtype=dtype, backend="interpret:tile")
    assert is_close(halved, plain)


def test_long_sums_of_one_sign(ours):
    """Scores without differences: the output is the mean of the values, which the kernel adds."""
    q, k = torch.zeros(1, 1, 8, 64), torch.randn(1, 1, 2000, 64)
    v = torch.randn(1, 1, 2000, 64) + 3
    *rounded, scales = ours.quantize_attention_inputs(q, k, v)
    o = ours.flex_attention(*rounded, scales=scales, output_dtype=torch.float32, backend="interpret:tile")
    assert (o - v.mean(2, keepdim=True)).abs().max() < 5e-3


@pytest.mark.parametrize("dim", [16, 48, 80, 128, 256])
def test_rotation(ours, dim):
    from fovea.torch._quantized import _rotation

    matrix = _rotation(dim, torch.device("cpu"))
    assert (matrix @ matrix.T - torch.eye(dim)).abs().max() < 1e-5
    assert matrix.abs().max() < 3 * dim**-0.5


def test_rotated_outliers(ours):
    """The test of the FlashAttention-3 paper: N(0, 1), and N(0, 100) for 0.1 % of the elements."""
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 1, 1024, 128) + 10 * torch.randn(1, 1, 1024, 128) * (torch.rand(1, 1, 1024, 128) < 1e-3) for _ in range(3))
    wanted = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double())
    errors = []
    for rotate in (False, True):
        *narrow, scales = ours.quantize_attention_inputs(q, k, v, rotate=rotate)
        o = ours.flex_attention(*narrow, scales=scales, output_dtype=torch.float32, backend="interpret:tile")
        errors.append((o.double() - wanted).square().mean().sqrt().item())
    assert errors[1] < 0.6 * errors[0], errors


def test_compiled(ours):
    torch.compiler.reset()
    q, k, v, scales = ours.quantize_attention_inputs(*tensors(2))

    def call(q, k, v, scales):
        return ours.flex_attention(q, k, v, scales=scales, enable_gqa=True, backend="interpret")

    assert torch.equal(torch.compile(call, backend="aot_eager", fullgraph=True)(q, k, v, scales), call(q, k, v, scales))


def test_autocast_leaves_them(ours):
    q, k, v, scales = ours.quantize_attention_inputs(*tensors(3))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        o = ours.flex_attention(q, k, v, scales=scales, enable_gqa=True, backend="interpret")
    assert torch.equal(o, ours.flex_attention(q, k, v, scales=scales, enable_gqa=True, backend="interpret"))


def test_errors(ours):
    wide = tensors()
    q, k, v, scales = ours.quantize_attention_inputs(*wide)

    def call(*given, **options):
        return ours.flex_attention(*(given or (q, k, v)), enable_gqa=True, backend="interpret", **options)

    for options, error, message in (
        ({"scales": {"x": scales["q"]}}, ValueError, "scales must be among q, k, v, v_mean, found 'x'"),
        ({"scales": [1]}, TypeError, "scales must be a dictionary of tensors, found list"),
        ({"scales": {"q": torch.ones(2, 3)}}, ValueError, "scale 'q' must have the shape"),
        ({"scales": {"v_mean": torch.ones(1, 1, 32)}}, ValueError, "scale 'v_mean' must have the shape"),
        ({"scales": {"q": torch.ones(1, 1).double()}}, ValueError, "scale 'q' must be of torch.float32"),
        ({"scales": {"q": torch.ones(1, 1).to_sparse()}}, TypeError, "scale 'q' is of layout"),
        ({"scales": {"q": 1.0}}, TypeError, "scale 'q' must be a PyTorch tensor"),
        ({"output_dtype": torch.int8}, ValueError, "output_dtype must be one of"),
    ):
        with pytest.raises(error, match=message):
            call(**options)
    with pytest.raises(ValueError, match="scales and output_dtype are for query, key and value of torch.float8_e4m3fn"):
        call(*wide, scales=scales)
    with pytest.raises(ValueError, match="head dims of torch.float8_e4m3fn must be multiples of 16"):
        call(q[..., :40], k[..., :40], v)
    with pytest.raises(NotImplementedError, match="has no gradients"):
        call(scales={"v_mean": scales["v_mean"].requires_grad_()})
    bias = torch.ones(90, requires_grad=True)
    with pytest.raises(NotImplementedError, match="has no gradients"):
        call(score_mod=lambda s, b, h, i, j: s + bias[j])
    with pytest.raises(NotImplementedError, match="query is of torch.float8_e4m3fn"):
        ours.scaled_dot_product_attention(q, q, q, backend="interpret")
    with pytest.raises(ValueError, match="query heads must be a multiple of key heads, found 4 and 3"):
        ours.quantize_attention_inputs(wide[0], wide[1][:, :1].expand(-1, 3, -1, -1), wide[2])


def test_ahead_of_time(fovea):
    """fovea.attention with 8-bit inputs: arrays are rounded as PyTorch rounds them."""
    numpy = pytest.importorskip("numpy")
    from fovea.runtime._arrays import _e4m3_values, _to_e4m3

    spec = fovea.attention(dtype="e4m3", head_dim=64, scales={"q": "tensor", "k": "head", "v": "batch_head", "v_mean": "batch"},
                           output_dtype="f16")
    kernel = fovea.compile(spec, "sm_90a")
    q, k, v = (one.numpy() for one in tensors())
    given = {"q_scale": numpy.full((1, 1), 0.5, "float32"), "k_scale": numpy.array([[1.5, 0.75]], "float32"),
             "v_scale": numpy.full((2, 2), 2, "float32"), "v_mean": numpy.ones((2, 1, 64), "float32")}
    wanted = kernel.interpret(q, k, v, level="attn", **given)
    for level in ("tile", "warp", "ptx"):
        for found, one in zip(kernel.interpret(q, k, v, level=level, **given), wanted):
            assert is_close(torch.tensor(found), torch.tensor(one), 2)
    numbers = torch.cat([torch.randn(1000) * 200, torch.randn(1000) / 100,
                         torch.tensor([448.0, 464, 465, -0.0, 2.0**-9, 2.0**-10, torch.nan, torch.inf])])
    bits = numbers.to(NARROW).view(torch.uint8).numpy()
    values = _e4m3_values()
    assert numpy.array_equal(values[_to_e4m3(numbers.numpy())], values[bits], equal_nan=True)
    for scales, message in (({"x": "head"}, "scales must be among"), ({"q": "row"}, "the kind of scale 'q' must be one of"),
                            ({"q": []}, "the kind of scale 'q' must be one of"),
                            ([1], "scales must be a dictionary, {name: kind}")):
        with pytest.raises(ValueError, match=message):
            fovea.attention(dtype="e4m3", head_dim=64, scales=scales)


@pytest.mark.parametrize("page", [16, 64])
@pytest.mark.parametrize("backend", ["interpret", "interpret:tile", "ptx"])
def test_caches(ours, page, backend):
    """KV caches in pages, with scales per sequence and head; a sequence without keys."""
    torch.manual_seed(page)
    pools = [torch.randn(12, page, 2, 64).to(NARROW) for _ in range(2)]
    q = torch.randn(3, 2, 8, 64).to(NARROW)
    lengths, table = torch.tensor([page * 3 - 1, 5, 0], dtype=torch.int32), torch.randint(0, 12, (3, 4), dtype=torch.int32)
    scales = {"q": torch.tensor(0.5), "k": torch.rand(3, 2) + 0.5, "v": torch.rand(1, 2) + 0.5}
    options = {"lengths": lengths, "page_table": table, "causal": True, "scales": scales, "backend": backend}
    o, lse = ours.attention_with_kvcache(q, *pools, return_lse=True, **options)
    assert o.dtype == torch.bfloat16
    keys, values = ((one.double()[table.long()].reshape(3, -1, 2, 64) * scales[name].double()[:, None, :, None]).repeat_interleave(4, 2)
                    for one, name in zip(pools, "kv"))
    for n, length in enumerate(lengths.tolist()):
        scores = torch.einsum("qhd,khd->hqk", q[n].double() * 0.5, keys[n, :length]) / 8
        scores = scores.masked_fill(torch.arange(length) > torch.arange(2)[:, None] + length - 2, -torch.inf)
        wanted = torch.einsum("hqk,khd->qhd", torch.softmax(scores, -1).nan_to_num(0), values[n, :length])
        assert is_close(o[n], wanted) and (length or not o[n].any())
        found, sums = lse[n].double(), torch.logsumexp(scores, -1)
        assert ((found == sums) | ((found - sums).abs() < 1e-3)).all()
    out = torch.empty(3, 2, 8, 64, dtype=torch.float32)
    ours.attention_with_kvcache(q, *pools, out=out, output_dtype=torch.float32, **options)
    assert is_close(out, o)


@pytest.mark.parametrize("backend", ["interpret", "interpret:warp", "ptx"])
def test_append(ours, backend):
    pools = [torch.randn(4, 16, 2, 64).to(NARROW) for _ in range(2)]
    wanted = [one.view(torch.uint8).clone() for one in pools]
    rows, slots = [torch.randn(3, 2, 64).to(NARROW) for _ in range(2)], torch.tensor([5, 63, 16])
    ours.append(*rows, *pools, slots=slots, backend=backend)
    for pool, expected, new in zip(pools, wanted, rows):
        expected.view(64, 2, 64)[slots] = new.view(torch.uint8)
        assert torch.equal(pool.view(torch.uint8), expected)


def test_cache_errors(ours):
    pools = [torch.zeros(4, 3, 2, 64).to(NARROW) for _ in range(2)]
    q, lengths = torch.zeros(1, 1, 8, 64).to(NARROW), torch.ones(1, dtype=torch.int32)
    options = {"lengths": lengths, "page_table": torch.zeros(1, 2, dtype=torch.int32)}
    with pytest.raises(Exception, match="its tiles don't fit the pages of 3 rows"):
        ours.attention_with_kvcache(q, *pools, backend="ptx", **options)
    for given, message in (({"scales": {"k": torch.ones(2, 2)}}, "scale 'k' must have the shape"),
                           ({"out": torch.empty(1, 1, 8, 64).to(NARROW)}, "out must have the output's dtype, torch.bfloat16")):
        with pytest.raises(ValueError, match=message):
            ours.attention_with_kvcache(q, *pools, backend="interpret", **options, **given)
    with pytest.raises(ValueError, match="of one dtype"):
        ours.attention_with_kvcache(q.float(), *pools, backend="interpret", **options)
