"""fovea.torch: tensors with unsupported strides or addresses. Uses the tests' fake driver, with
kernels for sm_90a and TMA, whose tensor maps the runtime checks as on a device."""

import re

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torch.nn.attention.flex_attention")

from conftest import ROOT  # noqa: E402
from test_torch_calls import START, run_on_stand_in  # noqa: E402

HOPPER = START + """
from fovea.torch.ops import _launches, _op
_op.targets_of = lambda device: ("sm_90a",)
copies = []
copied = _op.copied

def keep(layout, tensor):
    made = copied(layout, tensor)
    assert made.dtype == tensor.dtype and torch.equal(made, tensor)
    copies.append((tensor, made))
    return made

_op.copied = _launches.copied = keep

def numbers(*shape):
    made = torch.randn(*shape).half()
    kept.append(made)
    return made

def given(name, call, *tensors, copied=()):
    # The expected tensors of the kernel, of which those in `copied` are copies.
    copies.clear()
    o = call()
    o = o[0] if isinstance(o, tuple) else o
    made = {original.data_ptr(): copy for original, copy in copies}
    assert sorted(made) == sorted(one.data_ptr() for one in copied), (name, made)
    assert all(any(copy is one for _, one in copies) for copy in made.values())
    kept.extend(copies)
    print("given:", name, *(hex(made.get(one.data_ptr(), one).data_ptr()) for one in (*tensors, o)), flush=True)
    return o
"""

BIASES = """
bias = numbers(37, 37)

def score(s, b, h, i, j):
    return s + bias[i, j]

def call(q, k, v, function=score, **options):
    return lambda: flex_attention(q, k, v, function, **options)

q, k, v = tensors(1, 2, 37, 64)
for _ in range(2):
    given("a bias of 37 x 37", call(q, k, v), q, k, v, bias, copied=[bias])
bias = numbers(40, 40)
for _ in range(2):
    given("a bias of 40 x 40", call(q, k, v), q, k, v, bias)
bias = numbers(40, 80)[:, ::2]
for _ in range(2):
    given("every second column", call(q, k, v), q, k, v, bias, copied=[bias])
bias = numbers(1, 37).expand(37, 37)
given("a broadcast bias", call(q, k, v), q, k, v, bias)
assert not copies
bias = numbers(37, 1).expand(37, 37)
given("a bias of each row", call(q, k, v), q, k, v, bias, copied=[bias])
bias = numbers(41, 48)[1:, 4:44]
for _ in range(2):
    given("a bias from an odd address", call(q, k, v), q, k, v, bias, copied=[bias])
for dtype in (torch.int16, torch.uint8, torch.uint16):
    bias = torch.ones(37, 37).to(dtype)
    given("integers", call(q, k, v, lambda s, b, h, i, j: s + bias[i, j].to(torch.float32)), q, k, v, bias)
mask = numbers(1, 2, 37, 37)
given("attn_mask", lambda: scaled_dot_product_attention(q, k, v, mask), q, k, v, mask, copied=[mask])
"""

QUERIES = """
def call(*given, **options):
    return lambda: flex_attention(*given, **options)

def offset(*shape, by):
    # A view at an offset in elements from an aligned address.
    count = 1
    for extent in shape:
        count *= extent
    return numbers(count + by)[by:].view(shape)

shape = (1, 2, 48, 64)
q, k, v = tensors(*shape)
for _ in range(2):
    given("aligned", call(q, k, v), q, k, v)
odd = offset(*shape, by=1)
for _ in range(2):  # with the form of earlier, aligned calls
    given("an odd address", call(odd, k, v), odd, k, v, copied=[odd])
    given("aligned", call(q, k, v), q, k, v)
a, b, c = (offset(1, 2, 80, 64, by=by) for by in (1, 2, 4))
for _ in range(2):
    given("odd addresses at first", call(a, b, c), a, b, c, copied=[a, b, c])
a, b, c = tensors(1, 2, 80, 64)
for _ in range(2):
    given("then aligned", call(a, b, c), a, b, c)
wide = [numbers(1, 2, 48, 65)[..., :64] for _ in range(3)]
for _ in range(2):
    o = given("rows of 65", call(*wide), *wide, copied=wide)
    assert o.is_contiguous()
columns = numbers(1, 2, 64, 48).mT
for _ in range(2):
    o = given("columns", call(columns, k, v), columns, k, v, copied=[columns])
    assert o.stride() == (2 * 48 * 64, 48 * 64, 64, 1), o.stride()
tokens = numbers(1, 48, 2, 65)[..., :64].transpose(1, 2)
o = given("rows of 65, by tokens", call(tokens, k, v), tokens, k, v, copied=[tokens])
assert o.stride(1) == 64 and o.stride(2) == 128
shared = [numbers(3, 2, 48, 64), *(numbers(1, 2, 48, 65)[..., :64] for _ in range(2))]
for _ in range(2):
    given("one batch entry of keys", call(*shared), *shared, copied=shared[1:])
both = numbers(2 * 48 * 65 + 1)[1:].view(1, 2, 48, 65)[..., :64]
for _ in range(2):
    given("rows of 65 from an odd address", call(both, k, v), both, k, v, copied=[both])
empty = numbers(1, 2, 48 * 64 + 1)[:, :, 1:].view(1, 2, 48, 64)[:, :, :0]
given("no queries", call(empty, k, v))
with torch.inference_mode():
    given("inference mode", call(*wide), *wide, copied=wide)
"""

PIECES = """
from torch.nn.attention import flex_attention as flex

def score(s, b, h, i, j):
    return s + i

def call(q, k, v, mask=None, **options):
    return lambda: flex_attention(q, k, v, score, mask, **options)

def way(name, o, shape, before):
    assert o.shape == shape, (name, o.shape)
    print("way:", name, "long" if len(stand_in.long_ways) > before else "short", flush=True)

for dim, value_dim in ((20, 20), (64, 100), (64, 512), (100, 600)):
    q, k = (numbers(1, 2, 48, dim) for _ in range(2))
    v = numbers(1, 2, 48, value_dim)
    for kind in ("long", "short"):
        before = len(stand_in.long_ways)
        way(kind, call(q, k, v)(), (1, 2, 48, value_dim), before)

def causal(b, h, i, j):
    return i >= j

for queries in (1, 5):
    q, k, v = numbers(3, 2, queries, 64), numbers(1, 2, 150, 64), numbers(1, 2, 150, 64)
    mask = flex.create_block_mask(causal, None, None, queries, 150, device="cpu", BLOCK_SIZE=(1, 64))
    for kind in ("long", "short"):
        before = len(stand_in.long_ways)
        o, lse = call(q, k, v, mask, return_lse=True)()
        way(kind, o, (3, 2, queries, 64), before)
        assert lse.shape == (3, 2, queries)
"""


def test_calls_in_pieces(run_python, build):
    """Unsupported head dims and block sizes: repeated calls take the fast path."""
    lines = run_on_stand_in(run_python, build, PIECES, HOPPER).splitlines()
    ways = [line.split()[1:] for line in lines if line.startswith("way:")]
    assert len(ways) == 12 and all(wanted == found for wanted, found in ways), ways
    # A value head dim of 512 takes two launches, one of 600 three.
    assert sum(line.startswith("arguments:") for line in lines) == 2 * (1 + 1 + 2 + 3 + 1 + 1)
    # Each of two heads becomes five heads of one row.
    assert any("64x1x10x3 " in line for line in lines if line.startswith("arguments:"))


@pytest.mark.parametrize("script, launches", [(BIASES, 14), (QUERIES, 20)])
def test_kernels_get_copies(run_python, build, script, launches):
    """The runtime accepts each launch, and tensors with a supported layout are not copied."""
    lines = run_on_stand_in(run_python, build, script, HOPPER).splitlines()
    arguments, steps = "", 0
    for line in lines:
        if line.startswith("arguments:"):
            arguments = line
        elif line.startswith("given:"):
            addresses = [word for word in line.split() if word.startswith("0x")]
            if "no queries" in line:
                continue
            assert all(re.search(word + r"\b", arguments) for word in addresses), (line, arguments)
            steps += 1
    # Each call is one launch.
    assert steps == launches == sum(line.startswith("arguments:") for line in lines)


def test_copies(fovea):
    from fovea.torch.ops import _layouts

    layout = _layouts.Layout(16, 2, 8, (1 << 40,) * 3)
    base = torch.randn(8, 9, 10).half()
    for tensor in (base, base[:, ::2], base[..., 1:], base.transpose(0, 2), base.transpose(1, 2), base[:, :1].expand(8, 9, 10),
                   base[:, :, :1].expand(8, 9, 10), base[:1, :, :1].expand(8, 9, 10), base[:1], base[:, :1], base[..., :1], base[:0]):
        made = _layouts.copied(layout, tensor)
        assert torch.equal(made, tensor) and layout.fits(made) and layout.is_aligned(made), (tensor.shape, tensor.stride())
        # Broadcast dimensions stay broadcast, except the innermost one.
        shown = [stride for stride, extent in zip(tensor.stride()[:2], tensor.shape) if extent > 1]
        assert [stride == 0 for stride in made.stride()[:2]] == [
            stride == 0 and extent > 1 for stride, extent in zip(tensor.stride(), tensor.shape)][:2] or not tensor.numel(), shown
    assert not layout.fits(base) and layout.fits(base[..., :8].contiguous()) and layout.fits(base[:0])
    far = torch.zeros(1).half().as_strided((1, 1, 1), (1 << 41, 8, 1))
    assert not layout.fits(far) and layout.fits(_layouts.copied(layout, far))


def test_what_kernels_ask(fovea):
    from fovea.torch.ops import _layouts

    spec = fovea.attention(lambda s, b, h, i, j, m, w: s + m[i, j] + w[j], head_dim=64,
                           captures={"m": ("f16", (None, None)), "w": ("f32", (None,))})
    for target, q, m in (("sm_90a", (16, 3, 8), (16, 1, 8)), ("sm_80", (16, 3, 8), (2, -1, 1))):
        facts = fovea.compile(spec, target=target).metadata
        names = ("q", "m", "w")
        found = dict(zip(names, _layouts.layouts_of(facts, names)))
        assert [found[name][:3] for name in names] == [q, m, (4, -1, 1)]
        if target == "sm_80":
            assert found["q"].reach[2] == (1 << 31) - 1 and found["q"].reach[1] > 1 << 40


@pytest.mark.parametrize("level", ["attn", "warp"])
def test_layout_cases(fovea, level, monkeypatch):
    """The cases that test/GPU runs on a GPU, too."""
    import fovea.torch as ours  # noqa: F811

    monkeypatch.syspath_prepend(str(ROOT / "test" / "GPU"))
    from layout_cases import check_layout_cases

    assert not check_layout_cases(ours.flex_attention, "cpu", 45, backend=f"interpret:{level}")
