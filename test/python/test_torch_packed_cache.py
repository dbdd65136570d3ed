"""Packed queries over KV caches: attention_with_kvcache(cu_seq_q=) and varlen_attn(block_table=)."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from test_torch_compile import Graphs  # noqa: E402
from test_torch_kvcache import DIM, LENGTHS, caches, check, ours, reference  # noqa: E402, F401

#: A chunk of a prompt, a sequence that is decoded, and one without keys or queries.
OFFSETS = (0, 70, 71, 71)


def packed(dtype, heads=4):
    pools, table, lengths = caches(dtype)
    q = torch.randn(OFFSETS[-1], heads, DIM).to(dtype)
    return q, pools, {"lengths": lengths, "page_table": table, "cu_seq_q": torch.tensor(OFFSETS, dtype=torch.int32)}


def expected_of(q, pools, table, lengths, **options):
    """Attention of each sequence alone."""
    o, lse = torch.zeros(*q.shape[:2], pools[1].shape[3], dtype=torch.float64), torch.zeros(q.shape[1], q.shape[0], dtype=torch.float64)
    for b, (first, end) in enumerate(zip(OFFSETS, OFFSETS[1:])):
        rows = None if table is None else table[b : b + 1]
        own = pools if table is not None else [pool[b : b + 1] for pool in pools]
        found = reference(q[None, first:end], own, rows, lengths[b : b + 1], **options)
        o[first:end], lse[:, first:end] = found[0][0], found[1][0]
    return o, lse


@pytest.mark.parametrize("backend, dtype", [
    ("interpret", torch.float32), ("interpret:tile", torch.bfloat16), ("ptx", torch.bfloat16), ("ptx:sm_80", torch.float16),
])
@pytest.mark.parametrize("max_q", [None, 70, 1])
def test_pages(ours, backend, dtype, max_q):  # noqa: F811
    q, pools, lists = packed(dtype)
    found = ours.attention_with_kvcache(q, *pools, **lists, max_q=max_q, causal=True, return_lse=True, backend=backend)
    assert found[0].shape == q.shape and found[1].shape == (4, 71)
    expected = expected_of(q, pools, lists["page_table"], lists["lengths"], mask=lambda p, i, j: j <= p)
    check(found, expected, 1e-5 if dtype == torch.float32 else 2e-2)


def test_lengths_functions_and_out(ours):  # noqa: F811
    pools, slopes, sinks = [torch.randn(3, 160, 2, DIM) for _ in range(2)], torch.rand(4), torch.randn(4)
    q, lengths = torch.randn(71, 4, DIM), torch.tensor(LENGTHS, dtype=torch.int32)
    options = {"lengths": lengths, "cu_seq_q": torch.tensor(OFFSETS, dtype=torch.int32), "backend": "interpret"}
    out = torch.empty_like(q)
    o, lse = ours.attention_with_kvcache(
        q, *pools, **options, window=(70, 3), return_lse=True, out=out, score_mod=lambda s, b, h, i, j: s + slopes[h] * (j - i) / 50)
    assert o is out
    expected = expected_of(q, pools, None, lengths, mask=lambda p, i, j: (j >= p - 70) & (j <= p + 3),
                           score=lambda s, h, i, j: s + slopes[h].double() * (j - i) / 50)
    check((o, lse), expected, 1e-4)
    lonely = ours.attention_with_kvcache(q, *pools, **options, sinks=sinks)
    _, lse = expected_of(q, pools, None, lengths)
    share = 1 / (1 + torch.exp(sinks.double()[:, None] - lse))
    check((lonely,), (expected_of(q, pools, None, lengths)[0] * share.T[..., None],), 1e-4)


def listed(table, lengths, page):
    """The pages of a table that have keys, as (indices, indptr)."""
    rows = [row[:-(-length // page)] for row, length in zip(table, lengths.tolist())]
    return torch.cat(rows), torch.tensor([0] + [len(row) for row in rows]).cumsum(0).int()


@pytest.mark.parametrize("backend", ["interpret", "ptx", "ptx:sm_80"])
def test_pages_in_one_list(ours, backend):  # noqa: F811
    """The same bits as with a table, for packed and other queries."""
    q, pools, lists = packed(torch.bfloat16)
    pair = listed(lists["page_table"], lists["lengths"], pools[0].shape[1])
    options = {"lengths": lists["lengths"], "causal": True, "backend": backend}
    for queries, offsets in ((q, lists["cu_seq_q"]), (torch.randn(3, 2, 4, DIM).bfloat16(), None)):
        expected = ours.attention_with_kvcache(queries, *pools, page_table=lists["page_table"], cu_seq_q=offsets, **options)
        assert torch.equal(ours.attention_with_kvcache(queries, *pools, page_table=pair, cu_seq_q=offsets, **options), expected)


@pytest.mark.parametrize("change, error, message", [
    (lambda pages, starts: (pages,), ValueError, r"page_table must be a tensor or \(indices, indptr\), found 1 tensors"),
    (lambda pages, starts: (pages.float(), starts), ValueError, "page_indices must be of torch.int32 or torch.int64, found torch.float32"),
    (lambda pages, starts: (pages, starts[1:]), ValueError, r"page_indptr must have the shape \(batch \+ 1,\) with batch 3"),
    (lambda pages, starts: (pages[None], starts), ValueError, r"page_indices must have the shape \(pages of all sequences,\)"),
    (lambda pages, starts: (pages[:0], starts), ValueError, "k_cache and page_indices must have pages, found"),
    (lambda pages, starts: (pages, starts.flip(0)), ValueError, "page_indptr must ascend from 0 to the"),
    (lambda pages, starts: (pages + 100, starts), ValueError, r"page_indices must hold pages from 0 to \d+, found \d+ at \[0\]"),
    (lambda pages, starts: (pages, starts - starts.clamp(max=1)), ValueError, r"lengths must be from 0 to \d+, found \d+ for batch entry 0"),
])
def test_refused_lists(ours, change, error, message):  # noqa: F811
    q, pools, lists = packed(torch.float32)
    pair = change(*listed(lists["page_table"], lists["lengths"], pools[0].shape[1]))
    with pytest.raises(error, match=message):
        ours.attention_with_kvcache(q, *pools, page_table=pair, lengths=lists["lengths"], cu_seq_q=lists["cu_seq_q"], backend="interpret")


def test_order_of_lists():
    """A CUDA launch passes integers in the order of LISTS, other code in that of lists_of."""
    import fovea
    from fovea.frontend._program import LISTS, lists_of

    forms = {"table": fovea.Paged(page=16), "list": fovea.Paged(page=16, listed=True), "lengths": "lengths", "packed": "packed"}
    for form, sequences in forms.items():
        for queries in ("dense", "packed") if form != "packed" else ("dense",):
            spec = fovea.attention(head_dim=DIM, heads=4, kv_heads=2, queries=queries, sequences=sequences)
            names = lists_of(spec.mlir)
            assert names == tuple(sorted(names, key=LISTS.index)), (form, queries)


def test_invariant(ours):  # noqa: F811
    """A kernel of one sequence's own pieces: the same bits alone and beside others, whatever the hint."""
    q, pools, lists = packed(torch.bfloat16)
    options = {"causal": True, "return_lse": True, "backend": "ptx"}
    together = ours.attention_with_kvcache(q, *pools, **lists, invariant=True, **options)
    first, end = OFFSETS[:2]
    own = {"cu_seq_q": torch.tensor([0, end - first], dtype=torch.int32), "page_table": lists["page_table"][:1], "lengths": lists["lengths"][:1]}
    alone = ours.attention_with_kvcache(q[first:end], *pools, **own, max_q=end - first, invariant=True, **options)
    assert torch.equal(alone[0], together[0][first:end]) and torch.equal(alone[1], together[1][:, first:end])
    varlen = ours.varlen_attn(q, *pools, lists["cu_seq_q"], None, 70, 150, window_size=(-1, 0), block_table=lists["page_table"],
                              seqused_k=lists["lengths"], enable_gqa=True, num_splits=1, backend="ptx")
    assert torch.equal(varlen, together[0])


def test_varlen_attn_over_pages(ours):  # noqa: F811
    q, pools, lists = packed(torch.float32)
    aux = type("AuxRequest", (), {"lse": True})
    offsets, table, lengths = lists["cu_seq_q"], lists["page_table"], lists["lengths"]
    options = {"block_table": table, "seqused_k": lengths, "enable_gqa": True, "backend": "interpret"}
    found = ours.varlen_attn(q, *pools, offsets, None, 70, 150, window_size=(-1, 0), return_aux=aux, **options)
    check(found, expected_of(q, pools, table, lengths, mask=lambda p, i, j: j <= p), 1e-5)


@pytest.mark.parametrize("change, error, message", [
    ({"num_splits": 2}, NotImplementedError, "num_splits is 2, but a kernel finds the parts"),
    ({"seqused_k": None}, ValueError, "block_table needs seqused_k"),
    ({"block_table": None}, NotImplementedError, "seqused_k can't be given without block_table"),
    ({"enable_gqa": False}, ValueError, "query has 4 heads, but key has 2"),
    ({"cu_seq_k": torch.tensor([0, 1, 2, 3], dtype=torch.int32)}, ValueError, "cu_seq_k must be None with block_table"),
])
def test_refused_varlen_calls(ours, change, error, message):  # noqa: F811
    q, pools, lists = packed(torch.float32)
    options = {"block_table": lists["page_table"], "seqused_k": lists["lengths"], "enable_gqa": True, "cu_seq_k": None, **change}
    with pytest.raises(error, match=message):
        ours.varlen_attn(q, *pools, lists["cu_seq_q"], options.pop("cu_seq_k"), 70, 150, backend="interpret", **options)


@pytest.mark.parametrize("change, error, message", [
    ({"cu_seq_q": torch.tensor([0.0, 1.0, 2.0])}, ValueError, "cu_seq_q must be of torch.int32 or torch.int64, found torch.float32"),
    ({"cu_seq_q": torch.tensor([[0]], dtype=torch.int32)}, ValueError, r"cu_seq_q must have the shape \(batch \+ 1,\), found \[1, 1\]"),
    ({"cu_seq_q": [0, 70]}, TypeError, "cu_seq_q must be a PyTorch tensor, found list"),
    ({"cu_seq_q": torch.tensor([0, 71], dtype=torch.int32)}, ValueError, "with batch 1, found"),
    ({"cu_seq_q": torch.tensor([0, 70, 60, 71], dtype=torch.int32)}, Exception, "'cu_q' must be ascending"),
    ({"q": torch.randn(1, 71, 4, DIM)}, ValueError, "q must have 3 dimensions with cu_seq_q, found 4"),
    ({"cu_seq_q": None}, ValueError, "q must have 4 dimensions, found 3"),
    ({"max_q": -1}, ValueError, "max_q must be an integer of at least 0, or None, found -1"),
    ({"max_q": 2.5}, ValueError, "max_q must be an integer"),
    ({"invariant": 1}, TypeError, "invariant must be True or False, found 1"),
])
def test_refused_calls(ours, change, error, message):  # noqa: F811
    q, pools, lists = packed(torch.float32)
    options = {**lists, "backend": "interpret", "q": q, **change}
    with pytest.raises(error, match=message):
        ours.attention_with_kvcache(options.pop("q"), *pools, **options)


@pytest.mark.parametrize("dynamic", [None, True])
def test_torch_compile(ours, dynamic):  # noqa: F811
    """One graph; offsets, lengths and pages are inputs, whose sizes are open after one recompilation."""
    torch.compiler.reset()

    def call(q, k_cache, v_cache, offsets, lengths, table):
        return ours.attention_with_kvcache(q * 2, k_cache, v_cache, cu_seq_q=offsets, lengths=lengths, page_table=table, causal=True,
                                           backend="interpret") + 1

    graphs = Graphs()
    compiled = graphs.compile(call, dynamic=dynamic)
    for batch, total in ((5, 12), (6, 40), (7, 33)):
        offsets = torch.randint(total + 1, (batch + 1,)).sort().values.int()
        offsets[0], offsets[-1] = 0, total
        given = (torch.randn(total, 4, DIM), *(torch.randn(9, 16, 2, DIM) for _ in range(2)), offsets,
                 torch.randint(1, 48, (batch,)).int(), torch.randint(9, (batch, 3)).int())
        torch.testing.assert_close(compiled(*given), call(*given), rtol=1e-5, atol=1e-5)
    assert graphs.count <= 2 and any("fovea.attention" in one for one in graphs.targets())


def test_ahead_of_time(fovea):
    """fovea.attention(queries="packed") has the same kernel without PyTorch."""
    import numpy

    spec = fovea.attention(head_dim=DIM, heads=4, kv_heads=2, queries="packed", most_queries=16, sequences=fovea.Paged(page=64))
    assert "packed(%cu_q : tensor<?xi32>, most = 16) paged(%page_table, %lengths :" in spec.mlir
    q, pools, lists = packed(torch.float32)
    arguments = {"k": pools[0].transpose(1, 2).nan_to_num().numpy(), "v": pools[1].transpose(1, 2).nan_to_num().numpy()}
    table = lists["page_table"].clamp(0, 9).numpy()
    o, lse = fovea.compile(spec, "sm_90a").interpret(
        q=q.transpose(0, 1)[None].numpy(), **arguments, cu_q=numpy.array(OFFSETS, dtype=numpy.int32), page_table=table,
        lengths=lists["lengths"].numpy())
    expected = expected_of(q, pools, lists["page_table"], lists["lengths"])
    check((torch.from_numpy(o)[0].transpose(0, 1), torch.from_numpy(lse)[0]), expected, 2e-2)
    for options, message in (({"most_queries": 4}, "most_queries needs queries='packed' and keys that are not packed, found 4"),
                             ({"queries": "all"}, "queries must be 'dense' or 'packed', found 'all'"),
                             ({"queries": "packed", "batch": 2}, "each call determines the number of sequences, found batch 2"),
                             ({"queries": "packed", "blocks": (128, 128)}, "queries that are not packed"),
                             ({"queries": "packed", "gradient": True}, "gradients only with sequences='packed'")):
        with pytest.raises(ValueError, match=message):
            fovea.attention(head_dim=DIM, **options)
