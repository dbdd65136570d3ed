"""fovea.torch with nested tensors, which become packed sequences, and with other tensor classes,
which are supported or raise early."""

import functools

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
flex = pytest.importorskip("torch.nn.attention.flex_attention")

from test_torch_calls import run_on_stand_in  # noqa: E402
from test_torch_compile import Graphs  # noqa: E402

HEADS, DIM = 2, 16
LENGTHS = (5, 0, 40, 17)


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.torch

    return fovea.torch


def starts(lengths):
    return torch.tensor([0, *lengths]).cumsum(0)


def nested(offsets, heads=HEADS, dim=DIM, dtype=torch.float32):
    """A nested tensor, and the tensor that it is a view of."""
    values = torch.randn(int(offsets[-1]), heads, dim, dtype=dtype).requires_grad_()
    return torch.nested.nested_tensor_from_jagged(values, offsets).transpose(1, 2), values


def three(lengths=LENGTHS, **options):
    """Query, key and value, and the tensors that they are views of."""
    offsets = starts(lengths)
    pairs = [nested(offsets, **options) for _ in range(3)]
    return [one for one, _ in pairs], [values for _, values in pairs]


def sequences(tensor):
    return [one.transpose(0, 1)[None] for one in tensor.transpose(1, 2).unbind()]


def check(call, tensors, by, tolerance=1e-5, expected_call=None):
    """Compares outputs and gradients of a call with those of one call per sequence, which gets the sequence's index."""
    found = sequences(call(*tensors))
    expected = [(expected_call or (lambda _, *given: call(*given)))(n, *given) for n, given in enumerate(zip(*map(sequences, tensors)))]
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)
    gradients = [torch.autograd.grad(sum(one.float().square().sum() for one in results), by) for results in (found, expected)]
    for a, b in zip(*gradients):
        assert b.abs().max() > 0
        torch.testing.assert_close(a, b, rtol=10 * tolerance, atol=10 * tolerance)


# --- Nested tensors -----------------------------------------------------------


def causal(b, h, i, j):
    return i >= j


WEIGHT = torch.tensor([0.01, -0.02], requires_grad=True)


def bias(s, b, h, i, j):
    return s + WEIGHT[h] * (i - j)


@pytest.mark.parametrize("options", [{}, {"block_mask": causal}, {"score_mod": bias}, {"score_mod": bias, "block_mask": causal}])
def test_flex_attention(ours, options):
    """Functions get positions within a sequence; one sequence is empty."""
    tensors, values = three()
    check(functools.partial(ours.flex_attention, backend="interpret", **options), tensors,
          [*values, *([WEIGHT] if "score_mod" in options else ())])


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.5}])
def test_scaled_dot_product_attention(ours, options):
    tensors, values = three(dim=12)  # a padded head dim
    check(functools.partial(ours.scaled_dot_product_attention, backend="interpret", **options), tensors, values)


def test_numbers_of_sequences(ours):
    gains = torch.rand(len(LENGTHS), requires_grad=True)
    call = functools.partial(ours.flex_attention, backend="interpret")
    tensors, values = three()
    check(lambda *given: call(*given, lambda s, b, h, i, j: s * gains[b]), tensors, [*values, gains],
          expected_call=lambda n, *given: call(*given, lambda s, b, h, i, j: s * gains[n]))


def test_keys_of_other_lengths(ours):
    """Grouped heads, another value head dim, equal offsets in different tensors."""
    query, of_query = nested(starts(LENGTHS))
    key, of_key = nested(starts((9, 20, 33, 1)), heads=1)
    value, of_value = nested(starts((9, 20, 33, 1)), heads=1, dim=24)
    check(functools.partial(ours.flex_attention, enable_gqa=True, backend="interpret"), [query, key, value],
          [of_query, of_key, of_value])


@pytest.mark.parametrize("backend", ["interpret:tile", "ptx", "ptx:sm_80"])
def test_kernels(ours, backend):
    tensors, values = three((5, 0, 70), dtype=torch.bfloat16)
    results = [ours.flex_attention(*tensors, bias, causal, backend=one) for one in (backend, "interpret")]
    gradients = [torch.autograd.grad(one.values().float().sum(), values) for one in results]
    for a, b in ((one.values() for one in results), *zip(*gradients)):
        torch.testing.assert_close(a, b, rtol=2e-2, atol=2e-2)


def test_results(ours):
    """Results are nested like the query, and can be combined with it."""
    (query, key, value), _ = three()
    o, lse = ours.flex_attention(query, key, value, return_lse=True, backend="interpret")
    assert o.shape == query.shape and lse.shape == query.shape[:3]
    assert torch.isfinite((o + query).values()).all()
    aux = ours.flex_attention(query, key, value, return_aux=flex.AuxRequest(lse=True), backend="interpret")[1]
    torch.testing.assert_close(aux.lse.values(), lse.values())
    with torch.autocast("cpu", torch.bfloat16):
        assert ours.scaled_dot_product_attention(query, key, value, backend="interpret").dtype == torch.bfloat16
    leaf = torch.nested.nested_tensor([torch.randn(n, HEADS, DIM) for n in (3, 4)], layout=torch.jagged, requires_grad=True)
    ours.flex_attention(*[leaf.transpose(1, 2)] * 3, backend="interpret").values().sum().backward()
    assert leaf.grad.is_nested and leaf.grad.values().abs().max() > 0


def test_equal_offsets_are_compared_once(ours, monkeypatch):
    """Offsets are compared once, as a comparison synchronises with the device."""
    compared, equal = [], torch.equal
    monkeypatch.setattr(torch, "equal", lambda *both: compared.append(both) or equal(*both))
    (query, key, value), _ = three()
    own, _ = nested(starts(LENGTHS))
    for given, count in (((query, key, value), 0), ((query, key, own), 1), ((query, key, own), 1), ((query, own, key), 2)):
        ours.flex_attention(*given, backend="interpret")
        assert len(compared) == count


def test_compiled(ours):
    """Other lengths don't recompile."""
    def call(q, k, v):
        return ours.flex_attention(q, k, v, bias, causal, backend="interpret")

    graphs = Graphs()
    compiled = graphs.compile(call)
    for lengths in ((5, 9), (4, 20, 3), (1, 2, 30, 4)):
        tensors, values = three(lengths)
        results = [one(*tensors).values() for one in (compiled, call)]
        gradients = [torch.autograd.grad(one.square().sum(), [*values, WEIGHT]) for one in results]
        for a, b in (results, *zip(*gradients)):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
    assert graphs.count == 2
    with pytest.raises(Exception, match="different offsets tensors"):
        compiled(tensors[0], tensors[1], nested(starts((1, 2, 30, 4)))[0])


LAUNCHED = """
offsets = torch.tensor([0, 5, 16, 40])
q, k, v = (torch.zeros(40, 2, 16).half() for _ in range(3))
weight = torch.ones(3)
tensors = [torch.nested.nested_tensor_from_jagged(one, offsets).transpose(1, 2) for one in (q, k, v)]
for o in (flex_attention(*tensors, lambda s, b, h, i, j: s * weight[b], lambda b, h, i, j: i >= j),
          scaled_dot_product_attention(*tensors, is_causal=True)):
    print("given:", *(hex(one.data_ptr()) for one in (q, k, v, o.values())), flush=True)
print("captured:", hex(weight.data_ptr()))
"""


def test_launches(run_python, build):
    """Kernels read the values without a copy, (tokens, heads, head_dim), and get the offsets."""
    lines = [line.split() for line in run_on_stand_in(run_python, build, LAUNCHED).splitlines()]
    launched = [words[1:] for words in lines if words[0] == "arguments:"]
    given = [words[1:] for words in lines if words[0] == "given:"]
    captured = next(words[1] for words in lines if words[0] == "captured:")
    # Two kernels each: the first sorts sequences by length.
    assert len(given) == 2 and len(launched) == 4
    for number, words in enumerate(given):
        order, attention = launched[2 * number:2 * number + 2]
        assert set(words) <= set(attention) and not set(words) & set(order)
        assert order[0] in attention and order[1] == "4"
        assert attention[attention.index(words[0]):][1:5] == ["2", "40", "16", "32"]
    assert captured in launched[1] and captured not in launched[3]


# --- Refusals -----------------------------------------------------------------


def block_mask():
    return flex.create_block_mask(causal, None, None, 62, 62, device="cpu")


PLAIN = torch.ones(4, HEADS, 8, DIM)
REFUSED = {
    "BlockMask": (lambda f, s, q, k, v: f(q, k, v, block_mask=block_mask()), NotImplementedError, "a BlockMask is for dense tensors"),
    "attn_mask": (lambda f, s, q, k, v: s(q, k, v, torch.ones(1, dtype=torch.bool)), NotImplementedError, "attn_mask can't be given"),
    "plain key": (lambda f, s, q, k, v: f(q, PLAIN, v), TypeError, "or none of them, found that key is not"),
    "plain query": (lambda f, s, q, k, v: s(PLAIN, k, v), TypeError, "key is a nested tensor; .* or none of them"),
    "other lengths": (lambda f, s, q, k, v: f(q, k, nested(starts((6, 0, 39, 17)))[0]), ValueError, "with different lengths"),
    "fewer sequences": (lambda f, s, q, k, v: f(q, *[nested(starts((5, 57)))[0]] * 2), ValueError, "the same number of sequences, found 4 and 2"),
    "heads inside": (lambda f, s, q, k, v: f(*(one.transpose(1, 2) for one in (q, k, v))), ValueError, r"\.transpose\(1, 2\) converts"),
    "layout": (lambda f, s, q, k, v: f(*[torch.nested.nested_tensor([PLAIN[0]])] * 3), TypeError, "of layout torch.jagged"),
    "rows of no sequence": (lambda f, s, q, k, v: f(*[torch.nested.nested_tensor_from_jagged(
        torch.ones(20, HEADS, DIM), torch.tensor([0, 10, 20]), lengths=torch.tensor([4, 5])).transpose(1, 2)] * 3), ValueError,
        r"between sequences: \.contiguous\(\) removes them"),
    "captured": (lambda f, s, q, k, v: f(PLAIN, PLAIN, PLAIN, lambda x, b, h, i, j: x + q[b]), Exception,
                 "captured tensor 'q' is a nested tensor"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nested_tensors_that_are_refused(ours, name):
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        call(*(functools.partial(one, backend="interpret") for one in (ours.flex_attention, ours.scaled_dot_product_attention)),
             *three()[0])


def refused(ours, tensor, message):
    """Unsupported classes, as inputs and as captured tensors."""
    from fovea import TraceError

    attend = functools.partial(ours.flex_attention, PLAIN[:1, :, :5], PLAIN[:1, :, :5], backend="interpret")
    with pytest.raises(TypeError, match=f"^value is {message}"):
        attend(tensor)
    with pytest.raises(TraceError, match=f"captured tensor 'tensor' is {message}"):
        attend(PLAIN[:1, :, :5], lambda s, b, h, i, j: s + tensor[0, h, 0, 0])


@pytest.mark.filterwarnings("ignore:.*prototype")
def test_other_classes(ours):
    from torch.masked import as_masked_tensor

    plain = torch.ones(1, HEADS, 5, DIM)
    refused(ours, as_masked_tensor(plain, plain > 0), "a MaskedTensor: .get_data")
    refused(ours, plain.to_sparse(), "of layout torch.sparse_coo: .to_dense")


def test_distributed_tensors(ours):
    distributed = pytest.importorskip("torch.distributed.tensor")
    fake = pytest.importorskip("torch.testing._internal.distributed.fake_pg")
    torch.distributed.init_process_group("fake", rank=0, world_size=1, store=fake.FakeStore())
    try:
        mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (1,))
        refused(ours, distributed.DTensor.from_local(torch.ones(1, HEADS, 5, DIM), mesh, [distributed.Replicate()]),
                r"a DTensor: \.to_local")
    finally:
        torch.distributed.destroy_process_group()


class Logged(torch.Tensor):
    """Wraps another tensor and records ops."""

    @staticmethod
    def __new__(cls, inner, seen):
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, strides=inner.stride(), dtype=inner.dtype, device=inner.device)
        made.inner, made.seen = inner, seen
        return made

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        from torch.utils._pytree import tree_map

        found = []

        def inner(one):
            if not isinstance(one, Logged):
                return one
            found.append(one)
            return one.inner

        result = function(*tree_map(inner, args), **tree_map(inner, kwargs or {}))
        found[0].seen.append(str(function))
        return tree_map(lambda one: Logged(one, found[0].seen) if isinstance(one, torch.Tensor) else one, result)


def test_classes_that_see_ops(ours):
    """Wrapper classes see one op, whether they are the query or a captured tensor."""
    tensor, weight, seen = torch.randn(1, HEADS, 5, DIM), torch.randn(HEADS), []

    def call(tensor, weight):
        return ours.flex_attention(tensor, tensor, tensor, lambda s, b, h, i, j: s * weight[h], backend="interpret")

    expected = call(tensor, weight)
    for given in ((Logged(tensor, seen), weight), (tensor, Logged(weight, seen)), (Logged(tensor, seen), Logged(weight, seen))):
        seen.clear()
        assert torch.equal(call(*given).inner, expected)
        assert seen == ["fovea.attention.default"]

    class Named(torch.Tensor):
        pass

    assert torch.equal(call(tensor.as_subclass(Named), weight).as_subclass(torch.Tensor), expected)
    assert torch.equal(call(tensor, weight.as_subclass(Named)).as_subclass(torch.Tensor), expected)
