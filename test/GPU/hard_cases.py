"""Difficult calls of fovea.torch.flex_attention: shared kernels, short captured tensors, rows
without visible keys, odd sizes. Each result is compared with `exact` of run_torch.py, on a GPU
(run_torch.py) and in the interpreter (test/python/test_torch.py).
"""

import torch

LOW = -6e4  # below what f16 can hold as a score, far below where exp is 0
HIDDEN = -(2.0**90)  # what people write for -inf; exact in f32, so that log-sum-exp is


def exact(q, k, v, score_mod, mask_mod):
    """Output and log-sum-exp in f64, head by head."""
    outputs = torch.empty(*q.shape[:3], v.shape[3], dtype=torch.float64, device=q.device)
    lses = torch.empty(q.shape[:3], dtype=torch.float64, device=q.device)
    i = torch.arange(q.shape[2], device=q.device)[:, None]
    j = torch.arange(k.shape[2], device=q.device)[None, :]
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            kv = h // (q.shape[1] // k.shape[1])
            scores = q[b, h].double() @ k[b, kv].double().mT / q.shape[-1] ** 0.5
            place = torch.tensor(b, device=q.device), torch.tensor(h, device=q.device)
            if score_mod:
                scores = score_mod(scores, *place, i, j)
            if mask_mod:
                scores = scores.masked_fill(~mask_mod(*place, i, j), -float("inf"))
            lses[b, h] = torch.logsumexp(scores, -1)
            outputs[b, h] = torch.softmax(scores, -1).nan_to_num() @ v[b, kv].double()
    return outputs, lses


def hard_cases(device, length):
    """Names, and functions of a score and a place as (ours, for `exact`) pairs."""
    documents = [torch.arange(length, device=device) * parts // length for parts in (3, 7)]
    bias = torch.linspace(-3, 3, length // 2, device=device)

    def layer(ids):
        # One code, other tensors: the same kernel for both layers.
        return lambda b, h, q, k: (ids[q] == ids[k]) & (q >= k)

    def biased(read):
        return lambda score, b, h, q, k: score + bias[read(k)]

    def before(b, h, q, k):
        return k < length // 2

    def floor(b, h, q, k):
        return (q - length // 2) // 3 >= k - length // 3

    def remainder(b, h, q, k):
        return (k - q) % 5 < 2

    def never(b, h, q, k):
        return q + k < 0

    def low(score, b, h, q, k):
        return score * 0.25 + LOW

    def far(score, b, h, q, k):
        return score - 3e4 * (q - k).abs()

    def hidden(score, b, h, q, k):
        return torch.where((k <= q) & (q - k < 70), score, HIDDEN)

    def hidden_rows(score, b, h, q, k):
        return torch.where((q % 3 > 0) & (k != q), score, HIDDEN)

    first, second = map(layer, documents)
    yield "a layer", (None, first), (None, first)
    yield "another layer, the same kernel", (None, second), (None, second)
    yield "the first layer again", (None, first), (None, first)
    # Values that the mask hides are not read; `exact` reads other values there.
    yield "a captured tensor shorter than the keys", (biased(lambda k: k), before), (
        biased(lambda k: k.clamp(max=length // 2 - 1)), before)
    yield "negative floor division", (None, floor), (None, floor)
    yield "remainders of negative numbers", (None, remainder), (None, remainder)
    yield "no row sees a key", (None, never), (None, never)
    yield "all scores below -5e4", (low, None), (low, None)
    yield "all scores below -5e4, masked", (low, floor), (low, floor)
    yield "a finite number hides blocks", (hidden, None), (hidden, None)
    yield "a finite number hides rows", (hidden_rows, None), (hidden_rows, None)
    yield "a finite number hides rows, masked", (hidden_rows, floor), (hidden_rows, floor)
    yield "scores that fall steeply", (far, remainder), (far, remainder)


def check_hard_cases(ours, device="cuda", length=1025, **options):
    """The names of the cases that are wrong."""
    generator = torch.Generator(device).manual_seed(2)
    q, k, v = (torch.randn(1, n, length, 64, device=device, generator=generator).bfloat16() for n in (4, 2, 2))
    wrong = []
    for name, functions, for_exact in hard_cases(device, length):
        o, lse = ours(q, k, v, *functions, enable_gqa=True, return_lse=True, **options)
        o_exact, lse_exact = exact(q, k, v, *for_exact)
        o_error = (o.double() - o_exact).abs().max().item()
        # f32 represents a sum of the size of LOW with an error of 4e-3.
        lse_error = ((lse.double() - lse_exact).nan_to_num().abs() / lse_exact.nan_to_num(neginf=0).abs().clamp(min=1)).max().item()
        same_empty = torch.equal(lse.isneginf(), lse_exact.isneginf())
        if not (o_error < 2e-2 and lse_error < 1e-3 and same_empty):
            wrong.append(f"{name}: {o_error:.2g}, log-sum-exp {lse_error:.2g}")
    return wrong
