"""fovea.torch.merge and fovea.merge: attention over disjoint sets of keys."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.torch

    return fovea.torch


def parts(count=3, dtype=torch.float32, queries=70, dim=40):
    """Parts with empty rows, whose output is NaN; all parts of row 66 are empty."""
    generator = torch.Generator().manual_seed(count)
    lse = torch.randn(count, 2, 3, queries, generator=generator) * 10
    lse[torch.rand(lse.shape, generator=generator) < 0.3] = -torch.inf
    lse[..., 66:67] = -torch.inf
    o = torch.randn(count, 2, 3, queries, dim, generator=generator).to(dtype)
    o[lse == -torch.inf] = torch.nan
    return o, lse


def reference(o, lse):
    total = torch.logsumexp(lse.double(), 0)
    weights = torch.where(lse == -torch.inf, 0.0, (lse.double() - total).exp())
    return (weights[..., None] * torch.where(lse == -torch.inf, 0.0, 1.0)[..., None] * o.double().nan_to_num()).sum(0), total


def check(found, expected, tolerance=1e-5):
    for one, other in zip(found, expected):
        torch.testing.assert_close(one.double(), other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("backend, dtype", [
    ("interpret", torch.float32), ("interpret:tile", torch.bfloat16), ("interpret:warp", torch.float32), ("ptx", torch.float16),
    ("ptx:sm_80", torch.float32),
])
def test_stacked(ours, backend, dtype):
    o, lse = parts(dtype=dtype)
    found = ours.merge(o, lse, backend=backend)
    assert found[0].dtype == dtype and found[1].dtype == torch.float32
    check(found, reference(o, lse), 1e-5 if dtype == torch.float32 else 1e-2)


@pytest.mark.parametrize("count", [1, 2, 9])
def test_sequences(ours, count):
    o, lse = parts(count)
    check(ours.merge(list(o), tuple(lse), backend="interpret"), reference(o, lse))


def test_without_parts(ours):
    o, lse = ours.merge(torch.zeros(0, 2, 3, 5, 8), torch.zeros(0, 2, 3, 5), backend="ptx")
    assert torch.equal(o, torch.zeros(2, 3, 5, 8)) and torch.equal(lse, torch.full((2, 3, 5), -torch.inf))


def test_other_layouts_and_dtypes(ours):
    o, lse = parts(dtype=torch.bfloat16)
    expected = reference(o, lse)
    found = ours.merge(o.transpose(2, 3).contiguous(), lse, layout="bshd", dtype=torch.float32, backend="interpret:tile")
    assert found[0].dtype == torch.float32 and found[0].is_contiguous()
    check((found[0].transpose(1, 2), found[1]), expected, 1e-4)


def test_prefix_and_rest(ours):
    """Attention over the first keys and the others is attention over all of them."""
    k, v = torch.randn(2, 2, 100, 2, 16)
    q, n = torch.randn(2, 3, 4, 16), torch.tensor([100, 61], dtype=torch.int32)
    whole = ours.attention_with_kvcache(q, k, v, lengths=n, return_lse=True, backend="interpret")
    first = ours.attention_with_kvcache(q, k, v, lengths=n.clamp(max=40), return_lse=True, backend="interpret")
    rest = ours.attention_with_kvcache(q, k[:, 40:], v[:, 40:], lengths=n - 40, return_lse=True, backend="interpret")
    merged = ours.merge(*zip(first, rest), layout="bshd", backend="interpret")
    check(merged, [one.double() for one in whole], 1e-5)


def test_torch_compile(ours):
    o, lse = parts()
    compiled = torch.compile(lambda o, lse: ours.merge(o * 2, lse, backend="interpret"), backend="aot_eager", fullgraph=True)
    check(compiled(o, lse), reference(o * 2, lse))


@pytest.mark.parametrize("change, error, message", [
    ({"outputs": 3}, TypeError, "outputs must be a PyTorch tensor or a sequence of tensors, found int"),
    ({"outputs": [], "lses": []}, ValueError, "outputs has no parts"),
    ({"lses": "list"}, TypeError, "must both be tensors with a leading dimension, or both sequences"),
    ({"outputs": "list", "lses": "short"}, ValueError, "must have as many parts, found 3 and 2"),
    ({"outputs": torch.zeros(2, 3, 5, 8), "lses": torch.zeros(2, 3, 5)}, ValueError, "outputs must have 5 dimensions"),
    ({"outputs": torch.zeros(3, 2, 3, 70, 40).double()}, ValueError, "outputs must be of .*, found torch.float64"),
    ({"lses": torch.zeros(3, 2, 3, 70).half()}, ValueError, "lses must be of torch.float32, found torch.float16"),
    ({"lses": torch.zeros(3, 2, 70, 3)}, ValueError, r"lses must have the shape \[3, 2, 3, 70\]"),
    ({"outputs": [torch.zeros(2, 3, 5, 8), torch.zeros(2, 3, 5, 16)], "lses": [torch.zeros(2, 3, 5)] * 2}, ValueError,
     r"outputs must have one shape, dtype and device, found \[2, 3, 5, 8\] of torch.float32 on cpu and \[2, 3, 5, 16\]"),
    ({"lses": torch.zeros(3, 2, 3, 70, device="meta")}, ValueError, "lses are on meta, but outputs are on cpu"),
    ({"layout": "bsdh"}, ValueError, "layout must be 'bhsd' or 'bshd', found 'bsdh'"),
    ({"dtype": torch.int8}, ValueError, "dtype must be one of"),
    ({"backend": "cuda"}, ValueError, "runs on cuda, found outputs on cpu"),
    ({"backend": "gpu"}, ValueError, "backend must be"),
    ({"grad": True}, NotImplementedError, "merge has no gradients"),
])
def test_refused_calls(ours, change, error, message):
    o, lse = parts()
    change = dict(change)
    o.requires_grad_(change.pop("grad", False))
    given = {"outputs": o, "lses": lse, "backend": "interpret", **change}
    special = {"list": list(o if change.get("outputs") == "list" else lse), "short": list(lse)[:2]}
    for name in ("outputs", "lses"):
        if isinstance(given[name], str):
            given[name] = special[given[name]]
    with pytest.raises(error, match=message):
        ours.merge(**given)


def test_ahead_of_time(fovea, ours):
    """fovea.merge compiles without PyTorch; kernels take operands by name."""
    o, lse = parts(2)
    spec = fovea.merge(head_dim=40, dtype="f32", output_dtype="bf16")
    kernel = fovea.compile(spec, target="sm_80")
    assert [one["name"] for one in kernel.metadata["tensors"]] == ["o_parts", "lse_parts", "o", "lse"]
    for level in ("attn", "tile", "ptx"):
        found = kernel.interpret(o_parts=o, lse_parts=lse, level=level)
        check([torch.from_numpy(one) for one in found], reference(o, lse), 1e-2)
    check([torch.from_numpy(one) for one in fovea.reference(spec, o_parts=o, lse_parts=lse)], reference(o, lse), 1e-5)
    pair = fovea.compile(fovea.merge(head_dim=40, dtype="f32", parts=2, layout="bshd", name="pair"), target="sm_80")
    found = pair.interpret(o0=o[0].transpose(1, 2), o1=o[1].transpose(1, 2), lse0=lse[0], lse1=lse[1])
    check((torch.from_numpy(found[0]).transpose(1, 2), torch.from_numpy(found[1])), reference(o, lse))
    with pytest.raises(TypeError, match="needs 'lse_parts', which is missing"):
        kernel.interpret(o_parts=o, level="ptx")


@pytest.mark.parametrize("change, message", [
    ({"head_dim": 0}, "head_dim must be an integer of at least 1, found 0"),
    ({"dtype": "f64"}, "dtype must be bf16, f16 or f32, found f64"),
    ({"output_dtype": "i32"}, "output_dtype must be bf16, f16 or f32, found i32"),
    ({"parts": 0}, "parts must be an integer of at least 1, found 0"),
    ({"layout": "sbhd"}, "layout must be 'bhsd' or 'bshd', found 'sbhd'"),
])
def test_refused_specs(fovea, change, message):
    with pytest.raises(ValueError, match=message):
        fovea.merge(**{"head_dim": 64, **change})
