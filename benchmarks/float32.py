"""Times float32 attention, forward and backward, beside PyTorch's kernels, and measures errors.

    python benchmarks/float32.py
    python benchmarks/float32.py --cells 4:16:4096:64 --precisions high --no-backward

A cell is BATCH:HEADS:LENGTH:HEAD_DIM, causal. Precisions are those of
`torch.set_float32_matmul_precision`: with "highest" products have the error of float32, with "high"
they may round their factors to tf32. Contestants: Fovea's `flex_attention`, PyTorch's compiled
`flex_attention`, and its memory-efficient attention, which ignores the precision. They alternate in
random order; the result is the median. Errors are by norm, against float64, of O and of dQ; `f32` is
that of a plain float32 evaluation at "highest". TFLOP/s count 4 (backward: 10) operations per
visible score and column.
"""

import argparse
import json
import pathlib
import random
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

DEFAULT_CELLS = ("4:16:2048:64", "2:16:4096:128", "1:16:8192:64", "1:16:8192:128", "1:8:8192:256")


def causal(b, h, q_idx, kv_idx):
    return q_idx >= kv_idx


def plain(torch, q, k, v):
    scores = q @ k.mT * q.shape[-1] ** -0.5
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
    return torch.softmax(scores.masked_fill(hidden, float("-inf")), -1) @ v


def norm(found, exact):
    return ((found.double() - exact).norm() / exact.norm()).item()


def time_calls(torch, call, count):
    times = []
    for _ in range(count):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return times


def contestants(torch, length):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    import fovea.torch

    mask = create_block_mask(causal, None, None, length, length, device="cuda")
    compiled = torch.compile(flex_attention, dynamic=False)

    def efficient(q, k, v):
        with sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION]):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)

    return {
        "fovea": lambda q, k, v: fovea.torch.flex_attention(q, k, v, block_mask=causal),
        "flex": lambda q, k, v: compiled(q, k, v, block_mask=mask),
        "efficient": efficient,
    }


def run_cell(torch, text, precision, args, rng):
    batch, heads, length, dim = (int(one) for one in text.split(":"))
    torch.set_float32_matmul_precision(precision)
    torch._dynamo.reset()
    generator = torch.Generator("cuda").manual_seed(0)
    q, k, v, do = (torch.randn(batch, heads, length, dim, generator=generator, device="cuda") for _ in range(4))
    for one in (q, k, v):
        one.requires_grad_(args.backward)
    part = (slice(0, 1), slice(0, 1))
    exact_inputs = [one[part].detach().double().requires_grad_() for one in (q, k, v)]
    exact = plain(torch, *exact_inputs)
    exact_dq, = torch.autograd.grad(exact, exact_inputs[:1], do[part].double())
    torch.set_float32_matmul_precision("highest")
    rounded = [one[part].detach().requires_grad_() for one in (q, k, v)]
    of_f32 = plain(torch, *rounded)
    dq, = torch.autograd.grad(of_f32, rounded[:1], do[part])
    print(f"{text:<16} {precision:<8} {'f32':<10} {'':>38} {norm(of_f32, exact):>9.1e} {norm(dq, exact_dq):>9.1e}", flush=True)
    del of_f32, dq, rounded
    torch.set_float32_matmul_precision(precision)
    calls, rows = {}, {}
    for name, function in contestants(torch, length).items():
        try:
            o = function(q, k, v)
            rows[name] = {"o": norm(o[part].detach(), exact)}
            calls[name] = [lambda f=function: f(q.detach(), k.detach(), v.detach())]
            if args.backward:
                made = torch.autograd.grad(o, (q, k, v), do, retain_graph=True)
                rows[name]["dq"] = norm(made[0][part], exact_dq)
                calls[name].append(lambda o=o: torch.autograd.grad(o, (q, k, v), do, retain_graph=True))
        except Exception as error:  # noqa: BLE001
            print(f"{text:<16} {precision:<8} {name}: {(str(error).splitlines() or [type(error).__name__])[0][:150]}", flush=True)
    times = {name: [[] for _ in found] for name, found in calls.items()}
    for turn in range(args.rounds + 1):
        for name in rng.sample(list(calls), len(calls)):
            for place, call in enumerate(calls[name]):
                found = time_calls(torch, call, 3)
                if turn:
                    times[name][place] += found
    visible, results = batch * heads * length * (length + 1) / 2, []
    for name, found in times.items():
        millis = [statistics.median(one) for one in found]
        rates = [flops * visible * dim / one / 1e9 for flops, one in zip((4, 10), millis)]
        shown = " ".join(f"{one:>9.3f} {rate:>8.1f}" for one, rate in zip(millis, rates))
        print(f"{text:<16} {precision:<8} {name:<10} {shown:>38} {rows[name]['o']:>9.1e} {rows[name].get('dq', 0):>9.1e}", flush=True)
        results.append({"cell": text, "precision": precision, "name": name, "ms": millis, "tflops": rates, "errors": rows[name]})
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="+", default=list(DEFAULT_CELLS), help="BATCH:HEADS:LENGTH:HEAD_DIM")
    parser.add_argument("--precisions", nargs="+", default=["highest", "high"], choices=("highest", "high"))
    parser.add_argument("--backward", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--rounds", type=int, default=3, help="turns of each contestant")
    parser.add_argument("--seed", type=int, default=0, help="of the contestants' order")
    parser.add_argument("--json", help="write the results there")
    args = parser.parse_args()
    import torch

    if not torch.cuda.is_available():
        print("SKIP: PyTorch finds no GPU")
        return 0
    print(torch.cuda.get_device_name(), "torch", torch.__version__, flush=True)
    print(f"{'cell':<16} {'products':<8} {'':<10} {'ms':>9} {'TFLOP/s':>8} {'backward':>10} {'TFLOP/s':>8} {'O':>9} {'dQ':>9}")
    rng, rows = random.Random(args.seed), []
    for text in args.cells:
        for precision in args.precisions:
            rows += run_cell(torch, text, precision, args, rng)
            torch.cuda.empty_cache()
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
