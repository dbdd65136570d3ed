"""Times our backward pass of packed sequences and torch's FLASH_ATTENTION on one GPU.

    FOVEA_LIBRARY_PATH=build-portable/lib PYTHONPATH=python python benchmarks/backward_packed.py
    python benchmarks/backward_packed.py --only shuffled --tokens 65536 --schedule auto --schedule producer_registers=0

Tokens are distributed to sequences as in packed.py; heads * d = 2048, bf16, stored as (S, H, D).
All contestants get the same tensors, O and LSE, and the whole op is timed. FLOPs are those of the
pairs within sequences, half of them with a causal mask. Gradients of the first head of the first
and the longest sequence are compared with float64.
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

import exact  # noqa: E402
import flash_attention_3  # noqa: E402
import kernels  # noqa: E402
import packed  # noqa: E402
import report  # noqa: E402
from fovea.bench._forward import RELATIVE_ERROR, WIDTH  # noqa: E402
from fovea.bench._timing import first_line, take_turns  # noqa: E402

ROWS = ("q", "k", "v", "o", "do")
WAYS = [name for name in packed.LENGTHS if name != "decode"]


def make_tensors(torch, tokens, d, lengths, causal):
    """Everything a backward pass takes, rows first; O and LSE are torch's FLASH_ATTENTION's."""
    q, k, v, do = (torch.randn(tokens, WIDTH // d, d, device="cuda", dtype=torch.bfloat16) for _ in range(4))
    offsets = packed.offsets(torch, lengths)
    o, lse, *state = torch.ops.aten._flash_attention_forward(
        q, k, v, offsets, offsets, max(lengths), max(lengths), 0.0, causal, False, scale=d**-0.5)
    return {"q": q, "k": k, "v": v, "o": o, "lse": lse, "do": do, "cu": offsets, "state": state[:2]}


def ours(torch, tensors, causal, schedule):
    import fovea

    mask = (lambda b, h, q_idx, kv_idx: q_idx >= kv_idx) if causal else None
    spec = fovea.attention(mask_mod=mask, dtype="bf16", head_dim=tensors["q"].shape[-1], sequences="packed", lse=True,
                           name="packed")
    program = fovea.gradient(spec, by=("q", "k", "v"))
    loaded = fovea.compile(program, schedule=schedule).loaded(torch.cuda.current_device())
    gradients = {"d" + name: torch.full_like(tensors[name], torch.nan) for name in "qkv"}
    rows = {name: one.transpose(0, 1)[None] for name, one in [*gradients.items(), *((name, tensors[name]) for name in ROWS)]}
    given = {**rows, "lse": tensors["lse"][None], "cu_q": tensors["cu"], "cu_k": tensors["cu"]}
    words = []
    for name in loaded.tensors:
        words += [given[name].data_ptr(), *given[name].shape, *given[name].stride()]
    stream = torch.cuda.current_stream().cuda_stream
    return lambda: loaded.launch(stream, words), list(gradients.values())


def flash3(torch, tensors, causal, longest):
    gradients = [torch.full_like(tensors[name], torch.nan) for name in "qkv"]

    def call():
        torch.ops.flash_attn_3.bwd(
            *(tensors[name] for name in ("do", "q", "k", "v", "o", "lse")), *gradients, cu_seqlens_q=tensors["cu"],
            cu_seqlens_k=tensors["cu"], max_seqlen_q=longest, max_seqlen_k=longest, is_causal=causal)

    return call, gradients


def flash2(torch, tensors, causal, longest):
    """torch's FLASH_ATTENTION, called through its op."""
    kept = []

    def call():
        kept[:] = torch.ops.aten._flash_attention_backward(
            *(tensors[name] for name in ("do", "q", "k", "v", "o", "lse")), tensors["cu"], tensors["cu"], longest, longest,
            0.0, causal, *tensors["state"], scale=tensors["q"].shape[-1] ** -0.5)

    return call, kept


def largest_error(torch, tensors, gradients, lengths, causal):
    """The largest error of a gradient against float64, norm by norm, in two sequences."""
    worst = 0.0
    for n in {0, lengths.index(max(lengths))}:
        rows = slice(sum(lengths[:n]), sum(lengths[: n + 1]))
        q, k, v, do, *found = (one[rows, :1].transpose(0, 1)[None] for one in (*(tensors[name] for name in ("q", "k", "v", "do")), *gradients))
        expected = exact.Sample(torch, q, k, v, causal=causal).gradients(do)
        worst = max(worst, exact.gradient_error(found, expected))
    return worst


def run_cell(torch, way, tokens, d, causal, args, rng):
    lengths = packed.LENGTHS[way](tokens)[1]
    flops = 10 * WIDTH * sum(n * n for n in lengths) * (0.5 if causal else 1)
    text = f"{d}:{tokens}:{way}:{'causal' if causal else 'full'}"
    print(f"{text}: {len(lengths)} sequences, the longest of {max(lengths)}", flush=True)
    tensors = make_tensors(torch, tokens, d, lengths, causal)
    prepare = {f"{report.OURS}[{schedule}]": functools.partial(ours, torch, tensors, causal, schedule) for schedule in args.schedule}
    prepare["FLASH_ATTENTION"] = functools.partial(flash2, torch, tensors, causal, max(lengths))
    if args.fa3:
        prepare[flash_attention_3.NAME] = functools.partial(flash3, torch, tensors, causal, max(lengths))
    launches, errors, rows = {}, {}, []
    for name, make in prepare.items():
        try:
            launch, gradients = make()
            launch()
            torch.cuda.synchronize()
        except Exception as failure:  # noqa: BLE001: the others still count
            print(f"  {name} does not run: {first_line(failure)}", flush=True)
            continue
        errors[name] = largest_error(torch, tensors, gradients, lengths, causal)
        if errors[name] < RELATIVE_ERROR:
            launches[name] = launch
        else:
            print(f"  {name} is wrong: the norm of its error is {errors[name]:.3g} of the gradient's", flush=True)
    for name, times in take_turns(torch, launches, args.rounds, rng).items():
        median = statistics.median(times)
        rows.append({"cell": text, "name": name, "median_ms": median, "tflops": flops / median * 1e-9, "error": errors[name]})
    for row in sorted(rows, key=lambda row: row["median_ms"]):
        print(f"  {row['name']:<34} {row['tflops']:8.1f} TFLOP/s {row['median_ms']:9.4f} ms  error {row['error']:.2e}", flush=True)
    return rows


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=WAYS, default=WAYS, help="ways to deal out tokens")
    parser.add_argument("--tokens", nargs="+", type=int, default=[16384], help="tokens in all")
    parser.add_argument("--dims", nargs="+", type=int, default=[64, 128], help="head dims")
    parser.add_argument("--masks", nargs="+", choices=("full", "causal"), default=["full", "causal"])
    parser.add_argument("--schedule", action="append", help="of our kernels, repeatable; auto by default")
    flash_attention_3.add_argument(parser)
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contestant")
    parser.add_argument("--seed", type=int, help="of the contestants' order and the data")
    parser.add_argument("--json", help="write the results there")
    args = parser.parse_args(argv)
    if args.rounds < 1:
        parser.error("--rounds must be at least 1")
    args.schedule = args.schedule or ["auto"]
    return args


def main():
    args = parse_arguments()
    torch = kernels.start_torch(args.seed)
    if torch is None:
        return 0
    if args.fa3 and not flash_attention_3.load(torch, args.fa3):
        return 2
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}", flush=True)
    rng, rows = random.Random(args.seed), []
    for d in args.dims:
        for mask in args.masks:
            for tokens in args.tokens:
                for way in args.only:
                    rows += run_cell(torch, way, tokens, d, mask == "causal", args, rng)
                    torch.cuda.empty_cache()
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
