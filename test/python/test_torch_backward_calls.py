"""fovea.torch: a backward call with the form of an earlier one is one look-up and a launch with
its own tensors; every change is detected. Uses the tests' fake driver, which prints the arguments
of kernels."""

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torch.nn.attention.flex_attention")

from test_torch_calls import run_on_stand_in  # noqa: E402

START = """
import torch
import torch_on_stand_in as stand_in
from torch.utils._python_dispatch import TorchDispatchMode
from fovea.runtime import _launch
from fovea.torch import flex_attention
from fovea.torch.autograd import _gradients
from fovea.torch.ops import _op

# Tensors in host memory are treated as on a device.
_op._IMPLEMENTATIONS["cpu"] = _op._as_op(_op.launch)
import warnings
warnings.simplefilter("ignore")  # about redefining an op
library = torch.library.Library("fovea", "IMPL")
library.impl("attention_backward", _gradients._as_op(_gradients.launch), "CPU", allow_override=True)
_gradients._LAUNCHING.add("cpu")

counts = dict.fromkeys(("prepared", "unprepared", "op"), 0)

def counted(owner, name, what):
    function = getattr(owner, name)
    def run(*arguments, **named):
        counts[what] += 1
        return function(*arguments, **named)
    setattr(owner, name, run)

counted(_launch.LoadedKernel, "prepare_packed", "prepared")
counted(_launch.LoadedKernel, "launch", "unprepared")
counted(torch.ops.fovea.attention_backward, "_op", "op")
slopes = torch.ones(2)
kept = []

def score(s, b, h, i, j):
    return s * 0.5 + slopes[h] * j

def tensors(*shape, count=3):
    kept.append([torch.zeros(*(shape or (1, 2, 32, 16))).half() for _ in range(count)])
    return [one.requires_grad_() for one in kept[-1]]

def step(wanted, run, *given, unprepared=0, op=0):
    # A backward call: whether its launch is cached, and the expected arguments of kernels.
    before = dict(counts)
    print("step:", flush=True)
    made = run()
    # All of these outlive the step, so that addresses are unique.
    kept.append(made)
    found = {what: counts[what] - before[what] for what in counts}
    assert found == {"prepared": wanted == "long", "unprepared": unprepared, "op": op}, (wanted, found)
    print("wanted:", *(hex(one.data_ptr()) for one in (*given, *made)), flush=True)
    return made

def forward(q, k, v, lse=True, function=score):
    result = flex_attention(q, k, v, function, return_lse=True)
    kept.append(result)
    return result if lse else result[0]

def backward(o, by, do, **options):
    return lambda: torch.autograd.grad(o, by, do, retain_graph=True, **options)

class Seen(TorchDispatchMode):
    names = []
    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        self.names.append(str(function))
        return function(*arguments, **(named or {}))
"""

REPEATED = """
q, k, v = tensors()
o, lse = forward(q, k, v)
of_q, of_kv = forward(q, k.detach(), v.detach()), forward(q.detach(), k, v)
do, dlse = torch.zeros_like(o), torch.zeros_like(lse)
step("long", backward(o, (q, k, v), do), q, k, v, o, lse, do, slopes)
step("short", backward(o, (q, k, v), do), q, k, v, o, lse, do, slopes)
for kind in ("long", "short"):
    step(kind, backward((o, lse), (q, k, v), (do, dlse)), q, k, v, o, lse, do, dlse, slopes)
    step(kind, backward(of_q[0], q, do), q, k, of_q[1], slopes)
    step(kind, backward(of_kv[0], (k, v), do), q, k, of_kv[1], do, slopes)
    transposed = torch.zeros(1, 32, 2, 16).half().transpose(1, 2); kept.append(transposed)
    step(kind, backward(o, (q, k, v), transposed), q, k, v, o, lse, transposed, slopes)
# Another forward call; then another captured tensor, another gradient, another dtype.
a, b, c = tensors()
other, sums = forward(a, b, c)
do = torch.zeros_like(other)
step("short", backward(other, (a, b, c), do), a, b, c, other, sums, do, slopes)
step("short", lambda: torch.autograd.grad(other.float().sum(), (a, b, c), retain_graph=True), a, b, c, other, sums, slopes)
slopes = torch.ones(2)
other, sums = forward(a, b, c)
step("short", backward(other, (a, b, c), do), a, b, c, other, sums, do, slopes)
slopes = torch.ones(4)[::2]
other, sums = forward(a, b, c)
step("long", backward(other, (a, b, c), do), a, b, c, other, sums, do, slopes)
# Other sizes and strides; only another key length.
for lengths in ((48, 32), (32, 48)):
    a, (b, c) = tensors(1, 2, lengths[0], 16)[0], tensors(1, 2, lengths[1], 16, count=2)
    other, sums = forward(a, b, c)
    do = torch.zeros_like(other)
    for kind in ("long", "short"):
        step(kind, backward(other, (a, b, c), do), a, b, c, other, sums, do, slopes)
a, b, c = (one.detach().transpose(1, 2).requires_grad_() for one in tensors(1, 32, 2, 16))
other, sums = forward(a, b, c)
for kind in ("long", "short"):
    made = step(kind, backward(other, (a, b, c), other), a, b, c, other, sums, slopes)
    assert all(one.stride() == like.stride() for one, like in zip(made, (a, b, c)))
# The same tensor as query, key and value: the sum of the gradients.
a, = tensors(count=1)
other, sums = forward(a, a, a)
for kind in ("long", "short"):
    run = backward(other, a, torch.zeros_like(other))
    step(kind, lambda: run() and (), a, other, sums, slopes)
print("derivatives are right:", [one.shape == a.shape for one in run()])
"""

NOTICED = """
q, k, v = tensors()
o, lse = forward(q, k, v)
do = torch.zeros_like(o)
step("long", backward(o, (q, k, v), do), q, k, v, o, lse, do)
# A misaligned address: the runtime rejects it, and a copy replaces the tensor.
odd = torch.zeros(do.numel() + 1).half()[1:].view_as(do); kept.append(odd)
step("short", backward(o, (q, k, v), odd), q, k, v, o, lse, unprepared=1)
# Columns are copied at each call.
columns = torch.zeros(1, 2, 16, 32).half().mT
for kind in ("long", "short"):
    step(kind, backward(o, (q, k, v), columns), q, k, v, o, lse)

# Dispatch modes see the op.
with Seen():
    step("long", backward(o, (q, k, v), do), q, k, v, o, lse, do, op=1)
assert "fovea.attention_backward.default" in Seen.names, Seen.names
# The memory of a negative view has other signs: the dispatcher materialises it.
negative = torch._neg_view(do); kept.append(negative)
before = counts["op"]
backward(o, (q, k, v), negative)()
assert counts["op"] == before + 1
# A second derivative raises when it is computed.
made = backward(o, (q, k, v), do, create_graph=True)()
try:
    made[0].sum().backward()
except NotImplementedError as error:
    print("refused:", error)
try:
    torch.autograd.grad(o, q, torch.stack([do, do]), is_grads_batched=True, retain_graph=True)
except Exception as error:
    print("refused:", error)
stacked = torch.vmap(lambda one: torch.autograd.grad(o, q, one, retain_graph=True)[0])(torch.stack([do, do]))
assert stacked.shape == (2, *q.shape)
with torch.no_grad():
    q.add_(1)
try:
    backward(o, (q, k, v), do)()
except RuntimeError as error:
    print("refused:", error)
"""

TRAINED = """
def went(wanted, run):
    # A forward call, and whether its form is cached.
    before = len(stand_in.long_ways)
    kept.append(run())
    assert (len(stand_in.long_ways) > before) == (wanted == "long"), wanted
    return kept[-1]

weights = torch.ones(2, requires_grad=True)

def learned(s, b, h, i, j):
    return s + weights[h] * j

q, k, v = tensors()
for kind in ("long", "short"):
    o, lse = went(kind, lambda: forward(q, k, v, function=learned))
    assert o.requires_grad and lse.requires_grad
    do = torch.zeros_like(o)
    step(kind, backward(o, (q, k, v, weights), do), q, k, v, o, lse, do, weights)
# Only a captured tensor requires a gradient, and the first call had none.
a, b, c = (one.detach() for one in tensors())
for kind in ("long", "short"):
    with torch.no_grad():
        assert not went(kind, lambda: forward(a, b, c, function=learned))[0].requires_grad
for kind in ("long", "short"):
    o, _ = went(kind, lambda: forward(a, b, c, function=learned))
    assert torch.autograd.grad(o.sum(), weights)[0].shape == weights.shape
# Without gradients; of some tensors; of other tensors; with other sizes; with keys broadcast over the batch.
for kind in ("long", "short"):
    with torch.no_grad():
        assert not went(kind, lambda: forward(q, k, v, function=learned))[0].requires_grad
for kind in ("long", "short"):
    o, _ = went(kind, lambda: forward(q.detach(), k, v, function=learned))
    assert torch.autograd.grad(o.sum(), k)[0].shape == k.shape
a, b, c = tensors()
o, lse = went("short", lambda: forward(a, b, c, function=learned))
do = torch.zeros_like(o)
step("short", backward(o, (a, b, c), do), a, b, c, o, lse, do)
weights.requires_grad_(False)
assert went("long", lambda: forward(a, b, c, function=learned))[0].requires_grad
a, = tensors(3, 2, 32, 16, count=1)
b, c = tensors(1, 2, 32, 16, count=2)
for kind in ("long", "short"):
    o, lse = went(kind, lambda: forward(a, b, c, function=learned))
    by_key, by_value = torch.autograd.grad(o.sum(), (b, c))
    assert by_key.shape == by_value.shape == b.shape
# Unsupported head dims.
a, b, c = tensors(1, 2, 32, 12)
for kind in ("long", "short"):
    o, _ = went(kind, lambda: forward(a, b, c, function=learned))
    assert o.shape == a.shape and torch.autograd.grad(o.sum(), a)[0].shape == a.shape
# Dispatch modes see the op.
with Seen():
    forward(q, k, v, function=learned)
assert "fovea.attention.default" in Seen.names, Seen.names
print("all as it should be")
"""

BLOCK_MASKS = """
from torch.nn.attention import flex_attention as flex

def mask():
    made = flex.create_block_mask(lambda b, h, i, j: i >= j, 1, 1, 64, 64, device="cpu", BLOCK_SIZE=32)
    kept.append(made)
    return made

def transposed(m):
    return m.q_num_blocks, m.q_indices, m.full_q_num_blocks, m.full_q_indices

def attend(m, *given):
    before = len(stand_in.long_ways)
    kept.append(flex_attention(*given, score, m, return_lse=True))
    return kept[-1], "long" if len(stand_in.long_ways) > before else "short"

q, k, v = tensors(1, 2, 64, 16)
m = mask()
for kind in ("long", "short"):
    (o, lse), way = attend(m, q, k, v)
    assert way == kind, way
    do = torch.zeros_like(o)
    step(kind, backward(o, (q, k, v), do), q, k, v, o, lse, do, slopes, *transposed(m))
# Other lists of the same form; captured tensors follow the lists.
other = mask()
(o, lse), way = attend(other, q, k, v)
step("short", backward(o, (q, k, v), do), q, k, v, o, lse, do, slopes, *transposed(other))
(o, lse), way = attend(other, q, k, v)
assert way == "short", way
# Without gradients, the forward call does not have the transposed lists.
for kind in ("long", "short"):
    with torch.no_grad():
        assert attend(m, q, k, v)[1] == kind
# Without transposed lists another kernel is prepared.
other.q_indices = None
(o, lse), way = attend(other, q, k, v)
assert way == "long", way
print("not read:", *(hex(one.data_ptr()) for one in transposed(other) if one is not None))
step("long", backward(o, (q, k, v), do), q, k, v, o, lse, do, slopes, other.kv_indices)
"""


def check_steps(output):
    """Checks the arguments of each step's kernels; returns the number of kernels."""
    steps = output.split("step:")[1:]
    for one in steps:
        lines = one.splitlines()
        given = {word for line in lines if line.startswith("arguments:") for word in line.split()[1:]}
        wanted = next(line for line in lines if line.startswith("wanted:")).split()[1:]
        assert set(wanted) <= given, (wanted, given)
    return len(steps)


def test_repeated(run_python, build):
    """A call of the same form with other tensors is not prepared again; one of another form is."""
    output = run_on_stand_in(run_python, build, REPEATED, START)
    assert check_steps(output) == 22
    assert "derivatives are right: [True]" in output


def test_noticed(run_python, build):
    """The direct launch is not used for copies, modes, views and second derivatives."""
    output = run_on_stand_in(run_python, build, NOTICED, START)
    assert check_steps(output) == 5
    refused = [line for line in output.splitlines() if line.startswith("refused:")]
    for line, part in zip(refused, ("no gradients of gradients", "torch.func.vmap", "modified by an inplace operation")):
        assert part in line, line
    assert len(refused) == 3


def test_block_masks(run_python, build):
    """Launches of gradients read the lists from keys to queries, if the BlockMask has them."""
    output = run_on_stand_in(run_python, build, BLOCK_MASKS, START)
    assert check_steps(output) == 4
    before, _, after = output.partition("not read: ")
    lists, _, launches = after.partition("\n")
    assert len(lists.split()) == 3 and not set(lists.split()) & set(launches.split())


def test_trained(run_python, build):
    """A forward call with gradients is one look-up, too, if its form is cached."""
    output = run_on_stand_in(run_python, build, TRAINED, START)
    assert check_steps(output) == 3
    assert "all as it should be" in output
