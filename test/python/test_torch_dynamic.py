"""fovea.torch under torch.compile with changing sizes and numbers: one recompilation when they
become symbols, and none afterwards."""

import functools

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
flex = pytest.importorskip("torch.nn.attention.flex_attention")

from torch.nn.attention.bias import causal_lower_right  # noqa: E402

from test_torch_compile import Graphs, anew, ours  # noqa: E402, F401

DIM = 16


def qkv(batch=3, heads=2, queries=24, keys=None, kv_heads=None):
    return tuple(torch.randn(batch, of, length, DIM) for of, length in (
        (heads, queries), (kv_heads or heads, keys or queries), (kv_heads or heads, keys or queries)))


def causal(b, h, i, j):
    return i >= j


def block_mask(function, batch, queries, keys, size=128):
    return flex.create_block_mask(function, batch, None, queries, keys, device="cpu", BLOCK_SIZE=size)


def computed(flex, q, k, v, sum, n, f):
    return flex(q, k, v, lambda s, b, h, i, j: s * (sum + 1) + min(n, 7) * j / sum, scale=f * n / 4)


class Numbers:
    """An object that is not a module: torch.compile treats numbers in a module's attributes as constants."""

    def __init__(self, window, factor):
        self.window, self.factor = window, factor


#: Sizes of a call: batch, key heads, length. All differ, as torch.compile would unify equal ones.
SIZES = [(3, 2, 20), (5, 4, 23), (7, 6, 31)]
NUMBERS = [(5, 0.5), (6, 0.25), (7, 0.75)]


def of_sizes(*make):
    return [sum((one(*sizes) for one in make), ()) for sizes in SIZES]


def of_numbers(*make):
    return [(*qkv(), *(one(*numbers) for one in make)) for numbers in NUMBERS]


grouped = lambda b, h, n: qkv(b, 2 * h, n, n, h)  # noqa: E731
square = lambda b, h, n: qkv(b, h, n)  # noqa: E731
window, factor = (lambda n, f: n), (lambda n, f: f)

#: By name: the compiled function of the two functions and arguments, and the arguments of each call.
CASES = {
    "batch, heads, lengths": (lambda flex, sdpa, q, k, v: flex(q, k, v, block_mask=causal, enable_gqa=True), of_sizes(grouped)),
    "keys": (lambda flex, sdpa, q, k, v: flex(q, k, v), [qkv(keys=n) for n in (20, 23, 31)]),
    "is_causal": (lambda flex, sdpa, q, k, v: sdpa(q, k, v, is_causal=True, enable_gqa=True), of_sizes(grouped)),
    "attn_mask": (lambda flex, sdpa, q, k, v, mask: sdpa(q, k, v, mask, scale=0.5),
                  of_sizes(square, lambda b, h, n: (torch.randn(b, 1, n, n),))),
    "attn_mask of three dimensions": (lambda flex, sdpa, q, k, v, mask: sdpa(q[:, 0], k[:, 0], v[:, 0], mask),
                                      of_sizes(square, lambda b, h, n: (torch.randn(n, n) > -1,))),
    "CausalBias": (lambda flex, sdpa, q, k, v, bias: sdpa(q, k, v, bias), [
        (*qkv(queries=n, keys=n + 9), causal_lower_right(n, n + 9)) for n in (20, 23, 31)]),
    "scale": (lambda flex, sdpa, q, k, v, f: flex(q, k, v, lambda s, b, h, i, j: s + i, scale=f), of_numbers(factor)),
    "scale, an integer": (lambda flex, sdpa, q, k, v, n: sdpa(q, k, v, scale=n), of_numbers(window)),
    "scale and attn_mask": (lambda flex, sdpa, q, k, v, f, mask: sdpa(q, k, v, mask, scale=f),
                            of_numbers(factor, lambda *_: torch.randn(24, 24) > -1)),
    "kernel_options": (lambda flex, sdpa, q, k, v, n: flex(q, k, v, kernel_options={"BLOCK_M": n, "num_stages": n}),
                       of_numbers(window)),
    "captured numbers": (lambda flex, sdpa, q, k, v, n, f: flex(
        q, k, v, lambda s, b, h, i, j: torch.where(s > f, torch.clamp(s, -f, f * 2), n) + (n * f) * j / (n + 1),
        lambda b, h, i, j: (i // n - j // n < n // 2 + 1) & (i % n != n)), of_numbers(window, factor)),
    "numbers computed outside": (lambda flex, sdpa, q, k, v, n, f: computed(flex, q, k, v, n * 2 + f, n, f), of_numbers(window, factor)),
    "attributes": (lambda flex, sdpa, q, k, v, all: flex(
        q, k, v, lambda s, b, h, i, j: torch.where(i - j < all.window, s * all.factor, -1), scale=all.factor), of_numbers(Numbers)),
    "lists": (lambda flex, sdpa, q, k, v, all: flex(
        q, k, v, lambda s, b, h, i, j: torch.where(i - j < all[0], s * all[1]["factor"], -1.0)),
        of_numbers(lambda n, f: [n, {"factor": f}])),
    "sizes in functions": (lambda flex, sdpa, q, k, v: flex(q, k, v, block_mask=lambda b, h, i, j: i + (k.shape[2] - q.shape[2]) >= j),
                           [qkv(queries=n, keys=2 * n + 3) for n in (8, 9, 12)]),
    "captured tensors": (lambda flex, sdpa, q, k, v, table: flex(
        q, k, v, lambda s, b, h, i, j: s + table[h, i - j] + table.flip(1)[0, i] + table[:, 1:][0, j - 1] + table[
            h, : table.shape[1] // 2][j // 2] + table.view(-1, 2, table.shape[1] // 2)[h, 1, j // 2] * table.shape[1]),
        of_sizes(square, lambda b, h, n: (torch.randn(h, 2 * n),))),
    "a captured tensor of five dimensions": (lambda flex, sdpa, q, k, v, table: flex(
        q, k, v, lambda s, b, h, i, j: s + table[b, h, i % 4, j % 5, -1]),
        of_sizes(square, lambda b, h, n: (torch.randn(b + 10, h + 10, b + 20, h + 20, n + 30),))),
    "BlockMask's lengths": (lambda flex, sdpa, q, k, v, mask: flex(q, k, v, block_mask=mask),
                            [(*qkv(queries=n), block_mask(causal, None, n, n)) for n in (20, 24, 31)]),
    "BlockMask's blocks and batch": (lambda flex, sdpa, q, k, v, mask: flex(q, k, v, block_mask=mask), [
        (*qkv(b, 2, n), block_mask(causal, b, n, n, 16)) for b, n in ((5, 36), (7, 64), (9, 81))]),
    "BlockMask of rows": (lambda flex, sdpa, q, k, v, mask: flex(q, k, v, block_mask=mask), [
        (*qkv(queries=n, keys=40), block_mask(causal, None, n, 40, (1, 16))) for n in (4, 5, 6)]),
}


def compiled_case(ours, name, graphs, dynamic):  # noqa: F811
    run, calls = CASES[name]
    both = (functools.partial(one, backend="interpret") for one in (ours.flex_attention, ours.scaled_dot_product_attention))
    call = functools.partial(run, *both)
    return call, graphs.compile(lambda *arguments: call(*arguments), dynamic=dynamic), calls


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", CASES)
def test_numbers_stay_open(ours, name, dynamic):  # noqa: F811
    """Sizes and numbers are symbols from the second call on by default, and from the first with
    dynamic=True."""
    graphs = Graphs("eager")
    call, compiled, calls = compiled_case(ours, name, graphs, dynamic)
    for number, arguments in enumerate(calls):
        torch.testing.assert_close(compiled(*arguments), call(*arguments))
        assert graphs.count <= (1 if dynamic else min(number + 1, 2))


@pytest.mark.parametrize("make", [lambda n: (*qkv(queries=100), block_mask(causal, None, 100, 100, 16 * n)),
                                  lambda n: (*qkv(), n), lambda n: (*qkv(), {"tile_n": 16 * n})],
                         ids=["BlockMask's block size", "exponent", "schedule"])
def test_numbers_that_programs_are_for(ours, make):  # noqa: F811
    """Each value has its own graph; none raises."""
    def call(q, k, v, given):
        if isinstance(given, flex.BlockMask):
            return ours.flex_attention(q, k, v, block_mask=given, backend="interpret")
        if isinstance(given, dict):
            return ours.flex_attention(q, k, v, kernel_options={"schedule": given}, backend="interpret")
        return ours.flex_attention(q, k, v, lambda s, b, h, i, j: (s.abs() + 1) ** given, backend="interpret")

    for dynamic in (None, True):
        torch.compiler.reset()
        graphs = Graphs("eager")
        compiled = graphs.compile(call, dynamic=dynamic)
        for number in (2, 3, 2):
            arguments = make(number)
            torch.testing.assert_close(compiled(*arguments), call(*arguments))
        assert graphs.count == 2


def test_block_mask_made_within(ours):  # noqa: F811
    def call(q, k, v, n):
        mask = block_mask(lambda b, h, i, j: i - j < n, None, q.shape[2], k.shape[2])
        return ours.flex_attention(q, k, v, block_mask=mask, backend="interpret")

    graphs = Graphs("eager")
    compiled = graphs.compile(call, dynamic=True)
    for length in (20, 31):
        arguments = (*qkv(queries=length), length // 2)
        torch.testing.assert_close(compiled(*arguments), call(*arguments))
    assert graphs.count == 1


def test_no_graph_breaks(ours):  # noqa: F811
    """Also without fullgraph, where a graph break would be silent."""
    counters = torch._dynamo.utils.counters
    for name in ("BlockMask's blocks and batch", "captured numbers", "scale and attn_mask"):
        counters.clear()
        run, calls = CASES[name]
        both = (functools.partial(one, backend="interpret") for one in (ours.flex_attention, ours.scaled_dot_product_attention))
        torch.compile(functools.partial(run, *both), backend="eager", dynamic=True)(*calls[0])
        assert not counters["graph_break"]


# --- Models -------------------------------------------------------------------


class Layer(torch.nn.Module):
    """Attention as in Llama: grouped heads, rotary embeddings."""

    def __init__(self, ours, is_causal):  # noqa: F811
        super().__init__()
        self.ours, self.is_causal = ours, is_causal
        self.norm, self.into = torch.nn.RMSNorm(32), torch.nn.Linear(32, 64, bias=False)
        self.out = torch.nn.Linear(32, 32, bias=False)
        if not is_causal:
            self.slopes = torch.nn.Parameter(torch.tensor([0.1, 0.2, 0.3, 0.4]))

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape
        q, k, v = self.into(self.norm(x)).view(batch, length, 8, 8).transpose(1, 2).split([4, 2, 2], 1)
        q, k = (one * cos + torch.cat((-one[..., 4:], one[..., :4]), -1) * sin for one in (q, k))
        if self.is_causal:
            o = self.ours.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True, backend="interpret")
        else:
            o = self.ours.flex_attention(q, k, v, lambda s, b, h, i, j: s - self.slopes[h] * (i - j) / length,
                                         lambda b, h, i, j: i >= j, enable_gqa=True, backend="interpret")
        return x + self.out(o.transpose(1, 2).reshape(batch, length, -1))


class Model(torch.nn.Module):
    def __init__(self, ours):  # noqa: F811
        super().__init__()
        self.embedding, self.layers = torch.nn.Embedding(50, 32), torch.nn.ModuleList(Layer(ours, one) for one in (True, False))

    def forward(self, ids):
        angles = torch.arange(ids.shape[1])[:, None] / 100 ** (torch.arange(8) % 4 / 4)
        x, cos, sin = self.embedding(ids), angles.cos(), angles.sin()
        for layer in self.layers:
            x = layer(x, cos, sin)
        return x


def test_model_called_at_other_shapes(ours):  # noqa: F811
    """Forward and backward with AOTAutograd's symbolic graphs; the third shape does not recompile."""
    model, graphs = Model(ours), Graphs("aot_eager")
    compiled, parameters = graphs.compile(model), list(model.parameters())
    for number, shape in enumerate(((2, 12), (3, 20), (5, 17))):
        ids = torch.randint(50, shape)
        with torch._dynamo.config.patch(error_on_recompile=number == 2):
            results = [one(ids) for one in (compiled, model)]
            torch.testing.assert_close(*results)
            gradients = [torch.autograd.grad(one.square().sum(), parameters) for one in results]
        for found, expected in zip(*gradients):
            torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)
    assert graphs.count == 2
