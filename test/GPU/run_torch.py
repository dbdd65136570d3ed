"""Compares fovea.torch with PyTorch's compiled FlexAttention on a GPU: results and times.

    PYTHONPATH=python python test/GPU/run_torch.py --libraries build-portable/lib --json torch.json

PyTorch's own examples: the error of each output against attention in f64 may be at most twice that
of the compiled FlexAttention (or two units in the last place of the dtype, if that is more). Times
are medians of single calls by events, after warm-up: with a BlockMask, whose lists the kernel
reads; with the mask_mod instead, whose blocks the compiler derives; and PyTorch's. It also checks
gradients of these examples by the same rule, random block lists, tensors that must be copied or
padded (layout_cases.py), dropout, a call captured in a CUDA graph, a model under torch.compile, the
time of the first call without any cache and with the disk cache (at most 1.5 s and 50 ms), and the
host's time for repeated calls of each kind, at most 10 us more than a bare launch. The last line is
`N passed, N failed`.
"""

import argparse
import functools
import gc
import json
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import torch
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

import kernels
from gradient_cases import check_gradients, check_repeated_sums, check_repeats, check_training
from hard_cases import check_hard_cases, exact
from layout_cases import check_layout_cases

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

from fovea.bench._examples import (  # noqa: E402
    BATCH, DIM, HEADS, LENGTH, causal, depends_on_batch, examples, soft_cap,
)

# Setup of any user of FlexAttention before a first call: the time of PyTorch's imports does not
# count.
FIRST = """
import sys, time
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
q, k, v = (torch.randn(1, 8, 512, 128, device="cuda").bfloat16() for _ in range(3))
slopes = torch.randn(8, device="cuda")
block_mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 512, 512) if sys.argv[1] == "BlockMask" else None
torch.cuda.synchronize()
parts, modules = {}, set(sys.modules)
start = time.perf_counter()
import fovea.torch
from fovea.compiler import _kernel
from fovea.runtime import _launch
from fovea.torch.ops import _op
from fovea.torch.cache import _programs
parts["import"] = time.perf_counter() - start

def timed(owner, name, label):
    function = getattr(owner, name)
    def run(*args, **named):
        start = time.perf_counter()
        try:
            return function(*args, **named)
        finally:
            parts[label] = parts.get(label, 0) + time.perf_counter() - start
    setattr(owner, name, run)

timed(_programs, "build", "trace")
timed(_op, "compiled", "compile or find")
timed(_kernel.Kernel, "_assemble", "ptxas")
timed(_launch.LoadedKernel, "__init__", "load")

def soft_cap(score, b, h, q_idx, kv_idx):
    return 20 * torch.tanh(score / 20) + slopes[h]

times = []
for _ in range(2):
    start = time.perf_counter()
    fovea.torch.flex_attention(q, k, v, soft_cap, block_mask)
    torch.cuda.synchronize()
    times.append(time.perf_counter() - start)
parts["first call"], parts["second call"] = times
import json
parts["modules"] = len(set(sys.modules) - modules)
print(json.dumps({key: value if key == "modules" else 1000 * value for key, value in parts.items()}))
"""


# --- Results ------------------------------------------------------------------


def median_us(run, count=40):
    for _ in range(10):
        run()
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(count)]
    for start, end in events:
        start.record()
        run()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(end) * 1000 for start, end in events)


def check(name, score_mod, mask_mod, kv_heads, compiled, ours):
    generator = torch.Generator("cuda").manual_seed(0)
    q, k, v = (torch.randn(BATCH, n, LENGTH, DIM, device="cuda", generator=generator).bfloat16()
               for n in (HEADS, kv_heads, kv_heads))
    block_mask = None
    if mask_mod is not None:
        block_mask = create_block_mask(mask_mod, BATCH if depends_on_batch(name) else None, None, LENGTH, LENGTH)
    arguments = dict(score_mod=score_mod, block_mask=block_mask, enable_gqa=kv_heads != HEADS, return_lse=True)
    torch.compiler.reset()
    theirs_o, theirs_lse = compiled(q, k, v, **arguments)
    o, lse = ours(q, k, v, **arguments)
    # Kernels of their own: without the log-sum-exp, and with the compiler's blocks in place of lists.
    others = [ours(q, k, v, **{**arguments, "block_mask": mask, "return_lse": False}) for mask in (block_mask, mask_mod)]
    o_exact, lse_exact = exact(q, k, v, score_mod, mask_mod)

    def error(found, expected):
        return (found.double() - expected).nan_to_num().abs().max().item()

    result = {"name": name, "error": max(error(one, o_exact) for one in (o, *others)),
              "error_torch": error(theirs_o, o_exact), "lse_error": error(lse, lse_exact), "lse_error_torch": error(theirs_lse, lse_exact)}
    unit = o_exact.abs().max().item() * 2.0**-8
    result["ok"] = (result["error"] <= max(2 * result["error_torch"], 2 * unit)
                    and result["lse_error"] <= max(2 * result["lse_error_torch"], 1e-4)
                    and not any(one.isnan().any().item() for one in (o, *others)))
    del theirs_o, others, o, o_exact, lse_exact
    arguments["return_lse"] = False
    result["us"] = median_us(lambda: ours(q, k, v, **arguments))
    if mask_mod is not None:
        result["us_function"] = median_us(lambda: ours(q, k, v, **{**arguments, "block_mask": mask_mod}))
    result["us_torch"] = median_us(lambda: compiled(q, k, v, **arguments))
    result["faster"] = result["us_torch"] / result["us"]
    return result


# --- Lists of blocks, dropout -------------------------------------------------


def check_lists(ours):
    """Random block lists with and without a mask_mod: blocks in a list are visible."""
    generator = torch.Generator("cuda").manual_seed(1)
    worst = 0.0
    for size, mask_mod, heads_of_lists in ((128, causal, 1), ((128, 64), None, 8), (64, causal, 8)):
        rows, columns = size if isinstance(size, tuple) else (size, size)
        length, shape = 1000, (2, heads_of_lists, -(-1000 // rows), -(-1000 // columns))
        kinds = torch.randint(0, 4, shape, device="cuda", generator=generator)
        kinds[:, :, -1] = 0  # rows that see nothing

        def lists(chosen):
            order = torch.rand(shape, device="cuda", generator=generator) - 2.0 * chosen
            return chosen.sum(-1).int(), order.argsort(-1).int()

        block_mask = BlockMask.from_kv_blocks(*lists(kinds == 1), *lists(kinds == 2), BLOCK_SIZE=(rows, columns),
                                              mask_mod=mask_mod, seq_lengths=(length, length))

        def seen(b, h, i, j):
            kind = kinds[b, h if heads_of_lists > 1 else 0][i // rows, j // columns]
            return (kind == 2) | (kind == 1) & (mask_mod(b, h, i, j) if mask_mod else True)

        q, k, v = (torch.randn(2, n, length, 64, device="cuda", generator=generator).bfloat16() for n in (8, 2, 2))
        for _ in range(2):  # the long way and the short one
            o, lse = ours(q, k, v, None, block_mask, enable_gqa=True, return_lse=True)
            o_exact, lse_exact = exact(q, k, v, None, seen)
            worst = max(worst, (o.double() - o_exact).abs().max().item(),
                        (lse.double() - lse_exact).nan_to_num().abs().max().item())
            kinds = torch.where(kinds == 1, 0, kinds)
            block_mask.kv_num_blocks.zero_()
    return worst < 2e-2


def check_hard(ours):
    wrong = check_hard_cases(ours)
    for case in wrong:
        print(f"wrong: {case}")
    return not wrong


def recorded(run):
    """A call that was captured in a CUDA graph, as a function that replays it."""
    run()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = run()

    def replay():
        for one in results:
            one.zero_()
        graph.replay()
        torch.cuda.synchronize()
        return results

    return replay


def check_layouts(ours):
    """Also within CUDA graphs and under torch.compile."""
    def compiled(run):
        torch.compiler.reset()
        return torch.compile(run, fullgraph=True)

    wrong = check_layout_cases(ours, wrapped=(recorded, compiled))
    for line in wrong:
        print("       ", line)
    return not wrong


def check_dropout(sdpa):
    """Each call has its own seed, and torch.manual_seed reproduces it."""
    q, k = (torch.randn(2, 4, n, 64, device="cuda").half() for n in (512, 64))
    v = torch.eye(64, device="cuda").half().expand(2, 4, 64, 64)
    plain = sdpa(q, k, v)
    torch.manual_seed(5)
    first, second = sdpa(q, k, v, dropout_p=0.25), sdpa(q, k, v, dropout_p=0.25)
    torch.manual_seed(5)
    kept = first != 0
    again = sdpa(q, k, v, dropout_p=0.25)
    graph = torch.cuda.CUDAGraph()
    refused = False
    try:
        with torch.cuda.graph(graph):
            sdpa(q, k, v, dropout_p=0.25)
    except NotImplementedError:
        refused = True
    close = (first - torch.where(kept, plain / 0.75, 0)).abs().max().item() < 2e-3
    return close and refused and bool((first == again).all()) and bool((first != second).any()) and (
        abs(kept.float().mean().item() - 0.75) < 0.01)


# --- The rest -----------------------------------------------------------------


def check_graph(ours):
    """A call captured once, replayed on new data."""
    q, k, v = (torch.randn(2, 4, 512, 64, device="cuda").half() for _ in range(3))
    offset = torch.tensor(3, device="cuda")

    def shifted(b, h, q_idx, kv_idx):
        return q_idx + offset >= kv_idx

    ours(q, k, v, block_mask=shifted)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        o = ours(q, k, v, block_mask=shifted)
    q.copy_(torch.randn_like(q))
    offset.fill_(40)
    graph.replay()
    torch.cuda.synchronize()
    return (o.double() - exact(q, k, v, None, shifted)[0]).abs().max().item() < 2e-3


def check_compile(ours):
    """A model under torch.compile, by inductor, without a break in its graph."""
    q, k, v = (torch.randn(2, 4, 512, 64, device="cuda").half() for _ in range(3))
    block_mask = create_block_mask(causal, None, None, 512, 512)

    def model(q, k, v):
        return ours(q * 2, k, v, soft_cap, block_mask).relu()

    found = torch.compile(model, fullgraph=True)(q, k, v)
    return (found - model(q, k, v)).abs().max().item() < 2e-3


def host_us(runs, rounds=8, count=500):
    """The host's time of each function in microseconds: the minimum over rounds in which all
    functions run, with garbage collection disabled as in timeit.
    """
    best = dict.fromkeys(runs, float("inf"))
    gc.collect()
    gc.disable()
    for _ in range(rounds):
        for name, run in runs.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(count):
                run()
            best[name] = min(best[name], (time.perf_counter() - start) / count * 1e6)
    torch.cuda.synchronize()
    gc.enable()
    return best


#: Limit of the host's time for a repeated call beyond a bare launch of its kernel, in microseconds.
MOST_OVERHEAD = 10
#: Limits for the first call of a process in milliseconds: without a cache, and from the disk cache.
MOST_FOR_FIRST, MOST_FROM_DISK = 1500, 50


def overheads(fovea, ours):
    """The host's time for repeated calls of each kind: "bare" is fovea_kernel_launch_packed with
    the same arguments, "prepared" is the launch that the call uses instead.
    """
    from fovea.runtime import _launch

    q, k, v = (torch.randn(1, 1, 16, 64, device="cuda").half() for _ in range(3))
    slopes, mask = torch.ones(1, device="cuda"), torch.ones(16, 16, device="cuda")
    block_mask = create_block_mask(causal, None, None, 16, 16)
    sdpa = fovea.torch.scaled_dot_product_attention

    def alibi(score, b, h, q_idx, kv_idx):
        return score + slopes[h] * (kv_idx - q_idx)

    kinds = {
        "alibi": lambda: ours(q, k, v, alibi), "mask_mod": lambda: ours(q, k, v, None, causal),
        "BlockMask": lambda: ours(q, k, v, alibi, block_mask), "log-sum-exp": lambda: ours(q, k, v, alibi, return_lse=True),
        "both": lambda: ours(q, k, v, alibi, block_mask, return_lse=True),
        "kernel_options": lambda: ours(q, k, v, alibi, kernel_options={"num_warps": 4}),
        "sdpa": lambda: sdpa(q, k, v), "sdpa, attn_mask": lambda: sdpa(q, k, v, mask),
        "sdpa, dropout": lambda: sdpa(q, k, v, dropout_p=0.5),
    }
    runs = {("allocation", "call"): lambda: torch.empty_like(q),
            ("torch's sdpa", "call"): lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)}
    prepare = _launch.LoadedKernel.prepare_packed
    for name, run in kinds.items():
        made = []
        _launch.LoadedKernel.prepare_packed = lambda kernel, row: made.append((kernel, row, prepare(kernel, row))) or made[-1][2]
        run()
        _launch.LoadedKernel.prepare_packed = prepare
        if made:  # else the launch of a kind before
            kernel, row, prepared = made[0]
            words = struct.unpack(f"={len(row) // 8}q", row)
            at, short = 0, []
            for rank in kernel.ranks:
                short.append(words[at])
                at += 1 + 2 * rank
            short = struct.pack(f"={len(kernel.tensors) + len(kernel.scalars)}q", *short, *words[at:])
        runs[name, "bare"] = functools.partial(kernel._run, kernel._handle, 0, row, len(row) // 8)
        runs[name, "prepared"] = functools.partial(prepared.launch_packed, 0, short)
        runs[name, "call"] = run
    results = {}
    for (name, what), microseconds in host_us(runs).items():
        results.setdefault(name, {})[what] = microseconds
    for times in results.values():
        if "bare" in times:
            times["more"] = times["call"] - times["bare"]
    return results


def first_calls(processes=3):
    """Milliseconds of the parts of the first call of a process, and of its second; of
    the process between the fastest and the slowest."""
    found = {}
    for block_mask, label in (("BlockMask", "with a BlockMask"), ("none", "without")):
        for _ in range(processes):
            with tempfile.TemporaryDirectory() as folder:
                for what in ("nothing cached", "from the disk cache"):
                    environment = {**os.environ, "XDG_CACHE_HOME": folder}
                    done = subprocess.run([sys.executable, "-c", FIRST, block_mask], env=environment, capture_output=True,
                                          text=True)
                    if done.returncode:
                        sys.exit(done.stderr)
                    found.setdefault(f"{what}, {label}", []).append(json.loads(done.stdout))
    return {what: sorted(times, key=lambda one: one["first call"])[processes // 2] for what, times in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libraries", help="folder with libFovea.so and libFoveaRuntime.so")
    parser.add_argument("--json", type=pathlib.Path, help="file to write the results to")
    parser.add_argument("--only", help="part of the names of the examples and checks to run, without the rest; 'host' is the host's times alone")
    args = parser.parse_args()
    if args.libraries:
        os.environ["FOVEA_LIBRARY_PATH"] = str(pathlib.Path(args.libraries).resolve())
    ptxas = kernels.find_ptxas()
    if ptxas:
        os.environ["PATH"] += os.pathsep + str(pathlib.Path(ptxas).parent)
    import fovea
    import fovea.torch

    ours, compiled = fovea.torch.flex_attention, torch.compile(flex_attention)
    print(torch.cuda.get_device_name(), "torch", torch.__version__, "ptxas:", fovea.find_ptxas())
    results, outcomes = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "examples": []}, []
    torch.set_grad_enabled(False)
    if not args.only or args.only == "host":  # before PyTorch's compiler fills the process
        results["host"] = overheads(fovea, ours)
        for kind, times in results["host"].items():
            print(f"host, {kind}:", ", ".join(f"{key} {value:.1f}" for key, value in times.items()), "(us)", flush=True)
            outcomes.append(times.get("more", 0) <= MOST_OVERHEAD)
        results["first"] = first_calls()
        for what, times in results["first"].items():
            print(f"{what}:", ", ".join(f"{part} {value:.1f}" for part, value in times.items()), "(ms)")
            outcomes.append(times["first call"] <= (MOST_FROM_DISK if "disk" in what else MOST_FOR_FIRST))
    print(f"{'':18} {'error':>9} {'torch':>9} {'lse':>9} {'torch':>9} {'us':>8} {'function':>8} {'torch':>8} {'faster':>6}")
    for example in examples():
        if args.only and args.only not in example[0]:
            continue
        try:
            row = check(*example, compiled, ours)
        except Exception as error:  # noqa: BLE001 (the other examples still count)
            print(f"{example[0]:18} FAILED {type(error).__name__}: {error}")
            outcomes.append(False)
            continue
        results["examples"].append(row)
        outcomes.append(row["ok"])
        print(f"{row['name']:18} {row['error']:9.2e} {row['error_torch']:9.2e} {row['lse_error']:9.2e} "
              f"{row['lse_error_torch']:9.2e} {row['us']:8.1f} "
              f"{row.get('us_function', row['us']):8.1f} {row['us_torch']:8.1f} {row['faster']:6.2f}"
              f"{'' if row['ok'] else '  FAILED'}", flush=True)
    for name, run, function in (("lists of blocks", check_lists, ours), ("CUDA graph", check_graph, ours),
                                ("hard cases", check_hard, ours), ("layouts", check_layouts, ours),
                                ("torch.compile", check_compile, ours),
                                ("gradients", functools.partial(check_gradients, compiled=compiled, examples=list(examples())), ours),
                                ("repeats", check_repeats, ours), ("sums", check_repeated_sums, ours), ("training", check_training, ours),
                                ("dropout", check_dropout, fovea.torch.scaled_dot_product_attention)):
        if args.only and args.only not in name:
            continue
        outcomes.append(run(function))
        print("ok    " if outcomes[-1] else "FAILED", name, flush=True)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))
    print(f"{sum(outcomes)} passed, {len(outcomes) - sum(outcomes)} failed")
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
