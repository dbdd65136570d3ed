"""fovea.transformers without the package transformers: FlashAttention's functions of the local kernel,
and masks."""

import importlib.util
import inspect
import json

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from test_torch_sinks import reference  # noqa: E402

HEADS, KV_HEADS, DIM = 4, 2, 16
NO_SINKS = torch.full((HEADS,), -torch.inf)


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.transformers

    return fovea.transformers


def module_of(ours, device):
    """The kernel's module, as the package kernels loads it."""
    folder = ours.kernel_folder() / "build" / f"torch-{device}"
    assert json.loads((folder / "metadata.json").read_text())["backend"] == {"type": device}
    spec = importlib.util.spec_from_file_location(f"fovea_flash_{device}", folder / "__init__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def flash(ours):
    return module_of(ours, "cpu")


def tensors(queries, keys, batch=2):
    generator = torch.Generator().manual_seed(0)
    shapes = (batch, queries, HEADS, DIM), (batch, keys, KV_HEADS, DIM), (batch, keys, KV_HEADS, DIM)
    return [torch.randn(*shape, generator=generator).requires_grad_() for shape in shapes]


def window_mask(queries, keys, window, causal):
    """Aligned to the lower right; a negative side is open."""
    p, j = torch.arange(queries)[:, None] + keys - queries, torch.arange(keys)
    left, right = window[0], 0 if causal else window[1]
    return ((left < 0) | (j >= p - left)) & ((right < 0) | (j <= p + right))


def expected_of(q, k, v, mask=None, sinks=NO_SINKS, scale=DIM ** -0.5, softcap=0.0):
    q, k, v = (one.transpose(1, 2) for one in (q, k, v))
    if softcap:  # the scores as a bias
        scores = q.double() @ k.double().repeat_interleave(HEADS // KV_HEADS, 1).mT * scale
        return reference(q * 0, k, v, sinks, mask, softcap * torch.tanh(scores / softcap))[0].transpose(1, 2)
    return reference(q * (scale * DIM ** 0.5), k, v, sinks, mask)[0].transpose(1, 2)


def check(found, expected, by=()):
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)
    for one, other in zip(*(torch.autograd.grad(o.double().square().sum(), by) for o in (found, expected) if by)):
        assert other.abs().max() > 0
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("queries, keys", [(20, 20), (5, 33), (1, 33)])
@pytest.mark.parametrize("options", [
    {}, {"causal": True}, {"causal": True, "window_size": (3, 3)}, {"window_size": (2, 4)}, {"window_size": (4, -1)},
    {"softcap": 2.0, "softmax_scale": 0.5}, {"s_aux": torch.randn(HEADS, generator=torch.Generator().manual_seed(1))},
], ids=str)
def test_flash_attn_func(flash, queries, keys, options):
    q, k, v = tensors(queries, keys)
    found = flash.flash_attn_func(q, k, v, **options)
    mask = window_mask(queries, keys, options.get("window_size", (-1, -1)), options.get("causal", False))
    expected = expected_of(q, k, v, mask, options.get("s_aux", NO_SINKS), options.get("softmax_scale", DIM ** -0.5),
                           options.get("softcap", 0.0))
    check(found, expected, (q, k, v))


def test_flash_attn_varlen_func(flash):
    lengths, offsets = (5, 20, 8), torch.tensor([0, 5, 25, 33], dtype=torch.int32)
    q, k, v = (one[0] for one in tensors(33, 33, 1))
    sinks = torch.randn(HEADS)
    found = flash.flash_attn_varlen_func(q, k, v, cu_seqlens_q=offsets, cu_seqlens_k=offsets, max_seqlen_q=20, max_seqlen_k=20,
                                         causal=True, window_size=(4, 4), softcap=3.0, s_aux=sinks, dropout_p=0.0, deterministic=False)
    parts = zip(lengths, *(one.split(lengths) for one in (q, k, v)))
    expected = [expected_of(*(one[None] for one in three), window_mask(n, n, (4, 4), True), sinks, softcap=3.0)[0]
                for n, *three in parts]
    check(found, torch.cat(expected), (q, k, v))


@pytest.mark.parametrize("paged", [False, True])
@pytest.mark.parametrize("queries", [1, 3])
def test_flash_attn_with_kvcache(flash, queries, paged):
    """New keys are written after the cache's."""
    lengths, page = torch.tensor([30, 17], dtype=torch.int32), 16
    q, k, v = (one.detach() for one in tensors(queries, queries))
    rows = [torch.randn(2, 48, KV_HEADS, DIM) for _ in range(2)]
    table = torch.tensor([[4, 1, 3], [0, 5, 2]], dtype=torch.int32)
    caches = []
    for one in rows:
        pool = torch.empty(6, page, KV_HEADS, DIM)
        pool[table.long()] = one.unflatten(1, (3, page))
        caches.append(pool if paged else one.clone())
    found, lse = flash.flash_attn_with_kvcache(
        q, *caches, k, v, cache_seqlens=lengths, block_table=table if paged else None, causal=True, window_size=(9, -1),
        num_splits=1, return_softmax_lse=True)
    assert lse.shape == (2, HEADS, queries)
    for b, length in enumerate(lengths.tolist()):
        whole = [torch.cat([one[b, :length], new[b]])[None] for one, new in zip(rows, (k, v))]
        for cache, one in zip(caches, whole):
            written = cache[table[b].long()].flatten(0, 1) if paged else cache[b]
            assert torch.equal(written[:length + queries], one[0])
        expected = expected_of(q[b:b + 1], *whole, window_mask(queries, length + queries, (9, -1), True))
        check(found[b:b + 1], expected)
    again = flash.flash_attn_with_kvcache(q, *caches, cache_seqlens=lengths + queries, block_table=table if paged else None,
                                          causal=True, window_size=(9, -1))
    assert torch.equal(again, found)


def test_a_number_as_the_length(flash):
    q, k, v = (one.detach() for one in tensors(1, 40))
    check(flash.flash_attn_with_kvcache(q, k, v, cache_seqlens=25), expected_of(q, k[:, :25], v[:, :25]))
    check(flash.flash_attn_with_kvcache(q, k, v), expected_of(q, k, v))


@pytest.mark.parametrize("name, options, error, message", [
    ("flash_attn_func", {"dropout_p": 0.1}, NotImplementedError, "flash_attn_func does not support dropout_p, found 0.1"),
    ("flash_attn_func", {"alibi_slopes": torch.ones(4)}, NotImplementedError, r"alibi_slopes, found a tensor of \[4\]"),
    ("flash_attn_func", {"return_attn_probs": True}, NotImplementedError, "return_attn_probs, found True"),
    ("flash_attn_func", {"deterministic": True}, NotImplementedError, 
     r"flash_attn_func takes determinism from PyTorch: deterministic=True needs torch.use_deterministic_algorithms\(True\)"),
    ("flash_attn_with_kvcache", {"rotary_cos": torch.ones(4, 8)}, NotImplementedError, "rotary_cos"),
    ("flash_attn_with_kvcache", {"cache_batch_idx": torch.ones(2)}, NotImplementedError, "cache_batch_idx"),
    ("flash_attn_with_kvcache", {"cache_leftpad": torch.ones(2)}, NotImplementedError, "cache_leftpad"),
    ("flash_attn_with_kvcache", {"num_splits": 2}, NotImplementedError, "num_splits, found 2"),
    ("flash_attn_with_kvcache", {"k": torch.ones(2, 1, 2, 16)}, ValueError, "k and v must be given together, found only k"),
])
def test_refused(flash, name, options, error, message):
    q, k, v = (one.detach() for one in tensors(1, 20))
    with pytest.raises(error, match=message):
        getattr(flash, name)(q, k, v, **options)


def test_packed_queries_over_pages(flash):
    queries, keys = (0, 20, 21), torch.tensor([0, 30, 47], dtype=torch.int32)
    q, pools = torch.randn(21, HEADS, DIM), [torch.randn(6, 16, KV_HEADS, DIM) for _ in range(2)]
    table = torch.tensor([[4, 1, 3], [0, 5, 2]], dtype=torch.int32)
    found = flash.flash_attn_varlen_func(q, *pools, torch.tensor(queries, dtype=torch.int32), keys, 20, 30, causal=True,
                                         window_size=(9, -1), softcap=3.0, block_table=table)
    for b, length in enumerate(keys.diff().tolist()):
        first, end = queries[b : b + 2]
        rows = [pool[table[b].long()].flatten(0, 1)[None, :length] for pool in pools]
        check(found[None, first:end], expected_of(q[None, first:end], *rows, window_mask(end - first, length, (9, -1), True),
                                                  softcap=3.0))


def test_the_kernel_for_cuda(ours):
    """transformers reads the names of parameters; tensors in host memory are refused."""
    module = module_of(ours, "cuda")
    names = set(inspect.signature(module.flash_attn_varlen_func).parameters)
    assert {"causal", "softmax_scale", "window_size", "softcap", "s_aux", "block_table", "max_seqlen_q"} <= names
    assert "backend" not in names
    with pytest.raises(NotImplementedError, match="kernels run on CUDA"):
        module.flash_attn_func(*tensors(4, 4))


# --- Masks --------------------------------------------------------------------


@pytest.mark.parametrize("as_tensors", [False, True])
@pytest.mark.parametrize("q_offset, kv_offset, seen", [(0, 0, None), (0, 0, 20), (17, 0, 30), (17, 5, 22), (17, 5, 30), (0, 3, None)])
def test_masks(ours, q_offset, kv_offset, seen, as_tensors):
    """Offsets of queries and keys, and masks of positions that end before the last key."""
    from fovea.torch import flex_attention
    from fovea.transformers._masks import mask

    q, k, v = (one.detach().transpose(1, 2) for one in tensors(6, 20))
    visible = None if seen is None else torch.rand(2, seen, generator=torch.Generator().manual_seed(2)) > 0.3
    given = [torch.tensor(one) if as_tensors else one for one in (q_offset, kv_offset)]
    made = mask(2, 6, 20, *given, attention_mask=visible)
    assert mask(2, 6, 20, attention_mask=made) is made and made.ndim == 4
    found, lse = flex_attention(q, k, v, block_mask=made.mask_mod, enable_gqa=True, return_lse=True, backend="interpret")
    i, j = torch.arange(6)[:, None] + q_offset, torch.arange(20) + kv_offset
    keep = (j <= i).expand(2, 1, 6, 20)
    if visible is not None:
        whole = torch.nn.functional.pad(visible, (0, 40))
        keep = keep & whole[:, j][:, None, None]
    expected, sums = reference(q, k, v, NO_SINKS, keep)
    rows = sums.isfinite()
    assert torch.equal(lse.isfinite(), rows) and not found[~rows].any()
    check(found[rows], expected[rows])


@pytest.mark.parametrize("mask, options, error, message", [
    ("causal", {}, TypeError, "Module: attention_mask must be a mask of fovea.transformers or a tensor, found str"),
    (None, {"sliding_window": 4}, NotImplementedError,
     "Module: sliding_window=4 without a mask, expected a mask of AttentionMaskInterface"),
])
def test_refused_by_models(ours, mask, options, error, message):
    from fovea.transformers._attention import attend

    q, k, v = tensors(9, 9)
    with pytest.raises(error, match=message):
        attend(torch.nn.Module(), *(one.transpose(1, 2) for one in (q, k, v)), mask, backend="interpret", **options)
