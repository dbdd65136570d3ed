"""fovea.torch.varlen_attn: packed sequences with PyTorch's signature, against one dense softmax for
each sequence."""

import inspect

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
varlen = pytest.importorskip("torch.nn.attention.varlen")

from test_torch_backward_calls import START, check_steps  # noqa: E402
from test_torch_calls import run_on_stand_in  # noqa: E402
from test_torch_compile import Graphs  # noqa: E402
from test_torch_sinks import reference  # noqa: E402

HEADS, KV_HEADS, DIM = 4, 2, 16
QUERIES, KEYS = (5, 0, 40, 17, 9), (12, 4, 40, 3, 0)


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.torch

    return fovea.torch


def starts(lengths):
    return torch.tensor([0, *lengths]).cumsum(0).int()


CU_Q, CU_K = starts(QUERIES), starts(KEYS)
#: So small that they change nothing but the softmax of a row without a key, which is else NaN.
NO_SINKS = torch.full((HEADS,), -1e30)


def tensors(dtype=torch.float32, value_dim=DIM):
    generator = torch.Generator().manual_seed(0)
    shapes = (sum(QUERIES), HEADS, DIM), (sum(KEYS), KV_HEADS, DIM), (sum(KEYS), KV_HEADS, value_dim)
    return [torch.randn(*shape, generator=generator).to(dtype).requires_grad_() for shape in shapes]


def attend(ours, q, k, v, cu_q=CU_Q, cu_k=CU_K, backend="interpret", **options):
    return ours.varlen_attn(q, k, v, cu_q, cu_k, max(QUERIES), max(KEYS), enable_gqa=True, backend=backend, **options)


def expected_of(q, k, v, sinks=NO_SINKS, mask=None, bias=None):
    """The output and the log-sum-exp; `mask` and `bias` get (b, p, i, j): sequence, position, query, key."""
    outputs, sums = [], []
    for b, (queries, keys) in enumerate(zip(QUERIES, KEYS)):
        i, j = torch.arange(queries)[:, None], torch.arange(keys)
        place = b, i + keys - queries, i, j
        three = (one[start:start + rows].transpose(0, 1)[None] for one, start, rows in (
            (q, CU_Q[b], queries), (k, CU_K[b], keys), (v, CU_K[b], keys)))
        o, lse = reference(*three, sinks, mask and mask(*place), bias and bias(*place))
        outputs.append(o[0].transpose(0, 1))
        sums.append(torch.where(lse[0] < -1e29, -torch.inf, lse[0]))
    return torch.cat(outputs), torch.cat(sums, 1)


def check(found, expected, by, tolerance):
    losses = []
    for one, other in zip(found, expected):
        torch.testing.assert_close(one.double(), other, rtol=tolerance, atol=tolerance)
    for o, lse in (found, expected):
        losses.append(o.double().square().sum() + torch.where(lse.isfinite(), lse, 0).double().sum())
    for one, other in zip(*(torch.autograd.grad(loss, by) for loss in losses)):
        assert other.abs().max() > 0
        assert (one - other).norm() / other.norm() < tolerance


def test_signature(ours):
    """PyTorch's parameters come first, with its kinds and defaults."""
    wanted = inspect.signature(varlen.varlen_attn).parameters
    found = inspect.signature(ours.varlen_attn).parameters
    assert list(found)[:len(wanted)] == list(wanted)
    for name, one in wanted.items():
        assert (found[name].kind, found[name].default) == (one.kind, one.default), name


@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (6, 0), (2, 3), (0, 0), (-1, 2), (5, -1)])
def test_windows(ours, window):
    """Positions are aligned to the lower right: the last query has the position of the last key."""
    left, right = window

    def mask(b, p, i, j):
        return ((left < 0) | (j >= p - left)) & ((right < 0) | (j <= p + right))

    q, k, v = tensors()
    found = attend(ours, q, k, v, window_size=window, return_aux=varlen.AuxRequest(lse=True))
    assert found[0].shape == q.shape and found[1].shape == (HEADS, sum(QUERIES))
    check(found, expected_of(q, k, v, mask=mask), (q, k, v), 1e-5)


@pytest.mark.parametrize("backend, dtype, tolerance", [
    ("interpret:tile", torch.bfloat16, 2e-2), ("interpret:warp", torch.float16, 5e-3), ("ptx", torch.bfloat16, 2e-2),
    ("ptx:sm_80", torch.float16, 5e-3),
])
def test_levels(ours, backend, dtype, tolerance):
    q, k, v = tensors(dtype)
    found = attend(ours, q, k, v, window_size=(6, 0), backend=backend, return_aux=varlen.AuxRequest(lse=True))
    check(found, expected_of(q, k, v, mask=lambda b, p, i, j: (j >= p - 6) & (j <= p)), (q, k, v), tolerance)


@pytest.mark.parametrize("value_dim", [DIM, 24, 20])
def test_functions_and_sinks(ours, value_dim):
    """score_mod and mask_mod get the sequence and positions within it, in addition to the window."""
    q, k, v = tensors(value_dim=value_dim)
    slopes, sinks = torch.randn(len(QUERIES), requires_grad=True), torch.randn(HEADS, requires_grad=True)
    found = attend(ours, q, k, v, window_size=(8, 4), scale=0.3, sinks=sinks, return_aux=varlen.AuxRequest(lse=True),
                   score_mod=lambda s, b, h, i, j: s + slopes[b] * (i - j), mask_mod=lambda b, h, i, j: (i + j) % 3 != 0)
    expected = expected_of(q * (0.3 * DIM ** 0.5), k, v, sinks, lambda b, p, i, j: (j >= p - 8) & (j <= p + 4) & ((i + j) % 3 != 0),
                           lambda b, p, i, j: slopes[b] * (i - j))
    check(found, expected, (q, k, v, slopes, sinks), 1e-5)


def test_scale_is_a_number_of_the_call(ours):
    q, k, v = tensors()
    assert torch.equal(attend(ours, q, k, v), attend(ours, q, k, v, scale=DIM ** -0.5))
    assert not torch.equal(attend(ours, q, k, v), attend(ours, q, k, v, scale=1.0))


def test_gradient_of_a_captured_tensor_alone(ours):
    q, k, v = (one.detach() for one in tensors())
    slopes = torch.randn(HEADS, requires_grad=True)
    o = attend(ours, q, k, v, score_mod=lambda s, b, h, i, j: s + slopes[h] * j)
    expected, _ = expected_of(q, k, v, bias=lambda b, p, i, j: slopes[:, None, None] * j)
    check((o, o.new_zeros(1)), (expected, expected.new_zeros(1)), (slopes,), 1e-5)


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled(ours, dynamic):
    torch.compiler.reset()
    q, k, v = tensors()
    slopes = torch.randn(HEADS, requires_grad=True)

    def call(q, k, v, cu_q, cu_k, left):
        o, lse = attend(ours, q * 2, k, v, cu_q, cu_k, window_size=(left, 0), return_aux=varlen.AuxRequest(lse=True),
                        score_mod=lambda s, b, h, i, j: s + slopes[h] * j)
        return o + 1, lse

    graphs = Graphs()
    compiled = graphs.compile(call, dynamic=dynamic)
    for left in (7, 3):
        results = [function(q, k, v, CU_Q, CU_K, left) for function in (compiled, call)]
        assert all(map(torch.equal, *results))
        for one, other in zip(*(torch.autograd.grad(o.sum(), (q, k, v, slopes)) for o, _ in results)):
            torch.testing.assert_close(one, other)
    assert graphs.count == 2, "one for each window"
    assert sum("fovea.attention" in target for target in graphs.targets()) == 2


def test_export(ours):
    class Model(torch.nn.Module):
        def forward(self, q, k, v, cu_q, cu_k):
            return attend(ours, q, k, v, cu_q, cu_k, window_size=(-1, 0))

    arguments = (*(one.detach() for one in tensors()), CU_Q, CU_K)
    exported = torch.export.export(Model(), arguments, strict=True)
    assert torch.equal(exported.module()(*arguments), Model()(*arguments))


@pytest.mark.parametrize("change, error, message", [
    ({"query": torch.zeros(1, 71, 4, 16)}, ValueError, "query must have 3 dimensions .*, found 4"),
    ({"query": torch.zeros(71, 3, 16)}, ValueError, "query heads must be a multiple of key heads, found 3 and 2"),
    ({"enable_gqa": False}, ValueError, "query has 4 heads, but key has 2: that needs enable_gqa=True"),
    ({"key": torch.zeros(59, 2, 8)}, ValueError, "query and key must have one head_dim, found 16 and 8"),
    ({"value": torch.zeros(58, 2, 16)}, ValueError, r"agree except in head_dim, found \[59, 2, 16\] and \[58, 2, 16\]"),
    ({"query": torch.zeros(71, 4, 16, dtype=torch.float64)}, ValueError, "of one dtype, found torch.float64 and torch.float32"),
    ({"cu_seq_q": CU_Q.long()}, ValueError, "cu_seq_q must be of torch.int32, found torch.int64"),
    ({"cu_seq_q": [0, 5]}, TypeError, "cu_seq_q must be a PyTorch tensor, found list"),
    ({"cu_seq_k": None}, ValueError, "cu_seq_k is None, expected a tensor"),
    ({"cu_seq_k": CU_K[:-1]}, ValueError, "the same number of sequences, found 5 and 4"),
    ({"cu_seq_k": CU_K[None]}, ValueError, r"cu_seq_k must have the shape \(sequences \+ 1,\), found \[1, 6\]"),
    ({"cu_seq_k": CU_K.to("meta")}, ValueError, "cu_seq_k is on meta, but query is on cpu"),
    ({"window_size": (-2, 0)}, ValueError, r"or -1 for an open side, found \(-2, 0\)"),
    ({"window_size": 3}, ValueError, r"window_size must be \(left, right\), found 3"),
    ({"block_table": CU_K}, ValueError, "block_table needs seqused_k, the number of keys of each sequence, found None"),
    ({"seqused_k": CU_K}, NotImplementedError, "seqused_k can't be given without block_table"),
    ({"num_splits": 4}, NotImplementedError, "num_splits is 4, but a kernel finds the parts of its keys itself: expected None or 1"),
    ({"mask_mod": 3}, TypeError, "mask_mod must be a function, found int"),
    ({"sinks": torch.zeros(2)}, ValueError, "sinks must have the shape"),
    ({"backend": "cuda"}, NotImplementedError, "query is on cpu, but kernels run on CUDA"),
    ({"backend": "cpu"}, ValueError, "backend must be 'cuda' or one of"),
    ({"cu_seq_k": CU_K + 1}, Exception, "cu_k"),
])
def test_refused(ours, change, error, message):
    q, k, v = (one.detach() for one in tensors())
    arguments = {"query": q, "key": k, "value": v, "cu_seq_q": CU_Q, "cu_seq_k": CU_K, "max_q": 40, "max_k": 40, "enable_gqa": True,
                 "backend": "interpret"}
    with pytest.raises(error, match=message):
        ours.varlen_attn(**{**arguments, **change})


LAUNCHES = """
from fovea.torch import varlen_attn
from torch.nn.attention.varlen import AuxRequest

_check = varlen_attn.__globals__["check"]
varlen_attn.__globals__["check"] = lambda *arguments: None

def run(window, *given, wanted):
    before = len(stand_in.long_ways)
    kept.append(given)
    o, lse = varlen_attn(*given[:5], 20, 20, window_size=window, score_mod=score, sinks=given[5], return_aux=AuxRequest(lse=True))
    kept.append((o, lse))
    assert (len(stand_in.long_ways) > before) == (wanted == "long"), wanted
    return o, lse

def given():
    cu_q, cu_k = (torch.tensor([0, 12, 32], dtype=torch.int32) for _ in range(2))
    three = [torch.zeros(32, 2, 16).half().requires_grad_() for _ in range(3)]
    return (*three, cu_q, cu_k, torch.zeros(2, requires_grad=True))

for wanted in ("long", "short"):
    q, k, v, cu_q, cu_k, sinks = these = given()
    o, lse = run((4, 0), *these, wanted=wanted)
    do = torch.zeros_like(o)
    step(wanted, backward(o, (q, k, v, sinks), do), q, k, v, o, lse, do, cu_q, cu_k, slopes, sinks)
run((5, 0), *these, wanted="long")
run((4, 0), *these, wanted="short")
"""


def test_launches(run_python, build):
    """A call with the form of an earlier one takes the fast path with its own tensors."""
    assert check_steps(run_on_stand_in(run_python, build, LAUNCHES, START)) == 2
