"""Times packed queries over KV caches in pages: chunks of prompts beside sequences that are decoded.

    python benchmarks/mixed.py
    python benchmarks/mixed.py --cells 1x2048@8192+64x1@8192 9x1024@62000 --heads 32/8 --pages 16 64

A cell is a sum of groups COUNTxQUERIES@KEYS: so many sequences with so many queries and keys each,
causal, head dim 128, bf16. Contestants: one launch for all; a launch for each group; PyTorch's
`varlen_attn` with a block table, if it has pages of that size. Each is captured in a CUDA graph of
launches over several caches (`decode.py`); the result is the median per launch. TFLOP/s count the
visible scores, TB/s the keys and values that a launch must read once per key head. The error is that
of the first and the last query of a sample of sequences against float64, by norm.
"""

import argparse
import inspect
import json
import math
import pathlib
import random
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "python")]

import decode  # noqa: E402

DEFAULT_CELLS = ("1x2048@8192+64x1@8192", "64x1@8192", "1x2048@8192", "8x512@4096+56x1@4096", "1x1024@62000")


def parse_cell(text):
    """(queries, keys) of each sequence, and the sequences of each group."""
    sequences, groups = [], []
    for group in text.split("+"):
        count, rest = group.split("x")
        queries, keys = (int(one) for one in rest.split("@"))
        groups.append((len(sequences), len(sequences) + int(count)))
        sequences += [(queries, keys)] * int(count)
    return sequences, groups


class Cell:
    def __init__(self, torch, text, heads, kv_heads, page):
        self.torch, self.text, self.heads, self.kv_heads, self.page = torch, text, heads, kv_heads, page
        self.sequences, self.groups = parse_cell(text)
        self.queries, self.lengths = zip(*self.sequences)
        self.bytes = sum(self.lengths) * kv_heads * decode.HEAD_DIM * 4
        visible = sum(q * k - q * (q - 1) // 2 for q, k in self.sequences)
        self.flops = 4 * visible * heads * decode.HEAD_DIM
        l2 = torch.cuda.get_device_properties(0).L2_cache_size
        self.count = max(2, min(16, math.ceil(decode.L2_TIMES * l2 / self.bytes)))
        self.offsets = torch.tensor([0, *self.queries]).cumsum(0).int().to("cuda")
        self.n = torch.tensor(self.lengths, dtype=torch.int32, device="cuda")
        self.caches = [self._make(number) for number in range(self.count)]

    def _make(self, number):
        torch = self.torch
        generator = torch.Generator("cuda").manual_seed(number)

        def normal(*shape):
            return torch.randn(*shape, generator=generator, device="cuda", dtype=torch.bfloat16)

        places = -(-max(self.lengths) // self.page)
        used = [-(-one // self.page) for one in self.lengths]
        order = torch.randperm(sum(used), generator=generator, device="cuda").int()
        table = torch.zeros(len(used), places, dtype=torch.int32, device="cuda")
        for entry, part in enumerate(order.split(used)):
            table[entry, : len(part)] = part
        shape = (sum(used), self.page, self.kv_heads, decode.HEAD_DIM)
        return normal(sum(self.queries), self.heads, decode.HEAD_DIM), normal(*shape), normal(*shape), table

    def error(self, output):
        torch, (q, k, v, table) = self.torch, self.caches[0]
        worst = 0.0
        for entry in {0, len(self.sequences) // 2, len(self.sequences) - 1}:
            first, end, length = int(self.offsets[entry]), int(self.offsets[entry + 1]), self.lengths[entry]
            key, value = (pool[table[entry].long()].flatten(0, 1)[:length, 0].double() for pool in (k, v))
            for row in {first, end - 1}:
                seen = length - (end - 1 - row)
                weights = torch.softmax(q[row, 0].double() @ key[:seen].T / math.sqrt(decode.HEAD_DIM), 0)
                exact = weights @ value[:seen]
                worst = max(worst, ((output[row, 0].double() - exact).norm() / exact.norm()).item())
        return worst


def make_ours(torch, cell, schedule, apart):
    import fovea.torch

    options = None if schedule == "auto" else {"schedule": schedule}
    groups = cell.groups if apart else [(0, len(cell.sequences))]
    parts = []
    for first, end in groups:
        begin, last = int(cell.offsets[first]), int(cell.offsets[end])
        offsets = (cell.offsets[first : end + 1] - begin).contiguous()
        parts.append((first, end, begin, last, offsets, max(cell.queries[first:end])))

    def call(q, k, v, table):
        o = torch.empty_like(q)
        for first, end, begin, last, offsets, most in parts:
            fovea.torch.attention_with_kvcache(
                q[begin:last], k, v, lengths=cell.n[first:end], page_table=table[first:end], cu_seq_q=offsets, max_q=most,
                causal=True, out=o[begin:last], kernel_options=options)
        return o

    return [lambda one=one: call(*one) for one in cell.caches]


def make_peer(torch, cell):
    from torch.nn.attention.varlen import varlen_attn

    # Earlier releases of PyTorch take grouped heads without being told.
    grouped = {"enable_gqa": True} if "enable_gqa" in inspect.signature(varlen_attn).parameters else {}

    def call(q, k, v, table):
        return varlen_attn(
            q, k, v, cell.offsets, None, max(cell.queries), max(cell.lengths), window_size=(-1, 0), seqused_k=cell.n,
            block_table=table, **grouped)

    return [lambda one=one: call(*one) for one in cell.caches]


def run_cell(torch, cell, args, rate, rng):
    makers = {f"one launch[{one}]": lambda one=one: make_ours(torch, cell, one, False) for one in args.schedules}
    if len(cell.groups) > 1:
        makers["a launch per group"] = lambda: make_ours(torch, cell, "auto", True)
    if args.peers:
        makers["varlen_attn"] = lambda: make_peer(torch, cell)
    replays, times = decode.replay_in_turns(torch, makers, cell.text, args.rounds, rng)
    rows = []
    for name, replay in replays.items():
        micros, error = times[name], cell.error(decode.replay_once(torch, replay))
        row = {"cell": cell.text, "heads": f"{cell.heads}/{cell.kv_heads}", "page": cell.page, "name": name, "us": micros,
               "tflops": cell.flops / micros / 1e6, "of_r": cell.bytes / micros / rate, "error": error}  # fmt: skip
        flag = "" if error < decode.RELATIVE_ERROR else "  WRONG"
        print(f"{cell.text:<26} {row['heads']:>6} {cell.page:>5} {name:<34} {micros:>9.2f} {row['tflops']:>7.1f} {row['of_r']:>6.3f} "
              f"{error:>9.2e}{flag}", flush=True)  # fmt: skip
        rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="+", default=list(DEFAULT_CELLS), help="sums of COUNTxQUERIES@KEYS")
    parser.add_argument("--heads", nargs="+", default=["32/8"], help="HEADS/KV_HEADS")
    parser.add_argument("--pages", nargs="+", type=int, default=[64], help="rows of a page")
    parser.add_argument("--schedules", nargs="+", default=["auto"], help="schedules of one launch for all")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True, help="PyTorch's varlen_attn, too")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contestant")
    parser.add_argument("--seed", type=int, default=0, help="of the contestants' order")
    parser.add_argument("--json", help="write the results there")
    args = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        print("SKIP: PyTorch finds no GPU")
        return 0
    print(torch.cuda.get_device_name(), "torch", torch.__version__, flush=True)
    rate, rng, rows = decode.measure_reads(torch), random.Random(args.seed), []
    print(f"{'cell':<26} {'heads':>6} {'page':>5} {'contestant':<34} {'us':>9} {'TFLOP/s':>7} {'of R':>6} {'error':>9}")
    with torch.no_grad():
        for text in args.cells:
            for heads in args.heads:
                for page in args.pages:
                    cell = Cell(torch, text, *(int(one) for one in heads.split("/")), page)
                    rows += run_cell(torch, cell, args, rate, rng)
                    del cell
                    torch.cuda.empty_cache()
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"rate": rate, "rows": rows}, indent=1))
    return int(any(row["error"] >= decode.RELATIVE_ERROR for row in rows if row["name"] != "varlen_attn"))


if __name__ == "__main__":
    sys.exit(main())
