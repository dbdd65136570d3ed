"""Times forward kernels and torch's attention backends on one GPU.

    python benchmarks/forward.py --compiler build-portable/bin/fovea-compile
    python benchmarks/forward.py --cells 128:4096:causal 64:4096:full --schedule tile_n=32,stages=3 --json out.json
    python benchmarks/forward.py --fa3                # also FlashAttention-3; --fa3 FILE names its library
    python benchmarks/forward.py --golden FOLDER      # also your own kernels, as golden_kernels.py describes them
    python benchmarks/forward.py --ablation           # one mechanism of the schedule off at a time

Each cell has 16k tokens and heads * d = 2048, bf16; all contestants get the same tensors.
192/128:4096:causal has values of head dim 128. Contestants alternate in random order for five
rounds: 30 ms of warm-up and then seven timed launches, because earlier work affects the GPU's power
limit. The result is the median of all launches. FLOPs are 2 * (d + dv) * pairs of query and key for
all contestants, half of the pairs with a causal mask. Ours are compiled without LSE (inference),
torch's FLASH_ATTENTION writes it. The error is that of a sample of the output against float64, by
norm (exact.py).
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("test/GPU", "python")]

import exact  # noqa: E402
import flash_attention_3  # noqa: E402
import golden_kernels  # noqa: E402
import kernels  # noqa: E402
import report  # noqa: E402
import waiting  # noqa: E402
from fovea.bench import _forward  # noqa: E402
from fovea.bench._forward import DEFAULT_CELLS, RELATIVE_ERROR  # noqa: E402
from fovea.bench._timing import first_line, launch_times, take_turns  # noqa: E402, F401
from gpu_variants import Config, emit  # noqa: E402

ABLATION_CELLS = [f"{d}:4096:{mask}" for d in (128, 64) for mask in ("full", "causal")]
# Variants of the schedule with one mechanism off, or one other choice. 'chain' needs 'overlap' and
# a persistent kernel, so it changes with them.
ABLATION = (
    "auto", "overlap=0,chain=0", "chain=0", "query_stages=1,chain=0", "ping_pong=0", "overlap=0,chain=0,ping_pong=0",
    "recurrence=deferred", "recurrence=conditional", "softmax_part=100", "softmax_part=25", "softmax_part=50",
    "sum_by_dot=1", "work=static", "work=dynamic", "work=single,chain=0", "key_stages=2", "stages=2,key_stages=2",
    "output=direct", "output=tma", "output=tma,output_stages=0",
)  # fmt: skip


def find_torch():
    """PyTorch, or None after printing why nothing can be timed."""
    torch, reason = kernels.find_torch()
    if torch is None:
        print(f"SKIP: {reason}")
    return torch


def open_device(torch, args, compiles=True):
    """The runtime, the current GPU's architecture, and a line that describes both and PyTorch.
    Finds the compiler in `args` if kernels must be compiled. Returns None after printing what is
    missing.
    """
    import fovea_runtime

    args.compiler, library = kernels.find_compiler(args.compiler), kernels.find_library(args.runtime)
    if not library or compiles and not args.compiler:
        print("there is no fovea-compile or no libFoveaRuntime.so; name them with --compiler and --runtime")
        return None
    torch.zeros(1, device="cuda")
    runtime = fovea_runtime.Runtime(library)
    info = runtime.device_info()
    chip = f"sm_{info['major']}{info['minor']}"
    return runtime, chip, f"{info['name'].decode()}, {chip}, driver {info['driver_version']}, torch {torch.__version__}"


def start(args, compiles=True):
    """PyTorch and the results of ``open_device``. Otherwise prints the reason and exits:
    successfully without a device, else with code 2.
    """
    torch = find_torch()
    if not torch:
        sys.exit(0)
    opened = open_device(torch, args, compiles)
    if not opened:
        sys.exit(2)
    return torch, *opened


class Cell(_forward.Cell):
    @property
    def config(self):
        return Config("causal" if self.causal else "dense", "bf16", self.d, self.dv if self.dv != self.d else 0)


def admit(torch, name, launch, o, reference):
    """Runs a contestant once; prints a message and returns False if its output is wrong."""
    print(f"  {name}", flush=True)  # what runs, should it hang
    launch()
    waiting.synchronize(torch)
    expected = reference.float()
    error = ((o.float() - expected).norm() / expected.norm()).item()
    if not error < RELATIVE_ERROR:
        print(f"  {name} is wrong: the norm of its error is {error:.3g} of torch's output", flush=True)
        return False
    return True


def fovea_contestants(torch, runtime, compiled, args, tensors, reference, sample):
    """Prepared launches and facts by name, without wrong ones."""
    result, facts = {}, {}
    stream = torch.cuda.current_stream().cuda_stream
    for name, outcome in compiled.items():
        if isinstance(outcome, Exception):
            print(f"  {name} does not compile: {first_line(outcome)}", flush=True)
            continue
        o = torch.full_like(reference, torch.nan)
        arguments = {**tensors, "o": o}
        if args.lse:
            arguments["lse"] = torch.full(o.shape[:3], torch.nan, device="cuda")
        try:
            kernel = runtime.load(*outcome[:2])
            prepared = kernel.prepare(**arguments)

            def launch(prepared=prepared):
                prepared.run(stream)

            if not admit(torch, name, launch, o, reference):
                continue
        except RuntimeError as error:
            print(f"  {name} does not run: {first_line(error)}", flush=True)
            continue
        result[name] = launch
        facts[name] = {**kernel.info(), **outcome[2], "schedule": kernel.metadata.get("schedule")}
        facts[name] |= {"name": name, "target": kernel.metadata.get("target"), "lse": args.lse}
        (facts[name]["error"],) = sample.output_error(o)
    return result, facts


def golden_contestants(torch, loaded, cell, tensors, reference, sample):
    """Like prepare_ours, for the kernels of ``--golden`` that fit the cell."""
    result, facts = {}, {}
    q, k, v = (tensors[name].transpose(1, 2) for name in "qkv")
    for kernel in loaded:
        if (kernel.facts.head_dim, kernel.facts.causal) != (cell.d, cell.causal) or cell.dv != cell.d:
            continue
        name = f"{report.GOLDEN}[{kernel.facts.name}]"
        o = torch.full_like(tensors["q"], torch.nan)
        lse = torch.full(o.shape[:3], torch.nan, device="cuda")
        try:
            launch = kernel.prepare(q, k, v, o.transpose(1, 2), lse)
            if admit(torch, name, launch, o, reference):
                result[name], facts[name] = launch, kernel.info()
                (facts[name]["error"],) = sample.output_error(o)
        except RuntimeError as error:
            print(f"  {name} does not run: {first_line(error)}", flush=True)
    return result, facts


def flash3_contestants(torch, args, cell, tensors, reference):
    """FlashAttention-3's launch by name, if requested and available."""
    if not args.fa3:
        return {}
    try:
        launch, o = flash_attention_3.forward(torch, cell, *(tensors[name] for name in "qkv"))
        return {flash_attention_3.NAME: launch} if admit(torch, flash_attention_3.NAME, launch, o, reference) else {}
    except RuntimeError as error:
        print(f"  {flash_attention_3.NAME} does not run: {first_line(error)}", flush=True)
        return {}


def contestant_name(target, schedule, several_targets):
    return f"{report.OURS}[{target} {schedule}]" if several_targets else f"{report.OURS}[{schedule}]"


def compile_candidates(cells, args, chip, folder):
    """The kernels of each cell by name, compiled in parallel."""
    ptxas = kernels.find_ptxas()
    several = len(args.target) > 1
    wanted = {}
    for config in dict.fromkeys(cell.config for cell in cells):
        for target in args.target:
            for index, schedule in enumerate(args.schedule):
                options = [] if schedule == "auto" else [f"--schedule={schedule}"]
                place = f"{config.name}-{target}-{index}"
                name = contestant_name(target, schedule, several)
                wanted[config, name] = place, target, [*options, *args.option]

    def work(item):
        (config, _), (place, target, options) = item
        place = pathlib.Path(folder) / place
        place.mkdir(parents=True, exist_ok=True)
        source = emit(config, args.lse)
        try:
            return kernels.compile_one(config.name, source, place, args.compiler, target, chip, ptxas, options)
        except Exception as error:  # noqa: BLE001: reported where the cell is timed
            return error

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        done = dict(zip(wanted, pool.map(work, wanted.items())))
    return {cell: {name: found for (config, name), found in done.items() if config == cell.config} for cell in cells}


def run_cell(torch, runtime, cell, compiled, golden, args, rng):
    q, k, v = _forward.make_inputs(torch, cell)
    print(f"{cell.text}: B {cell.b}, H {cell.h}, S {cell.s}, d {cell.d}, dv {cell.dv}", flush=True)
    contestants = {}
    if args.peers:
        contestants = _forward.torch_contestants(torch, cell, q, k, v, args.flex, lambda line: print(line, flush=True))
    reference = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=cell.causal)
    tensors = {"q": q, "k": k, "v": v}
    contestants |= flash3_contestants(torch, args, cell, tensors, reference)
    sample = exact.Sample(torch, q, k, v, causal=cell.causal)
    facts = dict(zip(contestants, ({"error": error} for error in sample.output_error(*(call() for call in contestants.values())))))
    for found in (fovea_contestants(torch, runtime, compiled, args, tensors, reference, sample),
                  golden_contestants(torch, golden, cell, tensors, reference, sample)):
        contestants |= found[0]
        facts |= found[1]
    rows = []
    for name, times in take_turns(torch, contestants, args.rounds, rng).items():
        median = statistics.median(times)
        rate = cell.flops / (median * 1e-3) / 1e12
        rows.append({**facts.get(name, {}), "cell": cell.text, "name": name, "tflops": rate, "median_ms": median})
        rows[-1]["times_ms"] = times
    report.add_ratios(rows)
    return sorted(rows, key=lambda row: -row["tflops"])


def target_list(text):
    try:
        return kernels.parse_targets(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def make_parser():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="+", type=Cell, help="HEAD_DIM:LENGTH:full or HEAD_DIM:LENGTH:causal, HEAD_DIM or HEAD_DIM/VALUE_HEAD_DIM")
    parser.add_argument("--schedule", action="append", default=[], help="a candidate beside 'auto', repeatable")
    parser.add_argument("--only-schedules", action="store_true", help="without 'auto'")
    parser.add_argument("--ablation", action="store_true", help="schedules with one mechanism off; d 128 and 64 at 4k")
    parser.add_argument("--option", action="append", default=[], help="further option of fovea-compile, repeatable")
    parser.add_argument("--compiler", help="fovea-compile; found in the build folders by default")
    parser.add_argument("--runtime", help="libFoveaRuntime.so; found in the build folders by default")
    parser.add_argument("--target", type=target_list, help="list of targets; the device's best by default")
    flash_attention_3.add_argument(parser)
    parser.add_argument("--golden", metavar="FOLDER", help="time kernels of your own too: NAME.cubin with NAME.json (golden_kernels.py)")
    parser.add_argument("--lse", action=argparse.BooleanOptionalAction, default=False, help="our kernels write LSE too")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True, help="time torch's backends")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contestant")
    parser.add_argument("--flex", action="store_true", help="time flex_attention too; it compiles for long")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="kernels to compile at once")
    parser.add_argument("--seed", type=int, help="of the contestants' order")
    parser.add_argument("--work", help="folder to keep what was compiled in")
    parser.add_argument("--json", help="write the results there")
    return parser


def parse_arguments(argv=None):
    """Parses the arguments and derives defaults from other arguments."""
    parser = make_parser()
    args = parser.parse_args(argv)
    if args.rounds < 1 or args.jobs < 1:
        parser.error("--rounds and --jobs must be at least 1")
    if args.only_schedules and not args.schedule:
        parser.error("--only-schedules needs a --schedule")
    cells = ABLATION_CELLS if args.ablation else DEFAULT_CELLS
    args.cells = args.cells or [Cell(text) for text in cells]
    first = () if args.only_schedules else ABLATION if args.ablation else ("auto",)
    args.schedule = list(dict.fromkeys([*first, *args.schedule]))
    if args.ablation and args.target and len(args.target) > 1:
        parser.error("--ablation takes one target")
    return args


def write_report(rows, args, device):
    print()
    print("\n".join(report.format_table(rows)))
    summary = report.summarise(rows)
    print()
    print("\n".join(report.format_summary(summary)))
    if args.ablation:
        print()
        print("\n".join(report.format_ablation(rows, args.schedule, "auto")))
    if args.json:
        arguments = {name: value for name, value in vars(args).items() if name != "cells"}
        result = {"device": device, "arguments": arguments, "summary": summary, "rows": rows}
        pathlib.Path(args.json).write_text(json.dumps(result, indent=1, default=str) + "\n")


def main():
    args = parse_arguments()
    torch, runtime, chip, device = start(args)
    info = runtime.device_info()
    args.target = args.target or kernels.default_targets(info["major"], info["minor"])[-1:]
    print(f"{device}; target {','.join(args.target)}", flush=True)
    if args.fa3 and not flash_attention_3.load(torch, args.fa3):
        return 2
    try:
        described = golden_kernels.read_folder(args.golden) if args.golden else {}
    except (OSError, ValueError) as error:
        print(f"--golden {args.golden}: {error}")
        return 2
    golden = [golden_kernels.GoldenKernel(torch, image, facts) for image, facts in described.values()]
    rng = random.Random(args.seed)
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        compiled = compile_candidates(args.cells, args, chip, args.work or temporary)
        for cell in args.cells:
            try:
                rows += run_cell(torch, runtime, cell, compiled[cell], golden, args, rng)
            except waiting.Hang as error:
                print(f"  {error}; the device hangs, nothing after this ran")
                write_report(rows, args, device)
                waiting.abandon(1)
            torch.cuda.empty_cache()
            if args.json:  # what is there, should a later cell end the process
                pathlib.Path(args.json).write_text(json.dumps({"device": device, "rows": rows}, default=str) + "\n")
    write_report(rows, args, device)
    return 0


if __name__ == "__main__":
    sys.exit(main())
