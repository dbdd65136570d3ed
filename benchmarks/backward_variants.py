"""Times the backward pass of PyTorch's own examples through torch.autograd on one GPU.

    FOVEA_LIBRARY_PATH=build-portable/lib PYTHONPATH=python python benchmarks/backward_variants.py
    python benchmarks/backward_variants.py --dim 64 --only causal ALiBi --json out.json

Each example runs forward once, by `fovea.torch.flex_attention` and by compiled `flex_attention`.
The timed part is `torch.autograd.grad` with respect to query, key and value; contestants alternate
as in forward.py. Ours gets the mask_mod, PyTorch's the BlockMask that it needs; in "by BlockMask"
both get a BlockMask. PyTorch's runs with one stage if its own choice does not fit shared memory.
Examples called "learned" also compute the gradients of the tensors that score_mod reads. An example
whose gradients differ by more than 2e-2 (norm of the difference by norm; 0.1 for sums over all
pairs) is reported and not timed. Errors are the largest of dQ, dK and dV against float64, by norm,
for the first sequence's first key head (exact.py). `of dense` is our time of the dense example
divided by this one's. `--deterministic` also times ours under `torch.use_deterministic_algorithms`:
the column `one order`, and its relative speed. `--no-peers` omits PyTorch's. `--memory` prints the
peak memory of a pass, including gradients, beyond its inputs: PyTorch's allocator, and for ours the
scratch memory of the runtime (dq_accum, delta and row constants).
"""

import argparse
import functools
import itertools
import json
import math
import pathlib
import random
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("test/GPU", "python", "examples/gpt")]

import exact  # noqa: E402
import kernels  # noqa: E402
import report  # noqa: E402
from model import KERNEL_OPTIONS  # noqa: E402
from backward import through_autograd  # noqa: E402
from training_step import peak_memory  # noqa: E402

OURS, THEIRS, IN_ORDER = "fovea", "flex_attention", "one order"
# Sums over all pairs cancel, so the rounding errors of both contestants are relatively larger.
LARGEST_DIFFERENCE, LARGEST_DIFFERENCE_OF_SUMS = 2e-2, 1e-1


def make_tensors(torch, sizes, heads, key_heads):
    """q, k, v and do of an example."""
    batch, length, dim = sizes
    return {name: torch.randn(batch, count, length, dim, device="cuda", dtype=torch.bfloat16)
            for name, count in (("q", heads), ("k", key_heads), ("v", key_heads), ("do", heads))}


BY_BLOCK_MASK = " by BlockMask"


def learned_examples(torch, heads, length):
    """Yields (name, score_mod, mask_mod, key heads, parameters): a learned value per head, per
    bucket of relative positions, per relative position (also with a soft cap), and per key; and a
    mask that both get as a BlockMask.
    """
    from fovea.bench._examples import causal, examples

    slopes = torch.full((heads,), -0.1, device="cuda", requires_grad=True)
    table = torch.randn(32, heads, device="cuda", requires_grad=True)
    distances = torch.randn(heads, 2 * length, device="cuda", requires_grad=True)
    keys = torch.randn(length, device="cuda", requires_grad=True)

    def bucket(distance):
        near = torch.clamp(distance, max=15)
        far = 16 + (torch.log(torch.clamp(distance, min=16) / 16.0) * 4).to(torch.int32)
        return torch.where(distance < 16, near, torch.clamp(far, max=31))

    def by_slope(score, b, h, q_idx, kv_idx):
        return score + slopes[h] * (q_idx - kv_idx)

    def by_bucket(score, b, h, q_idx, kv_idx):
        return score + table[bucket(torch.abs(q_idx - kv_idx)), h]

    def by_distance(score, b, h, q_idx, kv_idx):
        return score + distances[h, q_idx - kv_idx + length]

    def by_capped_distance(score, b, h, q_idx, kv_idx):
        return 30.0 * torch.tanh(score / 30.0) + distances[h, q_idx - kv_idx + length]

    def by_key(score, b, h, q_idx, kv_idx):
        return score + keys[kv_idx]

    yield from pressing_examples(torch, heads, length)
    yield "learned slopes", by_slope, causal, heads, [slopes]
    yield "learned buckets", by_bucket, None, heads, [table]
    yield "learned distances", by_distance, causal, heads, [distances]
    yield "learned distances, soft cap", by_capped_distance, causal, heads, [distances]
    yield "learned keys", by_key, causal, heads, [keys]
    for name, score_mod, mask_mod, key_heads in examples():
        if name in ("causal", "document", "NATTEN"):
            yield name + BY_BLOCK_MASK, score_mod, mask_mod, key_heads, []


def pressing_examples(torch, heads, length):
    """Like learned_examples, for programs whose gradients need more values per pair than fit in
    registers.
    """
    from fovea.bench._examples import BATCH, causal

    def learned(*shape, scale=0.1, start=0.0):
        return (torch.randn(*shape, device="cuda") * scale + start).requires_grad_()

    gain, width, factor, cap, phase = (learned(heads, start=start) for start in (1.0, 0.1, -0.1, 20.0, 1.0))
    steps, rows, keys = learned(heads, -(-length // 37)), *(learned(BATCH, heads, length, start=1.0) for _ in range(2))
    gates = torch.cumsum(torch.nn.functional.logsigmoid(torch.randn(BATCH, heads, length, device="cuda") + 4), -1).requires_grad_()
    times = torch.cumsum(torch.rand(BATCH, length, device="cuda"), -1) / 64

    def by_gain_and_steps(score, b, h, q_idx, kv_idx):
        return score * gain[h] + steps[h, torch.clamp((q_idx - kv_idx) // 37, min=0)]

    def by_forget_gates(score, b, h, q_idx, kv_idx):
        return score + gates[b, h, q_idx] - gates[b, h, kv_idx]

    def by_width(score, b, h, q_idx, kv_idx):
        distance = (q_idx - kv_idx) / 256.0
        return score - distance * distance * width[h]

    def by_time(score, b, h, q_idx, kv_idx):
        return score + factor[h] * torch.abs(times[b, q_idx] - times[b, kv_idx])

    def by_phase(score, b, h, q_idx, kv_idx):
        return score + torch.cos(phase[h] * (times[b, q_idx] - times[b, kv_idx]))

    def by_temperature(score, b, h, q_idx, kv_idx):
        return score * rows[b, h, q_idx]

    def by_key_gate(score, b, h, q_idx, kv_idx):
        return score * torch.sigmoid(keys[b, h, kv_idx])

    def by_cap(score, b, h, q_idx, kv_idx):
        return cap[h] * torch.tanh(score / cap[h])

    def by_gain_and_gate(score, b, h, q_idx, kv_idx):
        return score * gain[h] * torch.sigmoid(keys[b, h, kv_idx])

    def by_gain(score, b, h, q_idx, kv_idx):
        return score * gain[h]

    yield "learned gain", by_gain, None, heads, [gain]
    yield "learned gain, steps", by_gain_and_steps, None, heads, [gain, steps]
    yield "learned gain, steps, causal", by_gain_and_steps, causal, heads, [gain, steps]
    yield "forget gates", by_forget_gates, causal, heads, [gates]
    yield "learned width", by_width, None, heads, [width]
    yield "continuous positions", by_time, None, heads, [factor]
    yield "continuous phases", by_phase, None, heads, [phase]
    yield "learned temperature", by_temperature, causal, heads, [rows]
    yield "learned key gates", by_key_gate, causal, heads, [keys]
    yield "learned soft cap", by_cap, None, heads, [cap]
    yield "learned gain, key gates", by_gain_and_gate, causal, heads, [gain, keys]


def deterministic(torch, function):
    """`function` under PyTorch's switch."""
    def run():
        torch.use_deterministic_algorithms(True)
        try:
            return function()
        finally:
            torch.use_deterministic_algorithms(False)

    return run


def first_that_runs(torch, call, tensors, parameters):
    """The backward pass of flex_attention, with the first of its kernel_options that do."""
    for options in KERNEL_OPTIONS:
        try:
            launch, gradients = through_autograd(torch, functools.partial(call, kernel_options=options), tensors, parameters)
            launch()
            torch.cuda.synchronize()
            return launch, gradients
        except Exception:  # noqa: BLE001: of PyTorch's compiler, of Triton's, or of the driver
            if options is KERNEL_OPTIONS[-1]:
                raise


def prepare(torch, example, tensors, length, args):
    """The backward passes of an example: launches, and where their gradients are."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    import fovea.torch

    name, score_mod, mask_mod, key_heads, *more = example
    parameters = more[0] if more else []
    grouped = key_heads != tensors["q"].shape[1]
    block_mask = None
    if mask_mod is not None:
        block_mask = create_block_mask(mask_mod, tensors["q"].shape[0], None, length, length, device="cuda")
    torch.compiler.reset()
    compiled = torch.compile(flex_attention, dynamic=False)
    ours = functools.partial(fovea.torch.flex_attention, score_mod=score_mod,
                             block_mask=block_mask if name.endswith(BY_BLOCK_MASK) else mask_mod, enable_gqa=grouped)
    theirs = functools.partial(compiled, score_mod=score_mod, block_mask=block_mask, enable_gqa=grouped)
    found = {OURS: through_autograd(torch, ours, tensors, parameters)}
    if not args.no_peers:
        found[THEIRS] = first_that_runs(torch, theirs, tensors, parameters)
    if args.deterministic:
        prepared = deterministic(torch, functools.partial(through_autograd, torch, ours, tensors, parameters))
        launch, gradients = prepared()
        found[IN_ORDER] = deterministic(torch, launch), gradients
    return found


def scratch_memory(sizes, heads):
    """MiB of scratch memory for dq_accum, in blocks of 128 queries (docs/Specification/Gradients.md)."""
    batch, length, dim = sizes
    return 4 * batch * heads * -(-length // 128) * 128 * (dim + 2) / 2**20


def find_difference(ours, theirs):
    """The largest norm of a difference by the norm, relative to its tolerance; large tensors are
    sampled.
    """
    def ratio(one, other):
        whole = one.dim() != 4
        a, b = (each.float() if whole else each[:1, :2].float() for each in (one, other))
        return ((a - b).norm() / b.norm()).item() / (LARGEST_DIFFERENCE_OF_SUMS if whole else LARGEST_DIFFERENCE)

    return max(ratio(*pair) for pair in zip(ours, theirs))


def find_errors(torch, example, tensors, contestants):
    """The error of each contestant's gradients."""
    _, score, mask, *_ = example
    sample = exact.Sample(torch, *(tensors[name] for name in "qkv"), score=score, mask=mask)
    expected = sample.gradients(tensors["do"])
    return {name: exact.gradient_error(gradients(), expected) for name, (_, gradients) in contestants.items()}


def run_example(torch, example, sizes, heads, args, rng):
    """Median milliseconds and errors by contestant, or None after saying why."""
    from fovea.bench._timing import first_line, take_turns

    tensors = make_tensors(torch, sizes, heads, example[3])
    try:
        contestants = prepare(torch, example, tensors, sizes[1], args)
        for launch, _ in contestants.values():
            launch()
        torch.cuda.synchronize()
    except Exception as failure:  # noqa: BLE001: the other examples still count
        print(f"{example[0]:<22} does not run: {first_line(failure)}", flush=True)
        return None
    for other in set(contestants) - {OURS}:
        difference = find_difference(contestants[OURS][1](), contestants[other][1]())
        if not difference < 1:
            print(f"{example[0]:<22} differs from {other} by {difference:.3g} of what is allowed", flush=True)
            return None
    errors = find_errors(torch, example, tensors, contestants)
    launches = {name: launch for name, (launch, _) in contestants.items()}
    found = {name: statistics.median(times) for name, times in take_turns(torch, launches, args.rounds, rng).items()}
    found["error"] = errors
    if args.memory:
        found["MiB"] = {name: peak_memory(torch, launch) + (0 if name == THEIRS else scratch_memory(sizes, heads))
                        for name, (launch, _) in contestants.items()}
    return found


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dim", type=int, default=64, help="the head dim; 16 heads, 4 sequences of 4096")
    parser.add_argument("--only", nargs="+", help="names of examples")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each contestant")
    parser.add_argument("--deterministic", action="store_true", help="time ours with the same bits each time, too")
    parser.add_argument("--memory", action="store_true", help="tell the peak of memory of each, too")
    parser.add_argument("--no-peers", action="store_true", help="leave PyTorch's out")
    parser.add_argument("--seed", type=int, help="of the contestants' order and the data")
    parser.add_argument("--json", help="write the times there")
    args = parser.parse_args(argv)
    if args.rounds < 1:
        parser.error("--rounds must be at least 1")
    return args


def main():
    args = parse_arguments()
    torch, reason = kernels.find_torch()
    if torch is None:
        print(reason)
        return 0
    from fovea.bench._examples import BATCH, HEADS, LENGTH, examples

    rng = random.Random(args.seed)
    torch.manual_seed(rng.randrange(2**31))
    found = {}
    print(f"{'':<22} {'ours ms':>8} {'flex ms':>8} {'faster':>7} {'of dense':>9} {'one order ms':>13} {'part':>5} {'error':>8} {'flex err':>8}")
    for example in itertools.chain(examples(), learned_examples(torch, HEADS, LENGTH)):
        name = example[0]
        if args.only and name not in args.only:
            continue
        times = run_example(torch, example, (BATCH, LENGTH, args.dim), HEADS, args, rng)
        if times is None:
            continue
        found[name] = times
        dense = found.get("dense", times)[OURS] / times[OURS]
        theirs, in_order = times.get(THEIRS, math.nan), times.get(IN_ORDER, math.nan)
        print(f"{name:<22} {times[OURS]:8.3f} {theirs:8.3f} {theirs / times[OURS]:7.2f} {dense:9.2f} {in_order:13.3f} "
              f"{times[OURS] / in_order:5.2f} "
              f"{report.error_text(times['error'][OURS])} {report.error_text(times['error'].get(THEIRS))}", flush=True)
        for contestant, peak in times.get("MiB", {}).items():
            print(f"{'':<22} {contestant}: {peak:.0f} MiB at most", flush=True)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(found, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
