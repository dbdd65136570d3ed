"""kernel_options, and shapes in the layout of other libraries: accepted arguments and errors."""

import logging
import warnings

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
flex = pytest.importorskip("torch.nn.attention.flex_attention")


@pytest.fixture
def ours(fovea, monkeypatch):
    import fovea.torch
    from fovea.torch.ops import _checks

    monkeypatch.setattr(_checks, "_noted", set())
    return fovea.torch


def tensors(heads=2, length=20, kv_heads=None, kv_length=None):
    shapes = (heads, length), (kv_heads or heads, kv_length or length), (kv_heads or heads, kv_length or length)
    return [torch.ones(1, *shape, 16) for shape in shapes]


def test_hints_for_pytorch(ours, caplog):
    """All documented options of PyTorch, with its prefixes: ignored, and logged once."""
    names = getattr(flex, "FlexKernelOptions", None)
    names = [*(names.__annotations__ if names else ("BLOCK_M", "num_warps", "num_stages"))]
    options = {prefix + name: 2 for name in names for prefix in ("", "fwd_", "bwd_")}
    with warnings.catch_warnings(), caplog.at_level(logging.INFO, logger="fovea"):
        warnings.simplefilter("error")
        for _ in range(2):
            ours.flex_attention(*tensors(), kernel_options=options, backend="interpret")
    (record,) = caplog.records
    assert record.levelno == logging.INFO and "bwd_num_warps" in record.getMessage()
    assert record.getMessage().endswith("are hints for PyTorch's kernels, and are ignored")
    for name in ("fwd_tile", "bwd_schedule", "fwd_", "num_warp", "fwd_fwd_num_warps"):
        with pytest.raises(ValueError, match=f"kernel_options has no '{name}', expected schedule or recurrence"):
            ours.flex_attention(*tensors(), kernel_options={name: 2}, backend="interpret")


def test_schedules(ours, fovea, monkeypatch):
    from fovea.torch.ops import _op

    chosen = []
    monkeypatch.setattr(_op, "_interpret", lambda q, k, v, call, *out: chosen.append(call.schedule) or (q, None))
    for schedule in ("tile_n=64,stages=3", {"tile_n": 64, "stages": 3}, {}):
        ours.flex_attention(*tensors(), kernel_options={"schedule": schedule}, backend="interpret")
    assert chosen == ["tile_n=64,stages=3", "tile_n=64,stages=3", "auto"]
    for wrong in (64, {"tile_n": None}, [("tile_n", 64)]):
        with pytest.raises(TypeError, match='schedule must be "auto", fields such as "tile_n=64,stages=3" or {"tile_n": 64'):
            ours.flex_attention(*tensors(), kernel_options={"schedule": wrong}, backend="interpret")


def test_options_of_repeated_calls(ours):
    from fovea.torch.ops._checks import hints_of

    assert hints_of({"schedule": {"tile_n": 64}}) == hints_of({"schedule": "tile_n=64"})
    assert hints_of({"num_warps": []}) is None


def exchanged(*names):
    cures = ", ".join(f"{name}.transpose(1, 2)" for name in names)
    return (f"; shapes are (batch, heads, length, head_dim): were dimensions 1 and 2 of {' and '.join(names)} exchanged "
            f"({cures})?")


@pytest.mark.parametrize("given, told", [
    (tensors(64, 4, 100, 4), exchanged("query", "key", "value")),
    (tensors(64, 4, 4, 64), exchanged("query")),
    (tensors(64, 8, 2, 64), exchanged("query")),
    (tensors(8, 64, 64, 2), exchanged("key")),
    # A query of one token, with several and single key heads.
    (tensors(32, 1, 8, 100), ""), (tensors(32, 1, 1, 100), ""), (tensors(32, 64, 8, 64), ""),
])
def test_heads_and_lengths(ours, given, told):
    heads, kv_heads = given[0].shape[1], given[1].shape[1]
    with pytest.raises(ValueError) as error:
        ours.flex_attention(*given, backend="interpret")
    assert str(error.value) == f"query has {heads} heads, but key has {kv_heads}: that needs enable_gqa=True{told}"


def test_heads_and_lengths_elsewhere(ours):
    q, k, v = tensors(20, 2)
    with pytest.raises(ValueError) as error:
        ours.flex_attention(q, k, v.transpose(1, 2), backend="interpret")
    assert str(error.value).endswith(exchanged("key"))
    block_mask = flex.create_block_mask(lambda b, h, i, j: i >= j, None, None, 20, 20, device="cpu")
    with pytest.raises(ValueError) as error:
        ours.flex_attention(q, k, v, block_mask=block_mask, backend="interpret")
    assert str(error.value) == "block_mask was created for 20 queries and 20 keys, found 2 and 2" + exchanged("query", "key", "value")
    with pytest.raises(ValueError) as error:
        ours.scaled_dot_product_attention(q, k, v, torch.ones(20, 20), backend="interpret")
    assert str(error.value) == "attn_mask must broadcast to [1, 20, 2, 2], found [20, 20]" + exchanged("query", "key", "value")
