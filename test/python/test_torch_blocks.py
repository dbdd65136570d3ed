"""fovea.torch: BlockMasks. Their lists select the processed blocks, as in PyTorch's compiled
FlexAttention. The eager one only uses mask_mod, so the tests compute the expected results."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
flex = pytest.importorskip("torch.nn.attention.flex_attention")

import torch_variants as variants  # noqa: E402

LENGTHS = (100, 150)


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.torch

    return fovea.torch


def inputs(batch=2, heads=4, kv_heads=2, lengths=LENGTHS, dtype=torch.float32, dim=16):
    generator = torch.Generator().manual_seed(2)
    shapes = ((batch, heads, lengths[0], dim), *[(batch, kv_heads, lengths[1], dim)] * 2)
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def listed(counts, indices, columns):
    """True for each block that is in a list."""
    result = torch.zeros(*counts.shape, columns, dtype=torch.bool)
    for place in torch.cartesian_prod(*(torch.arange(extent) for extent in counts.shape)).tolist():
        place = tuple(place)
        result[place][indices[place][: counts[place]].long()] = True
    return result


def visible(block_mask, batch, heads, queries, keys):
    """The visible pairs."""
    (rows, columns), blocks = block_mask.BLOCK_SIZE, -(-keys // block_mask.BLOCK_SIZE[1])

    def spread(counts, indices):
        blocks_seen = listed(counts, indices, blocks)
        return blocks_seen.repeat_interleave(min(rows, queries), -2).repeat_interleave(min(columns, keys), -1)[..., :queries, :keys]

    b, h, i, j = (torch.arange(n).view([-1 if d == e else 1 for e in range(4)])
                  for d, n in enumerate((batch, heads, queries, keys)))
    result = spread(block_mask.kv_num_blocks, block_mask.kv_indices) & block_mask.mask_mod(b, h, i, j)
    if block_mask.full_kv_num_blocks is not None:
        result = result | spread(block_mask.full_kv_num_blocks, block_mask.full_kv_indices)
    return result.expand(batch, heads, queries, keys)


def expected(q, k, v, block_mask, score_mod=None):
    group = q.shape[1] // k.shape[1]
    k, v = (x.expand(q.shape[0], *x.shape[1:]).repeat_interleave(group, 1).double() for x in (k, v))
    scores = q.double() @ k.mT / q.shape[-1] ** 0.5
    if score_mod:
        b, h, i, j = (torch.arange(n).view([-1 if d == e else 1 for e in range(4)]) for d, n in enumerate(scores.shape))
        scores = score_mod(scores, b, h, i, j)
    scores = scores.masked_fill(~visible(block_mask, *scores.shape), -torch.inf)
    return torch.softmax(scores, -1).nan_to_num() @ v, torch.logsumexp(scores, -1)


def check(ours, block_mask, tensors, score_mod=None, level="attn", tolerance=3e-5):
    o, lse = ours.flex_attention(*tensors, score_mod, block_mask, enable_gqa=True, return_lse=True,
                                 backend=f"interpret:{level}")
    for found, wanted in zip((o, lse), expected(*tensors, block_mask, score_mod)):
        torch.testing.assert_close(found.double(), wanted, rtol=tolerance, atol=tolerance)
    return o, lse


def drawn(seed, batch, heads, size, lengths=LENGTHS, mask_mod=None, full=True):
    """Random block-sparse lists with some empty rows."""
    generator = torch.Generator().manual_seed(seed)
    shape = (batch, heads, -(-lengths[0] // size[0]), -(-lengths[1] // size[1]))
    kinds = torch.randint(0, 4, shape, generator=generator)
    if shape[2] > 1:
        kinds[:, :, -1] = 0

    def lists(chosen):
        order = torch.rand(shape, generator=generator) - 2.0 * chosen
        # Entries after the counts are arbitrary.
        indices = order.argsort(-1).int()
        counts = chosen.sum(-1).int()
        used = torch.arange(shape[-1]) < counts[..., None]
        return counts, torch.where(used, indices, 1 << 20)

    given = lists(kinds == 1) + (lists(kinds == 2) if full else (None, None))
    return flex.BlockMask.from_kv_blocks(*given, BLOCK_SIZE=size, mask_mod=mask_mod, seq_lengths=lengths,
                                         compute_q_blocks=False)


def soft_cap(score, b, h, q_idx, kv_idx):
    return 2 * torch.tanh(score / 2)


@pytest.mark.parametrize("batch, heads", [(1, 1), (2, 1), (1, 4), (2, 4)])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("mask_mod", [None, variants.causal])
def test_lists_are_what_is_visited(ours, batch, heads, full, mask_mod):
    block_mask = drawn(batch + heads, batch, heads, (32, 16), mask_mod=mask_mod, full=full)
    o, lse = check(ours, block_mask, inputs())
    assert (o[:, :, 96:] == 0).all() and (lse[:, :, 96:] == -torch.inf).all()


@pytest.mark.parametrize("level", ["tile", "warp"])
@pytest.mark.parametrize("score_mod", [None, soft_cap])
def test_kernels_visit_them(ours, level, score_mod):
    block_mask = drawn(3, 2, 4, (64, 32), mask_mod=variants.by_head)
    check(ours, block_mask, inputs(dtype=torch.float16), score_mod, level, 5e-3)


@pytest.mark.parametrize("size", [16, 128, (128, 64), (32, 128)])
@pytest.mark.parametrize("mask", ["causal", "sliding_window_causal", "document_of_batch", "natten", "nothing_in_rows"])
def test_masks_of_pytorch(ours, size, mask):
    lengths = (variants.QUERIES, variants.KEYS)
    block_mask = flex.create_block_mask(variants.MASKS[mask], 2, 4, *lengths, device="cpu", BLOCK_SIZE=size)
    tensors = inputs(lengths=lengths)
    check(ours, block_mask, tensors)
    # Passing the mask_mod alone is equivalent if the lists agree with it.
    results = [ours.flex_attention(*tensors, None, mask, enable_gqa=True, backend="interpret")
               for mask in (block_mask, block_mask.mask_mod)]
    torch.testing.assert_close(*results, rtol=1e-6, atol=1e-6)


def test_lists_of_int64(ours):
    block_mask = drawn(4, 1, 4, (32, 16))
    block_mask.kv_num_blocks, block_mask.full_kv_indices = block_mask.kv_num_blocks.long(), block_mask.full_kv_indices.long()
    check(ours, block_mask, inputs())


def test_lists_are_read_at_each_call(ours):
    block_mask = drawn(5, 1, 1, (32, 16))
    before, _ = check(ours, block_mask, inputs())
    block_mask.kv_num_blocks.zero_()
    after, _ = check(ours, block_mask, inputs())
    block_mask.full_kv_num_blocks = block_mask.full_kv_num_blocks // 2  # other tensors in the same BlockMask
    assert not torch.equal(before, after) and not torch.equal(after, check(ours, block_mask, inputs())[0])
    block_mask.mask_mod = variants.causal
    check(ours, block_mask, inputs())


def test_pieces_of_block_masks(ours):
    whole = flex.create_block_mask(variants.by_head, 2, 4, 256, 256, device="cpu", BLOCK_SIZE=32)
    cropped = whole._adjust(*LENGTHS)
    check(ours, cropped, inputs())
    piece = whole[:1, 2:3, :]
    with pytest.raises(RuntimeError, match="a sliced BlockMask has no mask_mod"):
        ours.flex_attention(*inputs(lengths=(256, 256)), None, piece, enable_gqa=True, backend="interpret")
    piece.mask_mod = lambda b, h, q_idx, kv_idx: variants.by_head(b, h + 2, q_idx, kv_idx)
    check(ours, piece, inputs(batch=1, heads=1, kv_heads=1, lengths=(256, 256)))
    # Every second head: lists with strides.
    strided = whole[:, ::2]
    strided.mask_mod = lambda b, h, q_idx, kv_idx: variants.by_head(b, 2 * h, q_idx, kv_idx)
    check(ours, strided, inputs(heads=2, lengths=(256, 256)))


def test_block_masks_without_a_mask(ours):
    tensors = inputs()
    plain = ours.flex_attention(*tensors, enable_gqa=True, backend="interpret")
    for empty in (flex._create_empty_block_mask(*tensors[:2]),
                  flex.create_block_mask(flex.noop_mask, None, None, *LENGTHS, device="cpu")):
        found = ours.flex_attention(*tensors, None, empty, enable_gqa=True, backend="interpret")
        torch.testing.assert_close(found, plain, rtol=1e-6, atol=1e-6)


def test_one_batch_of_keys(ours):
    q, k, v = inputs()
    check(ours, drawn(6, 2, 1, (32, 16)), (q, k[:1], v[:1]))


def with_captures(score, b, h, q_idx, kv_idx):
    return score * GAINS[h, q_idx] + 0.1 * q_idx + 0.01 * kv_idx * (b + h)


GAINS = torch.linspace(0.5, 1.5, 4 * 100).view(4, 100)


@pytest.mark.parametrize("queries", [1, 7, 100])
@pytest.mark.parametrize("size", [(1, 64), (40, 32), (24, 16)])
@pytest.mark.parametrize("batch, heads", [(1, 1), (2, 4)])
def test_blocks_of_any_rows(ours, size, queries, batch, heads):
    """The query block size need not be a multiple of 16: one query in decoding."""
    lengths = (queries, 150)
    block_mask = drawn(queries, batch, heads, size, lengths, mask_mod=variants.by_head)
    check(ours, block_mask, inputs(lengths=lengths), with_captures)
    if size != (24, 16):
        for level in ("tile", "warp"):
            check(ours, block_mask, inputs(lengths=lengths, dtype=torch.float16), with_captures, level, 5e-3)


@pytest.mark.parametrize("size, lengths", [((10, 10), (100, 150)), ((60, 20), (120, 40)), ((16, 24), (100, 150)),
                                           ((1, 7), (9, 300)), ((1000, 50), (300, 150)), ((10, 200), (300, 150))])
@pytest.mark.parametrize("batch, heads, mask_mod, full", [(1, 1, None, True), (2, 4, variants.by_head, True),
                                                          (2, 1, variants.causal, False)])
def test_blocks_of_any_keys(ours, size, lengths, batch, heads, mask_mod, full):
    """With block sizes that tiles don't divide, the lists decide, and mask_mod applies in partial blocks only."""
    block_mask = drawn(sum(size), batch, heads, size, lengths, mask_mod=mask_mod, full=full)
    check(ours, block_mask, inputs(lengths=lengths), with_captures if lengths[0] == 100 else None)
    if size in ((60, 20), (1, 7)):
        for level in ("tile", "warp"):
            check(ours, block_mask, inputs(lengths=lengths, dtype=torch.float16), None, level, 5e-3)


@pytest.mark.parametrize("lengths, size", [((10, 10), (10, 10)), ((6, 10), (6, 10)), ((100, 100), (100, 100)),
                                           ((90, 64), (45, 32)), ((90, 70), (45, 70)), ((65, 256), (65, 256))])
def test_one_block_of_keys(ours, lengths, size):
    made = flex.create_block_mask(variants.causal, None, None, *lengths, device="cpu", BLOCK_SIZE=size)
    for level in ("tile", "warp"):
        check(ours, made, inputs(lengths=lengths, dtype=torch.float16), None, level, 5e-3)


def test_one_huge_block(ours):
    """A block larger than all keys processes no tiles without keys."""
    tensors = inputs(dtype=torch.float16)
    made = flex._create_empty_block_mask(*tensors[:2])
    assert min(made.BLOCK_SIZE) >= 1 << 29
    check(ours, made, tensors, None, "tile", 5e-3)
    nothing = drawn(1, 2, 4, (128, 1 << 20), mask_mod=None, full=False)
    nothing.kv_num_blocks.zero_()
    assert (check(ours, nothing, tensors, None, "tile", 5e-3)[0] == 0).all()


def test_lists_of_any_keys_are_read_at_each_call(ours):
    block_mask = drawn(9, 1, 4, (10, 10), mask_mod=variants.causal)
    before, _ = check(ours, block_mask, inputs())
    block_mask.full_kv_num_blocks.zero_()
    after, _ = check(ours, block_mask, inputs())
    assert not torch.equal(before, after)


def test_blocks_of_any_rows_have_one_program(ours, monkeypatch):
    """One block for all lengths, also as PyTorch creates it."""
    from fovea.torch.cache import _programs

    programs = []
    original = _programs.build
    monkeypatch.setattr(_programs, "build", lambda *args: programs.append(original(*args)) or programs[-1])
    for queries in (1, 5, 9):
        made = flex.create_block_mask(variants.causal, None, None, queries, 150, device="cpu", BLOCK_SIZE=(1, 64))
        check(ours, made, inputs(lengths=(queries, 150)))
        check(ours, made, inputs(lengths=(queries, 150)))
    assert len(programs) == 2


def test_block_masks_that_are_refused(fovea, ours):
    def refuse(kind, message, block_mask, tensors=None, level="attn"):
        with pytest.raises(kind, match=message):
            ours.flex_attention(*(tensors or inputs()), None, block_mask, enable_gqa=True, backend=f"interpret:{level}")

    made = drawn(7, 2, 4, (32, 16))
    refuse(ValueError, "created for 100 queries and 150 keys, found 33 and 150", made, inputs(lengths=(33, 150)))
    refuse(ValueError, "block_mask has 2 batch entries, expected 1 or 3", made, inputs(batch=3))
    refuse(ValueError, "block_mask has 4 heads, expected 1 or 2", made, inputs(heads=2))
    flat = flex.BlockMask.from_kv_blocks(made.kv_num_blocks[0], made.kv_indices[0], BLOCK_SIZE=(32, 16), seq_lengths=LENGTHS,
                                         compute_q_blocks=False)
    refuse(ValueError, "must have a batch and heads", flat)
    short = flex.BlockMask.from_kv_blocks(made.kv_num_blocks[:, :, :2], made.kv_indices[:, :, :2], BLOCK_SIZE=(32, 16),
                                          seq_lengths=LENGTHS, compute_q_blocks=False)
    refuse((ValueError, fovea.Error), "Qblocks", short)
    odd = drawn(8, 1, 1, (40, 24))
    odd.kv_num_blocks, odd.kv_indices = odd.kv_num_blocks[:, :, :2], odd.kv_indices[:, :, :2]
    odd.full_kv_num_blocks, odd.full_kv_indices = odd.full_kv_num_blocks[:, :, :2], odd.full_kv_indices[:, :, :2]
    refuse(ValueError, "block_mask lists 2 blocks of 40 queries .*, found 100 queries", odd)


def test_lists_stay_in_the_graph(ours):
    """Under torch.compile lists are inputs of the graph: other lists use the same graph."""
    graphs = []

    def keep(graph, _):
        graphs.append(graph)
        return graph

    def model(q, k, v, block_mask):
        return ours.flex_attention(q, k, v, None, block_mask, enable_gqa=True, backend="interpret") + 1

    compiled = torch.compile(model, backend=keep, fullgraph=True)
    with torch.no_grad():
        for seed in range(3):
            block_mask = drawn(seed, 2, 1, (32, 16), mask_mod=variants.causal)
            torch.testing.assert_close(compiled(*inputs(), block_mask), model(*inputs(), block_mask))
    assert len(graphs) == 1


def test_blocks_of_any_rows_in_the_graph(ours):
    def model(q, k, v, block_mask):
        return ours.flex_attention(q, k, v, with_captures, block_mask, enable_gqa=True, backend="interpret") + 1

    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    with torch.no_grad():
        for queries in (1, 7, 12):
            made = flex.create_block_mask(variants.causal, None, None, queries, 150, device="cpu", BLOCK_SIZE=(1, 64))
            tensors = inputs(lengths=(queries, 150))
            torch.testing.assert_close(compiled(*tensors, made), model(*tensors, made))


@pytest.mark.parametrize("dynamic", [False, True])
def test_blocks_of_any_keys_in_the_graph(ours, dynamic):
    def model(q, k, v, block_mask):
        return ours.flex_attention(q, k, v, None, block_mask, enable_gqa=True, backend="interpret") + 1

    compiled = torch.compile(model, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    with torch.no_grad():
        for seed, lengths in enumerate([LENGTHS, (120, 90)]):
            made = drawn(seed, 2, 4, (10, 20), lengths, mask_mod=variants.causal)
            tensors = inputs(lengths=lengths)
            torch.testing.assert_close(compiled(*tensors, made), model(*tensors, made))
