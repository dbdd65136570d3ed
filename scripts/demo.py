"""`make demo`: compiles causal attention from IR to PTX and executes the PTX on the CPU, on Q, K
and V of a real layer.

Writes all files to .demo/ and prints a table of the steps. Needs no GPU; uses ptxas if available.
"""

import argparse
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import ml_dtypes
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples" / "minilm"))

import minilm  # noqa: E402

OUT = ROOT / ".demo"
PROGRAM = pathlib.Path("examples/causal.mlir")
TARGET = "sm_80"
BATCH, HEADS, SEQUENCE, HEAD_DIM = 2, minilm.HEADS, 300, 32
BF16 = ml_dtypes.bfloat16


class Table:
    """A table of (step, result, seconds) that prints its rows immediately."""

    def row(self, step, what, seconds=None):
        duration = "" if seconds is None else f"{seconds:8.2f} s"
        print(f"  {step:<10} {what:<82} {duration}".rstrip(), flush=True)


def shown(path):
    return str(path.relative_to(ROOT)) if path.is_absolute() else str(path)


def run(command):
    """Runs a command in the repository's root; returns its output and duration."""
    start = time.monotonic()
    result = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True)
    seconds = time.monotonic() - start
    if result.returncode != 0:
        sys.stderr.write(result.stdout + result.stderr)
        sys.exit(f"demo: '{' '.join(map(str, command))}' failed with exit code {result.returncode}")
    return result.stdout + result.stderr, seconds


def find_ptxas():
    roots = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda", *sorted(glob.glob("/usr/local/cuda-*"), reverse=True)]
    candidates = [shutil.which("ptxas")] + [os.path.join(root, "bin", "ptxas") for root in roots if root]
    return next((path for path in candidates if path and os.access(path, os.X_OK)), None)


def make_inputs(table):
    """Q, K, V as bf16 in .npy files (as uint16, since numpy has no bf16)."""
    start = time.monotonic()
    folder = minilm.model_folder()
    if folder:
        text = (ROOT / "LICENSE").read_text()
        tensors = minilm.query_key_value(folder, text, BATCH, SEQUENCE)
        source = "MiniLM's layer 0 over the text of LICENSE"
    else:
        generator = np.random.default_rng(0)
        tensors = [generator.standard_normal((BATCH, HEADS, SEQUENCE, HEAD_DIM), np.float32) for _ in range(3)]
        source = "synthetic: normal, seed 0 (MiniLM's package is not installed)"
    rounded = [np.ascontiguousarray(tensor).astype(BF16) for tensor in tensors]
    paths = [OUT / f"{name}.npy" for name in "qkv"]
    for path, tensor in zip(paths, rounded):
        assert tensor.shape == (BATCH, HEADS, SEQUENCE, HEAD_DIM)
        np.save(path, tensor.view(np.uint16))
    shape = "x".join(map(str, rounded[0].shape))
    table.row("inputs", f"Q, K, V of {shape} bf16: {source}", time.monotonic() - start)
    return paths, rounded


def compile_program(table, binaries):
    ptx, metadata = OUT / "causal.ptx", OUT / "causal.json"
    compiler = binaries / "fovea-compile"
    _, seconds = run([compiler, PROGRAM, f"--target={TARGET}", "--emit=ptx", "-o", ptx, f"--metadata={metadata}"])
    text = ptx.read_text()
    mmas = len(re.findall(r"\bmma\.sync", text))
    table.row("compile", f"{PROGRAM} -> {shown(ptx)}, {TARGET}: {len(text.splitlines())} lines, {mmas} mma.sync", seconds)
    table.row("metadata", f"{shown(metadata)}: {describe(json.loads(metadata.read_text()))}")
    return ptx, metadata


def describe(metadata):
    """Threads, shared memory and parameters of the kernels in the launch metadata."""
    kernels = metadata.get("kernels", [metadata])
    parts = []
    for kernel in kernels:
        facts = []
        if "block" in kernel:
            facts.append(f"{np.prod(kernel['block'])} threads per CTA")
        if "shared_memory" in kernel:
            facts.append(f"{kernel['shared_memory']} bytes of shared memory")
        if "parameters" in kernel:
            facts.append(f"{len(kernel['parameters'])} parameters")
        parts.append(", ".join(facts) or "written")
    return "; ".join(parts)


def assemble(table, ptx):
    ptxas = find_ptxas()
    if not ptxas:
        table.row("ptxas", "not found on PATH or under /usr/local/cuda: no cubin")
        return
    cubin = ptx.with_suffix(".cubin")
    log, seconds = run([ptxas, "-v", f"-arch={TARGET}", ptx, "-o", cubin])
    registers = re.search(r"Used (\d+) registers", log)
    spills = re.search(r"(\d+) bytes spill stores", log)
    facts = [f"{cubin.stat().st_size} bytes"]
    if registers:
        facts.append(f"{registers[1]} registers")
    if spills:
        facts.append("no spills" if spills[1] == "0" else f"{spills[1]} bytes of spills")
    table.row("ptxas", f"{shown(cubin)}: {', '.join(facts)}", seconds)


def attention(q, k, v, rounding):
    """Evaluates causal attention in numpy and returns (O, LSE). `rounding` is applied to the
    probabilities, as in a kernel of that type.
    """
    scores = (q @ k.swapaxes(-1, -2)) / np.sqrt(q.shape[-1]).astype(q.dtype)
    visible = np.tril(np.ones(scores.shape[-2:], bool))
    scores = np.where(visible, scores, -np.inf)
    largest = scores.max(-1, keepdims=True)
    weights = np.exp(scores - largest)
    total = weights.sum(-1, keepdims=True)
    return rounding(weights) @ v / total, (largest + np.log(total))[..., 0]


def compare(table, inputs, outputs):
    """Compares the results with f64, by the rule of fovea-run --check: the L2 error of a row is at
    most 3 times that of a direct evaluation in the same types, plus 2 ulp.
    """
    start = time.monotonic()
    q, k, v = (tensor.astype(np.float64) for tensor in inputs)
    exact, exact_lse = attention(q, k, v, lambda x: x)
    singles = [tensor.astype(np.float32) for tensor in inputs]
    naive = attention(*singles, lambda x: x.astype(BF16).astype(np.float32))[0].astype(BF16)

    output = np.load(outputs[0])
    output = output.view(BF16) if output.dtype == np.uint16 else output
    output, lse = output.astype(np.float64), np.load(outputs[1]).astype(np.float64)
    if output.shape != exact.shape or lse.shape != exact_lse.shape:
        sys.exit(f"demo: O is {output.shape} and LSE {lse.shape}, expected {exact.shape} and {exact_lse.shape}")

    def row_error(value):
        return np.linalg.norm(value.astype(np.float64) - exact, axis=-1)

    norm = np.linalg.norm(exact, axis=-1)
    ulp = float(ml_dtypes.finfo(BF16).eps) * norm
    excess = row_error(output) / (3 * row_error(naive) + 2 * ulp)
    seconds = time.monotonic() - start
    table.row("reference", f"numpy f64: max |dO| {np.abs(output - exact).max():.2e},"
              f" row error {np.max(row_error(output) / norm):.2e} (plain bf16: {np.max(row_error(naive) / norm):.2e}),"
              f" max |dLSE| {np.abs(lse - exact_lse).max():.1e}", seconds)
    # Written as `not (<=)`, so that NaN fails.
    if not excess.max() <= 1 or not np.abs(lse - exact_lse).max() <= 1e-3:
        sys.exit("demo: the results are outside the tolerance")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", help="build folder whose tools run")
    args = parser.parse_args()
    binaries = ROOT / args.build / "bin"
    for tool in ["fovea-compile", "fovea-run"]:
        if not (binaries / tool).exists():
            sys.exit(f"demo: {shown(binaries / tool)} is missing: run 'make build'")
    OUT.mkdir(exist_ok=True)

    table = Table()
    print()
    paths, inputs = make_inputs(table)
    ptx, metadata = compile_program(table, binaries)
    assemble(table, ptx)
    outputs = [OUT / "o.npy", OUT / "lse.npy"]
    log, seconds = run([binaries / "fovea-run", PROGRAM, "--device=ptx", f"--kernel={ptx}", f"--metadata={metadata}",
                        "--inputs", *paths, "--dtype", "bf16", "--outputs", *outputs, "--check"])
    table.row("run", f"{shown(ptx)} on the CPU, checked against the attn-level program", seconds)
    for line in filter(None, log.splitlines()):
        print(f"             {line}")
    compare(table, inputs, outputs)
    print("\n  All within tolerance. Next: read .demo/causal.ptx, or see every level with"
          f"\n  {shown(binaries / 'fovea-compile')} {PROGRAM} --emit=tile\n")


if __name__ == "__main__":
    main()
