"""Times attention of few queries over KV caches, in CUDA graphs, beside PyTorch's backends.

    python benchmarks/decode.py
    python benchmarks/decode.py --cells 16:32/8:8192 1:64/8:131072 --pages 0 16 64 256
    python benchmarks/decode.py --queries 1 4 16 --no-peers --json out.json
    python benchmarks/decode.py --ragged --schedules auto work=dynamic
    python benchmarks/decode.py --invariant --listed --pages 1 16

A cell BATCH:HEADS/KV_HEADS:KEYS has head dim 128 and bf16. Each contestant is captured as a CUDA
graph of launches over several caches, which together exceed L2 four times, so every launch reads
its cache from memory. Contestants alternate in random order; the result is the median of all
replays, per launch. R is the rate of the fastest kernel of the run that only reads memory, and
`of R` the rate of the keys and values that a launch must read, over R. `--ragged` draws lengths
log-uniformly from 128 to 32k. Pages of 0 are contiguous caches; the pages of all sequences are
shuffled; `--listed` passes them as one list. `--invariant` adds the batch-invariant form. With
`--target sm_80` our kernels use no TMA, wgmma and warp roles. The error is that of a sample of heads
against float64, by norm.
"""

import argparse
import importlib.util
import json
import math
import pathlib
import random
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

DEFAULT_CELLS = (
    "16:32/8:8192", "64:32/8:4096", "8:64/64:8192", "1:32/8:131072", "1:8/1:524288",
    "1:64/8:8192", "1:64/8:32768", "1:64/8:131072", "8:64/8:32768",
)  # fmt: skip
HEAD_DIM, L2_TIMES, RELATIVE_ERROR = 128, 4, 0.01


def parse_cell(text):
    batch, heads, keys = text.split(":")
    heads, kv_heads = (int(one) for one in heads.split("/"))
    return int(batch), heads, kv_heads, int(keys)


class Replay:
    """A CUDA graph of `launches`, one per cache."""

    def __init__(self, torch, launches):
        self.count = len(launches)
        self.launches = launches  # with the tensors that they read
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for launch in launches:
                launch()
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.outputs = [launch() for launch in launches]

    def time(self, torch, replays):
        """Microseconds per launch of each replay."""
        times = []
        for _ in range(replays):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            self.graph.replay()
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) * 1000 / self.count)
        return times


def measure_reads(torch):
    """Bytes per microsecond of the fastest kernel that only reads."""
    words = torch.zeros(1 << 28, dtype=torch.int32, device="cuda")
    readers = {
        "sum": lambda: words.view(torch.float32).sum(),
        "amax": lambda: words.amax(),
        "rows": lambda: words.view(torch.float32).view(1 << 14, -1).sum(1),
    }
    if importlib.util.find_spec("triton"):
        readers["triton"] = _triton_reader(torch, words)
    rates = {}
    for name, read in readers.items():
        try:
            read()
        except Exception as error:  # noqa: BLE001
            print(f"no {name}: {str(error).splitlines()[0][:120]}")
            continue
        times = []
        for _ in range(12):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            read()
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) * 1000)
        rates[name] = words.numel() * 4 / min(times)
    best = max(rates, key=rates.get)
    print("reading:", ", ".join(f"{name} {rate / 1e6:.2f} TB/s" for name, rate in rates.items()), flush=True)
    return rates[best]


def _triton_reader(torch, words):
    """A reader in Triton, whose functions must be in a file."""
    with tempfile.NamedTemporaryFile("w", suffix=".py", delete=False) as file:
        file.write("import triton\nimport triton.language as tl\n" + _READER)
    spec = importlib.util.spec_from_file_location("reader", file.name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    blocks, size = 132 * 4, 8192
    out = torch.zeros(blocks, dtype=torch.int32, device="cuda")
    return lambda: module.read[(blocks,)](words, out, words.numel() // blocks // size, blocks, size, num_warps=8)


_READER = '''
@triton.jit
def read(source, out, steps, blocks: tl.constexpr, size: tl.constexpr):
    total = tl.zeros((size,), tl.int32)
    program = tl.program_id(0)
    for step in range(steps):
        total += tl.load(source + (step * blocks + program) * size + tl.arange(0, size), eviction_policy="evict_first")
    tl.store(out + program, tl.sum(total))
'''


class Cell:
    """The caches of a cell, contiguous or in pages."""

    def __init__(self, torch, text, queries, page, args):
        self.torch, self.text, self.queries, self.page = torch, text, queries, page
        self.listed, ragged, seed = args.listed, args.ragged, args.seed
        self.batch, self.heads, self.kv_heads, keys = parse_cell(text)
        rng = random.Random(seed)
        self.lengths = [keys] * self.batch
        if ragged:
            self.lengths = [int(math.exp(rng.uniform(math.log(128), math.log(32768)))) for _ in range(self.batch)]
        self.keys = max(self.lengths)
        self.bytes = sum(self.lengths) * self.kv_heads * HEAD_DIM * 4
        held = self.batch * self.keys * self.kv_heads * HEAD_DIM * 4
        l2 = torch.cuda.get_device_properties(0).L2_cache_size
        self.count = max(2, min(64, math.ceil(L2_TIMES * l2 / self.bytes)))
        while self.count > 2 and self.count * held > 60 << 30:
            self.count -= 1
        self.caches = [self._make(number) for number in range(self.count)]
        self.n = torch.tensor(self.lengths, dtype=torch.int32, device="cuda")

    def _make(self, number):
        torch = self.torch
        generator = torch.Generator("cuda").manual_seed(number)

        def normal(*shape):
            return torch.randn(*shape, generator=generator, device="cuda", dtype=torch.bfloat16)

        q = normal(self.batch, self.queries, self.heads, HEAD_DIM)
        if not self.page:
            shape = (self.batch, self.keys, self.kv_heads, HEAD_DIM)
            return q, normal(*shape), normal(*shape), None
        pages = -(-self.keys // self.page)
        table = torch.randperm(self.batch * pages, generator=generator, device="cuda").int().view(self.batch, pages)
        shape = (self.batch * pages, self.page, self.kv_heads, HEAD_DIM)
        pools = normal(*shape), normal(*shape)
        if self.listed:
            table = table.flatten(), torch.arange(self.batch + 1, device="cuda", dtype=torch.int32) * pages
        return q, *pools, table

    def launches(self, call):
        return [lambda one=one: call(*one) for one in self.caches]

    def error(self, output):
        """The largest error of two heads of the first and the last sequence."""
        torch, (q, k, v, table) = self.torch, self.caches[0]
        worst = 0.0
        for entry in {0, self.batch - 1}:
            length = self.lengths[entry]
            rows = k[entry, :length], v[entry, :length]
            if table is not None:
                pages = table[0].view(self.batch, -1) if self.listed else table
                rows = [pool[pages[entry].long()].flatten(0, 1)[:length] for pool in (k, v)]
            for head in {0, self.heads - 1}:
                key, value = (one[:, head * self.kv_heads // self.heads].double() for one in rows)
                scores = q[entry, :, head].double() @ key.T / math.sqrt(HEAD_DIM)
                first = length - self.queries
                hidden = torch.arange(length, device="cuda")[None] > first + torch.arange(self.queries, device="cuda")[:, None]
                exact = torch.softmax(scores.masked_fill(hidden, -math.inf), 1) @ value
                found = output[entry, :, head].double()
                worst = max(worst, ((found - exact).norm() / exact.norm()).item())
        return worst


def make_ours(cell, schedule, invariant=False):
    import fovea.torch

    options = None if schedule == "auto" else {"schedule": schedule}

    def call(q, k, v, table):
        return fovea.torch.attention_with_kvcache(
            q, k, v, lengths=cell.n, page_table=table, causal=cell.queries > 1, invariant=invariant, kernel_options=options)

    return cell.launches(call)


def make_peer(torch, cell, backend):
    """PyTorch's scaled_dot_product_attention; None where it can't express the cell."""
    if cell.page or min(cell.lengths) < cell.keys or cell.queries > 1:
        return None
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def call(q, k, v, _):
        with sdpa_kernel([getattr(SDPBackend, backend)]):
            return torch.nn.functional.scaled_dot_product_attention(
                q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), enable_gqa=cell.heads != cell.kv_heads
            ).transpose(1, 2)

    return cell.launches(call)


def make_flex(torch, cell):
    if cell.page or min(cell.lengths) < cell.keys or cell.queries > 1:
        return None
    from torch.nn.attention.flex_attention import flex_attention

    compiled = torch.compile(flex_attention, dynamic=False)

    def call(q, k, v, _):
        return compiled(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), enable_gqa=cell.heads != cell.kv_heads).transpose(1, 2)

    return cell.launches(call)


def replay_in_turns(torch, makers, text, rounds, rng):
    """Replays the contestants several times in random order. Returns the replays and the median
    microseconds of each by name. Prints contestants that fail."""
    replays = {}
    for name, make in makers.items():
        try:
            launches = make()
            if launches:
                replays[name] = Replay(torch, launches)
        except Exception as error:  # noqa: BLE001
            print(f"  {text} {name}: {(str(error).splitlines() or [type(error).__name__])[0][:160]}", flush=True)
    times = {name: [] for name in replays}
    for replay in replays.values():
        replay.time(torch, 3)
    for _ in range(rounds):
        order = list(replays)
        rng.shuffle(order)
        for name in order:
            times[name] += replays[name].time(torch, 5)
    return replays, {name: statistics.median(times[name]) for name in replays}


def replay_once(torch, replay):
    """The first output of a replay."""
    replay.graph.replay()
    torch.cuda.synchronize()
    return replay.outputs[0]


def run_cell(torch, cell, args, rate, rng):
    makers = {f"fovea[{schedule}]": lambda s=schedule: make_ours(cell, s) for schedule in args.schedules}
    if args.invariant:
        for schedule in args.schedules:
            makers[f"fovea[{schedule}] invariant"] = lambda s=schedule: make_ours(cell, s, invariant=True)
    if args.peers:
        makers["cudnn"] = lambda: make_peer(torch, cell, "CUDNN_ATTENTION")
        makers["flash"] = lambda: make_peer(torch, cell, "FLASH_ATTENTION")
        makers["flex"] = lambda: make_flex(torch, cell)
    replays, times = replay_in_turns(torch, makers, cell.text, args.rounds, rng)
    rows = []
    for name, replay in replays.items():
        micros = times[name]
        row = {
            "cell": cell.text, "page": cell.page, "queries": cell.queries, "ragged": args.ragged, "name": name, "us": micros,
            "tbs": cell.bytes / micros / 1e6, "of_r": cell.bytes / micros / rate, "error": cell.error(replay_once(torch, replay)),
        }  # fmt: skip
        flag = "" if row["error"] < RELATIVE_ERROR else "  WRONG"
        print(f"{cell.text:<18} {cell.page:>5} {cell.queries:>3} {name:<28} {micros:>10.2f} {row['tbs']:>7.3f} "
              f"{row['of_r']:>6.3f} {row['error']:>9.2e}{flag}", flush=True)  # fmt: skip
        rows.append(row)
    return rows


def make_parser():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="+", default=list(DEFAULT_CELLS), help="BATCH:HEADS/KV_HEADS:KEYS")
    parser.add_argument("--pages", nargs="+", type=int, default=[0], help="rows of a page; 0: contiguous")
    parser.add_argument("--queries", nargs="+", type=int, default=[1], help="queries of each sequence; causal if more than 1")
    parser.add_argument("--ragged", action="store_true", help="draw the lengths")
    parser.add_argument("--listed", action="store_true", help="page tables as one list with offsets")
    parser.add_argument("--invariant", action="store_true", help="our batch-invariant form, too")
    parser.add_argument("--target", help="of our kernels, by default that of the GPU")
    parser.add_argument("--schedules", nargs="+", default=["auto"], help="schedules of our kernels")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True, help="PyTorch's backends, too")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contestant")
    parser.add_argument("--seed", type=int, default=0, help="of lengths and the contestants' order")
    parser.add_argument("--json", help="write the results there")
    return parser


def main():
    args = make_parser().parse_args()
    import torch

    if not torch.cuda.is_available():
        print("SKIP: PyTorch finds no GPU")
        return 0
    if args.target:
        from fovea.torch.ops import _op

        _op.targets_of = lambda _: (args.target,)
    print(torch.cuda.get_device_name(), "torch", torch.__version__, flush=True)
    rate, rng, rows = measure_reads(torch), random.Random(args.seed), []
    print(f"{'cell':<18} {'page':>5} {'q':>3} {'contestant':<28} {'us':>10} {'TB/s':>7} {'of R':>6} {'error':>9}")
    with torch.no_grad():
        for text in args.cells:
            for page in args.pages:
                for queries in args.queries:
                    cell = Cell(torch, text, queries, page, args)
                    rows += run_cell(torch, cell, args, rate, rng)
                    del cell
                    torch.cuda.empty_cache()
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"rate": rate, "rows": rows}, indent=1))
    return int(any(row["error"] >= RELATIVE_ERROR for row in rows if row["name"].startswith("fovea")))


if __name__ == "__main__":
    sys.exit(main())
