"""Times our backward pass and torch's attention backends on one GPU.

    FOVEA_LIBRARY_PATH=build-portable/lib PYTHONPATH=python python benchmarks/backward.py
    python benchmarks/backward.py --cells 128:4096:causal 64:4096:full --schedule tile_n=32 --json out.json
    python benchmarks/backward.py --group 4                 # grouped heads
    python benchmarks/backward.py --deterministic           # also our deterministic kernels
    python benchmarks/backward.py --fa3 --flex              # also FlashAttention-3 and compiled flex_attention; --fa3 FILE names its library
    python benchmarks/backward.py --ablation --no-peers     # one option of the schedule changed at a time

Each cell has 16k tokens and heads * d = 2048, bf16, stored as (B, S, H, D); all contestants get the
same tensors, O and LSE. The whole op is timed, including preprocess and postprocess kernels.
Contestants alternate as in forward.py. FLOPs are 2 * (3 d + 2 dv) * pairs of query and key for all
contestants, half of the pairs with a causal mask. The error is the largest relative error (by norm)
of dQ, dK or dV against float64, for the first sequence's first head of K and V and the heads of Q
that share it (exact.py). A contestant with an error above 1e-2 is excluded.
"""

import argparse
import functools
import itertools
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
import report  # noqa: E402
from fovea.bench import _forward  # noqa: E402
from fovea.bench._forward import DEFAULT_CELLS, RELATIVE_ERROR  # noqa: E402
from fovea.bench._timing import first_line, take_turns  # noqa: E402

ABLATION_CELLS = [f"{d}:4096:{mask}" for d in (128, 64) for mask in ("full", "causal")]
# The forms and mechanisms of the keys' kernel: two kernels without roles; no persistent CTAs; CTAs with
# a fixed share of the tiles; one buffer of Q and dO, of K and V; smaller blocks; outputs by threads.
ABLATION = ("auto", "producer_registers=0", "work=single", "work=static", "stages=1", "key_stages=1", "tile_n=32", "output=direct",
            "output=tma")


class Cell(_forward.Cell):
    @property
    def flops(self):
        return super().flops / (self.d + self.dv) * (3 * self.d + 2 * self.dv)


def make_tensors(torch, cell, group):
    """q, k, v and do as (B, H, S, D), stored as (B, S, H, D); K and V have H / group heads."""
    sizes = {"q": (cell.h, cell.d), "k": (cell.h // group, cell.d), "v": (cell.h // group, cell.dv), "do": (cell.h, cell.dv)}
    return {name: torch.randn(cell.b, cell.s, *size, device="cuda", dtype=torch.bfloat16).transpose(1, 2)
            for name, size in sizes.items()}


def one_head_each(tensors):
    """q, k and v, with a head of k and v for each head of q."""
    q, k, v = (tensors[name] for name in "qkv")
    return q, *(tensor.repeat_interleave(q.shape[1] // tensor.shape[1], dim=1) for tensor in (k, v))


def forward_results(torch, tensors, causal):
    """O and LSE of torch's FLASH_ATTENTION, as (B, H, S, D) and (B, H, S)."""
    q, k, v = one_head_each(tensors)
    d, dv = q.shape[-1], v.shape[-1]
    # It has one head dim: columns of zeros add nothing.
    q, k, v = (torch.nn.functional.pad(one, (0, max(d, dv) - one.shape[-1])) for one in (q, k, v))
    o, lse = torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.0, causal, scale=d**-0.5)[:2]
    return o[..., :dv].transpose(1, 2).contiguous().transpose(1, 2), lse[:, :, : q.shape[2]].contiguous()


def ours(torch, cell, target, schedule, deterministic, tensors, o, lse):
    """A launch of our kernels, and where it writes."""
    import fovea

    mask = (lambda b, h, q_idx, kv_idx: q_idx >= kv_idx) if cell.causal else None
    # Deterministic kernels process known groups in another order than possibly ungrouped heads.
    grouped = tensors["k"].shape[1] != cell.h
    heads = {"heads": cell.h, "kv_heads": tensors["k"].shape[1]} if grouped else {}
    spec = fovea.attention(mask_mod=mask, dtype="bf16", head_dim=cell.d, value_head_dim=cell.dv, lse=True, **heads,
                           name="causal" if mask else "dense")
    program = fovea.gradient(spec, by=("q", "k", "v"), deterministic=deterministic)
    loaded = fovea.compile(program, target=target, schedule=schedule).loaded(torch.cuda.current_device())
    gradients = {"d" + name: torch.full_like(tensors[name], torch.nan) for name in "qkv"}
    given = {**tensors, "o": o, "lse": lse, **gradients}
    words = []
    for name in loaded.tensors:
        words += [given[name].data_ptr(), *given[name].shape, *given[name].stride()]
    stream = torch.cuda.current_stream().cuda_stream
    return lambda: loaded.launch(stream, words), lambda: list(gradients.values())


def flash3(torch, cell, tensors, o, lse):
    """FlashAttention-3's own op on the same tensors."""
    q, k, v, do, out = (tensor.transpose(1, 2) for tensor in (*(tensors[name] for name in ("q", "k", "v", "do")), o))
    gradients = [torch.full_like(tensor, torch.nan) for tensor in (q, k, v)]

    def call():
        torch.ops.flash_attn_3.bwd(do, q, k, v, out, lse, *gradients, is_causal=cell.causal)

    return call, lambda: [gradient.transpose(1, 2) for gradient in gradients]


def through_autograd(torch, call, tensors, parameters=()):
    """The backward pass of a function of q, k and v by torch.autograd, also with respect to the
    parameters that it reads.
    """
    inputs = [tensors[name].detach().requires_grad_() for name in "qkv"]
    output = call(*inputs)
    inputs += parameters
    kept = []

    def run():
        kept[:] = torch.autograd.grad(output, inputs, tensors["do"], retain_graph=True)

    return run, lambda: kept


def torch_backend(torch, cell, backend, tensors):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(getattr(SDPBackend, backend)):
        call = functools.partial(torch.nn.functional.scaled_dot_product_attention, is_causal=cell.causal,
                                 enable_gqa=tensors["k"].shape[1] != cell.h)
        return through_autograd(torch, call, tensors)


def flex(torch, cell, tensors):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    torch.compiler.reset()  # else it would run without compilation after eight sizes
    compiled = torch.compile(flex_attention, dynamic=False)
    mask = None
    if cell.causal:
        mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, cell.s, cell.s, device="cuda")
    grouped = tensors["k"].shape[1] != cell.h
    return through_autograd(torch, functools.partial(compiled, block_mask=mask, enable_gqa=grouped), tensors)


def find_contestants(torch, cell, args, tensors):
    """Possible contestants: name and a function that prepares it."""
    o, lse = forward_results(torch, tensors, cell.causal)
    found = {}
    for schedule, deterministic in itertools.product(args.schedule, (False, True) if args.deterministic else (False,)):
        name = f"{report.OURS}[{schedule}{'; deterministic' if deterministic else ''}]"
        found[name] = functools.partial(ours, torch, cell, args.target, schedule, deterministic, tensors, o, lse)
    if args.fa3 and cell.dv == cell.d:
        found[flash_attention_3.NAME] = functools.partial(flash3, torch, cell, tensors, o, lse)
    for backend in ("FLASH_ATTENTION", "CUDNN_ATTENTION") if args.peers else ():
        found[backend] = functools.partial(torch_backend, torch, cell, backend, tensors)
    if args.flex:
        found["flex_attention"] = functools.partial(flex, torch, cell, tensors)
    return found


def admit(torch, name, prepare, expected):
    """The contestant's launch, if its gradients are right; else None after saying why."""
    try:
        launch, results = prepare()
        launch()
        torch.cuda.synchronize()
        error = exact.gradient_error(results(), expected)
    except Exception as failure:  # noqa: BLE001: the others still count
        print(f"  {name} does not run: {first_line(failure)}", flush=True)
        return None
    if not error < RELATIVE_ERROR:
        print(f"  {name} is wrong: the norm of its error is {error:.3g} of the gradient's", flush=True)
        return None
    return launch, error


def run_cell(torch, cell, args, rng):
    print(f"{cell.text}: B {cell.b}, H {cell.h}, S {cell.s}, d {cell.d}, dv {cell.dv}", flush=True)
    if cell.h % args.group:
        print(f"  not measured: {cell.h} heads do not divide by {args.group}", flush=True)
        return []
    tensors = make_tensors(torch, cell, args.group)
    sample = exact.Sample(torch, *(tensors[name] for name in "qkv"), causal=cell.causal)
    expected = sample.gradients(tensors["do"])
    admitted = {name: admit(torch, name, prepare, expected)
                for name, prepare in find_contestants(torch, cell, args, tensors).items()}
    admitted = {name: found for name, found in admitted.items() if found}
    rows = []
    launches = {name: launch for name, (launch, _) in admitted.items()}
    for name, times in take_turns(torch, launches, args.rounds, rng).items():
        median = statistics.median(times)
        rows.append({"cell": cell.text, "name": name, "tflops": cell.flops / (median * 1e-3) / 1e12, "median_ms": median,
                     "error": admitted[name][1], "times_ms": times})
    report.add_ratios(rows)
    for row in sorted(rows, key=lambda row: -row["tflops"]):
        print(f"  {row['name']:<28} {row['tflops']:8.1f} TFLOP/s {row['median_ms']:9.4f} ms  error {row['error']:.2e}", flush=True)
    return rows


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="+", type=Cell, help="HEAD_DIM:LENGTH:full or HEAD_DIM:LENGTH:causal, HEAD_DIM or HEAD_DIM/VALUE_HEAD_DIM")
    parser.add_argument("--schedule", action="append", help="of our kernels, repeatable; auto by default")
    parser.add_argument("--target", help="the device's best by default")
    parser.add_argument("--ablation", action="store_true", help="schedules with one choice changed; d 128 and 64 at 4k")
    parser.add_argument("--deterministic", action="store_true", help="time our kernels that sum in one order, too")
    flash_attention_3.add_argument(parser)
    parser.add_argument("--group", type=int, default=1, help="heads of Q for each head of K and V")
    parser.add_argument("--flex", action="store_true", help="time flex_attention too; it compiles for long")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True, help="time torch's backends")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contestant")
    parser.add_argument("--seed", type=int, help="of the contestants' order and the data")
    parser.add_argument("--json", help="write the results there")
    args = parser.parse_args(argv)
    if args.rounds < 1 or args.group < 1:
        parser.error("--rounds and --group must be at least 1")
    args.cells = args.cells or [Cell(text) for text in (ABLATION_CELLS if args.ablation else DEFAULT_CELLS)]
    args.schedule = list(dict.fromkeys([*(ABLATION if args.ablation else ()), *(args.schedule or ["auto"])]))
    return args


def main():
    args = parse_arguments()
    torch = kernels.start_torch(args.seed)
    if torch is None:
        return 0
    if args.fa3 and not flash_attention_3.load(torch, args.fa3):
        return 2
    major, minor = torch.cuda.get_device_capability()
    args.target = args.target or kernels.default_targets(major, minor)[-1]
    device = f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
    print(f"{device}; target {args.target}", flush=True)
    rng, rows = random.Random(args.seed), []
    for cell in args.cells:
        rows += run_cell(torch, cell, args, rng)
        torch.cuda.empty_cache()
        if args.json:  # what is there, should a later cell end the process
            pathlib.Path(args.json).write_text(json.dumps({"device": device, "rows": rows}, indent=1) + "\n")
    print()
    print("\n".join(report.format_table(rows)))
    if args.ablation:
        print()
        print("\n".join(report.format_ablation(rows, args.schedule, "auto")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
