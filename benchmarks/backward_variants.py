"""Times the backward pass of PyTorch's own examples through torch.autograd, on one GPU.

    FOVEA_LIBRARY_PATH=build-portable/lib PYTHONPATH=python python benchmarks/backward_variants.py
    python benchmarks/backward_variants.py --dim 64 --only causal ALiBi --json out.json

Each example runs once forward, by `fovea.torch.flex_attention` and by compiled
`flex_attention`; what is timed is `torch.autograd.grad` of it by query, key and value, in
turns as in forward.py. Ours is given the mask_mod, PyTorch's the BlockMask that it needs.
An example whose gradients differ by more than 2e-2 (norm of the difference by norm) is
reported, and not timed. `of dense` is our time of the dense example by this one's.
"""

import argparse
import functools
import json
import pathlib
import random
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("test/GPU", "python")]

import kernels  # noqa: E402
from backward import largest_error, through_autograd  # noqa: E402

OURS, THEIRS = "fovea", "flex_attention"
LARGEST_DIFFERENCE = 2e-2


def make_tensors(torch, sizes, heads, key_heads):
    """q, k, v and do of an example."""
    batch, length, dim = sizes
    return {name: torch.randn(batch, count, length, dim, device="cuda", dtype=torch.bfloat16)
            for name, count in (("q", heads), ("k", key_heads), ("v", key_heads), ("do", heads))}


def prepare(torch, example, tensors, length):
    """Both backward passes of an example: launches, and where their gradients are."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    import fovea.torch

    _, score_mod, mask_mod, key_heads = example
    grouped = key_heads != tensors["q"].shape[1]
    block_mask = None
    if mask_mod is not None:
        block_mask = create_block_mask(mask_mod, tensors["q"].shape[0], None, length, length, device="cuda")
    torch.compiler.reset()
    compiled = torch.compile(flex_attention, dynamic=False)
    ours = functools.partial(fovea.torch.flex_attention, score_mod=score_mod, block_mask=mask_mod, enable_gqa=grouped)
    theirs = functools.partial(compiled, score_mod=score_mod, block_mask=block_mask, enable_gqa=grouped)
    return {name: through_autograd(torch, call, tensors) for name, call in ((OURS, ours), (THEIRS, theirs))}


def run_example(torch, example, sizes, heads, args, rng):
    """Median milliseconds by contestant, or None after saying why."""
    from fovea.bench._timing import first_line, take_turns

    tensors = make_tensors(torch, sizes, heads, example[3])
    try:
        contestants = prepare(torch, example, tensors, sizes[1])
        for launch, _ in contestants.values():
            launch()
        torch.cuda.synchronize()
    except Exception as failure:  # noqa: BLE001: the other examples still count
        print(f"{example[0]:<18} does not run: {first_line(failure)}", flush=True)
        return None
    difference = largest_error(contestants[OURS][1](), [one[:1, :2].float() for one in contestants[THEIRS][1]()])
    if not difference < LARGEST_DIFFERENCE:
        print(f"{example[0]:<18} differs by {difference:.3g}", flush=True)
        return None
    launches = {name: launch for name, (launch, _) in contestants.items()}
    return {name: statistics.median(times) for name, times in take_turns(torch, launches, args.rounds, rng).items()}


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dim", type=int, default=64, help="the head dim; 16 heads, 4 sequences of 4096")
    parser.add_argument("--only", nargs="+", help="names of examples")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each contestant")
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
    print(f"{'':<18} {'ours ms':>8} {'flex ms':>8} {'faster':>7} {'of dense':>9}")
    for example in examples():
        name = example[0]
        if args.only and name not in args.only:
            continue
        times = run_example(torch, example, (BATCH, LENGTH, args.dim), HEADS, args, rng)
        if times is None:
            continue
        found[name] = times
        dense = found.get("dense", times)[OURS] / times[OURS]
        print(f"{name:<18} {times[OURS]:8.3f} {times[THEIRS]:8.3f} {times[THEIRS] / times[OURS]:7.2f} {dense:9.2f}", flush=True)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(found, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
