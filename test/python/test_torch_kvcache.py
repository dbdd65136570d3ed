"""fovea.torch.attention_with_kvcache: attention over contiguous caches and caches in pages."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from test_torch_backward_calls import START, check_steps, run_on_stand_in  # noqa: E402
from test_torch_compile import Graphs  # noqa: E402

DIM, PAGE = 32, 64
LENGTHS = (150, 64, 0)
TABLE = ((7, 2, 9), (2, -1, 77), (5, 5, 5))


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.torch

    return fovea.torch


def caches(dtype, kv_heads=2, page=PAGE, dim=DIM, pages=10):
    """Pools with NaN in rows that no sequence uses, page tables and lengths."""
    generator = torch.Generator().manual_seed(0)
    pools = [torch.randn(pages, page, kv_heads, dim, generator=generator).to(dtype) for _ in range(2)]
    used = torch.zeros(pages, page, dtype=torch.bool)
    for row, length in zip(TABLE, LENGTHS):
        for j in range(length):
            used[row[j // page], j % page] = True
    for pool in pools:
        pool[~used] = float("nan")
    return pools, torch.tensor(TABLE, dtype=torch.int32), torch.tensor(LENGTHS, dtype=torch.int32)


def reference(q, pools, table, lengths, mask=None, score=None, scale=None):
    """Attention of each query over its keys, in f64. `mask` and `score` get (p, i, j): position, query, key."""
    batch, queries, heads, dim = q.shape
    kv_heads, page = pools[0].shape[2], pools[0].shape[1]
    o, lse = torch.zeros(batch, queries, heads, pools[1].shape[3], dtype=torch.float64), torch.full((batch, heads, queries), -torch.inf, dtype=torch.float64)
    for b in range(batch):
        n = int(lengths[b])
        if table is None:
            rows = [pool[b, :n] for pool in pools]
        else:
            rows = [torch.stack([pool[table[b, j // page], j % page] for j in range(n)]) if n else pool[0, :0] for pool in pools]
        for h in range(heads):
            k, v = (one[:, h // (heads // kv_heads)].double() for one in rows)
            s = q[b, :, h].double() @ k.T * (dim ** -0.5 if scale is None else scale)
            i, j = torch.arange(queries)[:, None], torch.arange(n)[None]
            s = s if score is None else score(s, h, i, j)
            if mask is not None:
                s = s.masked_fill(~mask(i + n - queries, i, j), -torch.inf)
            seen = s.isfinite().any(1)
            if n and seen.any():
                o[b, seen, h] = torch.softmax(s[seen], 1) @ v
                lse[b, h, seen] = torch.logsumexp(s[seen], 1)
    return o, lse


def check(found, expected, tolerance):
    for one, other in zip(found, expected):
        torch.testing.assert_close(one.double(), other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("backend, dtype", [
    ("interpret", torch.float32), ("interpret:tile", torch.bfloat16), ("interpret:warp", torch.float16),
    ("ptx", torch.bfloat16), ("ptx:sm_80", torch.float16),
])
def test_pages(ours, backend, dtype):
    pools, table, lengths = caches(dtype)
    q = torch.randn(3, 20, 4, DIM).to(dtype)
    found = ours.attention_with_kvcache(q, *pools, lengths=lengths, page_table=table, causal=True, return_lse=True, backend=backend)
    assert found[0].shape == q.shape and found[1].shape == (3, 4, 20)
    check(found, reference(q, pools, table, lengths, mask=lambda p, i, j: j <= p), 1e-5 if dtype == torch.float32 else 2e-2)


@pytest.mark.parametrize("backend", ["interpret:tile", "ptx", "ptx:sm_80"])
@pytest.mark.parametrize("page, queries", [(1, 1), (3, 20), (12, 2), (20, 1)])
def test_pages_of_any_size(ours, backend, page, queries):
    """Rows that no sequence has are NaN, and entries of the table beyond a sequence's last page are no pages."""
    lengths, capacity = (90, 7, 0), -(-90 // page)
    table = torch.randperm(3 * capacity).int().reshape(3, capacity)
    pools = [torch.full((3 * capacity, page, 2, DIM), torch.nan, dtype=torch.bfloat16) for _ in range(2)]
    for entry, length in enumerate(lengths):
        for j in range(length):
            for pool in pools:
                pool[table[entry, j // page], j % page] = torch.randn(2, DIM).bfloat16()
        table[entry, -(-length // page):] = -5
    q, lengths = torch.randn(3, queries, 4, DIM).bfloat16(), torch.tensor(lengths, dtype=torch.int32)
    found = ours.attention_with_kvcache(q, *pools, lengths=lengths, page_table=table, causal=True, return_lse=True, backend=backend)
    check(found, reference(q, pools, table, lengths, mask=lambda p, i, j: j <= p), 2e-2)


def test_other_pages_with_the_same_keys_give_the_same_bits(ours):
    pools, table, lengths = caches(torch.bfloat16)
    q = torch.randn(3, 4, 4, DIM).bfloat16()
    order = torch.randperm(10)
    moved, place = [pool[order] for pool in pools], torch.argsort(order).int()
    other = place[table.clamp(0, 9).long()]
    first, second = (ours.attention_with_kvcache(q, *given, lengths=lengths, page_table=one, backend="ptx", return_lse=True)
                     for given, one in ((pools, table), (moved, other)))
    assert all(map(torch.equal, first, second))


def test_functions(ours):
    """score_mod and mask_mod get queries of the call and keys of the sequence; captured tensors are read."""
    pools, table, lengths = caches(torch.float32)
    q, slopes = torch.randn(3, 20, 4, DIM), torch.rand(4)
    found = ours.attention_with_kvcache(
        q, *pools, lengths=lengths, page_table=table, window=(70, 3), scale=0.25, return_lse=True, backend="interpret",
        score_mod=lambda s, b, h, i, j: s + slopes[h] * j, mask_mod=lambda b, h, i, j: (i + j) % 3 != 0)
    expected = reference(q, pools, table, lengths, lambda p, i, j: (j >= p - 70) & (j <= p + 3) & ((i + j) % 3 != 0),
                         lambda s, h, i, j: s + slopes[h].double() * j, scale=0.25)
    check(found, expected, 1e-4)  # scores up to 150


def test_contiguous_caches(ours):
    pools = [torch.randn(3, 160, 2, DIM) for _ in range(2)]
    q, lengths = torch.randn(3, 5, 2, DIM), torch.tensor(LENGTHS, dtype=torch.int32)
    found = ours.attention_with_kvcache(q, *pools, lengths=lengths, causal=True, return_lse=True, backend="interpret")
    check(found, reference(q, pools, None, lengths, mask=lambda p, i, j: j <= p), 1e-5)


def test_batch_entries_of_a_cache(ours):
    """A contiguous cache is a pool with one page for each entry."""
    pools, q, lengths = [torch.randn(5, 160, 2, DIM) for _ in range(2)], torch.randn(3, 5, 4, DIM), torch.tensor(LENGTHS, dtype=torch.int32)
    entries = torch.tensor([4, 0, 2])
    expected = ours.attention_with_kvcache(q, *(pool[entries] for pool in pools), lengths=lengths, causal=True, backend="interpret")
    found = ours.attention_with_kvcache(q, *pools, lengths=lengths, page_table=entries.int()[:, None], causal=True, backend="interpret")
    torch.testing.assert_close(found, expected)


def test_int64(ours):
    pools, table, lengths = caches(torch.float32)
    q = torch.randn(3, 5, 4, DIM)
    expected = ours.attention_with_kvcache(q, *pools, lengths=lengths, page_table=table, causal=True, backend="interpret")
    found = ours.attention_with_kvcache(q, *pools, lengths=lengths.long(), page_table=table.long(), causal=True, backend="interpret")
    assert torch.equal(found, expected)


def test_one_pool_and_other_orders_of_dimensions(ours):
    """Views of (pages, 2, page, kv_heads, head_dim), and of (pages, kv_heads, page, head_dim)."""
    pools, table, lengths = caches(torch.bfloat16)
    q = torch.randn(3, 1, 8, DIM).bfloat16()
    options = {"lengths": lengths, "page_table": table, "backend": "ptx:sm_80"}
    expected = ours.attention_with_kvcache(q, *pools, **options)
    check((expected,), reference(q, pools, table, lengths)[:1], 2e-2)
    assert torch.equal(ours.attention_with_kvcache(q, *torch.stack(pools, 1).unbind(1), **options), expected)
    by_heads = [pool.transpose(1, 2).contiguous().transpose(1, 2) for pool in pools]
    assert torch.equal(ours.attention_with_kvcache(q, *by_heads, **options), expected)


@pytest.mark.parametrize("change, error, message", [
    ({"page_table": "float"}, ValueError, "page_table must be of torch.int32 or torch.int64, found torch.float32"),
    ({"page_table": "far"}, ValueError, r"page_table must hold pages from 0 to 9, found 2147483647 at \[0, 0\]"),
    ({"page_table": "flat"}, ValueError, r"page_table must have the shape \(batch, pages of a sequence\) with batch 3, found \[9\]"),
    ({"lengths": torch.tensor([1, 2], dtype=torch.int32)}, ValueError, r"lengths must have the shape \(batch,\) with batch 3"),
    ({"lengths": (1, 2, 3)}, TypeError, "lengths must be a PyTorch tensor, found tuple"),
    ({"lengths": torch.tensor([200, 0, 0], dtype=torch.int32)}, ValueError, "lengths must be from 0 to 192, found 200 for batch entry 0"),
    ({"lengths": torch.tensor([0, 65, 0], dtype=torch.int32)}, ValueError, r"page_table must hold pages from 0 to 9, found -1 at \[1, 1\]"),
    ({"dim": 36}, ValueError, "head dims must be multiples of 8"),
    ({"window": (1, -1)}, ValueError, "integers of at least 0"),
    ({"window": 3}, ValueError, r"window must be \(left, right\), found 3"),
    ({"device": "meta"}, ValueError, "q, k_cache and v_cache must be on one device, found cpu and meta"),
    ({"pages": 0}, ValueError, r"k_cache and page_table must have pages, found \[0, "),
    ({"mask_mod": 3}, TypeError, "mask_mod must be a function, found int"),
    ({"backend": "cuda"}, ValueError, "runs on cuda, found q on cpu"),
    ({"requires_grad": True}, NotImplementedError, "attention_with_kvcache has no gradients: call it under torch.no_grad"),
    ({"page_table": None}, ValueError, "without page_table, k_cache must have one batch entry per sequence, found 10 and 3"),
])
def test_refused_calls(ours, change, error, message):
    change = dict(change)
    dim, rows = change.pop("dim", DIM), change.pop("page", PAGE)
    pools, table, lengths = caches(torch.float32, dim=dim)
    count, device = change.pop("pages", 10), change.pop("device", "cpu")
    pools = [pool[:count, :rows].to(device) for pool in pools]
    q = torch.randn(3, 4, 4, dim, requires_grad=change.pop("requires_grad", False))
    options = {"lengths": lengths, "page_table": table, "backend": "interpret", **change}
    tables = {"float": table.float(), "far": table.long() + (1 << 32), "flat": table.flatten()}
    if isinstance(options["page_table"], str):
        options["page_table"] = tables[options["page_table"]]
    with pytest.raises(error, match=message):
        ours.attention_with_kvcache(q, *pools, **options)


# --- torch.compile ----------------------------------------------------------------------------------


def call_with_cache(ours, **options):
    """A function of a call with a capture, arithmetic before and after it."""

    def call(q, k_cache, v_cache, lengths, table, slopes):
        o, lse = ours.attention_with_kvcache(
            q * 2, k_cache, v_cache, lengths=lengths, page_table=table, causal=True, return_lse=True, backend="interpret",
            score_mod=lambda s, b, h, i, j: s + slopes[h] * j, **options)
        return o + 1, lse * 2

    return call


@pytest.mark.parametrize("graphs", ["eager", "aot_eager"])
@pytest.mark.parametrize("queries, kv_heads", [(1, 2), (4, 4), (20, 2)])
def test_torch_compile(ours, graphs, queries, kv_heads):
    """One graph, with the op, for packed and other heads; lengths and pages are inputs."""
    torch.compiler.reset()
    pools, table, lengths = caches(torch.float32, kv_heads)
    graphs, call = Graphs(graphs), call_with_cache(ours, window=(70, None))
    compiled, q, slopes = graphs.compile(call), torch.randn(3, queries, 4, DIM), torch.rand(4)
    for given in (lengths, lengths.clamp(max=70)):
        results = [function(q, *pools, given, table, slopes) for function in (compiled, call)]
        torch.testing.assert_close(*results, rtol=1e-6, atol=1e-6)
    assert graphs.count == 1 and any("fovea.attention" in one for one in graphs.targets())


@pytest.mark.parametrize("paged", [True, False])
@pytest.mark.parametrize("dynamic", [None, True])
def test_torch_compile_with_other_sizes(ours, paged, dynamic):
    """Batch sizes, pages and lengths of tables are open after at most one recompilation."""
    torch.compiler.reset()
    graphs, call = Graphs(), call_with_cache(ours)
    compiled = graphs.compile(call, dynamic=dynamic)
    for batch, pages in ((5, 9), (6, 11), (7, 12)):  # torch.compile unifies equal sizes of the first call
        pools = [torch.randn(pages if paged else batch, PAGE if paged else 16 * pages, 2, DIM) for _ in range(2)]
        table = torch.randint(pages, (batch, pages + 1)).int() if paged else None
        given = torch.randn(batch, 3, 4, DIM), *pools, torch.randint(1, 16 * pages, (batch,)).int(), table, torch.rand(4)
        torch.testing.assert_close(compiled(*given), call(*given), rtol=1e-6, atol=1e-6)
    assert graphs.count == (1 if dynamic else 2)


def test_torch_compile_specialises_packed_queries(ours):
    """The number of queries is a constant of the program as long as heads are packed."""
    torch.compiler.reset()
    pools, table, lengths = caches(torch.float32)
    graphs, call = Graphs(), call_with_cache(ours)
    compiled = graphs.compile(call, dynamic=True)
    for queries, count in ((3, 1), (5, 2), (3, 2), (18, 3), (20, 3)):
        given = torch.randn(3, queries, 4, DIM), *pools, lengths, table, torch.rand(4)
        torch.testing.assert_close(compiled(*given), call(*given), rtol=1e-6, atol=1e-6)
        assert graphs.count == count, queries


def test_torch_compile_and_sinks(ours):
    torch.compiler.reset()
    pools, table, lengths = caches(torch.float32)
    q, sinks = torch.randn(3, 2, 4, DIM), torch.randn(4)

    def call(q, sinks):
        return ours.attention_with_kvcache(q, *pools, lengths=lengths, page_table=table, sinks=sinks, scale=0.5,
                                           mask_mod=lambda b, h, i, j: j % 3 != 0, backend="interpret") * 2

    graphs = Graphs()
    torch.testing.assert_close(graphs.compile(call, dynamic=True)(q, sinks), call(q, sinks))
    assert graphs.count == 1


def test_torch_compile_with_wrong_values(ours):
    """The op checks lengths, since a graph has only their shapes."""
    torch.compiler.reset()
    pools, table, lengths = caches(torch.float32)
    given = torch.randn(3, 2, 4, DIM), *pools
    compiled = torch.compile(call_with_cache(ours), backend="aot_eager", fullgraph=True)
    with pytest.raises(ValueError, match="lengths must be from 0 to 192, found 193 for batch entry 1"):
        compiled(*given, torch.tensor([1, 193, 0], dtype=torch.int32), table, torch.rand(4))


def test_a_function_that_dynamo_does_not_follow(ours):
    """The graph breaks at the call."""
    torch.compiler.reset()
    pools, table, lengths = caches(torch.float32)
    hidden = torch._dynamo.disable(lambda j: j % 2 == 0)

    def call(q, out=None):
        return ours.attention_with_kvcache(q * 1, *pools, lengths=lengths, page_table=table, backend="interpret", out=out,
                                           mask_mod=lambda b, h, i, j: hidden(j)) + 1

    q = torch.randn(3, 2, 4, DIM)
    out, expected = torch.empty_like(q), call(q)
    assert torch.equal(torch.compile(call, backend="eager")(q, out), expected) and torch.equal(out + 1, expected)


def test_exported(ours):
    pools, table, lengths = caches(torch.bfloat16)

    class Model(torch.nn.Module):
        def forward(self, q, k_cache, v_cache, lengths, table):
            return ours.attention_with_kvcache(q, k_cache, v_cache, lengths=lengths, page_table=table, causal=True, backend="interpret")

    given = torch.randn(3, 1, 8, DIM).bfloat16(), *pools, lengths, table
    batch, width = torch.export.Dim("batch", min=2), torch.export.Dim("width", min=2)
    pages = torch.export.Dim("pages", min=2)
    program = torch.export.export(Model(), given, dynamic_shapes=({0: batch}, {0: pages}, {0: pages}, {0: batch}, {0: batch, 1: width}))
    other = given[0][:2], *(pool[:8] for pool in pools), lengths[1:], table[:2, :2].clamp(0, 7)
    for one in (given, (*other[:3], lengths[1:], other[4])):
        assert torch.equal(program.module()(*one), Model()(*one))


# --- out= -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend, dtype", [("interpret", torch.float32), ("ptx", torch.bfloat16)])
def test_out(ours, backend, dtype):
    """A contiguous tensor, and rows of a larger one; NaN in `out` does not matter."""
    pools, table, lengths = caches(dtype)
    q = torch.randn(3, 2, 4, DIM).to(dtype)
    options = {"lengths": lengths, "page_table": table, "return_lse": True, "backend": backend}
    expected = ours.attention_with_kvcache(q, *pools, **options)
    whole = torch.full((3, 2, 6, 2 * DIM), torch.nan, dtype=dtype)
    for out in (torch.full_like(q, torch.nan), whole[:, :, 1:5, :DIM]):
        version = out._version
        o, lse = ours.attention_with_kvcache(q, *pools, out=out, **options)
        assert o is out and torch.equal(out, expected[0]) and torch.equal(lse, expected[1]) and out._version > version
    assert whole[:, :, [0, 5]].isnan().all() and whole[..., DIM:].isnan().all()
    out = torch.empty_like(q)
    assert ours.attention_with_kvcache(q, *pools, out=out, **{**options, "return_lse": False}) is out and torch.equal(out, expected[0])


@pytest.mark.parametrize("graphs, dynamic", [("eager", False), ("aot_eager", False), ("aot_eager", True), ("inductor", True)])
def test_out_and_torch_compile(ours, graphs, dynamic):
    """An input of the graph is written, or a tensor within it."""
    torch.compiler.reset()
    pools, table, lengths = caches(torch.float32)
    q, graphs = torch.randn(3, 2, 4, DIM), Graphs(graphs)

    def call(q, out):
        options = {"lengths": lengths, "page_table": table, "backend": "interpret"}
        first = ours.attention_with_kvcache(q * 2, *pools, out=out, **options)
        within = torch.empty_like(q)
        o, lse = ours.attention_with_kvcache(q, *pools, out=within, return_lse=True, **options)
        return first + 1, within + o, lse

    results, outs = [], [torch.zeros(3, 2, 6, DIM) for _ in range(2)]
    for function, out in zip((graphs.compile(call, dynamic=dynamic), call), outs):
        results.append(function(q, out[:, :, 1:5]))
    torch.testing.assert_close(*results, rtol=1e-6, atol=1e-6)
    assert torch.equal(*outs) and outs[0].any() and graphs.count == 1


Q = torch.randn(3, 4, 4, DIM)


@pytest.mark.parametrize("out, error, message", [
    (3, TypeError, "out must be a PyTorch tensor, found int"),
    (torch.empty(3, 4, 2, DIM), ValueError, r"out must have the shape of the output, \[3, 4, 4, 32\], found \[3, 4, 2, 32\]"),
    (torch.empty_like(Q).half(), ValueError, "out must have the output's dtype, torch.float32, found torch.float16"),
    (torch.empty_like(Q, device="meta"), ValueError, "out is on meta, but q is on cpu"),
    (torch.empty(3, 4, DIM, 4).mT, ValueError, "out must have contiguous rows that start at multiples of 16 bytes"),
    (torch.empty(3, 4, 4, DIM + 1)[..., 1:], ValueError, "out must have contiguous rows that start at multiples of 16 bytes"),
    (torch.empty(3, 4, 1, DIM).expand(-1, -1, 4, -1), ValueError, "out must not be expanded"),
    (Q, ValueError, "out must not share memory with q"),
    (torch.empty_like(Q, requires_grad=True), NotImplementedError, "attention_with_kvcache has no gradients"),
])
def test_refused_outputs(ours, out, error, message):
    pools, table, lengths = caches(torch.float32)
    with pytest.raises(error, match=message):
        ours.attention_with_kvcache(Q, *pools, lengths=lengths, page_table=table, out=out, backend="interpret")


def test_outputs_in_the_memory_of_inputs(ours):
    """Parts of one allocation are independent; a part of q or of the cache is not."""
    pools, table, lengths = caches(torch.float32)
    options = {"lengths": lengths, "page_table": table, "backend": "interpret"}
    both = torch.randn(2, 3, 4, 4, DIM)
    expected = ours.attention_with_kvcache(both[0], *pools, **options)
    assert torch.equal(ours.attention_with_kvcache(both[0], *pools, out=both[1], **options), expected)
    fused = torch.randn(3, 4, 2, 4, DIM)
    expected = ours.attention_with_kvcache(fused[:, :, 0], *pools, **options)
    assert torch.equal(ours.attention_with_kvcache(fused[:, :, 0], *pools, out=fused[:, :, 1], **options), expected)
    for q, out, name in ((both[0], both.flatten()[DIM:][:both[0].numel()].view_as(both[0]), "q"), (fused[:, :, 0], fused[:, :, 0], "q"),
                         (both[0], pools[1].flatten()[-both[0].numel():].view_as(both[0]), "v_cache")):
        with pytest.raises(ValueError, match=f"out must not share memory with {name}"):
            ours.attention_with_kvcache(q, *pools, out=out, **options)


LAUNCHES = """
from fovea.torch import _kvcache, attention_with_kvcache

_kvcache._check_tensors = lambda *arguments: None
pools, q = [torch.zeros(5, 16, 2, 16).half() for _ in range(2)], torch.zeros(2, 3, 2, 16).half()
table, lengths = torch.zeros(2, 4, dtype=torch.int32), torch.ones(2, dtype=torch.int32)
whole = torch.zeros(6, 3, 4, 16).half()
for out in (None, torch.zeros_like(q), torch.zeros_like(q), whole[:2, :, :2], whole[2:4, :, 1:3], None):
    print("step:", flush=True)
    found, lse = attention_with_kvcache(q, *pools, lengths=lengths, page_table=table, out=out, return_lse=True)
    assert out is None or found is out
    print("wanted:", *(hex(one.data_ptr()) for one in (q, *pools, table, lengths, found, lse)), flush=True)
launcher, = _op._launchers.values()
print("forms:", sum(map(len, launcher._prepared.values())))

# A call of a known form is found without checks of its arguments; others are not.
checked, check_integers = [], _kvcache._checked_integers

def checks(*arguments):
    checked.append(arguments)
    return check_integers(*arguments)

_kvcache._checked_integers = checks

def attend(q=q, table=table, lengths=lengths, **options):
    return attention_with_kvcache(q, *pools, lengths=lengths, page_table=table, **options)

def capped(score, b, h, i, j):
    return 2.0 * torch.tanh(score / 2.0)

for index, (found, call) in enumerate((
    (True, lambda: attend(return_lse=True)), (False, lambda: attend()), (True, lambda: attend()), (False, lambda: attend(causal=True)),
    (True, lambda: attend(causal=True)), (True, lambda: attend(window=(None, 0))), (False, lambda: attend(window=(3, 0))),
    (False, lambda: attend(score_mod=capped)), (True, lambda: attend(score_mod=capped)), (False, lambda: attend(scale=0.5)),
    (True, lambda: attend(scale=0.5)), (False, lambda: attend(q[:, :2])), (True, lambda: attend(q[:, :2])),
    (False, lambda: attend(table=table[:, :3])), (False, lambda: attend(sinks=torch.zeros(2))), (True, lambda: attend(sinks=torch.ones(2))),
    (False, lambda: attend(sinks=torch.ones(2).half())), (False, lambda: attend(sinks=torch.ones(2).half())),
    (False, lambda: attend(q[0], cu_seq_q=torch.tensor([0, 2, 3], dtype=torch.int32))),
    (True, lambda: attend(q[1], cu_seq_q=torch.tensor([0, 1, 3], dtype=torch.int32))),
    (False, lambda: attend(whole[2:4, :, 1:3])), (True, lambda: attend(whole[:2, :, :2])),
    (False, lambda: attend(out=torch.zeros_like(q))), (True, lambda: attend(out=torch.zeros_like(q))),
    (False, lambda: attend(out=whole[:2, :, :2])), (True, lambda: attend(out=whole[2:4, :, 1:3])),
    # Rows that a kernel can't read are copied at each call.
    (False, lambda: attend(torch.zeros(2, 3, 2, 20).half()[..., :16])), (True, lambda: attend(torch.ones(2, 3, 2, 20).half()[..., :16])),
    (False, lambda: attend(torch.zeros(3, 2, 20).half()[..., :16], cu_seq_q=torch.tensor([0, 1, 3], dtype=torch.int32))),
)):
    checked.clear()
    made = call()
    o = made[0] if isinstance(made, tuple) else made
    assert bool(checked) != found, index
    assert o.shape[-3:] in ((3, 2, 16), (2, 2, 16)) and o.stride()[-1] == 1, index
room = torch.zeros(200).half()
for given, shared in ((q, q), (room[:192].view(2, 3, 2, 16), room[8:].view(2, 3, 2, 16)), (q, pools[1].flatten()[:192].view(2, 3, 2, 16))):
    try:
        attend(given, out=shared)
    except ValueError as error:
        assert "share" in str(error)
        print("overlaps")
for given, error in (({"lengths": lengths.float()}, ValueError), ({"lengths": [1, 1]}, TypeError), ({"q": q.half().requires_grad_()}, NotImplementedError)):
    try:
        attend(**given)
    except error:
        print("refused")
"""


def test_launches(run_python, build):
    """Kernels write into the output of each call; launches are prepared once per form."""
    printed = run_on_stand_in(run_python, build, LAUNCHES, START)
    assert check_steps(printed) == 6 and "forms: 3" in printed and printed.count("refused") == 3
    assert printed.count("overlaps") == 3


# --- Autocast ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [False, True])
def test_autocast(ours, compiled):
    """q is cast; the caches have autocast's dtype."""
    torch.compiler.reset()
    pools, table, lengths = caches(torch.bfloat16)
    q = torch.randn(3, 4, 4, DIM)

    def call(q):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return ours.attention_with_kvcache(q, *pools, lengths=lengths, page_table=table, backend="interpret")

    found = (torch.compile(call, backend="aot_eager", fullgraph=True) if compiled else call)(q)
    assert torch.equal(found, ours.attention_with_kvcache(q.bfloat16(), *pools, lengths=lengths, page_table=table, backend="interpret"))
    assert found.dtype == torch.bfloat16


def test_autocast_does_not_copy_caches(ours):
    pools, table, lengths = caches(torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16), pytest.raises(ValueError, match=(
            "of one dtype, found torch.bfloat16 and torch.float32; torch.autocast casts only q, since casts of the caches would copy")):
        ours.attention_with_kvcache(Q, *pools, lengths=lengths, page_table=table, backend="interpret")
