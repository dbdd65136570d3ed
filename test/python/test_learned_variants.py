"""Gradients of tensors captured by score_mods, as models train them, against PyTorch's autograd in float64 at
each level. The indices of the reads decide which kernel computes a gradient."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

BATCH, HEADS, QUERIES, KEYS = 1, 2, 70, 150


@pytest.fixture(scope="module")
def ours(fovea):
    import fovea.torch

    return fovea.torch


def number(*shape, scale=0.1, start=0.0):
    return torch.randn(*shape) * scale + start


def causal(b, h, i, j):
    return i + 80 >= j


def by_step(s, b, h, i, j, gain, steps):
    return s * gain[h] + steps[h, torch.clamp((i - j) // 37, min=-4, max=2) + 4]


def by_gates(s, b, h, i, j, gates, other):
    return s + gates[b, h, i] - gates[b, h, j] + other[h] * torch.tanh(other[h] * gates[b, h, i])


def by_width(s, b, h, i, j, width):
    return s - 0.5 * ((i - j) / width[h]) ** 2


def by_factor_of_squares(s, b, h, i, j, factor):
    return s - ((i - j) * (i - j)) * factor[h]


def by_time(s, b, h, i, j, factor, times):
    return s + factor[h] * torch.abs(times[b, i] - times[b, j])


def by_temperature(s, b, h, i, j, rows):
    return s * rows[b, h, i]


def by_rows(s, b, h, i, j, table, rows):
    return s * torch.sigmoid(rows[b, h, i]) + torch.where(i < 40, table[i // 8, h] * j, 0.01 * s)


def by_key_gates(s, b, h, i, j, keys, gain):
    return s * gain[h] * torch.sigmoid(keys[b, h, j])


def by_cap(s, b, h, i, j, cap):
    return cap[h] * torch.tanh(s / cap[h])


def by_clamp(s, b, h, i, j, keys, rows):
    return s * torch.exp(torch.clamp(keys[b, h, j], min=-0.05, max=0.05)) / torch.relu(rows[b, h, i] + 1)


def of_queries(**more):
    return number(BATCH, HEADS, KEYS, **more)


VARIANTS = {
    by_step: (None, lambda: (number(HEADS, start=1.0), number(HEADS, 7))),
    by_gates: (causal, lambda: (of_queries(scale=1.0), number(HEADS))),
    by_width: (causal, lambda: (number(HEADS, scale=5.0, start=40.0),)),
    by_factor_of_squares: (None, lambda: (number(HEADS, scale=1e-4),)),
    by_time: (None, lambda: (number(HEADS), number(BATCH, KEYS, scale=2.0))),
    by_temperature: (causal, lambda: (of_queries(start=1.0),)),
    by_rows: (None, lambda: (number(9, HEADS, scale=0.02), of_queries())),
    by_key_gates: (causal, lambda: (of_queries(), number(HEADS, start=1.0))),
    by_cap: (None, lambda: (number(HEADS, start=2.0),)),
    by_clamp: (None, lambda: (of_queries(), of_queries())),
}


def tensors(dim, heads=HEADS):
    shapes = ((BATCH, heads, QUERIES, dim), (BATCH, HEADS, KEYS, dim), (BATCH, HEADS, KEYS, dim), (BATCH, heads, QUERIES, dim))
    return [torch.randn(shape).bfloat16() for shape in shapes]


def written_down(function, mask, q, k, v, read, do):
    inputs = [one.double().requires_grad_() for one in (q, k, v, *read)]
    q, k, v, *read = inputs
    b, h = torch.zeros(1, 1, 1, 1, dtype=torch.long), torch.arange(q.shape[1])[:, None, None]
    i, j = torch.arange(q.shape[2])[:, None], torch.arange(k.shape[2])
    s = function(q @ k.mT * q.shape[-1] ** -0.5, b, h, i, j, *read)
    if mask:
        s = s.masked_fill(~mask(b, h, i, j), -torch.inf)
    return torch.autograd.grad((s.softmax(-1) @ v * do).sum(), inputs)


def found_by(ours, backend, function, mask, q, k, v, read, do):
    inputs = [one.clone().requires_grad_() for one in (q, k, v, *read)]
    read = inputs[3:]
    o = ours.flex_attention(*inputs[:3], lambda s, b, h, i, j: function(s, b, h, i, j, *read), mask, backend=backend)
    return torch.autograd.grad((o * do).sum(), inputs)


def check(found, expected, tolerance):
    for a, b in zip(found, expected):
        assert a.shape == b.shape and a.isfinite().all()
        assert (a.double() - b).norm() <= tolerance * max(b.norm(), 1e-3)


@pytest.mark.parametrize("function", VARIANTS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("backend, dim", [("interpret", 64), ("interpret:tile", 64), ("interpret:warp", 128),
                                          ("ptx:sm_80", 64), ("ptx:sm_90a", 64), ("ptx:sm_90a", 128), ("ptx:sm_90a", 256)])
def test_gradients(ours, function, backend, dim):
    torch.manual_seed(1)
    mask, make = VARIANTS[function]
    q, k, v, do = tensors(dim)
    read = make()
    check(found_by(ours, backend, function, mask, q, k, v, read, do), written_down(function, mask, q, k, v, read, do), 2e-2)


def test_sums_of_rows(ours):
    """A summand of all scores of a row does not change P: its gradient is 0, or that of the log-sum-exp."""
    torch.manual_seed(1)
    q, k, v, do = tensors(16)
    gates, dlse = of_queries().requires_grad_(), torch.randn(BATCH, HEADS, QUERIES)
    for backend in ("interpret:tile", "ptx:sm_90a"):
        o, lse = ours.flex_attention(q, k, v, lambda s, b, h, i, j: s + gates[b, h, i], return_lse=True, backend=backend)
        by_output, = torch.autograd.grad((o * do).sum(), gates, retain_graph=True)
        assert (by_output == 0).all()
        by_both, = torch.autograd.grad((o * do).sum() + (lse * dlse).sum(), gates)
        assert (by_both[..., :QUERIES] - dlse).norm() < 2e-2 * dlse.norm() and (by_both[..., QUERIES:] == 0).all()
