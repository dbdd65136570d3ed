"""fovea.torch: gradients read a BlockMask's lists from keys to queries, if it has them."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
flex = pytest.importorskip("torch.nn.attention.flex_attention")

import test_torch_blocks as blocks  # noqa: E402
import test_torch_gradients as of_gradients  # noqa: E402

LENGTHS = (150, 190)


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.torch

    return fovea.torch


@pytest.fixture
def programs(ours, monkeypatch):
    """The programs of gradients that calls use."""
    from fovea.torch.autograd import _gradients

    made = []
    original = _gradients.gradient_spec
    monkeypatch.setattr(_gradients, "gradient_spec", lambda *args: made.append(original(*args)) or made[-1])
    return made


def window(b, h, i, j):
    return (j <= i) & (i - j < 40 + 10 * h)


def without_query_blocks(mask):
    given = mask.kv_num_blocks, mask.kv_indices, mask.full_kv_num_blocks, mask.full_kv_indices
    return flex.BlockMask.from_kv_blocks(*given, BLOCK_SIZE=mask.BLOCK_SIZE, mask_mod=mask.mask_mod, seq_lengths=mask.seq_lengths,
                                         compute_q_blocks=False)


def made(size, batch=2, heads=4, lengths=LENGTHS):
    return flex.create_block_mask(window, batch, heads, *lengths, device="cpu", BLOCK_SIZE=size)


def found(ours, mask, backend, dtype):
    given, _ = of_gradients.tensors(dtype, queries=LENGTHS[0], keys=LENGTHS[1])

    def attend(q, k, v):
        return ours.flex_attention(q, k, v, blocks.soft_cap, mask, enable_gqa=True, backend=backend)

    return of_gradients.gradients(attend, given)


def expected(mask, dtype):
    given, _ = of_gradients.tensors(dtype, queries=LENGTHS[0], keys=LENGTHS[1])

    def theirs(q, k, v):
        seen = blocks.visible(mask, 2, 4, *LENGTHS)
        return of_gradients.scores(q, k, v, lambda s, i, j: blocks.soft_cap(s, 0, 0, i, j), lambda i, j: seen)[0]

    return of_gradients.gradients(theirs, given, double=True)


@pytest.mark.parametrize("backend", ["interpret", "interpret:tile", "ptx:sm_80", "ptx:sm_90a"])
@pytest.mark.parametrize("size, batch, heads", [((64, 32), 2, 4), ((128, 128), 1, 1), ((32, 64), 1, 4)], ids=str)
def test_gradients_by_both_lists(ours, programs, size, batch, heads, backend):
    mask = made(size, batch, heads)
    dtype, tolerance = (torch.float32, 1e-5) if backend == "interpret" else (torch.bfloat16, 2e-2)
    wanted = expected(mask, dtype)
    for given, reads in ((mask, True), (without_query_blocks(mask), False)):
        programs.clear()
        of_gradients.check(found(ours, given, backend, dtype), wanted, tolerance)
        assert programs and all(("query_blocks(" in one.mlir) == reads for one in programs)


def test_lists_of_partial_blocks_alone(ours, programs):
    mask = made((64, 32))
    mask.full_kv_num_blocks = mask.full_kv_indices = mask.full_q_num_blocks = mask.full_q_indices = None
    of_gradients.check(found(ours, mask, "interpret", torch.float32), expected(mask, torch.float32), 1e-5)
    assert "partial_query_index" not in programs[-1].mlir and "query_blocks(" in programs[-1].mlir


def test_lists_of_int64(ours, programs):
    mask = made((64, 32))
    mask.q_num_blocks, mask.q_indices = mask.q_num_blocks.long(), mask.q_indices.long()
    of_gradients.check(found(ours, mask, "interpret", torch.float32), expected(mask, torch.float32), 1e-5)
    assert "query_blocks(" in programs[-1].mlir


@pytest.mark.parametrize("size", [(10, 20), (1, 64)])
def test_converted_lists_are_transposed_by_a_kernel(ours, programs, size):
    mask = made(size)
    of_gradients.check(found(ours, mask, "interpret", torch.float32), expected(mask, torch.float32), 1e-5)
    assert programs and all("query_blocks(" not in one.mlir for one in programs)


def test_lists_that_cover_few_keys(ours, programs):
    """Rows for some key blocks only: the lists are not passed."""
    mask = made((64, 32))
    mask.q_num_blocks, mask.q_indices = mask.q_num_blocks[:, :, :2], mask.q_indices[:, :, :2]
    of_gradients.check(found(ours, mask, "interpret", torch.float32), expected(mask, torch.float32), 1e-5)
    assert "query_blocks(" not in programs[-1].mlir


def test_lists_that_differ(fovea, ours):
    mask = made((64, 32))
    mask.q_num_blocks = mask.q_num_blocks.clone()
    mask.q_num_blocks[0, 1].zero_()
    with pytest.raises(fovea.Error, match="query_blocks must be blocks transposed: block of queries 0 and block of keys . of "
                                          "batch entry 0, head 1 are partial in blocks, found not listed in query_blocks"):
        found(ours, mask, "interpret", torch.float32)


def test_other_lists_in_the_same_block_mask(ours, programs):
    mask = made((64, 32))
    found(ours, mask, "interpret", torch.float32)
    mask.q_indices = None
    found(ours, mask, "interpret", torch.float32)
    assert ["query_blocks(" in one.mlir for one in programs] == [True, False]


def test_gradients_in_a_graph(ours):
    torch._dynamo.reset()
    mask = made((64, 32))
    given, _ = of_gradients.tensors(torch.float32, queries=LENGTHS[0], keys=LENGTHS[1])

    def attend(q, k, v):
        return ours.flex_attention(q, k, v, blocks.soft_cap, mask, enable_gqa=True, backend="interpret")

    compiled = torch.compile(attend, backend="aot_eager", fullgraph=True)
    for one, other in zip(of_gradients.gradients(compiled, given), of_gradients.gradients(attend, given)):
        torch.testing.assert_close(one, other)
