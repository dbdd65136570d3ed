"""Times attention of float8_e4m3fn beside that of bfloat16, and measures errors.

    python benchmarks/float8.py
    python benchmarks/float8.py --cells 4:16:4096:128 --rounds 9

A cell is BATCH:HEADS:LENGTH:HEAD_DIM, full and causal. Contestants: Fovea's `flex_attention` of
bfloat16, of float8 with a scale per head, and of float8 with the quantization of bfloat16 tensors
in the time (`quantize_attention_inputs`, compiled by PyTorch). They alternate in random order; the
result is the median. Errors are against float64 on tensors before rounding, as root mean square and
by norm, for data of N(0, 1); of N(0, 1) with outliers of N(0, 100) for 0.1 % of the elements
(FlashAttention-3, section 4.3); and of values with mean 1. TFLOP/s count 4 operations per visible
score and column.
"""

import argparse
import json
import pathlib
import random
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

DEFAULT_CELLS = ("16:16:1024:128", "4:16:4096:128", "1:16:16384:128", "4:32:4096:64", "4:8:4096:256")


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


def contestants(torch, ours, q, k, v, mask):
    *narrow, scales = ours.quantize_attention_inputs(q, k, v)
    quantize = torch.compile(ours.quantize_attention_inputs, dynamic=False)

    def quantized():
        *rounded, made = quantize(q, k, v)
        return ours.flex_attention(*rounded, block_mask=mask, scales=made)

    return {
        "bfloat16": lambda: ours.flex_attention(q, k, v, block_mask=mask),
        "float8": lambda: ours.flex_attention(*narrow, block_mask=mask, scales=scales),
        "quantized": quantized,
    }


def run_cell(torch, ours, text, mask, args, rng):
    batch, heads, length, dim = (int(one) for one in text.split(":"))
    q, k, v = (torch.randn(batch, length, heads, dim, device="cuda", dtype=torch.bfloat16).transpose(1, 2) for _ in range(3))
    calls = contestants(torch, ours, q, k, v, mask)
    flops = 4 * batch * heads * length * length * dim / (1 if mask is None else 2)
    times = {name: [] for name in calls}
    for turn in range(args.rounds + 1):
        for name in rng.sample(list(calls), len(calls)):
            for _ in range(max(2, int(3e13 / flops / 5))):
                calls[name]()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(3):
                calls[name]()
            end.record()
            torch.cuda.synchronize()
            if turn:
                times[name].append(begin.elapsed_time(end) / 3)
    rows = []
    for name, found in times.items():
        ms = statistics.median(found)
        print(f"{text:<16} {'full' if mask is None else 'causal':<8} {name:<10} {ms:>9.3f} ms {flops / ms / 1e9:>7.0f} TFLOP/s", flush=True)
        rows.append({"cell": text, "causal": mask is not None, "name": name, "ms": ms, "tflops": flops / ms / 1e9})
    return rows


def data(torch, kind, shape):
    def normal():
        return torch.randn(shape, device="cuda")

    if kind == "outliers":
        return [normal() + 10 * normal() * (torch.rand(shape, device="cuda") < 1e-3) for _ in range(3)]
    return [normal(), normal(), normal() + (kind == "mean 1")]


def errors(torch, ours, length, kind, **options):
    heads = 2
    q, k, v = data(torch, kind, (1, heads, length, 128))
    *narrow, scales = ours.quantize_attention_inputs(q, k, v, **options)
    o, squares, size = ours.flex_attention(*narrow, scales=scales).double(), 0.0, 0.0
    for head in range(heads):
        scores = q[0, head].double() @ k[0, head].double().mT * 128 ** -0.5
        exact = torch.softmax(scores, -1) @ v[0, head].double()
        squares, size = squares + (o[0, head] - exact).square().sum().item(), size + exact.square().sum().item()
    given = ", ".join(f"{name}={value}" for name, value in options.items())
    rms = (squares / (heads * length * 128)) ** 0.5
    print(f"{kind:<9} {length:>6} keys, {given:<30} rms {rms:.2e}, by norm {(squares / size) ** 0.5:.2e}", flush=True)
    return {"data": kind, "length": length, "options": options, "rms": rms, "norm": (squares / size) ** 0.5}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="+", default=list(DEFAULT_CELLS), help="BATCH:HEADS:LENGTH:HEAD_DIM")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each contestant")
    parser.add_argument("--seed", type=int, default=0, help="of the contestants' order")
    parser.add_argument("--json", help="write the results there")
    args = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        print("SKIP: PyTorch finds no GPU")
        return 0
    import fovea.torch as ours

    print(torch.cuda.get_device_name(), "torch", torch.__version__, flush=True)
    rng, rows = random.Random(args.seed), []
    for text in args.cells:
        for mask in (None, causal):
            rows += run_cell(torch, ours, text, mask, args, rng)
    for length in (4096, 16384):
        for kind in ("normal", "outliers", "mean 1"):
            options = {"rotate": (False, True)} if kind == "outliers" else {"v_mean": (True, False)}
            for name, values in options.items():
                rows += [errors(torch, ours, length, kind, **{name: value}) for value in values]
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
