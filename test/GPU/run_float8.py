"""Checks attention of float8_e4m3fn on a GPU, against float64.

    FOVEA_LIBRARY_PATH=build/lib PYTHONPATH=python python test/GPU/run_float8.py [--count 100] [--seed 1]

Random shapes, head dims, groups, masks, soft caps, ALiBi, magnitudes of Q, means of V, granularities
of scales, and dtypes of the output. Each case runs twice and must give the same bits. Prints
failures and a summary; exits with 1 after a failure.
"""

import argparse
import random
import sys

import torch

import fovea.torch as ours


def variant(rng):
    kind = rng.choice(("none", "none", "causal", "window", "soft cap", "alibi", "documents"))
    width, size = rng.choice((5, 64, 300)), rng.choice((17, 100))
    score_mods = {"soft cap": lambda s, b, h, i, j: 20 * torch.tanh(s / 20), "alibi": lambda s, b, h, i, j: s - 0.05 * (i - j).abs()}
    mask_mods = {"causal": lambda b, h, i, j: i >= j, "alibi": lambda b, h, i, j: i >= j,
                 "window": lambda b, h, i, j: (i - j <= width) & (j - i <= width),
                 "documents": lambda b, h, i, j: i // size == j // size}
    return kind, score_mods.get(kind), mask_mods.get(kind)


class Case:
    def __init__(self, rng):
        self.kind, self.score_mod, self.mask_mod = variant(rng)
        batch, kv_heads = rng.choice((1, 2)), rng.choice((1, 2, 4))
        self.group = rng.choice((1, 2, 3, 4, 7))
        queries, keys = rng.choice((1, 5, 70, 128, 300, 700, 1100)), rng.choice((1, 3, 64, 96, 200, 640, 1333, 2048))
        dim = rng.choice((16, 32, 48, 64, 80, 96, 128, 128, 160, 192, 256))
        value_dim = rng.choice((dim, dim, dim, 64, 128))
        self.has_mean = rng.choice((True, False))
        magnitude, mean = rng.choice((1, 1, 1, 4, 20)), rng.choice((0, 0, 1, 5))
        self.dtype = rng.choice((torch.bfloat16, torch.float16, torch.float32))
        q = torch.randn(batch, kv_heads * self.group, queries, dim, device="cuda") * magnitude
        k = torch.randn(batch, kv_heads, keys, dim, device="cuda")
        v = torch.randn(batch, kv_heads, keys, value_dim, device="cuda") + mean
        *self.tensors, self.scales = ours.quantize_attention_inputs(q, k, v, per_head=rng.choice((True, False)), v_mean=self.has_mean)
        self.name = (f"{self.kind}, batch {batch}, heads {kv_heads} x {self.group}, {queries} x {keys}, dims {dim}/{value_dim}, "
                     f"magnitude {magnitude}, mean {mean}, {self.dtype}, scales {({n: tuple(s.shape) for n, s in self.scales.items()})}")

    def run(self):
        return ours.flex_attention(*self.tensors, self.score_mod, self.mask_mod, scales=self.scales, enable_gqa=True,
                                   return_lse=True, output_dtype=self.dtype)

    def wide(self, name, tensor):
        scale = self.scales[name].double()[:, :, None, None]
        heads = tensor.shape[1] if scale.shape[1] != 1 else 1
        return tensor.double() * scale.repeat_interleave(max(heads // scale.shape[1], 1), 1)

    def check(self):
        """An error message, or an empty string."""
        q, k, v = (self.wide(name, one) for name, one in zip("qkv", self.tensors))
        centred = v.repeat_interleave(self.group, 1)
        values = (v + (self.scales["v_mean"].double()[:, :, None] if self.has_mean else 0)).repeat_interleave(self.group, 1)
        scores = q @ k.repeat_interleave(self.group, 1).mT * q.shape[-1] ** -0.5
        places = torch.meshgrid(*(torch.arange(one, device="cuda") for one in scores.shape), indexing="ij")
        if self.score_mod:
            scores = self.score_mod(scores, *places)
        if self.mask_mod:
            scores = scores.masked_fill(~self.mask_mod(*places), -torch.inf)
        sums = scores.logsumexp(-1)
        weights = torch.exp(scores - sums[..., None]).nan_to_num(0)
        exact = weights @ values
        # P has 4 bits, the output those of its type, and the MMA unit drops low bits of sums.
        bound = 0.0825 * (weights @ centred.abs()) + 2**-7 * exact.abs() + 3e-3 * values.abs().max()
        o, lse = self.run()
        again, _ = self.run()
        finite = sums.isfinite()
        largest = max(1.0, sums[finite].abs().max().item()) if finite.any() else 1.0
        if not torch.equal(o, again):
            return "two runs differ"
        if not ((o.double() - exact).abs() <= bound).all():
            return f"O is off by {((o.double() - exact).abs() / bound).max().item():.3g} of its tolerance"
        if not torch.equal(lse == -torch.inf, ~finite):
            return "LSE is -inf in other rows"
        if finite.any() and (lse.double() - sums)[finite].abs().max() > 1e-3 * largest:
            return f"LSE is off by {(lse.double() - sums)[finite].abs().max().item():.3g} of {largest:.3g}"
        return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
        print("SKIP: no Hopper GPU")
        return 0
    rng, failed = random.Random(args.seed), 0
    torch.manual_seed(args.seed)
    for _ in range(args.count):
        case = Case(rng)
        error = case.check()
        if error:
            failed += 1
            print(f"{case.name}: {error}", flush=True)
    print(f"{args.count} cases, {failed} wrong")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
