"""Errors of outputs and gradients equal those of a reference with 16-bit roundings.

The reference computes in float64 and rounds where FlashAttention's kernels round: the output, P as
an operand of the products for O and dV, dS as an operand of those for dQ and dK, and the
gradients. Each number has two or three such roundings. One more, for example of P before dS is
computed, increases the error by a fifth, which a ratio of errors detects and a tolerance does not.
"""

import dataclasses
import functools
import itertools
from typing import Any, Callable, Tuple

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("torch.nn.attention.flex_attention")

# Both errors are sums of the squares of 20,000 roundings or more, most of which are the same in both: the
# ratio's standard deviation is below sqrt(2 / 20000) / 2 = 0.5 %. One additional rounding makes it 1.2.
RATIO = 1.03

# These kernels compute dS from rounded P, or from rounded P times score_mod's derivative, because of
# registers or shared memory (docs/Specification/Gradients.md): an error of sqrt(3 / 2) instead of 1.
ROUNDED_P = 1.27

QUERIES, KEYS, HEADS, KV_HEADS = 136, 150, 2, 1
LEVELS = ["interpret:tile", "interpret:warp"]
EMULATED = ["ptx:sm_80", "ptx:sm_90a"]


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.torch

    return fovea.torch


@dataclasses.dataclass(frozen=True)
class Case:
    """A variant: a summand or a factor of the scores, a captured tensor with a gradient, and a mask."""

    name: str
    dim: int = 64
    value_dim: int = 0
    dtype: Any = torch.bfloat16
    modify: Callable = None
    shape: Tuple[int, ...] = ()
    mask: Callable = None

    def __str__(self):
        return f"{self.name}-{self.dim}-{str(self.dtype)[6:]}"


def causal(b, h, i, j):
    return i >= j


def soft_cap(captured, s, b, h, i, j):
    return 3 * torch.tanh(s / 3)


def add_bias(captured, s, b, h, i, j):
    return s + captured[h, i, j]


def add_by_key(captured, s, b, h, i, j):
    return s + captured[h, j]


def by_distance(captured, s, b, h, i, j):
    return s + captured[h, i - j + KEYS]


BIAS, BY_KEY, DISTANCES = (HEADS, QUERIES, KEYS), (HEADS, KEYS), (HEADS, QUERIES + KEYS)
CASES = [
    Case("full"), Case("full", 128), Case("full", 128, dtype=torch.float16),
    Case("causal", 112, mask=causal), Case("soft cap", modify=soft_cap),
    Case("keys", modify=add_by_key, shape=BY_KEY, mask=causal), Case("distances", modify=by_distance, shape=DISTANCES),
]  # fmt: skip
# For these the other levels are sufficient.
NOT_EMULATED = [
    Case("full", 96), Case("values", 192, 128), Case("full", 64, dtype=torch.float16), Case("causal", mask=causal),
    Case("soft cap", 128, modify=soft_cap), Case("bias", 128, modify=add_bias, shape=BIAS),
]  # fmt: skip


def make_inputs(case):
    """q, k, v and the gradient with respect to the output; the captured tensor, or None."""
    generator = torch.Generator().manual_seed(case.dim)
    value_dim = case.value_dim or case.dim
    shapes = ((HEADS, QUERIES, case.dim), (KV_HEADS, KEYS, case.dim), (KV_HEADS, KEYS, value_dim), (HEADS, QUERIES, value_dim))
    given = [torch.randn((1, *shape), generator=generator).to(case.dtype) for shape in shapes]
    return given, torch.randn(case.shape, generator=generator) if case.shape else None


def evaluate(case, rounds, output=None):
    """The output (or the given one) and the gradients of q, k, v and the captured tensor, in float64, with
    FlashAttention's roundings or none."""
    (q, k, v, do), captured = make_inputs(case)
    q, k, v, do = (one.double() for one in (q, k, v, do))
    keep = (lambda one: one.to(case.dtype).double()) if rounds else (lambda one: one)
    group = HEADS // KV_HEADS
    keys, values = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    products = (q @ keys.mT * case.dim**-0.5).requires_grad_()
    learned = captured.double().requires_grad_() if case.shape else None
    at = torch.arange(HEADS)[:, None, None], torch.arange(QUERIES)[:, None], torch.arange(KEYS)
    scores = case.modify(learned, products, 0, *at) if case.modify else products
    if case.mask:
        scores = scores.masked_fill(~case.mask(0, *at), -torch.inf)
    with torch.no_grad():
        p = scores.softmax(-1)
        o = keep(keep(p) @ values) if output is None else output.double()
        by_score = p * (do @ values.mT - (do * o).sum(-1, keepdim=True))
        sum_heads = lambda one: one.unflatten(1, (KV_HEADS, group)).sum(2)  # noqa: E731
        dv = keep(sum_heads(keep(p).mT @ do))
    wanted = [products] + ([learned] if case.shape else [])
    ds, *by_captured = torch.autograd.grad(scores, wanted, by_score)
    ds = keep(ds)
    dq, dk = keep(ds @ keys * case.dim**-0.5), keep(sum_heads(ds.mT @ q) * case.dim**-0.5)
    if rounds and by_captured:
        # Its summands per pair are rounded at most as dS is.
        by_captured = torch.autograd.grad(
            case.modify(learned, products, 0, *at), [learned], keep(by_score).masked_fill(~torch.isfinite(scores), 0))
    return dict(zip(("o", "dq", "dk", "dv", "captured"), (o, dq, dk, dv, *by_captured)))


def norms(found, expected):
    return {name: ((found[name].double() - one).norm() / one.norm()).item() for name, one in expected.items()}


@functools.lru_cache(maxsize=None)
def honest(case):
    """The exact results, and the reference's output."""
    return evaluate(case, rounds=False), evaluate(case, rounds=True)["o"]


def run(ours, case, backend):
    """Fovea's results."""
    (q, k, v, do), captured = make_inputs(case)
    inputs = [one.requires_grad_() for one in (q, k, v)]
    if case.shape:
        inputs.append(captured.requires_grad_())
    modify = (lambda s, b, h, i, j: case.modify(captured, s, b, h, i, j)) if case.modify else None
    o = ours.flex_attention(q, k, v, modify, block_mask=case.mask, enable_gqa=True, backend=backend)
    gradients = torch.autograd.grad(o, inputs, do)
    return dict(zip(("o", "dq", "dk", "dv", "captured"), (o, *gradients)))


def allowed_ratio(case, backend, name):
    # Up to head dim 64, blocks of a soft cap have 64 queries, and registers suffice to keep P in f32.
    is_short = case.dim > 128 or (case.modify is not None and (case.dim > 64 or case.modify is not soft_cap))
    rounds = is_short and backend == "ptx:sm_90a" and name in ("dq", "dk", "captured")
    # Sums by relative position use such dS, with one more rounding.
    return RATIO if not rounds else 1.6 if name == "captured" else ROUNDED_P


@pytest.mark.parametrize("case, backend", [
    *itertools.product(CASES, LEVELS + EMULATED), *itertools.product(NOT_EMULATED, LEVELS), (Case("full", 256), "ptx:sm_90a")], ids=str)
def test_errors(ours, case, backend):
    expected, output = honest(case)
    found = run(ours, case, backend)
    # Both compute delta from the same output: with few rows, its rounding would differ by chance.
    allowed = norms({**evaluate(case, rounds=True, output=found["o"].detach()), "o": output}, expected)
    errors = norms(found, expected)
    ratios = {name: errors[name] / allowed[name] for name in errors}
    assert all(ratio <= allowed_ratio(case, backend, name) for name, ratio in ratios.items()), str(ratios)
