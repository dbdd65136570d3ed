"""fovea.torch under torch.compile: functions defined in compiled code, the values that they refer
to, and recompilation."""

import functools
import re

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
flex = pytest.importorskip("torch.nn.attention.flex_attention")

import torch_variants as variants  # noqa: E402

HEADS, LENGTH = 4, 20


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.torch

    return fovea.torch


@pytest.fixture(autouse=True)
def anew():
    torch.compiler.reset()


def tensors(seed=3):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(1, HEADS, LENGTH, 16, generator=generator).requires_grad_() for _ in range(3)]


class Graphs:
    """A backend that counts compiled graphs."""

    def __init__(self, backend="aot_eager"):
        from torch._dynamo.testing import CompileCounterWithBackend

        self._counter = CompileCounterWithBackend(backend)

    def compile(self, model, fullgraph=True, **options):
        return torch.compile(model, backend=self._counter, fullgraph=fullgraph, **options)

    @property
    def count(self):
        return self._counter.frame_count

    def targets(self):
        return [str(node.target) for graph in self._counter.graphs for node in graph.graph.nodes if node.op == "call_function"]


def check(found, expected, arguments, by):
    """Outputs, and gradients of arguments and parameters."""
    for function in (found, expected):
        assert all(one.grad is None for one in by)
    results = [function(*arguments) for function in (found, expected)]
    torch.testing.assert_close(*results)
    gradients = [torch.autograd.grad(one.square().sum(), [*arguments, *by]) for one in results]
    for a, b in zip(*gradients):
        assert b.abs().max() > 0
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


class Model(torch.nn.Module):
    def __init__(self, ours):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(0.5, 2, HEADS))
        self.register_buffer("places", torch.linspace(0, 1, LENGTH))
        self.linear = torch.nn.Linear(HEADS, HEADS)
        self.window, self.attend = 5, functools.partial(ours.flex_attention, backend="interpret")


class Closure(Model):
    def forward(self, q, k, v):
        weight, bias = self.weight, self.linear(self.weight)

        def score(s, b, h, i, j):
            return s * weight[h] + bias[h] * self.places[j]

        return self.attend(q, k, v, score)


class Lambda(Model):
    def forward(self, q, k, v):
        return self.attend(q, k, v, lambda s, b, h, i, j: s * self.weight[h] + self.linear.bias[h] * self.places[j])


class Bound(Model):
    def score(self, s, b, h, i, j):
        return s * self.weight[h] + self.linear.bias[h] * self.places[j]

    def mask(self, b, h, i, j):
        return (i - j).abs() < self.window

    def forward(self, q, k, v):
        return self.attend(q, k, v, self.score, self.mask)


def scaled(by, s, b, h, i, j, *, bias, factor):
    return s * by[h] + bias[h] * (factor * j)


class Partial(Model):
    def forward(self, q, k, v):
        return self.attend(q, k, v, functools.partial(scaled, self.weight, bias=self.linear.bias, factor=0.5))


class Made(Model):
    """Functions defined outside of the compiled code."""

    def __init__(self, ours):
        super().__init__(ours)
        weight = self.weight
        self.score = lambda s, b, h, i, j: s * weight[h] + torch.tensor([1.0, 2.0, 3.0, 4.0])[h]

    def forward(self, q, k, v):
        return self.attend(q, k, v, self.score)


class Both(Model):
    """Both functions, a BlockMask that is created inside, and a tensor that both functions read."""

    def forward(self, q, k, v):
        twice, window = self.weight * 2, self.window

        def mask(b, h, i, j):
            return (i >= j) & (((i - j) < window) | (twice[h] > 3))

        block_mask = flex.create_block_mask(lambda b, h, i, j: i + window >= j, None, None, LENGTH, LENGTH, device="cpu")
        a = self.attend(q, k, v, lambda s, b, h, i, j: s * twice[h], mask)
        return self.attend(a, k, v, lambda s, b, h, i, j: s - twice[h], block_mask)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("kind", [Closure, Lambda, Bound, Partial, Made, Both])
def test_functions_of_modules(ours, kind, backend):
    """Parameters that functions read have gradients; there is one graph, which contains the op."""
    model, graphs = kind(ours), Graphs(backend)
    by = [one for name, one in model.named_parameters() if name in {
        Closure: ("weight", "linear.weight", "linear.bias"), Made: ("weight",), Both: ("weight",)
    }.get(kind, ("weight", "linear.bias"))]
    check(graphs.compile(model), model, tensors(), by)
    assert graphs.count == 1 and any("fovea.attention" in one for one in graphs.targets())


def test_compiled_again_for_another_number(ours):
    """Code is not recompiled for other tensors."""
    model, graphs = Bound(ours), Graphs()
    by, compiled = [model.weight, model.linear.bias], graphs.compile(model)
    check(compiled, model, tensors(), by)
    with torch.no_grad():
        model.weight.mul_(2)
        model.places += 1
    check(compiled, model, tensors(4), by)
    model.register_buffer("places", torch.linspace(1, 0, LENGTH))
    check(compiled, model, tensors(), by)
    assert graphs.count == 1
    for count, model.window in enumerate((8, 11), start=2):
        check(compiled, model, tensors(), by)
        assert graphs.count == count


def test_functions_made_anew_are_no_other_code(ours):
    def make(weight):
        return lambda s, b, h, i, j: s * weight[h]

    function, graphs = None, Graphs()
    compiled = graphs.compile(call := lambda q, k, v: ours.flex_attention(q, k, v, function, backend="interpret"))
    for _ in range(3):
        weight = torch.randn(HEADS, requires_grad=True)
        function = make(weight)
        check(compiled, call, tensors(), [weight])
    assert graphs.count == 1
    weight = torch.randn(HEADS, requires_grad=True)
    function = lambda s, b, h, i, j: s + weight[h] * j  # noqa: E731
    check(compiled, call, tensors(), [weight])
    assert graphs.count == 2


def test_numbers_of_closures(ours):
    """Numbers, also those that change at the second call, which Dynamo passes as symbols."""
    def make(number):
        return lambda s, b, h, i, j: s * number + (j // 2) * (number + 1)

    function = None
    compiled = torch.compile(call := lambda q, k, v: ours.flex_attention(q, k, v, function, backend="interpret"), backend="eager",
                             fullgraph=True)
    for numbers in ((1, 2, 3, 1), (0.5, 1.5, 2.5, 0.5)):
        torch.compiler.reset()
        for function in map(make, numbers):
            torch.testing.assert_close(compiled(*tensors()), call(*tensors()))


def test_sizes_of_captured_tensors_stay_open(ours):
    def call(q, k, v, bias):
        return ours.flex_attention(q, k, v, lambda s, b, h, i, j: s + bias[i, j], backend="interpret")

    graphs = Graphs()
    compiled = graphs.compile(call, dynamic=True)
    for size in (24, 25, 40):
        bias = torch.randn(size, size + 3)
        torch.testing.assert_close(compiled(*tensors(), bias), call(*tensors(), bias))
    assert graphs.count == 1


NAMES = [("mask_mod", name) for name in list(variants.MASKS)[::6]] + [("score_mod", name) for name in list(variants.SCORES)[::6]]


@pytest.mark.parametrize("role, name", NAMES)
def test_same_programs_as_without(ours, monkeypatch, role, name):
    """The programs have the same source positions."""
    from fovea.torch.ops import _op

    seen, remember = [], _op.remember
    monkeypatch.setattr(_op, "remember", lambda spec, names: seen.append((spec.mlir, spec.located)) or remember(spec, names))
    function = (variants.MASKS if role == "mask_mod" else variants.SCORES)[name]
    functions = (None, function) if role == "mask_mod" else (function, None)
    given = [torch.randn(variants.BATCH, heads, length, variants.DIM) for heads, length in (
        (variants.HEADS, variants.QUERIES), (variants.KV_HEADS, variants.KEYS), (variants.KV_HEADS, variants.KEYS))]

    def call(q, k, v):
        return ours.flex_attention(q, k, v, *functions, enable_gqa=True, backend="interpret")

    with torch.no_grad():
        torch.testing.assert_close(Graphs("eager").compile(call)(*given), call(*given), rtol=0, atol=0)
    if torch.torch_version.TorchVersion(torch.__version__) < (2, 12):  # Dynamo did not record columns
        seen = [(program, re.sub(r'("\S+":\d+):\d+', r"\1", located)) for program, located in seen]
    assert len(seen) > 1 and len(set(seen)) == 1


# --- Graph breaks -------------------------------------------------------------


def test_graph_breaks(ours):
    """A function with side effects is not part of a graph: fullgraph raises with the reason; otherwise the call runs
    uncompiled between two graphs."""
    weight, calls = torch.randn(HEADS, requires_grad=True), []

    def model(q, k, v):
        twice = weight * 2

        def score(s, b, h, i, j):
            calls.append(h)
            return s * twice[h]

        return ours.flex_attention(q * 2, k, v, score, backend="interpret") * weight.sum()

    with pytest.raises(torch._dynamo.exc.Unsupported, match="side effect"):
        Graphs().compile(model)(*tensors())
    for _ in range(2):
        graphs = Graphs()
        check(graphs.compile(model, fullgraph=False), model, tensors(), [weight])
        assert graphs.count == 2 and not any("fovea" in one for one in graphs.targets())


def test_errors_of_functions(ours, fovea):
    """Without fullgraph, errors are those of an uncompiled call."""
    def branches(s, b, h, i, j):
        return s if h > 2 else -s

    def short(s, b, h, i):
        return s

    for function, message, reason in ((branches, "the value of a traced tensor is not known", "[Dd]ata-dependent"),
                                      (short, "score_mod takes 4 parameters, is called with 5", "(bind|positional) arguments")):
        def call(q, k, v):
            return ours.flex_attention(q, k, v, function, backend="interpret")

        with pytest.raises(fovea.TraceError, match=message):
            torch.compile(call, backend="eager")(*tensors())
        torch.compiler.reset()
        with pytest.raises(torch._dynamo.exc.Unsupported, match=reason):
            torch.compile(call, backend="eager", fullgraph=True)(*tensors())


def test_another_dynamo(ours, monkeypatch):
    """If private APIs of PyTorch change, a call is not part of a graph, and works."""
    from fovea.torch.trace import _dynamo
    from torch._dynamo.variables import higher_order_ops

    weight = torch.ones(HEADS, requires_grad=True)

    def call(q, k, v):
        return ours.flex_attention(q, k, v, lambda s, b, h, i, j: s * weight[h], backend="interpret") * 2

    def fail(*_):
        raise RuntimeError("an unexpected error")

    def give_back(translator, *_, **named):
        translator.output.tracers.pop()
        raise AssertionError("a graph of no op")

    for change, message in ((lambda patch: patch.delattr(higher_order_ops, "speculate_subgraph"), "be traced into a graph by PyTorch"),
                            (lambda patch: patch.setattr(higher_order_ops, "speculate_subgraph", give_back),
                             "be traced into a graph by PyTorch .*: a graph of no op"),
                            (lambda patch: patch.setattr(_dynamo, "build", fail), "^an unexpected error")):
        with monkeypatch.context() as patch:
            change(patch)
            torch.compiler.reset()
            check(torch.compile(call, backend="eager"), call, tensors(), [weight])
            torch.compiler.reset()
            with pytest.raises(torch._dynamo.exc.UserError, match=message):
                torch.compile(call, backend="eager", fullgraph=True)(*tensors())
