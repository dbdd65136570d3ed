"""fovea.torch.register_flash: PyTorch's own functions run on Fovea's interpreter, and restore reinstates
PyTorch's kernels again. The expected results are PyTorch's math."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
attention = pytest.importorskip("torch.nn.attention")
varlen = pytest.importorskip("torch.nn.attention.varlen")

import torch.nn.functional as F  # noqa: E402

if not hasattr(attention, "register_flash_attention_impl"):
    pytest.skip("this PyTorch has no registry of flash implementations", allow_module_level=True)

MATH, FLASH = attention.SDPBackend.MATH, attention.SDPBackend.FLASH_ATTENTION


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.torch

    return fovea.torch


@pytest.fixture
def calls(monkeypatch, ours):
    """The names of the ops that Fovea's interpreter runs."""
    from fovea.torch.autograd import _gradients
    from fovea.torch.ops import _op

    seen = []

    def counted(owner, name):
        function = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given: (seen.append(name), function(*given))[1])

    counted(_op, "interpret")
    counted(_gradients, "interpret")
    return seen


@pytest.fixture
def active(ours, calls):
    ours.register_flash("FOVEA", cpu="interpret")
    attention.activate_flash_attention_impl("FOVEA")
    yield calls
    attention.restore_flash_attention_impl()


def tensors(*shapes, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(*shape, generator=generator).to(dtype).requires_grad_() for shape in shapes]


def by_math(*arguments, **named):
    with attention.sdpa_kernel(MATH):
        return F.scaled_dot_product_attention(*arguments, **named)


def check(found, expected, by, tolerance=1e-5):
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)
    for one, other in zip(*(torch.autograd.grad(o.float().square().sum(), by) for o in (found, expected))):
        assert other.abs().max() > 0
        torch.testing.assert_close(one, other, rtol=10 * tolerance, atol=10 * tolerance)


@pytest.mark.parametrize("options", [
    {}, {"is_causal": True}, {"scale": 0.5}, {"attn_mask": torch.randn(2, 1, 20, 20, generator=torch.Generator().manual_seed(1))},
    {"attn_mask": torch.ones(20, 20, dtype=torch.bool).tril(3)}, {"attn_mask": torch.zeros(20, 20).bfloat16(), "dtype": torch.bfloat16},
], ids=["plain", "causal", "scale", "numbers", "booleans", "bfloat16"])
@pytest.mark.parametrize("dim", [16, 12])
def test_scaled_dot_product_attention(active, options, dim):
    """Head dims that are not multiples of 8 are padded."""
    options = dict(options)
    dtype = options.pop("dtype", torch.float32)
    q, k, v = tensors(*[(2, 4, 20, dim)] * 3, dtype=dtype)
    o = F.scaled_dot_product_attention(q, k, v, **options)
    assert active == ["interpret"]
    check(o, by_math(q, k, v, **options), (q, k, v), 1e-5 if dtype == torch.float32 else 3e-2)
    assert active == ["interpret"] * 2, "the gradient of math is PyTorch's"


def test_groups_of_heads(active):
    q, k, v = tensors((2, 4, 20, 16), (2, 2, 33, 16), (2, 2, 33, 16))
    o = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    check(o, by_math(q, k, v, enable_gqa=True), (q, k, v))
    assert "interpret" in active


def test_multihead_attention(active):
    torch.manual_seed(0)
    model, x = torch.nn.MultiheadAttention(32, 4, batch_first=True), torch.randn(2, 10, 32, requires_grad=True)
    parameters = [x, model.in_proj_weight, model.out_proj.weight]
    found = model(x, x, x, need_weights=False)[0]
    assert active == ["interpret"]
    with attention.sdpa_kernel(MATH):
        expected = model(x, x, x, need_weights=False)[0]
    check(found, expected, parameters)


def test_compiled(active):
    torch.compiler.reset()
    q, k, v = tensors(*[(2, 4, 20, 16)] * 3)
    compiled = torch.compile(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), fullgraph=True, backend="aot_eager")
    o = compiled(q, k, v)
    assert active == ["interpret"]
    check(o, by_math(q, k, v, is_causal=True), (q, k, v))


QUERIES, KEYS = (5, 0, 20, 7), (9, 3, 20, 7)


def starts(lengths):
    return torch.tensor([0, *lengths]).cumsum(0).int()


def packed(window, q, k, v):
    """PyTorch's math for each sequence, with windows aligned to the lower right."""
    made, (left, right) = [], window
    for parts in zip(*(one.split(lengths) for one, lengths in ((q, QUERIES), (k, KEYS), (v, KEYS)))):
        one, two, _ = parts
        p, j = torch.arange(len(one))[:, None] + len(two) - len(one), torch.arange(len(two))
        mask = ((left < 0) | (j >= p - left)) & ((right < 0) | (j <= p + right))
        made.append(by_math(*(each.transpose(0, 1)[None] for each in parts), mask)[0].transpose(0, 1))
    return torch.cat(made)


@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (4, 0), (2, 3)])
def test_varlen_attn(active, window):
    q, k, v = tensors((sum(QUERIES), 2, 16), (sum(KEYS), 2, 16), (sum(KEYS), 2, 16))
    given = starts(QUERIES), starts(KEYS), max(QUERIES), max(KEYS)
    o, lse = varlen.varlen_attn(q, k, v, *given, window_size=window, return_aux=varlen.AuxRequest(lse=True))
    assert active == ["interpret"] and lse.shape == (2, sum(QUERIES))
    check(o, packed(window, q, k, v), (q, k, v))
    out = torch.empty_like(q)
    with torch.no_grad():
        result, again = varlen.varlen_attn_out(out, q, k, v, *given, window_size=window, return_aux=varlen.AuxRequest(lse=True))
    assert result is out and torch.equal(out, o) and torch.equal(again, lse)


def test_varlen_attn_in_the_emulator(ours):
    """The kernels' own PTX, forward and backward."""
    ours.register_flash("FOVEA-PTX", cpu="ptx")
    attention.activate_flash_attention_impl("FOVEA-PTX")
    try:
        q, k, v = tensors(*[(sum(QUERIES), 2, 16)] * 3, dtype=torch.bfloat16)
        lengths = starts(QUERIES)
        o = varlen.varlen_attn(q, k, v, lengths, lengths, 20, 20, window_size=(-1, 0))
        parts = [[one.transpose(0, 1)[None] for one in tensor.split(QUERIES)] for tensor in (q, k, v)]
        expected = torch.cat([by_math(*three, is_causal=True)[0].transpose(0, 1) for three in zip(*parts)])
        check(o, expected, (q, k, v), 3e-2)
    finally:
        attention.restore_flash_attention_impl()


def test_dense_flash_attention(active):
    """(batch, rows, heads, head_dim) without offsets: causal is aligned to the lower right."""
    q, k, v = tensors((2, 5, 2, 16), (2, 9, 2, 16), (2, 9, 2, 16))
    forward = torch.ops.aten._flash_attention_forward
    o, lse, *_ = forward(q, k, v, None, None, 5, 9, 0.0, True, False, scale=0.5)
    mask = torch.arange(9) <= torch.arange(5)[:, None] + 4
    check(o, by_math(*(one.transpose(1, 2) for one in (q, k, v)), mask, scale=0.5).transpose(1, 2), (q, k, v))
    assert lse.shape == (2, 2, 5)


def test_dropout(active):
    """The backward pass drops the keys of the forward pass: for constant values and gradients, dV sums to the sum of O."""
    q, k, _ = tensors(*[(1, 30, 2, 16)] * 3)
    v = torch.ones(1, 30, 2, 16, requires_grad=True)
    torch.manual_seed(3)
    forward = torch.ops.aten._flash_attention_forward
    o, _, state, *_ = forward(q, k, v, None, None, 30, 30, 0.5, False, False)
    assert o.std() > 0.1 and state.tolist() != [0, 0]
    gradient, = torch.autograd.grad(o.sum(), v)
    torch.testing.assert_close(gradient.sum(), o.sum())
    torch.manual_seed(3)
    assert torch.equal(forward(q, k, v, None, None, 30, 30, 0.5, False, False)[0], o)


def test_restored(ours, calls):
    """Registering activates nothing, and restore reinstates PyTorch's kernels, more than once."""
    q, k, v = tensors(*[(2, 4, 20, 16)] * 3)
    before = F.scaled_dot_product_attention(q, k, v)
    assert attention.current_flash_attention_impl() is None
    for _ in range(2):
        ours.register_flash("FOVEA", cpu="interpret")
        assert "FOVEA" in attention.list_flash_attention_impls() and attention.current_flash_attention_impl() is None
        assert torch.equal(F.scaled_dot_product_attention(q, k, v), before) and not calls
        attention.activate_flash_attention_impl("FOVEA")
        assert attention.current_flash_attention_impl() == "FOVEA"
        F.scaled_dot_product_attention(q, k, v)
        assert calls == ["interpret"]
        attention.restore_flash_attention_impl()
        calls.clear()
        assert torch.equal(F.scaled_dot_product_attention(q, k, v), before) and not calls
        torch.autograd.grad(F.scaled_dot_product_attention(q, k, v).sum(), q)
        assert not calls
        with pytest.raises(NotImplementedError, match="CPU"):
            torch.ops.aten._flash_attention_forward(q, k, v, None, None, 20, 20, 0.0, False, False)
    # CUDA kernels alone: tensors in host memory keep PyTorch's.
    ours.register_flash("FOVEA")
    attention.activate_flash_attention_impl("FOVEA")
    assert torch.equal(F.scaled_dot_product_attention(q, k, v), before) and not calls
    attention.restore_flash_attention_impl()


@pytest.mark.parametrize("change, error, message", [
    ({"block_table": torch.zeros(1, 2, dtype=torch.int32)}, NotImplementedError,
     "needs cum_seq_q and seqused_k with block_table, found None"),
    ({"seqused_k": torch.ones(1, dtype=torch.int32)}, NotImplementedError, "does not support seqused_k"),
    ({"alibi_slopes": torch.ones(2)}, NotImplementedError, "does not support alibi_slopes"),
    ({"num_splits": 4}, NotImplementedError, "num_splits, expected num_splits=None, found 4"),
    ({"return_debug_mask": True}, NotImplementedError, "expected return_debug_mask=False, found True"),
    ({"cum_seq_k": None}, NotImplementedError, "needs cum_seq_k with packed queries, found None"),
    ({"cum_seq_q": torch.tensor([0, 5])}, ValueError, "cum_seq_q must be of torch.int32, found torch.int64"),
    ({"value": torch.zeros(5, 2, 16, dtype=torch.float16)}, ValueError, "must be of one dtype"),
])
def test_refused(active, change, error, message):
    offsets, named = torch.tensor([0, 5], dtype=torch.int32), dict.fromkeys(("query", "key", "value"), torch.zeros(5, 2, 16))
    named.update(cum_seq_q=offsets, cum_seq_k=offsets, max_q=5, max_k=5, dropout_p=0.0, is_causal=False, return_debug_mask=False)
    torch.ops.aten._flash_attention_forward(**named, num_splits=1)
    with pytest.raises(error, match=message):
        torch.ops.aten._flash_attention_forward(**{**named, **change})


def test_unsupported_dtypes(active):
    q, k, v = tensors(*[(1, 2, 5, 16)] * 3, dtype=torch.float64)
    with pytest.raises(NotImplementedError, match="query is of torch.float64, expected"):
        F.scaled_dot_product_attention(q, k, v)


def test_8_bits(fovea):
    from fovea.torch import _registry

    q, k, v = (one.to(torch.float8_e4m3fn) for one in tensors(*[(1, 2, 5, 16)] * 3))
    with pytest.raises(NotImplementedError, match="Fovea's flash attention has no kernels for query of torch.float8_e4m3fn, "
                                                  "expected torch.bfloat16 or torch.float16"):
        _registry._of_8_bits({"query": q}, "interpret")


@pytest.mark.parametrize("given, error, message", [
    (("",), ValueError, "name must be a string that is not empty, found ''"),
    (("X", "cuda"), ValueError, "cpu must be None or one of interpret.*, found 'cuda'"),
    (("X", "cpu"), ValueError, "found 'cpu'"),
])
def test_refused_registrations(ours, given, error, message):
    name, *rest = given
    with pytest.raises(error, match=message):
        ours.register_flash(name, cpu=rest[0] if rest else None)


LAUNCHES = """
import torch.nn.attention as attention
from fovea.torch import _registry, register_flash

# The kernels for CUDA, on tensors that are treated as on a device.
_registry.check = lambda *arguments: None
q, k, v, do = (torch.zeros(2, 2, 32, 16).half() for _ in range(4))
kernels = {name: _registry._kernel(getattr(torch.ops.aten, name).default, run, "cuda") for name, run in _registry._CUDA.items() if "." not in name}
print("step:", flush=True)
o, lse, _, _, most_q, most_k, state, offset, _ = kernels["_scaled_dot_product_flash_attention"](q, k, v, 0.0, True)
print("wanted:", *(hex(one.data_ptr()) for one in (q, k, v, o, lse)), flush=True)
print("step:", flush=True)
made = kernels["_scaled_dot_product_flash_attention_backward"](do, q, k, v, o, lse, None, None, most_q, most_k, 0.0, True, state, offset)
print("wanted:", *(hex(one.data_ptr()) for one in (q, k, v, o, lse, do, *made)), flush=True)
q, k, v, do = (torch.zeros(32, 2, 16).half() for _ in range(4))
offsets = torch.tensor([0, 10, 32], dtype=torch.int32)
print("step:", flush=True)
o, lse, state, _, _ = kernels["_flash_attention_forward"](q, k, v, offsets, offsets, 22, 22, 0.0, False, False, window_size_left=4)
print("wanted:", *(hex(one.data_ptr()) for one in (q, k, v, o, lse, offsets)), flush=True)
print("step:", flush=True)
made = kernels["_flash_attention_backward"](do, q, k, v, o, lse, offsets, offsets, 22, 22, 0.0, False, state, state, window_size_left=4)
print("wanted:", *(hex(one.data_ptr()) for one in (q, k, v, o, lse, do, offsets, *made)), flush=True)
assert made[0].shape == q.shape
"""


def test_launches(run_python, build):
    from test_torch_backward_calls import START, check_steps
    from test_torch_calls import run_on_stand_in

    assert check_steps(run_on_stand_in(run_python, build, LAUNCHES, START)) == 4


def test_varlen_attn_over_pages(active):
    """PyTorch's function with a block table."""
    offsets, table = torch.tensor([0, 5, 6], dtype=torch.int32), torch.tensor([[3, 1], [0, 2]], dtype=torch.int32)
    lengths, pools = torch.tensor([20, 9], dtype=torch.int32), [torch.randn(4, 16, 2, 16) for _ in range(2)]
    q = torch.randn(6, 2, 16)
    found = varlen.varlen_attn(q, *pools, offsets, None, 5, 20, window_size=(-1, 0), seqused_k=lengths, block_table=table)
    for b, (first, end) in enumerate(zip(offsets, offsets[1:])):
        k, v = (pool[table[b].long()].flatten(0, 1)[: lengths[b]].transpose(0, 1) for pool in pools)
        hidden = torch.ones(end - first, lengths[b], dtype=torch.bool).tril(int(lengths[b] - (end - first)))
        expected = F.scaled_dot_product_attention(q[first:end].transpose(0, 1), k, v, attn_mask=hidden)
        torch.testing.assert_close(found[first:end], expected.transpose(0, 1), rtol=1e-4, atol=1e-4)
