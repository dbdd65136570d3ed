"""Computes the bottleneck of forward kernels on Blackwell from their machine code, without a GPU.

    python benchmarks/blackwell.py --target sm_100a
    python benchmarks/blackwell.py --cells 128:causal 192/128:full --json out.json --markdown
    python benchmarks/blackwell.py --cubin other.cubin --shape d=128,pair=1
    python benchmarks/blackwell.py --cells 64:full --trace t.json
    python benchmarks/blackwell.py --page docs/Performance.md

Finds the roles of a warp-specialised kernel and the loops over key blocks in the output of nvdisasm,
counts their instructions by class, and computes the cycles of one SM per key block for each unit:

    mma            of the tensor core, from the shape
    shared memory  its reads of A and B, and TMA writes; 128 bytes a cycle
    mufu           exponentials and other MUFU on the busiest quarter of the SM
    issue          warp instructions of the busiest quarter; a warp is in quarter index mod 4
    fma, alu       pipes of the busiest quarter
    chain          S, softmax and O of one row tile, one after the other, without latencies

The bottleneck is the largest. Nothing is measured; differences below 10 % mean nothing. Without
--trace each role runs its unmasked loop once per key block, with all conditional work (rescaling).
With a trace of the emulator (fovea-run --device=ptx --trace) loops and branches have its weights;
for --cubin also name the traced PTX with --ptx.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("test/GPU", "python")]

import gpu_variants  # noqa: E402
import kernels  # noqa: E402
import performance_tables  # noqa: E402
from cost_model import costs, report, roles, sass, trace  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
CELLS = [f"{dims}:{mask}" for dims in ("64", "128", "192/128", "256") for mask in ("full", "causal")]
DEFAULT_WEIGHTS = "default: each role runs its unmasked loop once per key block, with all conditional work"


class Cell:
    """A kernel of ours to compile: HEAD_DIM[/VALUE_HEAD_DIM]:full or :causal."""

    def __init__(self, text):
        dims, _, mask = text.partition(":")
        d, _, dv = dims.partition("/")
        if mask not in ("full", "causal") or not d.isdigit() or dv and not dv.isdigit():
            raise argparse.ArgumentTypeError(f"'{text}' is not a cell: expected for example 128:causal or 192/128:full")
        self.text = text
        self.config = gpu_variants.Config("causal" if mask == "causal" else "dense", "bf16", int(d), int(dv or 0), lse=False)

    def source(self):
        return gpu_variants.emit(self.config)


def run(command):
    """Runs a tool. Raises ModelError with the first line of its errors."""
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise sass.ModelError(f"{command[0]} does not run: {error}") from None
    if result.returncode:
        lines = [line for line in result.stderr.splitlines() if "error" in line] or result.stderr.splitlines()
        raise sass.ModelError(lines[0].strip() if lines else f"{command[0]} exited with {result.returncode}")


def compile_cell(cell, args, folder):
    """The cubin's path, PTX and metadata of a cell."""
    base = pathlib.Path(folder) / cell.config.name
    source, ptx, cubin, metadata = (base.with_name(f"{base.name}.{end}") for end in ("mlir", "ptx", "cubin", "json"))
    source.write_text(cell.source())
    ptxas = ["--ptxas", args.ptxas] if args.ptxas else []
    if args.compiler:
        options = [args.compiler, str(source), f"--target={args.target}"]
        run([*options, "--emit=ptx", "-o", str(ptx)])
        run([*options, "--emit=cubin", "--allow-faults", f"--metadata={metadata}", "-o", str(cubin), *ptxas])
        return cubin, ptx.read_text(), json.loads(metadata.read_text())
    import fovea

    try:
        kernel = fovea.compile(cell.source(), target=args.target, cache=False)
        cubin.write_bytes(kernel.assemble(args.ptxas, allow_faults=True))
    except fovea.Error as error:
        raise sass.ModelError(str(error).splitlines()[0]) from None
    return cubin, kernel.ptx, kernel.metadata


def shape_of(metadata, ptx):
    """The shape of one of our kernels. Raises ModelError if it does not use tcgen05."""
    dims = {tensor["name"]: tensor["shape"][-1] for tensor in metadata["tensors"]}
    schedule = metadata["schedule"]
    if "tcgen05.mma" not in ptx:
        raise sass.ModelError(f"kernel '{metadata['kernel']}' has no tcgen05.mma")
    row_tiles = schedule.get("row_tiles") or schedule["tile_m"] // costs.TILE_ROWS
    return costs.Shape(dims["q"], dims["v"], schedule["tile_n"], row_tiles, int(".cta_group::2" in ptx))


def model(name, cubin, shape, args, ptx):
    """The result for a cubin."""
    kernel = roles.main_kernel(sass.parse(sass.disassemble(cubin, args.nvdisasm)), args.kernel)
    graph, found = roles.find_roles(kernel)
    if not args.trace:
        return report.analyse(name, kernel.target, shape, found, costs.default_loads(found, shape), DEFAULT_WEIGHTS)
    weights = trace.Weights(graph, found, trace.read(args.trace), ptx)
    facts = {"rescaled": weights.rescaled(found), "masked": weights.masked(found)}
    source, loads = f"trace {pathlib.Path(args.trace).name}", costs.traced_loads(found, weights)
    return report.analyse(name, kernel.target, shape, found, loads, source, facts)


def foreign(args):
    """Results for the named cubins."""
    shapes = args.shape * len(args.cubin) if len(args.shape) == 1 else args.shape
    ptx = pathlib.Path(args.ptx).read_text() if args.ptx else None
    return [model(pathlib.Path(cubin).stem, cubin, shape, args, ptx) for cubin, shape in zip(args.cubin, shapes)]


def ours(args):
    """Results for our kernels. Prints the cells that do not compile or have no roles."""
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        for cell in args.cells:
            try:
                cubin, ptx, metadata = compile_cell(cell, args, args.work or temporary)
                results.append(model(cell.text, cubin, shape_of(metadata, ptx), args, ptx))
            except sass.ModelError as error:
                print(f"SKIP {cell.text} for {args.target}: {error}", flush=True)
    return results


def parse_arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="+", type=Cell, help=f"our kernels; default: {' '.join(CELLS)}")
    parser.add_argument("--target", default="sm_100a", choices=("sm_100a", "sm_103a"))
    parser.add_argument("--compiler", help="fovea-compile; default: build/bin, then other build folders, then the fovea package")
    parser.add_argument("--ptxas", help="the ptxas to use")
    parser.add_argument("--cubin", nargs="+", metavar="FILE", help="analyse these instead of our kernels")
    parser.add_argument("--shape", action="append", default=[], metavar="d=128,dv=128,keys=128,row_tiles=2,pair=0",
                        help="of --cubin, for all or one each; d is needed, others default to these, dv to d")  # fmt: skip
    parser.add_argument("--kernel", help="its name in --cubin; default: the one with most instructions")
    parser.add_argument("--nvdisasm", default="nvdisasm", help="the nvdisasm to use")
    parser.add_argument("--trace", metavar="FILE", help="trace of one kernel by the PTX emulator")
    parser.add_argument("--ptx", metavar="FILE", help="the PTX that was traced, with --cubin")
    parser.add_argument("--work", help="an existing folder for the compiled files; default: a temporary one")
    parser.add_argument("--json", metavar="FILE", help="write the numbers there")
    parser.add_argument("--markdown", action="store_true", help="print the table for documentation only")
    parser.add_argument("--page", metavar="FILE", type=pathlib.Path, help="write that table into a page: docs/Performance.md")
    args = parser.parse_args(argv)
    try:
        args.shape = [costs.parse_shape(text) for text in args.shape]
    except sass.ModelError as error:
        parser.error(f"--shape: {error}")
    if args.cubin and len(args.shape) not in (1, len(args.cubin)):
        parser.error("--cubin needs one --shape, or one for each file")
    if args.shape and not args.cubin:
        parser.error("--shape is for --cubin; the shape of our kernels is known")
    if args.trace and len(args.cubin or args.cells or CELLS) != 1:
        parser.error("--trace needs one kernel: name it with --cells or --cubin")
    args.cells = args.cells or [Cell(text) for text in CELLS]
    default = ROOT / "build" / "bin" / "fovea-compile"
    args.compiler = args.compiler or (str(default) if default.exists() else kernels.find_compiler(None))
    args.ptxas = args.ptxas or kernels.find_ptxas()
    return args


def main(argv=None):
    args = parse_arguments(argv)
    try:
        results = foreign(args) if args.cubin else ours(args)
    except (sass.ModelError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if args.page and results:
        try:
            table = "\n".join(report.format_table(results, markdown=True)) + "\n"
            args.page.write_text(performance_tables.replace(args.page.read_text(), "blackwell", table))
        except (ValueError, OSError) as error:
            print(f"error: {args.page}: {error}", file=sys.stderr)
            return 2
    if not args.markdown:
        for result in results:
            print("\n".join([*report.format_roles(result), *report.format_units(result), ""]))
    if results:
        print("\n".join(report.format_table(results, args.markdown)))
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps([report.to_json(result) for result in results], indent=1) + "\n")
    return 0 if results else 2


if __name__ == "__main__":
    sys.exit(main())
