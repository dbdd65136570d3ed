"""fovea.torch: functions of FlexAttention's mean what PyTorch computes; what can't
be taken is refused with the reason."""

import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
flex = pytest.importorskip("torch.nn.attention.flex_attention")

import torch_variants as variants  # noqa: E402


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.torch

    return fovea.torch


def inputs(dtype=torch.float32, dim=variants.DIM, value_dim=variants.DIM, heads=variants.HEADS,
           kv_heads=variants.KV_HEADS, queries=variants.QUERIES, keys=variants.KEYS):
    generator = torch.Generator().manual_seed(1)
    shapes = ((variants.BATCH, heads, queries, dim), (variants.BATCH, kv_heads, keys, dim),
              (variants.BATCH, kv_heads, keys, value_dim))
    return tuple(torch.randn(shape, generator=generator).to(dtype) for shape in shapes)


def eager(query, key, value, score_mod=None, mask_mod=None, **options):
    """PyTorch's own, which warns that it is slow."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        block_mask = mask_mod
        if callable(mask_mod):
            block_mask = flex.create_block_mask(mask_mod, variants.BATCH, variants.HEADS, query.shape[2], key.shape[2],
                                                device="cpu", BLOCK_SIZE=16)
        options = {"enable_gqa": True, **options}
        return flex.flex_attention(query, key, value, score_mod, block_mask, return_lse=True, **options), block_mask


def check(found, expected, tolerance):
    for a, b in zip(found, expected):
        assert a.shape == b.shape and a.dtype == b.dtype
        torch.testing.assert_close(a.double(), b.double(), rtol=tolerance, atol=tolerance)


NAMES = [("mask_mod", name) for name in variants.MASKS] + [("score_mod", name) for name in variants.SCORES]


@pytest.mark.parametrize("role, name", NAMES)
def test_means_what_pytorch_computes(ours, role, name):
    function = (variants.MASKS if role == "mask_mod" else variants.SCORES)[name]
    q, k, v = inputs()
    expected, block_mask = eager(q, k, v, **{role: function})
    found = ours.flex_attention(
        q, k, v, block_mask=block_mask, enable_gqa=True, return_lse=True, backend="interpret",
        **({"score_mod": function} if role == "score_mod" else {}),
    )
    check(found, expected, 3e-5)


@pytest.mark.parametrize("role, name, level", [
    ("score_mod", "alibi", "tile"), ("score_mod", "quotients", "tile"), ("score_mod", "bias_of_halves", "warp"),
    ("score_mod", "casts", "tile"), ("mask_mod", "document_causal", "warp"), ("mask_mod", "natten", "tile"),
    ("mask_mod", "near", "tile"),
])
def test_kernels_compute_it(ours, role, name, level):
    function = (variants.MASKS if role == "mask_mod" else variants.SCORES)[name]
    q, k, v = inputs(torch.float16)
    expected, _ = eager(q.float(), k.float(), v.float(), **{role: function})
    given = {"score_mod": function} if role == "score_mod" else {"block_mask": function}
    o, lse = ours.flex_attention(q, k, v, enable_gqa=True, return_lse=True, backend=f"interpret:{level}", **given)
    check((o.float(), lse), expected, 5e-3)


@pytest.mark.parametrize("name", list(variants.MASKS) + list(variants.SCORES))
def test_compiles_for_hopper(fovea, ours, name):
    from fovea.torch._programs import Facts, build

    facts = Facts(torch.bfloat16, torch.device("cpu"), 64, 64, None, False)
    program = build(variants.SCORES.get(name), variants.MASKS.get(name), facts)
    assert ".entry attention(" in fovea.compile(program.spec, target="sm_90a", cache=False).ptx
