"""Times packed sequences in the caller's order and longest first, on one GPU.

    python benchmarks/packed.py --compiler build-portable/bin/fovea-compile
    python benchmarks/packed.py --only rising shuffled --tokens 65536 --masks full --json out.json

d 128, 16 heads, bf16. Tokens are distributed to sequences in several ways (LENGTHS). `given`
processes sequences in the caller's order (longest_first=0), `ordered` computes the order on the
device (longest_first=1), `sorted` is the first kernel on sequences that the caller sorted: the gain
of an order without cost. Contestants alternate as in forward.py: random order, five rounds, 30 ms
of warm-up before seven timed launches, the median of all. Both orders must give the same bits;
their error is against float64 (exact.py).
"""

import argparse
import json
import pathlib
import random
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "test" / "GPU"))

import exact  # noqa: E402
import forward  # noqa: E402
import kernels  # noqa: E402
import report  # noqa: E402
import waiting  # noqa: E402
from gpu_variants import Config, emit  # noqa: E402

HEAD_DIM, HEADS = 128, 16
GIVEN, ORDERED, SORTED = "given", "ordered", "sorted"
FIRST = {GIVEN: 0, ORDERED: 1}
VARIANTS = {"full": "packedfull", "causal": "packed"}


def scale_to(weights, tokens):
    """Whole numbers in proportion to the weights, at least 1, that add up to `tokens`."""
    total = sum(weights)
    lengths = [max(1, round(weight * tokens / total)) for weight in weights]
    lengths[lengths.index(max(lengths))] += tokens - sum(lengths)
    return lengths


def skewed(tokens):
    """Many short ones and few long ones, about 1000 tokens on average: a Pareto
    distribution's quantiles, the longest last."""
    count = max(4, tokens // 1024)
    return scale_to([(1 - (n + 0.5) / count) ** (-1 / 1.3) for n in range(count)], tokens)


def shuffled(tokens):
    lengths = skewed(tokens)
    random.Random(0).shuffle(lengths)
    return lengths


def half(tokens):
    """Short ones, then one with half of the tokens."""
    return [512] * (tokens // 1024) + [tokens // 2]


# Queries and keys of the sequences, by the number of tokens in all.
LENGTHS = {
    "rising": lambda tokens: (skewed(tokens), skewed(tokens)),
    "half": lambda tokens: (half(tokens), half(tokens)),
    "shuffled": lambda tokens: (shuffled(tokens), shuffled(tokens)),
    # No order can help; shows the cost of computing one.
    "equal": lambda tokens: ([1024] * (tokens // 1024),) * 2,
    "short": lambda tokens: ([128] * (tokens // 128),) * 2,
    # A query each: every tile is its sequence's longest.
    "decode": lambda tokens: ([1] * len(skewed(tokens)), skewed(tokens)),
}


def offsets(torch, lengths):
    ends = torch.tensor([0, *lengths]).cumsum(0)
    return ends.to(device="cuda", dtype=torch.int32)


def longest_first(queries, keys):
    """The same sequences, sorted by a caller with known lengths."""
    order = sorted(range(len(keys)), key=lambda n: -keys[n])
    return [queries[n] for n in order], [keys[n] for n in order]


def compile_orders(args, chip, folder):
    """For each mask its kernels by their order."""
    ptxas, result = kernels.find_ptxas(), {}
    for mask in args.masks:
        config = Config(VARIANTS[mask], "bf16", HEAD_DIM)
        for order, first in FIRST.items():
            place = pathlib.Path(folder) / f"{mask}-{order}"
            place.mkdir(parents=True, exist_ok=True)
            fields = f"longest_first={first}" + (f",{args.schedule}" if args.schedule else "")
            source = emit(config, args.lse)
            options = [f"--schedule={fields}"]
            result[mask, order] = kernels.compile_one(config.name, source, place, args.compiler, args.target, chip, ptxas, options)
    return result


def prepare(torch, kernel, inputs, queries, keys, lse):
    """A launch, and its output."""
    q, k, v = inputs
    tensors = {"q": q, "k": k, "v": v, "o": torch.full_like(q, torch.nan)}
    tensors |= {"cu_q": offsets(torch, queries), "cu_k": offsets(torch, keys)}
    if lse:
        tensors["lse"] = torch.full(q.shape[:3], torch.nan, device="cuda")
    prepared = kernel.prepare(**tensors)
    stream = torch.cuda.current_stream().cuda_stream
    return lambda: prepared.run(stream), tensors["o"]


def error_of(torch, inputs, queries, keys, o, causal):
    """The largest error of a head against float64, norm by norm, in the longest sequence and the first."""
    worst = 0.0
    for n in {0, keys.index(max(keys))}:
        first_q, first_k = sum(queries[:n]), sum(keys[:n])
        rows, columns = slice(first_q, first_q + queries[n]), slice(first_k, first_k + keys[n])
        # Aligned to the last query, of which decoding has one: it sees all keys.
        for head in range(HEADS):
            q, k, v = (one[:, head : head + 1, part] for one, part in zip(inputs, (rows, columns, columns)))
            sample = exact.Sample(torch, q, k, v, causal=causal and queries[n] > 1)
            worst = max(worst, *sample.output_error(o[:, head : head + 1, rows]))
    return worst


def run_cell(torch, loaded, mask, name, tokens, args, rng):
    queries, keys = LENGTHS[name](tokens)
    row = {"mask": mask, "lengths": name, "tokens": tokens, "sequences": len(keys), "longest": max(keys)}
    inputs = [
        torch.randn(1, HEADS, sum(lengths), HEAD_DIM, device="cuda", dtype=torch.bfloat16) for lengths in (queries, keys, keys)
    ]
    contestants, outputs = {}, {}
    for order in FIRST:
        contestants[order], outputs[order] = prepare(torch, loaded[mask, order], inputs, queries, keys, args.lse)
    contestants[SORTED], _ = prepare(torch, loaded[mask, GIVEN], inputs, *longest_first(queries, keys), args.lse)
    for launch in contestants.values():
        launch()
    waiting.synchronize(torch)
    row["error"] = error_of(torch, inputs, queries, keys, outputs[GIVEN], mask == "causal")
    row["same"] = torch.equal(outputs[GIVEN], outputs[ORDERED])
    if row["error"] > forward.RELATIVE_ERROR or not row["same"]:
        print(f"  {mask} {name} {tokens} is wrong: error {row['error']:.3g}, the same bits: {row['same']}", flush=True)
        return row
    for contestant, times in forward.take_turns(torch, contestants, args.rounds, rng).items():
        row[f"{contestant}_ms"] = statistics.median(times)
    print(format_row(row), flush=True)
    return row


HEADER = (
    f"{'mask':<7} {'lengths':<9} {'tokens':>7} {'seqs':>5} {'longest':>8} {'given ms':>9} {'ordered ms':>11} {'sorted ms':>10} "
    f"{'ordered/given':>14} {'sorted/given':>13} {'error':>8}"
)


def format_row(row):
    def text(value, width, digits=4):
        return f"{value:>{width}.{digits}f}" if value is not None else f"{'-':>{width}}"

    given, found, known = (row.get(f"{order}_ms") for order in (GIVEN, ORDERED, SORTED))
    return " ".join(
        [
            f"{row['mask']:<7} {row['lengths']:<9} {row['tokens']:>7} {row['sequences']:>5} {row['longest']:>8}",
            text(given, 9), text(found, 11), text(known, 10),
            text(found / given if given else None, 14, 3), text(known / given if given else None, 13, 3),
            report.error_text(row.get("error")),
        ]  # fmt: skip
    )


def make_parser():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=LENGTHS, default=list(LENGTHS), help="ways to deal out tokens")
    parser.add_argument("--tokens", nargs="+", type=int, default=[16384, 65536], help="tokens in all")
    parser.add_argument("--masks", nargs="+", choices=VARIANTS, default=list(VARIANTS), help="masks to time")
    parser.add_argument("--compiler", help="fovea-compile; found in the build folders by default")
    parser.add_argument("--runtime", help="libFoveaRuntime.so; found in the build folders by default")
    parser.add_argument("--target", default="sm_90a", help="what is compiled for")
    parser.add_argument("--schedule", default="", help="further fields of the schedule")
    parser.add_argument("--lse", action=argparse.BooleanOptionalAction, default=False, help="write LSE too")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contestant")
    parser.add_argument("--seed", type=int, help="of the contestants' order")
    parser.add_argument("--json", help="write the results there")
    return parser


def main():
    args = make_parser().parse_args()
    torch, runtime, chip, device = forward.start(args)
    print(device, flush=True)
    rng = random.Random(args.seed)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        loaded = {key: runtime.load(*found[:2]) for key, found in compile_orders(args, chip, folder).items()}
        print(HEADER, flush=True)
        for mask in args.masks:
            for tokens in args.tokens:
                for name in args.only:
                    try:
                        rows.append(run_cell(torch, loaded, mask, name, tokens, args, rng))
                    except waiting.Hang as error:
                        print(f"  {mask} {name}: {error}; the device hangs, nothing after this ran")
                        waiting.abandon(1)
                    torch.cuda.empty_cache()
                    if args.json:
                        pathlib.Path(args.json).write_text(json.dumps({"device": device, "rows": rows}, indent=1) + "\n")
    print("\n".join(["", HEADER, *map(format_row, rows)]))
    return 0 if all(row["same"] and row["error"] <= forward.RELATIVE_ERROR for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
