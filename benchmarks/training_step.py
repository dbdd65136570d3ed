"""Times attention's part of a training step of examples/gpt, forward and backward, by ours and by
compiled flex_attention, and measures its peak memory, on one GPU.

    FOVEA_LIBRARY_PATH=build-portable/lib PYTHONPATH=python python benchmarks/training_step.py
    python benchmarks/training_step.py --sizes 4:16:4096:128 --learned --json out.json

A step is that of the example for one batch of packed documents: new documents, a soft cap, a bias
by relative position (a table, or `--bias slopes`), and dQ, dK and dV; with `--learned` also the
gradient of the bias. flex_attention gets a BlockMask, created for each batch by the compiled
create_block_mask. Contestants alternate as in forward.py. Memory is the peak of a step beyond its
inputs in PyTorch's allocator, without the scratch memory of our runtime
(benchmarks/notebook/tables.md).
"""

import argparse
import json
import pathlib
import random
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / folder) for folder in ("test/GPU", "python", "examples/gpt")]

import kernels  # noqa: E402
from model import BIASES  # noqa: E402
from fovea.bench._timing import first_line, take_turns  # noqa: E402

OURS, THEIRS = "fovea", "flex_attention"
# Both round to bf16; gradients of a bias are sums over all pairs.
LARGEST_DIFFERENCE = 5e-2


class Sizes:
    """ROWS:HEADS:LENGTH:HEAD_DIM."""

    def __init__(self, text):
        try:
            self.rows, self.heads, self.length, self.dim = map(int, text.split(":"))
            if min(self.rows, self.heads, self.length, self.dim) < 1:
                raise ValueError
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}' is not ROWS:HEADS:LENGTH:HEAD_DIM") from None
        self.text = text


def make_step(torch, sizes, name, inputs, do, batches, bias, learned):
    """Prepares a step of one contestant, and its gradients."""
    from model import Variant

    variant = Variant(sizes.heads, sizes.rows, sizes.length, torch.device("cuda"), bias, fixed=not learned)
    attend = variant.attention({OURS: "fovea", THEIRS: "torch"}[name], torch.device("cuda"))
    sources = [*inputs, *([variant.bias.parameter] if learned else [])]
    kept, count = [], 0

    def step():
        nonlocal count
        variant.docs.copy_(batches[count % len(batches)])
        count += 1
        kept[:] = torch.autograd.grad(attend(*inputs), sources, do)

    return step, kept


def peak_memory(torch, step):
    step()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 2**20


def run_size(torch, sizes, args, rng):
    from text import Batches

    drawn = Batches(sizes.rows, sizes.length)
    batches = [drawn.draw(number)[2].cuda() for number in range(4)]
    shape = (sizes.rows, sizes.heads, sizes.length, sizes.dim)
    inputs = [torch.randn(shape, device="cuda", dtype=torch.bfloat16).requires_grad_() for _ in range(3)]
    do = torch.randn(shape, device="cuda", dtype=torch.bfloat16)
    torch.compiler.reset()
    steps, first, memory = {}, {}, {}
    for name in (OURS, THEIRS):
        try:
            steps[name], kept = make_step(torch, sizes, name, inputs, do, batches, args.bias, args.learned)
            steps[name]()
            first[name] = [one.float() for one in kept]
            memory[name] = peak_memory(torch, steps[name])
        except Exception as failure:  # noqa: BLE001: the others still count
            print(f"  {name} does not run: {first_line(failure)}", flush=True)
            return {}
    difference = max(((a - b).norm() / b.norm()).item() for a, b in zip(*first.values()))
    if not difference < LARGEST_DIFFERENCE:
        print(f"  gradients differ by {difference:.3g}", flush=True)
        return {}
    times = {name: statistics.median(found) for name, found in take_turns(torch, steps, args.rounds, rng).items()}
    print(f"{sizes.text:<18} {'learned' if args.learned else 'fixed':<8} {times[OURS]:9.3f} {times[THEIRS]:9.3f} "
          f"{times[THEIRS] / times[OURS]:8.2f} {memory[OURS]:9.0f} {memory[THEIRS]:9.0f}", flush=True)
    return {"ms": times, "mib": memory}


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=Sizes, help="ROWS:HEADS:LENGTH:HEAD_DIM",
                        default=[Sizes("16:6:1024:64"), Sizes("4:16:4096:64"), Sizes("4:16:4096:128")])
    parser.add_argument("--learned", action="store_true", help="with gradients of the bias")
    parser.add_argument("--bias", choices=BIASES, default="table", help="by relative position: a table, or a slope per head")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each contestant")
    parser.add_argument("--seed", type=int, help="of the contestants' order and the data")
    parser.add_argument("--json", help="write the results there")
    args = parser.parse_args(argv)
    if args.rounds < 1:
        parser.error("--rounds must be at least 1")
    return args


def main():
    args = parse_arguments()
    torch = kernels.start_torch(args.seed)
    if torch is None:
        return 0
    rng, found = random.Random(args.seed), {}
    print(torch.cuda.get_device_name())
    print(f"{'rows:heads:S:d':<18} {args.bias:<8} {'ours ms':>9} {'flex ms':>9} {'faster':>8} {'ours MiB':>9} {'flex MiB':>9}")
    for sizes in args.sizes:
        found[sizes.text] = run_size(torch, sizes, args, rng)
        torch.cuda.empty_cache()
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
