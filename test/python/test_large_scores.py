"""Scores of any size: rows masked by finite numbers, large summands, dominant keys.

Equal scores in f32 must get equal probabilities, and an output is as accurate as an
evaluation in f32 with P rounded to bf16, at each level and on each target.
"""

import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("fovea")

BACKENDS = ["interpret", "interpret:tile", "ptx", "ptx:sm_80"]


def flex_attention(*args, **kwargs):
    import fovea.torch

    return fovea.torch.flex_attention(*args, **kwargs)


def scaled_dot_product_attention(*args, **kwargs):
    import fovea.torch

    return fovea.torch.scaled_dot_product_attention(*args, **kwargs)


def random(*shape, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator).bfloat16()


def error(found, expected):
    return float((found.double() - expected).norm() / expected.norm())


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("number", [-3.3895e38, -1e12, -1e9, -1e8, 1e9])
def test_rows_hidden_by_finite_numbers_weigh_all_keys_alike(backend, number):
    q, k, v = (random(1, 1, 40, 32, seed=seed) for seed in range(3))
    mask = torch.zeros(40, 40)
    mask[7] = number
    found = scaled_dot_product_attention(q, k, v, attn_mask=mask, backend=backend)
    mean = v[0, 0].double().mean(0)
    torch.testing.assert_close(found[0, 0, 7].double(), mean, atol=2e-3, rtol=0)
    assert found.isfinite().all()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("head_dim", [32, 64])
def test_scores_that_are_one_number_get_one_weight(backend, head_dim):
    q, k = (random(1, 1, 4, head_dim, seed=seed) for seed in (0, 1))
    v = torch.eye(4)[None, None].bfloat16()
    found = flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s - 1e8, backend=backend)
    assert (found == 0.25).all()


LARGE = torch.full((64,), 0.0)
SUMMANDS = {
    "constant": lambda number: lambda s, b, h, i, j: s + number,
    "key": lambda number: lambda s, b, h, i, j, c=LARGE + number: s + c[j],
    "query": lambda number: lambda s, b, h, i, j, c=LARGE + number: s + c[i],
    "dense": lambda number: lambda s, b, h, i, j, c=LARGE[:, None] + LARGE + number: s + c[i, j],
    "position": lambda number: lambda s, b, h, i, j: s + 0.5 * (0 * j + 2 * number),
}


def weights_problem():
    q, k = (random(1, 2, 64, 128, seed=seed) for seed in (0, 1))
    v = torch.eye(64)[None, None].expand(1, 2, 64, 64).contiguous().bfloat16()  # o is P
    return q, k, v, q.double() @ k.double().transpose(-1, -2) * 128**-0.5


@pytest.mark.parametrize("backend", BACKENDS[1:])
@pytest.mark.parametrize("kind", SUMMANDS)
def test_large_summands_lose_what_f32_loses(backend, kind):
    q, k, v, scores = weights_problem()
    exact = torch.softmax(scores, -1)
    for number in (1e4, 1e5, 1e6):
        in_f32 = error(torch.softmax(scores.float() + number, -1).bfloat16(), exact)
        mod = SUMMANDS[kind](number)
        found = flex_attention(q, k, v, score_mod=mod, backend=backend)
        assert error(found, exact) <= 1.5 * in_f32


@pytest.mark.parametrize("backend", BACKENDS[1:])
@pytest.mark.parametrize("slope", [0.01, 1.0, -20.0, 300.0])
@pytest.mark.parametrize("with_lse", [False, True])
def test_slopes_of_any_size(backend, slope, with_lse):
    q, k, v = (random(1, 1, 256, 64, seed=seed) for seed in range(3))
    j = torch.arange(256)
    bias = slope * (j[None, :] - j[:, None]).double()
    scores = q.double() @ k.double().transpose(-1, -2) * 0.125
    exact = torch.softmax(scores + bias, -1) @ v.double()
    weights = torch.softmax(scores.float() + bias.float(), -1).bfloat16().double()
    found = flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + slope * (j - i),
                           backend=backend, return_lse=with_lse)
    found = found[0] if with_lse else found
    rounded = (weights @ v.double()).bfloat16()
    assert error(found, exact) <= 1.5 * error(rounded, exact) + 1e-6


@pytest.mark.parametrize("backend", BACKENDS[1:])
@pytest.mark.parametrize("kind", ["square", "squared relu"])
def test_rows_with_one_heavy_key_round_relative_to_it(backend, kind):
    def function(s):
        return s * s if kind == "square" else torch.relu(s) ** 2

    q, k, v = (random(1, 1, 512, 64, seed=seed) for seed in range(3))
    q = q * 3
    scores = function(q.double() @ k.double().transpose(-1, -2) * 0.125)
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    sums = weights.sum(-1, keepdim=True)
    exact = weights @ v.double() / sums
    honest = ((weights.bfloat16().double() @ v.double()) / sums).bfloat16()
    found, lse = flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: function(s),
                                backend=backend, return_lse=True)
    assert error(found, exact) <= 1.05 * error(honest, exact)
    rows = [((o.double() - exact).norm(dim=-1) / exact.norm(dim=-1)).max() for o in (found, honest)]
    assert rows[0] <= 1.3 * rows[1]
    torch.testing.assert_close(lse.double(), torch.logsumexp(scores, -1), atol=1e-4, rtol=1e-6)
