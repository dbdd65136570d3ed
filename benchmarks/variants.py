"""Times attention variants and torch's compiled flex_attention on one GPU.

    python benchmarks/variants.py --compiler build-portable/bin/fovea-compile
    python benchmarks/variants.py --only softcap window --json out.json
    python benchmarks/variants.py --only fullbias --no-flex --candidate cluster=2,work=static

d 128, bf16, 16k tokens (B 4, H 16, S 4096; long sequences B 1, H 16). Contestants alternate as in
forward.py: random order, five rounds, 30 ms of warm-up before seven timed launches, the median of
all. Ours alternates with flex_attention, and then with our dense kernel: after a contestant that
draws less power the GPU is cooler, and not all kernels profit equally. Variants that process every
block are compared with the speed of our dense or causal kernel; sparse ones with the time of our
dense kernel at that length, together with the share of 128 x 128 blocks that are not empty and the
resulting limit. flex_attention's setup outside of the kernel (create_block_mask) is timed
separately; ours is part of the launch. Errors are those of a sample of the output against float64,
by norm (exact.py), for ours and flex_attention's.

The last column tells whether a variant is within its limits: a sparse one within the time limit,
another one at 0.85 of our dense kernel's speed and 1.5 times flex_attention's.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "test" / "GPU"))

import exact  # noqa: E402
import forward  # noqa: E402
import report  # noqa: E402
import waiting  # noqa: E402
from variant_programs import (  # noqa: E402
    HEAD_DIM, PROGRAMS, compile_programs, make_tensors, prepare_ours, relative_error, sizes_of,
)  # fmt: skip

OURS, FLEX = "fovea", "flex_attention"
# Limits: shares of blocks and of our dense kernel's time, of its speed, and times flex_attention's
# speed.
PER_BLOCK, BESIDES, OF_DENSE, OF_FLEX = 1.15, 0.05, 0.85, 1.5


def baseline_of(name):
    """The baseline of a variant: a dense kernel of its length."""
    program = PROGRAMS[name]
    kind = "causal" if program.causal else "dense"
    return f"{kind}@{program.length}"


def make_flex(torch, program, sizes, captures):
    """Flex's mask and score functions on our captured tensors."""
    variant = program.variant
    mask = score = None
    if variant.mask:

        def mask(b, h, i, j):
            return variant.mask(b, h, i, j, sizes, captures)

    if variant.score:

        def score(s, b, h, i, j):
            return variant.score(s, b, h, i, j, sizes, captures)

    return mask, score


def make_sample(torch, program, sizes, captures, lists, tensors):
    """The variant in float64."""
    mask, score = make_flex(torch, program, sizes, captures)
    if lists:
        count, index = lists
        blocks = program.variant.blocks
        listed = torch.zeros_like(index, dtype=torch.bool)
        listed.scatter_(-1, index.long(), torch.arange(index.shape[-1], device="cuda").expand_as(index) < count[..., None])

        def mask(b, h, i, j):
            return listed[0, h, i // blocks.query, j // blocks.key]

    return exact.Sample(torch, *(tensors[name] for name in "qkv"), score=score, mask=mask, sinks=tensors.get("sinks"))


def share_of(torch, counts, keys):
    """The share of blocks of 128 keys that counts of rows leave."""
    return (counts.sum() / (counts.numel() * -(-keys // 128))).item()


def make_attend(flex_attention, sinks):
    """flex_attention, or with sinks, which it does not support, the usual workaround: outputs
    scaled by the sink's effect on their row's sum.
    """
    if sinks is None:
        return flex_attention

    def attend(q, k, v, score_mod, block_mask):
        o, lse = flex_attention(q, k, v, score_mod=score_mod, block_mask=block_mask, return_lse=True)
        return (o * (lse - sinks[:, None]).sigmoid()[..., None]).to(q.dtype)

    return attend


def flex_contestant(torch, program, sizes, captures, lists, tensors):
    """The compiled call, its first output, the share of blocks that are not
    empty, and the seconds that the block mask takes when made again."""
    from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

    torch._dynamo.reset()
    q, k, v = (tensors[name] for name in "qkv")
    compiled = torch.compile(make_attend(flex_attention, tensors.get("sinks")), dynamic=False)
    mask, score = make_flex(torch, program, sizes, captures)
    block_mask, share, seconds = None, 1.0, 0.0
    if lists:
        count, index = lists
        none = torch.zeros_like(count)
        block_mask = BlockMask.from_kv_blocks(none, torch.zeros_like(index), count, index, BLOCK_SIZE=128)
        share = share_of(torch, count, sizes.Skv)
    elif mask:

        def build():
            return create_block_mask(mask, None, None, sizes.Sq, sizes.Skv, device="cuda", _compile=True)

        block_mask = build()
        seconds = statistics.median(forward.launch_times(torch, build, 5)) * 1e-3
        share = share_of(torch, block_mask.kv_num_blocks + block_mask.full_kv_num_blocks, sizes.Skv)
    call = lambda: compiled(q, k, v, score_mod=score, block_mask=block_mask)  # noqa: E731
    output = call()
    torch.cuda.synchronize()
    return call, output, share, seconds


def candidate_contestants(torch, runtime, name, candidates, tensors, expected):
    """Kernels of other schedules that run with correct results, by schedule."""
    contestants = {}
    for schedule, compiled in candidates.items():
        try:
            if isinstance(compiled[name], Exception):
                raise compiled[name]
            launch, o, _ = prepare_ours(torch, runtime, compiled[name], tensors)
            launch()
            waiting.synchronize(torch)
        except RuntimeError as error:
            print(f"  {name}: {schedule} does not run: {forward.first_line(error)}", flush=True)
            continue
        error = relative_error(o, expected)
        if error < forward.RELATIVE_ERROR:
            contestants[schedule] = launch
        else:
            print(f"  {name}: {schedule} is wrong by {error:.3g} of the norm", flush=True)
    return contestants


def format_candidates(row):
    """Each candidate's time and its speed over the baseline's, the fastest first."""
    dense = row.get("baseline_ms")
    lines = []
    for schedule, ms in sorted(row.get("candidates", {}).items(), key=lambda item: item[1]):
        share = f"{dense / ms:8.2f}" if dense else f"{'-':>8}"
        lines.append(f"  {ms:8.3f} ms {share} of dense  {schedule}")
    return lines


def run_program(torch, runtime, name, compiled, candidates, args, rng):
    """Measures a variant; contestants that do not run are omitted from the row."""
    program, row = PROGRAMS[name], {"name": name, "kind": PROGRAMS[name].kind, "baseline": baseline_of(name)}
    sizes = sizes_of(program)
    tensors, captures, lists = make_tensors(torch, program, sizes)
    contestants, others, expected = {}, {}, None
    if args.flex:
        try:
            contestants[FLEX], expected, row["share"], row["flex_mask_s"] = flex_contestant(
                torch, program, sizes, captures, lists, tensors
            )
        except Exception as error:  # noqa: BLE001: PyTorch's compiler may raise anything
            print(f"  {name}: flex_attention does not run: {forward.first_line(error)}", flush=True)
    launches = {}
    try:
        if isinstance(compiled, Exception):
            raise compiled
        launch, o, facts = prepare_ours(torch, runtime, compiled, tensors)
        launch()
        waiting.synchronize(torch)
        row |= facts
        sample = make_sample(torch, program, sizes, captures, lists, tensors)
        (row["error"],) = sample.output_error(o)
        if expected is not None:
            (row["flex_error"],) = sample.output_error(expected)
            row["difference"] = relative_error(o, expected)
        launches[OURS] = launch
        others = candidate_contestants(
            torch, runtime, name, candidates, tensors, o if expected is None else expected
        )
    except RuntimeError as error:
        print(f"  {name}: ours does not run: {forward.first_line(error)}", flush=True)
    if max(row.get("error", 0), row.get("difference", 0)) < forward.RELATIVE_ERROR:
        contestants |= launches
    else:
        print(f"  {name}: ours is wrong by {row['error']:.3g} of the output's norm, and differs from flex_attention's by "
              f"{row.get('difference', 0):.3g}", flush=True)
    flex = {name: contestants.pop(name) for name in [FLEX] if name in contestants}
    if flex:
        beside = forward.take_turns(torch, contestants | flex, args.rounds, rng)
        row["flex_attention_ms"] = statistics.median(beside[FLEX])
        if OURS in beside:
            row["faster"] = row["flex_attention_ms"] / statistics.median(beside[OURS])
    # The dense kernel without the variant.
    reference = args.baselines.get(row["baseline"])
    if reference and OURS in contestants:
        contestants["baseline"], _, _ = prepare_ours(torch, runtime, reference, {name: tensors[name] for name in "qkv"})
    for contestant, times in forward.take_turns(torch, contestants | others, args.rounds, rng).items():
        if contestant in others:
            row.setdefault("candidates", {})[contestant] = statistics.median(times)
        else:
            row[f"{contestant}_ms"] = statistics.median(times)
    flops = 4 * sizes.B * sizes.Hq * sizes.Sq * sizes.Skv * HEAD_DIM * (0.5 if program.causal else 1)
    if OURS + "_ms" in row:
        row["tflops"] = flops / row[OURS + "_ms"] * 1e-9
    print("\n".join([format_row(row), *format_candidates(row)]), flush=True)
    return row


HEADER = (
    f"{'variant':<16} {'ours ms':>8} {'flex ms':>8} {'x flex':>7} {'dense ms':>8} {'of dense':>8} {'blocks':>7} "
    f"{'allowed':>7} {'TFLOP/s':>8} {'error':>8} {'flex err':>8} {'mask ms':>8} {'regs':>5} {'spills':>6} {'':>4}"
)


def allowed_of(row):
    """The time limit of a sparse variant relative to the dense kernel, if known."""
    share = row.get("share") if row["kind"] == "sparse" else None
    return None if share is None else PER_BLOCK * share + BESIDES


def judge(row):
    """'pass' or 'FAIL'; empty where that is not known."""
    ours, faster, dense = row.get("fovea_ms"), row.get("faster"), row.get("baseline_ms")
    allowed = allowed_of(row)
    if not ours or not dense or row["name"] in ("dense", "causal"):
        return ""
    if row["kind"] == "sparse":
        return "" if allowed is None else "pass" if ours / dense <= allowed else "FAIL"
    if dense / ours < OF_DENSE or (faster and faster < OF_FLEX):
        return "FAIL"
    return "pass" if faster else ""


def format_row(row):
    """'of dense' is speed over the baseline's for dense variants, time over the
    baseline's for sparse ones."""

    def text(value, width, digits=2):
        return f"{value:>{width}.{digits}f}" if value is not None else f"{'-':>{width}}"

    ours, flex, dense = row.get("fovea_ms"), row.get("flex_attention_ms"), row.get("baseline_ms")
    ratio = (dense / ours if row["kind"] == "dense" else ours / dense) if ours and dense else None
    share = row.get("share") if row["kind"] == "sparse" else None
    return " ".join(
        [
            f"{row['name']:<16}", text(ours, 8, 3), text(flex, 8, 3), text(row.get("faster"), 7),
            text(dense, 8, 3), text(ratio, 8), text(share, 7, 3),
            text(allowed_of(row), 7, 3), text(row.get("tflops"), 8, 0),
            report.error_text(row.get("error")), report.error_text(row.get("flex_error")), text(1e3 * row["flex_mask_s"] if row.get("flex_mask_s") else None, 8),
            f"{row.get('registers', '-'):>5}", f"{row.get('spill_stores', '-'):>6}", f"{judge(row):>4}",
        ]  # fmt: skip
    )


def make_parser():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, default=list(PROGRAMS), help="variants to time")
    parser.add_argument("--compiler", help="fovea-compile; found in the build folders by default")
    parser.add_argument("--runtime", help="libFoveaRuntime.so; found in the build folders by default")
    parser.add_argument("--target", default="sm_90a", help="what ours are compiled for")
    parser.add_argument("--schedule", default="auto", help="schedule of ours")
    parser.add_argument("--candidate", action="append", default=[], help="another schedule of ours beside it, repeatable")
    parser.add_argument("--flex", action=argparse.BooleanOptionalAction, default=True, help="time flex_attention")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contestant")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="kernels to compile at once")
    parser.add_argument("--seed", type=int, help="of the contestants' order")
    parser.add_argument("--work", help="folder to keep what was compiled in")
    parser.add_argument("--kernels", help="such a folder, to be used instead of compiling")
    parser.add_argument("--json", help="write the results there")
    return parser


def main():
    args = make_parser().parse_args()
    torch, runtime, chip, device = forward.start(args, compiles=not args.kernels)
    # The other way to compile create_block_mask does not take all masks.
    warnings.filterwarnings("ignore", ".*_compile flag.*", DeprecationWarning)
    print(device, flush=True)
    rng = random.Random(args.seed)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        names = list(dict.fromkeys([*args.only, "dense", "causal"]))
        compiled = compile_programs(names, args, chip, args.work or args.kernels or folder)
        candidates = {
            schedule: compile_programs(args.only, args, chip, f"{args.work or args.kernels or folder}/candidate-{number}", schedule)
            for number, schedule in enumerate(args.candidate)
        }
        args.baselines = {}
        for kind in ("dense", "causal"):
            if isinstance(compiled[kind], Exception):
                print(f"  {kind} does not compile: {forward.first_line(compiled[kind])}")
                continue
            args.baselines |= {f"{kind}@{program.length}": compiled[kind] for program in PROGRAMS.values()}
        print(HEADER, flush=True)
        for name in args.only:
            try:
                rows.append(run_program(torch, runtime, name, compiled[name], candidates, args, rng))
            except waiting.Hang as error:
                print(f"  {name}: {error}; the device hangs, nothing after this ran")
                waiting.abandon(1)
            torch.cuda.empty_cache()
            if args.json:
                pathlib.Path(args.json).write_text(json.dumps({"device": device, "rows": rows}, indent=1) + "\n")
    print("\n".join(["", HEADER, *(line for row in rows for line in (format_row(row), *format_candidates(row)))]))
    verdicts = [judge(row) for row in rows]
    print(f"{verdicts.count('pass')} within their bounds, {verdicts.count('FAIL')} not")
    return 0


if __name__ == "__main__":
    sys.exit(main())
