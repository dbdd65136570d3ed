"""Times forward kernels beside torch's attention backends, on one GPU.

    python benchmarks/forward.py --compiler build-portable/bin/fovea-compile
    python benchmarks/forward.py --cells 128:4096:causal 64:4096:full --schedule tile_n=32,stages=3 --json out.json

Each cell has 16k tokens in all and heads * d = 2048, bf16. Every timing runs the
same kernel for 30 ms first, then takes the median of the events around 30 runs;
the contestants of a cell take turns in random order, and the best of their
medians counts. FLOPs are 4 * d * pairs of query and key, half of them with a
causal mask, for everyone.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "test" / "GPU"))

import kernels  # noqa: E402
from variants import Config, emit  # noqa: E402

DEFAULT_CELLS = ["64:4096:full", "64:4096:causal", "128:4096:full", "128:4096:causal"]
TOKENS, WIDTH = 16384, 2048
WARM_UP, RUNS = 0.030, 30


class Cell:
    def __init__(self, text):
        try:
            d, s, mask = text.split(":")
            self.d, self.s, self.causal = int(d), int(s), {"full": False, "causal": True}[mask]
        except (ValueError, KeyError):
            raise argparse.ArgumentTypeError(f"'{text}' is not HEAD_DIM:LENGTH:full or HEAD_DIM:LENGTH:causal") from None
        self.text, self.b, self.h = text, max(1, TOKENS // self.s), WIDTH // self.d

    @property
    def flops(self):
        return 4 * self.b * self.h * self.s * self.s * self.d * (0.5 if self.causal else 1)


def median_ms(torch, function):
    """The median time of a call, after 30 ms of the same."""
    function()
    torch.cuda.synchronize()
    start = time.perf_counter()
    while time.perf_counter() - start < WARM_UP:
        for _ in range(4):
            function()
        torch.cuda.synchronize()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(RUNS + 1)]
    events[0].record()
    for event in events[1:]:
        function()
        event.record()
    torch.cuda.synchronize()
    return statistics.median(a.elapsed_time(b) for a, b in zip(events, events[1:]))


def torch_contestants(torch, cell, q, k, v, flex):
    """Callables by name, only those that run."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def sdpa(backend):
        def call():
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=cell.causal)

        return call

    result = {}
    for name in ("FLASH_ATTENTION", "CUDNN_ATTENTION"):
        try:
            call = sdpa(getattr(SDPBackend, name))
            call()
            torch.cuda.synchronize()
            result[name] = call
        except (RuntimeError, AttributeError) as error:
            print(f"  {name} does not run: {str(error).splitlines()[0]}", flush=True)
    if flex:
        try:
            from torch.nn.attention.flex_attention import create_block_mask, flex_attention

            compiled = torch.compile(flex_attention, dynamic=False)
            mask = None
            if cell.causal:
                mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, cell.s, cell.s, device="cuda")
            compiled(q, k, v, block_mask=mask)
            torch.cuda.synchronize()
            result["flex_attention"] = lambda: compiled(q, k, v, block_mask=mask)
        except Exception as error:  # noqa: BLE001: the compiler behind it raises anything
            print(f"  flex_attention does not run: {str(error).splitlines()[0]}", flush=True)
    return result


def fovea_contestants(torch, runtime, compiled, cell, q, k, v, reference):
    """Prepared launches by name; one that is wrong by far does not compete."""
    result, facts = {}, {}
    stream = torch.cuda.current_stream().cuda_stream
    for name, outcome in compiled.items():
        if isinstance(outcome, Exception):
            print(f"  {name} does not compile: {str(outcome)[:300]}", flush=True)
            continue
        o = torch.full_like(q, torch.nan)
        lse = torch.full(q.shape[:3], torch.nan, device="cuda")
        try:
            kernel = runtime.load(*outcome[:2])
            launch = kernel.prepare(q=q, k=k, v=v, o=o, lse=lse)
            launch.run(stream)
            torch.cuda.synchronize()
        except RuntimeError as error:
            print(f"  {name} does not run: {str(error)[:300]}", flush=True)
            continue
        error = (o.float() - reference.float()).abs().max().item()
        if not error < 0.05:
            print(f"  {name} is wrong: it differs from torch by {error}", flush=True)
            continue
        result[name] = lambda launch=launch: launch.run(stream)
        facts[name] = {**kernel.info(), **outcome[2], "name": name, "schedule": kernel.metadata.get("schedule")}
    return result, facts


def compile_candidates(cells, args, chip, folder):
    """For each cell its kernels by name, compiled in parallel."""
    import concurrent.futures

    ptxas = kernels.find_ptxas()
    wanted = {}
    for cell in cells:
        config = Config("causal" if cell.causal else "dense", "bf16", cell.d)
        for index, schedule in enumerate(args.schedule or ["auto"]):
            key = config.name, schedule
            options = [] if schedule == "auto" else [f"--schedule={schedule}"]
            wanted[key] = (config, index, [*options, *args.option])

    def work(item):
        (name, _), (config, index, options) = item
        place = pathlib.Path(folder) / f"{name}-{index}"
        place.mkdir(parents=True, exist_ok=True)
        try:
            return kernels.compile_one(name, emit(config), place, args.compiler, args.target, chip, ptxas, options)
        except Exception as error:  # noqa: BLE001: reported where the cell is timed
            return error

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        done = dict(zip(wanted, pool.map(work, wanted.items())))
    result = {}
    for cell in cells:
        name = Config("causal" if cell.causal else "dense", "bf16", cell.d).name
        result[cell] = {f"fovea[{schedule}]": outcome for (other, schedule), outcome in done.items() if other == name}
    return result


def run_cell(torch, runtime, cell, compiled, args, rng):
    q, k, v = (
        torch.randn(cell.b, cell.h, cell.s, cell.d, device="cuda", dtype=torch.bfloat16) for _ in range(3)
    )  # fmt: skip
    print(f"{cell.text}: B {cell.b}, H {cell.h}, S {cell.s}, d {cell.d}", flush=True)
    contestants = torch_contestants(torch, cell, q, k, v, args.flex)
    reference = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=cell.causal)
    ours, facts = fovea_contestants(torch, runtime, compiled, cell, q, k, v, reference)
    contestants.update(ours)
    times = {name: [] for name in contestants}
    for _ in range(args.turns):
        order = list(contestants)
        rng.shuffle(order)
        for name in order:
            times[name].append(median_ms(torch, contestants[name]))
    rows = []
    for name, medians in times.items():
        rate = cell.flops / (min(medians) * 1e-3) / 1e12
        rows.append({"cell": cell.text, "name": name, "tflops": rate, "medians_ms": medians, **facts.get(name, {})})
    flash = next((row["tflops"] for row in rows if row["name"] == "FLASH_ATTENTION"), None)
    for row in sorted(rows, key=lambda row: -row["tflops"]):
        row["of_flash"] = row["tflops"] / flash if flash else None
    return rows


def print_table(rows):
    print(f"\n{'cell':<18} {'kernel':<44} {'TFLOP/s':>8} {'of FLASH':>9} {'regs':>5} {'spills':>6} {'CTAs/SM':>7}")
    for row in rows:
        ratio = f"{row['of_flash']:.2f}" if row["of_flash"] else "-"
        spills = row.get("spill_stores", row.get("local_memory", "-"))
        print(f"{row['cell']:<18} {row['name']:<44} {row['tflops']:>8.1f} {ratio:>9} {row.get('registers', '-'):>5} "
              f"{spills:>6} {row.get('blocks_per_multiprocessor', '-'):>7}")


def make_parser():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="+", type=Cell, default=[Cell(text) for text in DEFAULT_CELLS],
                        help="HEAD_DIM:LENGTH:full or HEAD_DIM:LENGTH:causal")
    parser.add_argument("--schedule", action="append", default=[], help="a candidate, repeatable; 'auto' by default")
    parser.add_argument("--option", action="append", default=[], help="further option of fovea-compile, repeatable")
    parser.add_argument("--compiler", help="fovea-compile; found in the build folders by default")
    parser.add_argument("--runtime", help="libFoveaRuntime.so; found in the build folders by default")
    parser.add_argument("--target", default="sm_80", help="what fovea-compile compiles for")
    parser.add_argument("--turns", type=int, default=3, help="timings of each contestant")
    parser.add_argument("--flex", action="store_true", help="time flex_attention too; it compiles for long")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="kernels to compile at once")
    parser.add_argument("--work", help="folder to keep what was compiled in")
    parser.add_argument("--json", help="write the results there")
    return parser


def main():
    args = make_parser().parse_args()
    try:
        import torch
    except ImportError:
        print("SKIP: torch is not installed")
        return 0
    if not torch.cuda.is_available():
        print("SKIP: there is no CUDA device")
        return 0
    import fovea_runtime

    args.compiler, library = kernels.find_compiler(args.compiler), kernels.find_library(args.runtime)
    if not args.compiler or not library:
        print("there is no fovea-compile or no libFoveaRuntime.so; name them with --compiler and --runtime")
        return 2
    torch.zeros(1, device="cuda")
    runtime = fovea_runtime.Runtime(library)
    info = runtime.device_info()
    chip = f"sm_{info['major']}{info['minor']}"
    device = f"{info['name'].decode()}, {chip}, driver {info['driver_version']}, torch {torch.__version__}"
    print(device, flush=True)
    rng = random.Random()
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        compiled = compile_candidates(args.cells, args, chip, args.work or temporary)
        for cell in args.cells:
            rows += run_cell(torch, runtime, cell, compiled[cell], args, rng)
            torch.cuda.empty_cache()
    print_table(rows)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"device": device, "rows": rows}, indent=1, default=str) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
