"""fovea.torch.append: new rows of keys and values in a cache."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

HEADS, DIM, VALUE_DIM, PAGE, PAGES = 3, 24, 16, 5, 4
BACKENDS = [("interpret", torch.float32), ("interpret:tile", torch.bfloat16), ("interpret:warp", torch.float16), ("ptx", torch.bfloat16),
            ("ptx:sm_80", torch.float32)]


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.torch

    return fovea.torch


def rows(*shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(sum(shape))
    return [torch.randn(*shape, HEADS, dim, generator=generator).to(dtype) for dim in (DIM, VALUE_DIM)]


def caches(dtype=torch.float32):
    return rows(PAGES, PAGE, dtype=dtype)


def write(kept, given, positions):
    """The caches with row `given[n]` at each `positions[n]` of the flat cache; None skips a row."""
    expected = [one.clone() for one in kept]
    for cache, new in zip(expected, given):
        for n, position in enumerate(positions):
            if position is not None:
                cache.flatten(0, 1)[position] = new.flatten(0, -3)[n]
    return expected


def check(found, expected):
    assert all(map(torch.equal, found, expected))


def integers(values, dtype=torch.int32):
    return torch.tensor(values, dtype=dtype)


@pytest.mark.parametrize("backend, dtype", BACKENDS)
def test_slots(ours, backend, dtype):
    given, kept = rows(6, dtype=dtype), caches(dtype)
    expected = write(kept, given, [19, None, 0, None, 7, None])
    assert ours.append(*given, *kept, slots=integers([19, -1, 0, 20, 7, 2**32 + 3], torch.int64), backend=backend) is None
    check(kept, expected)


@pytest.mark.parametrize("backend, dtype", BACKENDS)
def test_pages(ours, backend, dtype):
    """A row that begins a page, one beyond the table, and a page out of range."""
    given, kept = rows(2, 4, dtype=dtype), caches(dtype)
    expected = write(kept, given, [3 * 5 + 3, 3 * 5 + 4, 0, 1, 1 * 5 + 4, None, None, None])
    ours.append(*given, *kept, lengths=integers([3, 4]), page_table=integers([[3, 0], [1, 9]], torch.int64), backend=backend)
    check(kept, expected)


@pytest.mark.parametrize("backend, dtype", BACKENDS)
def test_packed_sequences(ours, backend, dtype):
    given, kept = rows(7, dtype=dtype), caches(dtype)
    expected = write(kept, given, [None, 5 * 2 + 4, 0, 1, 15, 16, None])
    ours.append(*given, *kept, lengths=integers([4, 1, 0]), page_table=integers([[2, 0], [1, 9], [3, 1]]),
                cu_seq=integers([1, 4, 4, 6]), backend=backend)
    check(kept, expected)


def test_contiguous_and_flat_caches(ours):
    given, kept = rows(2, 2), caches()
    expected = write(kept, given, [2, 3, 5 + 4, None])
    ours.append(*given, *kept, lengths=integers([2, 4]), backend="interpret")
    check(kept, expected)
    given, kept = rows(2, 2), [one.flatten(0, 1) for one in caches()]
    expected = write([one[None] for one in kept], given, [1, None, 3, 4])
    ours.append(*given, *kept, slots=integers([[1, -5], [3, 4]]), backend="interpret:tile")
    check(kept, [one[0] for one in expected])


@pytest.mark.parametrize("backend", ["interpret", "ptx"])
def test_strides(ours, backend):
    """Caches of (pages, kv_heads, page, head_dim), one pool for both, and rows with other strides."""
    given = [torch.randn(2, HEADS, 2, 32).bfloat16().transpose(1, 2) for _ in range(2)]
    pool = torch.randn(PAGES, 2, HEADS, PAGE, 32).bfloat16()
    before = pool.clone()
    ours.append(*given, *(one.transpose(1, 2) for one in pool.unbind(1)), lengths=integers([2, 4]), backend=backend)
    for half, new in enumerate(given):
        for b, t, row in ((0, 0, 2), (0, 1, 3), (1, 0, 4)):
            before[b, half, :, row] = new[b, t]
    assert torch.equal(pool, before)


def test_keys_only(ours):
    (k, _), (cache, _) = rows(2), caches()
    expected = write([cache], [k], [1, 2])
    ours.append(k, None, cache, None, slots=integers([1, 2]), backend="interpret")
    check([cache], expected)


def test_nothing_to_append(ours):
    given, kept = rows(0), caches()
    before = [one.clone() for one in kept]
    ours.append(*given, *kept, slots=integers([]), backend="interpret")
    check(kept, before)


def test_torch_compile_keeps_the_op(ours):
    given, slots = rows(2), integers([3, 9], torch.int64)

    def run(k, v, k_cache, v_cache):
        ours.append(k * 2, v, k_cache, v_cache, slots=slots, backend="interpret")
        return k_cache.sum()

    kept, expected = caches(), caches()
    total = run(*given, *expected)
    compiled = torch.compile(run, backend="aot_eager", fullgraph=True)
    assert torch.allclose(compiled(*given, *kept), total)
    check(kept, expected)


def test_versions(ours):
    """Autograd notices the mutation."""
    given, kept = rows(1), caches()
    before = kept[0]._version
    ours.append(*given, *kept, slots=integers([1]), backend="interpret")
    assert kept[0]._version > before


@pytest.mark.parametrize("change, error, message", [
    ({"slots": [3, 3]}, ValueError, "found several for row 3 of the flat cache"),
    ({"slots": None}, ValueError, "positions are given by slots or by lengths, found neither"),
    ({"lengths": [1]}, ValueError, "positions are given by slots or by lengths, found both"),
    ({"page_table": [[1]]}, ValueError, "page_table can't be given with slots"),
    ({"slots": [1]}, ValueError, r"slots must have the shape \[2\], found \[1\]"),
    ({"slots": torch.tensor([1.0, 2.0])}, ValueError, "slots must be of torch.int32 or torch.int64, found torch.float32"),
    ({"slots": (1, 2)}, TypeError, "slots must be a PyTorch tensor, found tuple"),
    ({"slots": None, "lengths": [1, 2]}, ValueError, "with lengths, k must be"),
    ({"slots": None, "lengths": [1, 2], "cu_seq": [0, 2]}, ValueError, r"cu_seq must have the shape \[3\], found \[2\]"),
    ({"slots": None, "lengths": [1, 2], "cu_seq": [0, 1, 2], "page_table": [[1, 2]]}, ValueError, r"page_table must have the shape \(2, pages"),
    ({"slots": None, "lengths": torch.tensor([1.0, 2.0]), "cu_seq": [0, 1, 2]}, ValueError, "lengths must be of torch.int32 or torch.int64, found torch.float32"),
    ({"v": None}, ValueError, "v and v_cache must be given together"),
    ({"v": "k"}, ValueError, "v and v_cache must have the same kv_heads and head_dim"),
    ({"v_cache": "k_cache", "v": "k"}, ValueError, "must be different tensors, found one for both"),
    ({"k": torch.zeros(2, HEADS, DIM).half()}, ValueError, "of one dtype and on one device"),
    ({"k": torch.zeros(2, HEADS, DIM).int()}, NotImplementedError, "k is of torch.int32, expected"),
    ({"k": torch.zeros(2, HEADS, 20)}, ValueError, "head dims must be multiples of 8, found 20 for k"),
    ({"k": torch.zeros(2, 4, DIM)}, ValueError, "k and v must agree except in head_dim"),
    ({"k": torch.zeros(HEADS, DIM)}, ValueError, "k must have 3 or 4 dimensions, found 2"),
    ({"k": 3}, TypeError, "k must be a PyTorch tensor, found int"),
    ({"backend": "cuda"}, ValueError, "runs on cuda, found k on cpu"),
    ({"k": torch.zeros(2, HEADS, DIM, requires_grad=True)}, NotImplementedError, "append has no gradients"),
])
def test_refused_calls(ours, change, error, message):
    k, v = rows(2)
    k_cache, v_cache = caches()
    arguments = {"k": k, "v": v, "k_cache": k_cache, "v_cache": v_cache, "slots": [1, 2], "backend": "interpret", **change}
    for name, one in arguments.items():
        if isinstance(one, list):
            arguments[name] = integers(one)
        elif isinstance(one, str) and one in arguments:
            arguments[name] = arguments[one]
    with pytest.raises(error, match=message):
        ours.append(**arguments)


def test_flat_caches_have_no_pages(ours):
    k, v = rows(2, 1)
    kept = [one.flatten(0, 1) for one in caches()]
    with pytest.raises(ValueError, match="with lengths, k_cache must be"):
        ours.append(k, v, *kept, lengths=integers([1, 2]), backend="interpret")


def test_caches_that_can_not_be_written_in_place(ours):
    k, _ = rows(2)
    cache = torch.zeros(PAGES, PAGE, DIM, HEADS).transpose(2, 3)
    ours.append(k, None, cache, None, slots=integers([1, 2]), backend="interpret")  # the CPU copies
    assert torch.equal(cache.flatten(0, 1)[1:3], k)
