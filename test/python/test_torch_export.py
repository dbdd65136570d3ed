"""fovea.torch under torch.export, in both modes, and make_fx, in all three: the tracers of the
surrounding code don't record the tracing of functions."""

import functools
import io

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
flex = pytest.importorskip("torch.nn.attention.flex_attention")

from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402


@pytest.fixture(scope="module")
def attend(fovea):
    import fovea.torch as ours

    return tuple(functools.partial(one, backend="interpret") for one in (ours.flex_attention, ours.scaled_dot_product_attention))


def causal(b, h, i, j):
    return i >= j


#: By name: the exported function of the two functions, a parameter of two elements and the input.
FORMS = {
    "plain": lambda flex, sdpa, w, q: flex(q, q, q),
    "mask from outside": lambda flex, sdpa, w, q: flex(q, q, q, block_mask=causal),
    "mask made within": lambda flex, sdpa, w, q: flex(q, q, q, block_mask=lambda b, h, i, j: i >= j),
    "learned bias": lambda flex, sdpa, w, q: flex(q, q, q, lambda s, b, h, i, j: s + w[h] * (i - j)),
    "a captured tensor of five dimensions": lambda flex, sdpa, w, q: flex(
        q, q, q, lambda s, b, h, i, j: s + (w[:, None, None, None, None] * q)[h, b, h, i, j % 16]),
    "is_causal": lambda flex, sdpa, w, q: sdpa(q, q, q, is_causal=True),
    "sizes and constants": lambda flex, sdpa, w, q: flex(
        q, q, q, lambda s, b, h, i, j: s * torch.tensor([1.0, 2.0])[h] + w.exp()[h] * (i - j) / q.shape[2]),
    "BlockMask and a mask of data": lambda flex, sdpa, w, q: sdpa(
        flex(q, q, q, block_mask=make_block_mask(causal, None, None, q.shape[2], q.shape[2], device="cpu")), q, q,
        (q[:, :, :, :1].mT > -1) | (w > 0).any()),
}
make_block_mask = flex.create_block_mask


class Model(torch.nn.Module):
    def __init__(self, attend, name):
        super().__init__()
        self.w = torch.nn.Parameter(torch.tensor([0.5, 2.0]))
        self.form, self.attend = FORMS[name], attend

    def forward(self, q):
        return self.form(*self.attend, self.w, q)


def tensor(length=20):
    return torch.randn(1, 2, length, 16, generator=torch.Generator().manual_seed(length)).bfloat16()


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", FORMS)
def test_export(attend, name, strict):
    """With fixed sizes and a dynamic length; the loaded program gives the same bits."""
    model = Model(attend, name)
    for lengths, sizes in (((20,), None), ((20, 33), {"q": {2: torch.export.Dim("length", min=2, max=100)}})):
        program = torch.export.export(model, (tensor(),), dynamic_shapes=sizes, strict=strict)
        file = io.BytesIO()
        torch.export.save(program, file)
        file.seek(0)
        loaded = torch.export.load(file).module()
        for length in lengths:
            assert torch.equal(loaded(tensor(length)), model(tensor(length)))


@pytest.mark.parametrize("name", FORMS)
def test_make_fx(attend, name):
    model = Model(attend, name)

    def call(w, q):
        return torch.func.functional_call(model, {"w": w}, (q,))

    for mode in ("real", "fake", "symbolic"):
        graph = make_fx(call, tracing_mode=mode)(model.w, tensor())
        assert any("fovea.attention" in str(node.target) for node in graph.graph.nodes)
        # The graph only contains sizes that are symbols.
        for length in (20, 33) if mode == "symbolic" else (20,):
            assert torch.equal(graph(model.w, tensor(length)), model(tensor(length)))


def test_under_modes(attend):
    """Fake tensors, a function mode, functionalisation; programs traced under a mode are not cached for other calls."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.overrides import TorchFunctionMode

    class Watch(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            return function(*args, **(kwargs or {}))

    bias = torch.randn(2)

    def score(s, b, h, i, j):
        return s + bias[h] * torch.tensor([1.0, 2.0])[h]

    expected = attend[0](tensor(), tensor(), tensor(), lambda *given: score(*given))
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fake = mode.from_tensor(tensor())
        assert attend[0](fake, fake, fake, score).shape == fake.shape
    with Watch():
        assert torch.equal(attend[0](tensor(), tensor(), tensor(), score), expected)
    functional = torch.func.functionalize(lambda q: attend[0](q, q, q, score))
    assert torch.equal(functional(tensor()), expected)
    assert torch.equal(make_fx(functional)(tensor())(tensor()), expected)
    assert torch.equal(attend[0](tensor(), tensor(), tensor(), score), expected)


def test_dropout_is_no_constant(attend):
    """Dropout is part of neither a graph nor a program."""
    def call(q):
        return attend[1](q, q, q, dropout_p=0.5)

    for trace in (lambda: make_fx(call)(tensor()), lambda: make_fx(call, tracing_mode="fake")(tensor())):
        with pytest.raises(NotImplementedError, match="its seed would be a constant of the graph"):
            trace()


def test_gradients_of_graphs(attend):
    """AOT export: graphs contain the forward and the backward op."""
    from torch._functorch.aot_autograd import aot_function

    seen = []
    compile = lambda graph, _: seen.append(str(graph.code)) or graph  # noqa: E731
    w, q = torch.tensor([0.5, 2.0], requires_grad=True), torch.randn(1, 2, 20, 16, requires_grad=True)
    call = functools.partial(FORMS["learned bias"], *attend)
    results = [one(w, q) for one in (aot_function(call, fw_compiler=compile, bw_compiler=compile), call)]
    gradients = [torch.autograd.grad(one.square().sum(), (w, q)) for one in results]
    for a, b in zip((results[0], *gradients[0]), (results[1], *gradients[1])):
        torch.testing.assert_close(a, b)
    assert len(seen) == 2 and "fovea.attention_backward" in seen[1]
