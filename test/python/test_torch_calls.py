"""fovea.torch: a call with the form of an earlier one takes the fast path with its own tensors;
every change is detected. Uses the tests' fake driver, which prints the arguments of kernels."""

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torch.nn.attention.flex_attention")

from conftest import ROOT  # noqa: E402

START = """
import torch
from torch.nn.attention import flex_attention as flex
import torch_on_stand_in as stand_in
from fovea.torch import flex_attention, scaled_dot_product_attention

torch.set_grad_enabled(False)
kept = []

def tensors(*shape):
    # Kept alive, so that addresses are unique.
    kept.append([torch.zeros(*(shape or (1, 2, 16, 16))).half() for _ in range(3)])
    return kept[-1]

def step(name, call, *wanted):
    # The expected arguments of the kernel, and whether the call takes the slow path.
    before = len(stand_in.long_ways)
    o = call()
    o = o[0] if isinstance(o, tuple) else o
    print("step:", name, "long" if len(stand_in.long_ways) > before else "short", *(hex(t.data_ptr()) for t in (*wanted, o)),
          flush=True)
"""

SCORES = """
slopes, other = torch.ones(2), torch.ones(2)
gain, table = 0.5, torch.ones(2)

def score(s, b, h, i, j):
    return s * gain + slopes[h]

def call(q, k, v, function=score, **options):
    return lambda: flex_attention(q, k, v, function, **options)

q, k, v = tensors()
wide = torch.zeros(1, 2, 16, 32).half()
broadcast = [torch.zeros(batch, 2, 16, 16).half() for batch in (3, 1, 1)]
with torch.inference_mode():
    inference = [torch.zeros(1, 2, 16, 16).half() for _ in range(3)]
step("long: first", call(q, k, v), q, k, v, slopes)
step("short: again", call(q, k, v), q, k, v, slopes)
a, b, c = tensors()
step("short: other tensors", call(a, b, c), a, b, c, slopes)
slopes = other
step("short: another captured tensor", call(a, b, c), a, b, c, other)
gain = 0.25
step("long: another number", call(a, b, c), a, b, c, other)
a, b, c = tensors(1, 2, 32, 16)
step("long: another length", call(a, b, c), a, b, c, other)
step("short: as before", call(q, k, v), q, k, v, other)
a, b, c = (t.transpose(1, 2) for t in tensors(1, 16, 2, 16))
step("long: other strides", call(a, b, c), a, b, c, other)
step("long: another scale", call(q, k, v, scale=0.5), q, k, v, other)
step("long: with log-sum-exp", call(q, k, v, return_lse=True), q, k, v, other)
step("short: with log-sum-exp", call(q, k, v, return_lse=True), q, k, v, other)
with torch.enable_grad():  # no tensor requires a gradient
    step("short: with log-sum-exp, with gradients", call(q, k, v, return_lse=True), q, k, v, other)
for kind in ("long", "short"):
    step(kind + ": with options", call(q, k, v, kernel_options={"num_warps": 4}), q, k, v, other)
    step(kind + ": other options", call(q, k, v, kernel_options={"schedule": "auto"}), q, k, v, other)
    step("long: options that can't be compared", call(q, k, v, kernel_options={"num_warps": []}), q, k, v, other)
    step("short: with AuxRequest", call(q, k, v, return_aux=flex.AuxRequest(lse=True)), q, k, v, other)
    step(kind + ": one tensor", call(q, q, q), q, q, q, other)
    with torch.inference_mode():
        call(*inference)()
        step("short: inference mode", call(*inference), *inference, other)
    step(kind + ": one batch entry of keys", call(*broadcast), *broadcast, other)
    step(kind + ": another head dim of values", call(q, k, wide), q, k, wide, other)
step("long: default dtype", lambda: (torch.set_default_dtype(torch.float64), call(q, k, v)())[1], q, k, v, other)
torch.set_default_dtype(torch.float32)

slopes = torch.nn.Parameter(torch.ones(2), requires_grad=False)
for kind in ("long", "short"):
    step(kind + ": a parameter", call(q, k, v), q, k, v, slopes)
slopes.data = torch.ones(2).half()  # as Module.half() does
for kind in ("long", "short"):
    step(kind + ": another type, in place", call(q, k, v), q, k, v, slopes)
slopes.data = torch.ones(4).half()[::2]
for kind in ("long", "short"):
    step(kind + ": other strides, in place", call(q, k, v), q, k, v, slopes)
slopes.data = torch.ones(4).half()[::2]
step("short: other memory, in place", call(q, k, v), q, k, v, slopes)
slopes = other

class Module:
    table = torch.ones(2)
    def score(self, s, b, h, i, j):
        return s + self.table[h]

module = Module()
for kind in ("long", "short"):
    step(kind + ": a method", call(q, k, v, module.score), q, k, v, module.table)
Module.table = torch.ones(2)
step("short: a method's tensor", call(q, k, v, module.score), q, k, v, module.table)
module.table = torch.ones(3)
step("long: a method's other tensor", call(q, k, v, module.score), q, k, v, module.table)

class Changing:
    values = {"n": 2}
    def __getattr__(self, name):
        return self.values[name]

changing = Changing()
for _ in range(2):  # objects with computed attributes can't be guarded
    step("long: an object's attribute", call(q, k, v, lambda s, b, h, i, j: s * changing.n), q, k, v)

def make(table):
    return lambda s, b, h, i, j: s + table[h]

for kind in ("long", "short", "short"):  # new function objects, possibly with the same id
    table = torch.ones(2); kept.append(table)
    step(kind + ": a new function", call(q, k, v, make(table)), q, k, v, table)
step("long: a new function of another tensor", call(q, k, v, make(torch.ones(2).half())), q, k, v)
step("short: a new function", call(q, k, v, make(table)), q, k, v, table)
keep, dead = torch.ones(16, dtype=torch.bool), torch.ones(16)
for kind in ("long", "short"):  # tensors that simplification removes are not passed
    step(kind + ": unread", call(q, k, v, lambda s, b, h, i, j: torch.where(keep[j], s, s)), q, k, v)
    step(kind + ": some unread", call(q, k, v, lambda s, b, h, i, j: torch.where(keep[j], s, s) + dead[i] * 0 + table[h]), q, k, v, dead, table)
deep = torch.ones(1, 2, 2, 2, 2)
for kind in ("long", "short"):  # the kernel reads a view of four dimensions
    step(kind + ": five dimensions", call(q, k, v, lambda s, b, h, i, j: s + deep[b, h, i % 2, j % 2, 0]), q, k, v, deep)
torch.set_grad_enabled(True)
for one in (other, q):  # a cached call that saved nothing for gradients must not be used
    one.requires_grad_()
    print("derived:", *["grad_fn" if result.grad_fn else "none" for result in call(q, k, v, return_lse=True)()])
    one.requires_grad_(False)
"""

BLOCK_MASKS = """
def causal(b, h, i, j):
    return i >= j

def mask(length=64):
    made = flex.create_block_mask(causal, None, None, length, length, device="cpu", BLOCK_SIZE=16)
    kept.append(made)
    return made

def lists(m):
    return m.kv_num_blocks, m.kv_indices, m.full_kv_num_blocks, m.full_kv_indices

def call(q, k, v, m):
    return lambda: flex_attention(q, k, v, None, m)

q, k, v = tensors(1, 2, 64, 16)
m = mask()
step("long: first", call(q, k, v, m), q, k, v, *lists(m))
step("short: again", call(q, k, v, m), q, k, v, *lists(m))
other = mask()
step("long: another BlockMask", call(q, k, v, other), q, k, v, *lists(other))
step("short: as before", call(q, k, v, m), q, k, v, *lists(m))
m.kv_indices = m.kv_indices.clone()
step("long: another list", call(q, k, v, m), q, k, v, *lists(m))
step("short: again", call(q, k, v, m), q, k, v, *lists(m))
kept.append(m.kv_indices.untyped_storage())
wider = torch.zeros(*m.kv_indices.shape[:-1], 8, dtype=torch.int32)
m.kv_indices.set_(wider.untyped_storage(), 0, m.kv_indices.shape, wider.stride())
for kind in ("long", "short"):
    step(kind + ": a list with other strides, in place", call(q, k, v, m), q, k, v, *lists(m))
    step(kind + ": with log-sum-exp", lambda: flex_attention(q, k, v, None, m, return_lse=True), q, k, v, *lists(m))
m.mask_mod = lambda b, h, i, j: i > j
step("long: another mask_mod", call(q, k, v, m), q, k, v, *lists(m))
m.kv_num_blocks = m.kv_num_blocks.long()
for _ in range(2):
    step("long: converted", call(q, k, v, m), q, k, v)
a, b, c = tensors(1, 2, 32, 16)
try:
    call(a, b, c, other)()
except ValueError as error:
    print("refused:", error)
"""

SDPA = """
from fovea.torch.trace import _attn_mask

def call(q, k, v, *mask, **options):
    return lambda: scaled_dot_product_attention(q, k, v, *mask, **options)

q, k, v = tensors()
step("long: causal", call(q, k, v, is_causal=True), q, k, v)
step("short: causal", call(q, k, v, is_causal=True), q, k, v)
step("long: plain", call(q, k, v), q, k, v)
for mask in (torch.ones(16, 16), torch.ones(16, 16) > 0, torch.ones(1, 16), torch.ones(2, 1, 16).half()):
    again = mask.clone(); kept.append((mask, again))
    step("long: a mask", call(q, k, v, mask), q, k, v, mask)
    step("short: another of its form", call(q, k, v, again), q, k, v, again)
    made = _attn_mask.mask_family(mask)
    # Work that a cached call must not do.
    _attn_mask.Family, family = None, _attn_mask.Family
    assert _attn_mask.mask_family(again) is made
    _attn_mask.Family = family
from torch.nn.attention import bias
a, b, c = (t[:, :, :length] for t, length in zip(tensors(), (5, 16, 16)))
for kind in ("long", "short"):
    step(kind + ": a bias", call(a, b, c, bias.causal_lower_right(5, 16)), a, b, c)
    step("short: another dimension", lambda: scaled_dot_product_attention(q[None], k[None], v[None])[0], q, k, v)
try:
    call(q, k, v, torch.ones(16, 16), is_causal=True)()
except ValueError as error:
    print("refused:", error)
torch.manual_seed(0)
for kind in ("long", "short"):
    step(kind + ": dropout", call(q, k, v, dropout_p=0.5), q, k, v)
"""


THREADS = """
import threading

slopes = torch.ones(2)
calls = [tensors(1, 2, 16 * (1 + index // 2), 16) for index in range(4)]

def run(given):
    for _ in range(100):
        flex_attention(*given, lambda s, b, h, i, j: s)
        flex_attention(*given, score)

def score(s, b, h, i, j):
    return s + slopes[h]

workers = [threading.Thread(target=run, args=(given,)) for given in calls]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
for given in calls:
    print("given:", *(hex(t.data_ptr()) for t in given))
"""


def run_on_stand_in(run_python, build, script, start=START):
    result = run_python(start + script, LD_LIBRARY_PATH=str(build / "test" / "Runtime" / "fake-driver"),
                        PYTHONPATH=f"{ROOT / 'python'}:{ROOT / 'test' / 'python'}", PYTHONUNBUFFERED="1")
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_threads(run_python, build):
    """Under threads, each launch has the tensors of one call."""
    lines = run_on_stand_in(run_python, build, THREADS).splitlines()
    given = [line.split()[1:] for line in lines if line.startswith("given:")]
    launches = [line.split()[1:] for line in lines if line.startswith("arguments:")]
    assert len(given) == 4 and len(launches) == 800
    for words in launches:
        assert [set(one) <= set(words) for one in given].count(True) == 1, words


LEFT = """
import gc, weakref
from torch.nn.attention import bias

q, k, v = tensors()
masks = [torch.ones(16, 16 + n)[:, :16] for n in range(3)]
for mask in masks:
    scaled_dot_product_attention(q, k, v, mask)
left = [weakref.ref(mask) for mask in masks]
del mask, masks
stand_in.long_ways.clear()
gc.collect()
print("masks left:", sum(mask() is not None for mask in left))

share = torch.tensor(0.25)
for _ in range(2):
    before = len(stand_in.long_ways)
    scaled_dot_product_attention(q, k, v, dropout_p=share)
    print("long:", len(stand_in.long_ways) > before)
    share.fill_(0.5)

def sum_of(query):
    return scaled_dot_product_attention(query, k, v, bias.causal_lower_right(4, 16)).float().sum()

try:
    torch.func.grad(sum_of)(q[:, :, :4])
except Exception as error:
    print("refused:", type(error).__name__)
print("then:", tuple(scaled_dot_product_attention(q[:, :, :4], k, v, bias.causal_lower_right(4, 16)).shape))
"""


def test_what_calls_leave(run_python, build):
    """No mask is kept alive, no changed number is reused, and a call that fails in a transformation does
    not affect later ones."""
    lines = run_on_stand_in(run_python, build, LEFT).splitlines()
    said = [line for line in lines if line.split(":")[0] in ("masks left", "long", "refused", "then")]
    assert said[:3] == ["masks left: 0", "long: True", "long: True"]
    assert said[3].startswith("refused: ") and said[4] == "then: (1, 2, 4, 16)"


@pytest.mark.parametrize("guards", [True, False])
def test_alike(fovea, monkeypatch, guards):
    """PyTorch's comparison of signatures and the fallback agree."""
    import gc
    import weakref

    import torch

    from fovea.torch.cache import _signatures

    if guards and _signatures._TensorGuards is None:
        pytest.skip("this PyTorch has no TensorGuards")
    if not guards:
        monkeypatch.setattr(_signatures, "_TensorGuards", None)
    one, two = torch.zeros(4, 6), torch.zeros(3)
    fits = _signatures.signature_matcher(one, two)
    assert fits(one, two) and fits(torch.ones(4, 6), two)
    others = (torch.zeros(6, 4).mT, torch.zeros(4, 5), torch.zeros(1, 4, 6), torch.zeros(4, 6).half(), torch.zeros(4, 6, device="meta"),
              torch.nn.Parameter(torch.zeros(4, 6)), torch.zeros(4, 6).requires_grad_(), torch.zeros(4, 6).to_sparse())
    assert not any(fits(other, two) or _signatures.signature_matcher(other, two)(one, two) for other in others)
    grown = torch.zeros(3, requires_grad=True)
    with torch.no_grad():
        within = _signatures.signature_matcher(one, grown)
        assert within(one, grown) and not _signatures.signature_matcher(one, one.new_zeros(1))(one, grown)
    outside = _signatures.signature_matcher(one, grown)
    assert outside(one, grown) and not within(one, grown) and fits(one, two)
    with torch.no_grad():
        assert fits(one, two) and not outside(one, grown)
    assert _signatures.signature_matcher(one, one)(two.new_zeros(4, 6), one) and not _signatures.signature_matcher(one, one)(one, two)
    two.resize_(2)
    assert not fits(one, two)
    gone = weakref.ref(one)
    del one
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("script, refusals", [
    (SCORES, []),
    (BLOCK_MASKS, ["created for 64 queries and 64 keys, found 32 and 32"]), (SDPA, ["can't both be given"]),
])
def test_calls(run_python, build, script, refusals):
    output = run_on_stand_in(run_python, build, script)
    given, steps = [], 0
    for line in output.splitlines():
        if line.startswith("arguments:"):
            given = line.split()[1:]
        elif line.startswith("step:"):
            steps += 1
            words = line.split()
            addresses = [word for word in words if word.startswith("0x")]
            assert words[1] == words[len(words) - len(addresses) - 1] + ":", line
            assert addresses and set(addresses) <= set(given), (line, given)
    assert steps > 5
    derived = [line for line in output.splitlines() if line.startswith("derived:")]
    assert derived == ["derived: grad_fn grad_fn"] * (2 if script is SCORES else 0)
    found = [line for line in output.splitlines() if line.startswith("refused:")]
    assert len(found) == len(refusals) and all(part in line for part, line in zip(refusals, found)), found
    if script is SDPA:
        # Two calls have different seeds.
        launches = [line.split() for line in output.splitlines() if line.startswith("arguments:")][-2:]
        seeds = [[word for word in words[1:] if not word.startswith("0x") and abs(float(word)) > 1 << 32] for words in launches]
        assert len(seeds[0]) == len(seeds[1]) == 1 and seeds[0] != seeds[1]


BACKWARD = """
from fovea.torch.autograd import _gradients
from fovea.torch.cache import _programs

slopes = torch.ones(2)

def score(s, b, h, i, j):
    return s * 0.5 + slopes[h] * j

q, do = (torch.zeros(2, 40, 2, 16).half().transpose(1, 2) for _ in range(2))
k, v = (torch.zeros(2, 2, 70, 16).half() for _ in range(2))
o, lse, dlse = torch.zeros_like(q), torch.zeros(2, 2, 40), torch.zeros(2, 2, 40)
program, _ = _programs.program_of(score, None, _programs.Facts(torch.float16, q.device, 16, 16, None, True))
columns, broadcast = torch.zeros(2, 2, 16, 40).half().mT, torch.zeros(16).half().expand(2, 2, 40, 16)
for name, do, dlse, wants in (("all", do, dlse, [True] * 3), ("dv", do, None, [False, False, True]),
                              ("copied", columns, None, [True, False, False]), ("broadcast", broadcast, dlse[:, :1].expand(2, 2, 40), [True] * 3)):
    print("case:", name)
    made = _gradients.launch((q, k, v, o, lse, do, dlse), _gradients.Call(program.captures, [], program.text, wants))
    # A kernel for dV alone needs no output, and none for dQ alone.
    wanted = [q, k, lse, slopes, *made] + [do] * (name != "copied") + [v, o] * wants[0] + ([dlse] if dlse is not None else [])
    print("wanted:", *(hex(one.data_ptr()) for one in wanted), "not:", *([hex(do.data_ptr())] if name == "copied" else []))
    assert [one.shape for one in made] == [one.shape for one, asked in zip((q, k, v), wants) if asked]
    assert all(one.stride() == like.stride() for one, like in zip(made, [t for t, asked in zip((q, k, v), wants) if asked]))
"""


def test_gradients_are_launched(run_python, build):
    """The kernels of a backward pass run on the current stream with all tensors of the call; tensors with unsupported
    layouts are copied, broadcast ones are not."""
    cases = run_on_stand_in(run_python, build, BACKWARD).split("case: ")[1:]
    assert [case.split()[0] for case in cases] == ["all", "dv", "copied", "broadcast"]
    for case, count in zip(cases, (3, 1, 1, 3)):
        lines = case.splitlines()
        launches = [line for line in lines if line.startswith("launch grid")]
        assert len(launches) == count and all("stream 0x77" in line for line in launches), case
        given = {word for line in lines if line.startswith("arguments:") for word in line.split()[1:]}
        wanted, unwanted = next(line for line in lines if line.startswith("wanted:")).split("not:")
        assert set(wanted.split()[1:]) <= given and not set(unwanted.split()) & given, case
