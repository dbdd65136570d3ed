"""Times matrix products, hand-written tile programs, and torch's (cuBLAS) on one GPU.

    python benchmarks/products.py --compiler build-portable/bin/fovea-compile
    python benchmarks/products.py --kernels FOLDER --cells 8192:8192:8192 1000:3000:5000 --json out.json

A cell is M:N:K; all tensors are contiguous bf16, drawn from the normal distribution. Programs are
those of test/Integration/Inputs or, with --kernels, compiled ones (NAME.cubin or NAME.ptx, and
NAME.json). The tensors of a kernel determine what it computes: c = a b or, with `bias` and `scale`,
c = scale gelu(a b + bias). The peer of the latter is cuBLAS with bias and gelu in its epilogue, and
a multiplication by torch. Contestants alternate as in forward.py: random order, five rounds, 30 ms
of warm-up before seven timed launches, the median of all. FLOPs are 2 M N K for all contestants.
The error is that of a sample of rows of c against float64, by norm.
"""

import argparse
import json
import pathlib
import random
import re
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import exact  # noqa: E402
import forward  # noqa: E402
import kernels  # noqa: E402
import report  # noqa: E402
import waiting  # noqa: E402

PROGRAMS = pathlib.Path(__file__).resolve().parents[1] / "test" / "Integration" / "Inputs"
DEFAULT_CELLS = ("8192:8192:8192", "4096:4096:4096", "2048:2048:2048", "16384:4096:4096", "4096:14336:4096", "8000:8008:7992")
PEERS = {False: "matmul", True: "matmul, gelu, scale"}
# Relative to the norm of torch's output, from the same inputs in the same types.
RELATIVE_ERROR = 5e-3
# Rows of c that are evaluated in float64.
EXACT_ROWS = 128


class Cell:
    def __init__(self, text):
        if not re.fullmatch(r"[1-9]\d*:[1-9]\d*:[1-9]\d*", text):
            raise argparse.ArgumentTypeError(f"expected M:N:K, found '{text}'")
        self.text = text
        self.m, self.n, self.k = map(int, text.split(":"))

    @property
    def flops(self):
        return 2 * self.m * self.n * self.k


def get_target(source):
    """The target for which the program was written."""
    return re.search(r'\btarget\("([^"]+)"\)', source).group(1)


def compile_programs(args, folder, major, minor):
    """Images and metadata by name: the programs that this device runs."""
    ptxas, result = kernels.find_ptxas(), {}
    for path in args.programs:
        source = path.read_text()
        target = get_target(source)
        if target not in kernels.default_targets(major, minor):
            continue
        try:
            result[path.stem] = kernels.compile_one(
                path.stem, source, folder, args.compiler, target, f"sm_{major}{minor}", ptxas, ["--schedule=auto"]
            )
        except kernels.CompileError as error:
            print(f"  {path.stem} does not compile: {forward.first_line(error)}", flush=True)
    return result


def read_kernels(folder):
    """Images and metadata of previously compiled programs."""
    result = {}
    for metadata in sorted(pathlib.Path(folder).glob("*.json")):
        images = [path for path in (metadata.with_suffix(ending) for ending in (".cubin", ".ptx")) if path.exists()]
        if images:
            result[metadata.stem] = str(images[0]), str(metadata), {}
    return result


def has_epilogue(metadata):
    return any(tensor["name"] == "bias" for tensor in metadata["tensors"])


def make_inputs(torch, cell):
    def draw(*shape, dtype=torch.bfloat16):
        return torch.randn(*shape, device="cuda", dtype=dtype)

    return {
        "a": draw(cell.m, cell.k), "b": draw(cell.k, cell.n), "bias": draw(cell.n),
        "scale": draw(cell.m, dtype=torch.float32),
    }  # fmt: skip


def torch_contestants(torch, inputs, cell):
    """Launches and their outputs, by whether there is an epilogue."""
    a, b, bias = inputs["a"], inputs["b"], inputs["bias"]
    scale = inputs["scale"][:, None].bfloat16()
    outputs = [torch.empty(cell.m, cell.n, device="cuda", dtype=torch.bfloat16) for _ in range(2)]

    def plain():
        torch.matmul(a, b, out=outputs[0])

    def fused():
        torch._addmm_activation(bias, a, b, use_gelu=True, out=outputs[1]).mul_(scale)

    return {False: (plain, outputs[0]), True: (fused, outputs[1])}


def get_reference(torch, inputs, epilogue):
    if not epilogue:
        return torch.matmul(inputs["a"], inputs["b"]).float()
    x = torch.addmm(inputs["bias"].float(), inputs["a"].float(), inputs["b"].float())
    return torch.nn.functional.gelu(x, approximate="tanh") * inputs["scale"][:, None]


def error_of(torch, inputs, epilogue, output):
    """The error of some rows of c."""
    step = -(-output.shape[0] // EXACT_ROWS)
    expected = inputs["a"][::step].double() @ inputs["b"].double()
    if epilogue:
        expected = torch.nn.functional.gelu(expected + inputs["bias"].double(), approximate="tanh")
        expected *= inputs["scale"][::step, None].double()
    return exact.relative_error(output[::step], expected)


def admit(torch, name, launch, output, expected):
    """Runs a contestant once; prints a message and returns False if its output is wrong."""
    print(f"  {name}", flush=True)  # what runs, should it hang
    launch()
    waiting.synchronize(torch)
    error = ((output.float() - expected).norm() / expected.norm()).item()
    if not error < RELATIVE_ERROR:
        print(f"  {name} is wrong: the norm of its error is {error:.3g} of the right output", flush=True)
        return False
    return True


def run_cell(torch, loaded, cell, args, rng):
    print(f"{cell.text}", flush=True)
    inputs = make_inputs(torch, cell)
    stream = torch.cuda.current_stream().cuda_stream
    kinds = {name: has_epilogue(kernel.metadata) for name, kernel in loaded.items()}
    references = {kind: get_reference(torch, inputs, kind) for kind in set(kinds.values())}
    contestants, errors = {}, {}
    for kind, (launch, output) in torch_contestants(torch, inputs, cell).items():
        # torch rounds between the product and its epilogue.
        if kind in references and kind not in args.without:
            launch()
            contestants[PEERS[kind]] = launch
            errors[PEERS[kind]] = error_of(torch, inputs, kind, output)
    for name, kernel in loaded.items():
        output = torch.full((cell.m, cell.n), torch.nan, device="cuda", dtype=torch.bfloat16)
        tensors = {tensor["name"] for tensor in kernel.metadata["tensors"]}
        try:
            prepared = kernel.prepare(**{key: value for key, value in inputs.items() if key in tensors}, c=output)

            def launch(prepared=prepared):
                prepared.run(stream)

            if admit(torch, name, launch, output, references[kinds[name]]):
                contestants[name] = launch
                errors[name] = error_of(torch, inputs, kinds[name], output)
        except RuntimeError as error:
            print(f"  {name} does not run: {forward.first_line(error)}", flush=True)
    del references
    rows = []
    for name, times in forward.take_turns(torch, contestants, args.rounds, rng).items():
        median = statistics.median(times)
        row = {"cell": cell.text, "name": name, "median_ms": median, "tflops": cell.flops / (median * 1e-3) / 1e12,
               "error": errors[name]}
        rows.append({**(loaded[name].info() if name in loaded else {}), **row, "times_ms": times})
    return add_ratios(rows, kinds)


def add_ratios(rows, kinds):
    """Rows of a cell, the fastest first, with their rates relative to torch's. `kinds` tells which
    of our kernels have an epilogue.
    """
    rates = {row["name"]: row["tflops"] for row in rows}
    for row in rows:
        peer = PEERS[kinds[row["name"]]] if row["name"] in kinds else row["name"]
        row["of_peer"] = row["tflops"] / rates[peer] if peer in rates else None
        row["of_matmul"] = row["tflops"] / rates[PEERS[False]] if PEERS[False] in rates else None
    return sorted(rows, key=lambda row: -row["tflops"])


def format_table(rows):
    lines = [f"{'cell':<20} {'kernel':<28} {'TFLOP/s':>8} {'/peer':>6} {'/matmul':>8} {'error':>8} {'regs':>5} {'smem':>7}"]
    for row in rows:
        ratios = [f"{ratio:.3f}" if ratio else "-" for ratio in (row["of_peer"], row["of_matmul"])]
        lines.append(
            f"{row['cell']:<20} {row['name']:<28} {row['tflops']:>8.1f} {ratios[0]:>6} {ratios[1]:>8} "
            f"{report.error_text(row.get('error'))} "
            f"{row.get('registers', '-'):>5} {row.get('shared_memory', '-'):>7}"
        )
    return lines


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="+", type=Cell, default=[Cell(text) for text in DEFAULT_CELLS], help="M:N:K")
    parser.add_argument("--programs", nargs="+", type=pathlib.Path, help="tile programs")
    parser.add_argument("--kernels", help="folder with what fovea-compile made; nothing is compiled")
    parser.add_argument("--compiler", help="fovea-compile; found in the build folders by default")
    parser.add_argument("--runtime", help="libFoveaRuntime.so; found in the build folders by default")
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True, help="time torch's products")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contestant")
    parser.add_argument("--seed", type=int, help="of the contestants' order")
    parser.add_argument("--json", help="write the results there")
    args = parser.parse_args(argv)
    if args.rounds < 1:
        parser.error("--rounds must be at least 1")
    args.programs = args.programs or sorted(PROGRAMS.glob("product*.mlir"))
    args.without = () if args.peers else (False, True)
    return args


def main():
    args = parse_arguments()
    torch, runtime, _, device = forward.start(args, compiles=not args.kernels)
    print(device, flush=True)
    info, rng, rows = runtime.device_info(), random.Random(args.seed), []
    with tempfile.TemporaryDirectory() as folder:
        compiled = read_kernels(args.kernels) if args.kernels else compile_programs(args, folder, info["major"], info["minor"])
        loaded = {name: runtime.load(*found[:2]) for name, found in compiled.items()}
        for cell in args.cells:
            try:
                rows += run_cell(torch, loaded, cell, args, rng)
            except waiting.Hang as error:
                print(f"  {error}; the device hangs, nothing after this ran")
                print("\n".join(format_table(rows)))
                waiting.abandon(1)
            torch.cuda.empty_cache()
    print()
    print("\n".join(format_table(rows)))
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"device": device, "rows": rows}, indent=1, default=str) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
