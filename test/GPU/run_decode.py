"""Checks attention over KV caches with few queries on a GPU, against float64.

    FOVEA_LIBRARY_PATH=build/lib PYTHONPATH=python python test/GPU/run_decode.py [--count 100] [--seed 1]

Random batches: head dims, groups, numbers of queries, the same for all sequences or packed ones,
lengths from 0 to the capacity, contiguous caches and pages, tables with a row per sequence and one
list of all pages, masks, soft caps and sinks. NaN stands where no key of a sequence is. Each batch
runs twice and must give the same bits, also from another page table with the same keys; invariant
ones also for one sequence alone. Every tenth batch is captured in a CUDA graph and replayed with
other lengths and tables. `--target sm_80` runs kernels without warp roles. Prints failures and a
summary; exits with 1 after a failure.
"""

import argparse
import math
import random
import sys

import torch

import fovea.torch as ours
from fovea.torch.ops import _op

TOLERANCE = {torch.bfloat16: 2e-2, torch.float16: 3e-3}


def soft_cap(score, b, h, q_idx, kv_idx):
    return 2.0 * torch.tanh(score / 2.0)


def every_third(b, h, q_idx, kv_idx):
    return kv_idx % 3 == 0


class Batch:
    def __init__(self, rng, number):
        self.rng = rng
        self.dim = rng.choice((64, 64, 128, 128, 80, 256))
        self.kv_heads, self.group = rng.choice((1, 2, 8)), rng.choice((1, 2, 3, 4, 5, 7, 8, 12, 16))
        self.queries = rng.choice((1, 1, 1, 2, 3, 4, 7, 8, 16))
        self.batch = rng.choice((1, 1, 2, 3, 8, 33))
        self.page = rng.choice((0, 0, 0, 1, 3, 8, 12, 16, 16, 20, 32, 64, 128))
        self.listed = bool(self.page) and rng.random() < 0.4
        self.invariant = rng.random() < 0.3
        self.capacity = rng.choice((64, 500, 1000, 4096))
        if self.page:
            self.capacity = -(-self.capacity // self.page) * self.page
        self.dtype = rng.choice((torch.bfloat16, torch.float16))
        self.mask = rng.choice((None, None, every_third)) if self.dim <= 128 else None
        self.mod = rng.choice((None, None, soft_cap))
        self.window = rng.choice((None, None, (100, 0), (0, 0)))
        self.causal = self.queries > 1 and rng.random() < 0.7
        self.sinks = torch.randn(self.kv_heads * self.group, device="cuda") if rng.random() < 0.3 else None
        self.generator = torch.Generator("cuda").manual_seed(number)
        self.counts, self.max_q = [self.queries] * self.batch, None
        self.packed = rng.random() < 0.5
        if self.packed:
            most = rng.choice(((0, 1), (1,), (0, 1, 4, 16), (1, 5, 100, 300)))
            self.counts = [rng.choice(most) for _ in range(self.batch)]
            self.max_q = rng.choice((None, max(self.counts), 1))
        offsets = torch.tensor([0, *self.counts]).cumsum(0)
        self.offsets = offsets.int().to("cuda")
        self.q = self.normal(int(offsets[-1]), self.kv_heads * self.group, self.dim)
        self.k, self.v = (self.normal(self.batch, self.capacity, self.kv_heads, self.dim) for _ in range(2))

    def normal(self, *shape):
        return torch.randn(*shape, generator=self.generator, device="cuda").to(self.dtype)

    def describe(self):
        names = ("dim", "kv_heads", "group", "counts", "max_q", "batch", "page", "listed", "invariant", "capacity", "dtype",
                 "window", "causal")
        mods = [one.__name__ for one in (self.mask, self.mod) if one] + (["sinks"] if self.sinks is not None else [])
        return " ".join(f"{name}={getattr(self, name)}" for name in names) + " " + " ".join(mods)

    def draw_lengths(self):
        special = (0, 1, 15, 16, 63, 64, 65, 127, 128, 129, self.capacity - 1, self.capacity)
        return [min(self.rng.choice((*special, self.rng.randint(0, self.capacity))), self.capacity) for _ in range(self.batch)]

    def place(self, lengths):
        """The caches with these keys, in pages at random places, and NaN everywhere else."""
        exists = (torch.arange(self.capacity, device="cuda")[None] < torch.tensor(lengths, device="cuda")[:, None])[..., None, None]
        k, v = (torch.where(exists, one, torch.nan) for one in (self.k, self.v))
        if not self.page:
            return k, v, None
        count = self.capacity // self.page
        table = torch.randperm(self.batch * count + 5, device="cuda")[: self.batch * count].int().view(self.batch, count)
        pools = []
        for one in (k, v):
            pool = torch.full((self.batch * count + 5, self.page, self.kv_heads, self.dim), torch.nan, device="cuda", dtype=self.dtype)
            pool[table.flatten().long()] = one.view(-1, self.page, self.kv_heads, self.dim)
            pools.append(pool)
        return *pools, self.list_pages(table, lengths) if self.listed else table

    def list_pages(self, table, lengths):
        """The pages of all sequences one after the other, then unused entries, and their offsets."""
        counts = [-(-length // self.page) for length in lengths]
        indices = torch.full((table.numel(),), -7, device="cuda", dtype=torch.int32)
        ends = torch.tensor([0, *counts]).cumsum(0)
        if counts:
            indices[: int(ends[-1])] = torch.cat([row[:count] for row, count in zip(table, counts)])
        return indices, ends.int().to("cuda")

    def run(self, k, v, table, n):
        given = {"cu_seq_q": self.offsets, "max_q": self.max_q} if self.packed else {}
        q = self.q if self.packed else self.q.unflatten(0, (self.batch, self.queries))
        return self.call(q, k, v, table, n, given)

    def call(self, q, k, v, table, n, given):
        o, lse = ours.attention_with_kvcache(
            q, k, v, lengths=n, page_table=table, causal=self.causal, score_mod=self.mod, mask_mod=self.mask,
            window=self.window, sinks=self.sinks, return_lse=True, invariant=self.invariant, **given)
        return (o, lse) if self.packed else (o.flatten(0, 1), lse.transpose(0, 1).flatten(1))

    def run_alone(self, entry, k, v, table, n):
        """The rows of one sequence in all results, and these from a call of this sequence."""
        first = sum(self.counts[:entry])
        rows = slice(first, first + self.counts[entry])
        one = slice(entry, entry + 1)
        if self.listed:
            table = table[0], table[1][entry : entry + 2].contiguous()
        elif self.page:
            table = table[one]
        else:
            k, v = k[one], v[one]
        q, given = self.q[rows], {}
        if self.packed:
            given = {"cu_seq_q": torch.tensor([0, self.counts[entry]], dtype=torch.int32, device="cuda"), "max_q": self.max_q}
        return rows, self.call(q if self.packed else q[None], k, v, table, n[one], given)

    def exact(self, lengths):
        ends = [sum(self.counts[:number]) for number in range(self.batch + 1)]
        parts = [self.exact_sequence(entry, ends[entry], ends[entry + 1], lengths[entry]) for entry in range(self.batch)]
        return torch.cat([o for o, _ in parts]), torch.cat([lse for _, lse in parts], 1)

    def exact_sequence(self, entry, first, end, length):
        heads, queries = self.kv_heads * self.group, end - first
        k, v = (one[entry, :length].repeat_interleave(self.group, dim=1).double() for one in (self.k, self.v))
        scores = torch.einsum("ihd,jhd->hij", self.q[first:end].double() / math.sqrt(self.dim), k)
        if self.mod:
            scores = 2.0 * torch.tanh(scores / 2.0)
        i, j = torch.arange(queries, device="cuda")[:, None], torch.arange(length, device="cuda")[None]
        position, keep = length - queries + i, j < length
        left, right = self.window or (None, None)
        right = 0 if self.causal else right
        if left is not None:
            keep = keep & (j >= position - left)
        if right is not None:
            keep = keep & (j <= position + right)
        if self.mask:
            keep = keep & (j % 3 == 0)
        scores = scores.masked_fill(~keep.expand(queries, length), -math.inf)
        if self.sinks is not None:
            own = self.sinks.double()[:, None, None].expand(heads, queries, 1)
            scores, v = torch.cat([scores, own], 2), torch.cat([v, v.new_zeros(1, heads, self.dim)])
        if scores.shape[2] == 0:
            return v.new_zeros(queries, heads, self.dim), v.new_full((heads, queries), -math.inf)
        lse = torch.logsumexp(scores, 2)
        weights = torch.exp(scores - lse[..., None]).nan_to_num(0.0)
        return torch.einsum("hij,jhd->ihd", weights, v), lse

    def compare(self, found, lengths):
        o, lse = found
        exact, exact_lse = self.exact(lengths)
        error = ((o.double() - exact).abs() / (1 + exact.abs())).max().item() if o.numel() else 0.0
        same = torch.equal(lse == -math.inf, exact_lse == -math.inf)
        finite = exact_lse > -math.inf
        difference = (lse.double() - exact_lse)[finite].abs().max().item() if finite.any() else 0.0
        limit = TOLERANCE[self.dtype]
        if not error < limit or not same or not difference < limit:
            return f"o off by {error:.3g}, lse by {difference:.3g}, the same empty rows: {same}"
        return None


def check(batch, replays):
    lengths = batch.draw_lengths()
    n = torch.tensor(lengths, dtype=torch.int32, device="cuda")
    k, v, table = batch.place(lengths)
    first = batch.run(k, v, table, n)
    wrong = batch.compare(first, lengths)
    again = batch.run(k, v, table, n)
    if not all(map(torch.equal, first, again)):
        wrong = wrong or "a repetition gives other bits"
    if table is not None:
        moved = batch.run(*batch.place(lengths), n)
        if not all(map(torch.equal, first, moved)):
            wrong = wrong or "another page table gives other bits"
    if batch.invariant:
        rows, alone = batch.run_alone(batch.rng.randrange(batch.batch), k, v, table, n)
        if not torch.equal(first[0][rows], alone[0]) or not torch.equal(first[1][:, rows], alone[1]):
            wrong = wrong or "a sequence alone gives other bits"
    if wrong or not replays:
        return wrong
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = batch.run(k, v, table, n)
    for _ in range(3):
        lengths = batch.draw_lengths()
        new_k, new_v, new_table = batch.place(lengths)
        k.copy_(new_k), v.copy_(new_v), n.copy_(torch.tensor(lengths, dtype=torch.int32))
        if batch.page:
            for old, new in zip(table, new_table) if batch.listed else ((table, new_table),):
                old.copy_(new)
        graph.replay()
        torch.cuda.synchronize()
        if wrong := batch.compare(captured, lengths):
            return f"replayed: {wrong}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="batches")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", help="of the kernels, by default that of the GPU")
    args = parser.parse_args()
    if args.target:
        _op.targets_of = lambda _: (args.target,)
    if not torch.cuda.is_available():
        print("SKIP: PyTorch finds no GPU")
        return 0
    failed = 0
    with torch.no_grad():
        for number in range(args.seed * 10000, args.seed * 10000 + args.count):
            batch = Batch(random.Random(number), number)
            try:
                wrong = check(batch, replays=number % 10 == 0)
            except Exception as error:  # noqa: BLE001
                wrong = f"{type(error).__name__}: {str(error)[:300]}"
            if wrong:
                failed += 1
                print(f"{number}: {wrong}\n  {batch.describe()}", flush=True)
    print(f"{args.count - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
