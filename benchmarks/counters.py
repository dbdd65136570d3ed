"""Finds the bottleneck of our kernels with the GPU's counters, read by Nsight Compute.

    python benchmarks/counters.py --compiler build-portable/bin/fovea-compile
    python benchmarks/counters.py --cells 128:4096:full --variants softcap --json out.json

Cells are those of forward.py and variants those of variants.py, with the same tensors. Each kernel
runs once under ncu at the current clocks, and then for --seconds without it, until clock and power
are stable. Percentages are relative to a unit's peak over the cycles in which an SM had work:

    tensor  cycles of the tensor pipe          issue  slots in which an instruction was issued
    xu      the special-function unit          fma, alu  floating-point and integer pipes
    dram    of the memory's peak rate          stalls  reasons why a warp waits, most first, in
                                                       cycles for each instruction issued

`ms` and `MHz` are from the stable run, `alone ms` is a single launch on a cool GPU. Needs ncu and
permission to read counters (see NVIDIA's ERR_NVGPUCTRPERM).
"""

import argparse
import csv
import dataclasses
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import forward  # noqa: E402
import kernels  # noqa: E402
import variant_programs  # noqa: E402

ACTIVE = ".avg.pct_of_peak_sustained_active"
UNITS = {
    "tensor": "sm__pipe_tensor_cycles_active" + ACTIVE,
    "xu": "sm__inst_executed_pipe_xu" + ACTIVE,
    "fma": "sm__pipe_fma_cycles_active" + ACTIVE,
    "alu": "sm__pipe_alu_cycles_active" + ACTIVE,
    "issue": "smsp__issue_active" + ACTIVE,
    "dram": "dram__cycles_active.avg.pct_of_peak_sustained_elapsed",
}
STALL_PREFIX, STALL_SUFFIX = "smsp__average_warps_issue_stalled_", "_per_issue_active.ratio"
STALLS = (
    "barrier", "branch_resolving", "dispatch_stall", "gmma", "lg_throttle", "long_scoreboard", "math_pipe_throttle",
    "membar", "mio_throttle", "no_instruction", "short_scoreboard", "wait",
)  # fmt: skip
DURATION = "gpu__time_duration.sum"
METRICS = [DURATION, *UNITS.values(), *(STALL_PREFIX + stall + STALL_SUFFIX for stall in STALLS)]


@dataclasses.dataclass(frozen=True)
class Plan:
    """A kernel to measure: its label, the source of its tensors, its files."""

    name: str
    cell: str
    variant: str
    image: str
    metadata: str


def make_tensors(torch, plan):
    """q, k, v and captured tensors by name."""
    if plan.variant:
        program = variant_programs.PROGRAMS[plan.variant]
        return variant_programs.make_tensors(torch, program, variant_programs.sizes_of(program))[0]
    cell = forward.Cell(plan.cell)
    dims = zip("qkv", (cell.d, cell.d, cell.dv))
    return {name: torch.randn(cell.b, cell.h, cell.s, d, device="cuda", dtype=torch.bfloat16) for name, d in dims}


def prepare(torch, runtime, plan):
    tensors = make_tensors(torch, plan)
    prepared = runtime.load(plan.image, plan.metadata).prepare(**tensors, o=tensors["q"].new_empty((*tensors["q"].shape[:3], tensors["v"].shape[-1])))
    stream = torch.cuda.current_stream().cuda_stream
    return lambda: prepared.run(stream)


def count_kernels(metadata):
    """How many kernels a launch has."""
    return 1 + sum(len(metadata.get(others, ())) for others in ("prologue", "epilogue"))


def launch_each(torch, runtime, plans):
    """Launches each kernel once for ncu, between a start and a stop of the profiler. A variant with
    a prologue gives a row per kernel, of which the longest counts.
    """
    for plan in plans:
        launch = prepare(torch, runtime, plan)
        launch()
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStart()
        launch()
        torch.cuda.synchronize()
        torch.cuda.cudart().cudaProfilerStop()
        del launch
        torch.cuda.empty_cache()


def settle(torch, launch, seconds):
    """Median time of a launch in ms, clock in MHz and power in W while launches follow each other."""
    times, samples, started = [], [], time.monotonic()
    query = ["nvidia-smi", "--query-gpu=clocks.sm,power.draw.instant", "--format=csv,noheader,nounits", "-i",
             os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]]  # fmt: skip
    sampler = None
    while time.monotonic() - started < seconds:
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        events[0].record()
        for _ in range(20):
            launch()
        events[1].record()
        if sampler is None and time.monotonic() - started > seconds / 3:
            sampler = subprocess.Popen(query, stdout=subprocess.PIPE, text=True)
        events[1].synchronize()
        times.append(events[0].elapsed_time(events[1]) / 20)
        if sampler is not None and sampler.poll() is not None:
            samples.append([float(x) for x in sampler.stdout.read().split(",")])
            sampler = subprocess.Popen(query, stdout=subprocess.PIPE, text=True)
    if sampler is not None:
        sampler.wait()
    found = {"ms": statistics.median(times[len(times) // 3 :])}
    if samples:
        found |= {"mhz": statistics.median(s[0] for s in samples), "watts": statistics.median(s[1] for s in samples)}
    return found


def read_rows(text):
    """Rows of ncu's `--csv --page raw` by column name, without its own lines and the units."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    table = list(csv.reader(lines))
    if len(table) < 3:
        return []
    return [dict(zip(table[0], row)) for row in table[2:]]


def number(text):
    return float(text.replace(",", ""))


def read_counters(rows, names, kernels_of):
    """The counters of each plan. `kernels_of` gives the number of kernels per launch."""
    found, at = {}, 0
    for name in names:
        mine = rows[at : at + kernels_of[name]]
        at += kernels_of[name]
        if len(mine) != kernels_of[name]:
            raise ValueError(f"ncu has no row of {name}")
        row = max(mine, key=lambda r: number(r[DURATION]))
        stalls = {stall: number(row[STALL_PREFIX + stall + STALL_SUFFIX]) for stall in STALLS}
        unit = {key: number(row[metric]) for key, metric in UNITS.items()}
        found[name] = {**unit, "alone_ms": number(row[DURATION]) * 1e-6, "stalls": stalls}
    return found


def watch(plans, library, ncu, folder):
    """Counters by plan, from a process of its own under ncu."""
    plan_file = pathlib.Path(folder) / "plans.json"
    plan_file.write_text(json.dumps([dataclasses.asdict(plan) for plan in plans]))
    command = [ncu, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none",
               "--profile-from-start", "off", "--metrics", ",".join(METRICS),
               sys.executable, __file__, "--runtime", str(library), "--watched", str(plan_file)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    count = {plan.name: count_kernels(json.loads(pathlib.Path(plan.metadata).read_text())) for plan in plans}
    rows = read_rows(done.stdout)
    if not rows:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise RuntimeError("ncu read no counters: " + " / ".join(said[-3:]))
    return read_counters(rows, [plan.name for plan in plans], count)


HEADER = (
    f"{'kernel':<18} {'ms':>7} {'MHz':>5} {'W':>4} {'alone ms':>8} {'tensor':>6} {'xu':>5} {'fma':>5} {'alu':>5} "
    f"{'issue':>5} {'dram':>5}  stalls"
)


def format_row(row):
    stalls = sorted(row["stalls"].items(), key=lambda item: -item[1])[:4]
    units = f"{row['tensor']:>6.1f} " + " ".join(f"{row[unit]:>5.1f}" for unit in ("xu", "fma", "alu", "issue", "dram"))
    clock = " ".join(f"{row[key]:>{width}.0f}" if key in row else f"{'-':>{width}}" for key, width in (("mhz", 5), ("watts", 4)))
    return (
        f"{row['name']:<18} {row['ms']:>7.3f} {clock} {row['alone_ms']:>8.3f} {units}  "
        + ", ".join(f"{name} {cycles:.2f}" for name, cycles in stalls if cycles > 0)
    )


def make_parser():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="*", type=forward.Cell, help="of forward.py (default: all, without --variants)")
    parser.add_argument("--variants", nargs="*", choices=variant_programs.PROGRAMS, default=[], help="of variants.py")
    parser.add_argument("--schedule", default="auto", help="schedule of all")
    parser.add_argument("--target", default="sm_90a", help="what they are compiled for")
    parser.add_argument("--seconds", type=float, default=0.6, help="of the run in which the clock settles")
    parser.add_argument("--compiler", help="fovea-compile; found in the build folders by default")
    parser.add_argument("--runtime", help="libFoveaRuntime.so; found in the build folders by default")
    parser.add_argument("--ncu", default="ncu", help="Nsight Compute's command")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="kernels to compile at once")
    parser.add_argument("--json", help="write the results there")
    parser.add_argument("--watched", help=argparse.SUPPRESS)  # the process under ncu
    return parser


def compile_plans(args, chip, folder):
    cells = args.cells if args.cells is not None else ([] if args.variants else [forward.Cell(c) for c in forward.DEFAULT_CELLS])
    inner = argparse.Namespace(**vars(args) | {"target": [args.target], "schedule": [args.schedule], "option": [], "lse": False})
    plans = []
    for cell, found in forward.compile_candidates(cells, inner, chip, folder).items():
        plans.append((cell.text, cell.text, "", next(iter(found.values()))))
    inner = argparse.Namespace(**vars(args) | {"kernels": None})
    for name, found in variant_programs.compile_programs(args.variants, inner, chip, folder).items():
        plans.append((name, "", name, found))
    for name, _, _, found in plans:
        if isinstance(found, Exception):
            print(f"  {name} does not compile: {forward.first_line(found)}")
    return [Plan(*plan, *found[:2]) for *plan, found in plans if not isinstance(found, Exception)]


def main():
    args = make_parser().parse_args()
    torch, runtime, chip, device = forward.start(args, compiles=not args.watched)
    if args.watched:
        launch_each(torch, runtime, [Plan(**plan) for plan in json.loads(pathlib.Path(args.watched).read_text())])
        return 0
    if not shutil.which(args.ncu):
        print(f"SKIP: there is no '{args.ncu}'; name Nsight Compute's command with --ncu")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        plans = compile_plans(args, chip, folder)
        try:
            counters = watch(plans, kernels.find_library(args.runtime), args.ncu, folder)
        except (RuntimeError, ValueError, KeyError) as error:
            print(error)
            return 1
        print(HEADER)
        rows = []
        for plan in plans:
            rows.append({"name": plan.name, **counters[plan.name], **settle(torch, prepare(torch, runtime, plan), args.seconds)})
            print(format_row(rows[-1]), flush=True)
            torch.cuda.empty_cache()
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"device": device, "rows": rows}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
