"""Times the kernels that two versions of the compiler generate for the same programs, on one GPU.

    python benchmarks/compare_compilers.py --old OLD/bin/fovea-compile --new build/bin/fovea-compile --compile-only --work FOLDER
    python benchmarks/compare_compilers.py --work FOLDER --json out.json

Measures the cells of forward.py and the variants of variants.py, without LSE. The first call needs
no GPU: it writes images and metadata to the folder. The second one times them in one process,
alternating in random order. A cell's ratio is the old kernel's median time over the new one's:
above 1, the new one is faster. Both outputs are compared too.

For changes that must not make kernels slower: the exit code is 1 if the geomean is below 0.995, or
a cell below 0.97. Cells with identical images show the noise; `--changed` omits all but three of
them.
"""

import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import random
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import forward  # noqa: E402
import kernels  # noqa: E402
import waiting  # noqa: E402
from gpu_variants import Config, emit  # noqa: E402
from variant_programs import (  # noqa: E402
    HEAD_DIM, PROGRAMS, TABLE_OF_VARIANTS, make_tensors, prepare_ours, relative_error, sizes_of,
)  # fmt: skip

SIDES = ("old", "new")
LEAST_GEOMEAN, LEAST = 0.995, 0.97
# Unchanged cells that are timed all the same.
REFERENCES = 3


def kernels_of(args):
    """The source of each kernel, by name."""
    dense = dict.fromkeys(cell.config for cell in args.cells)
    sources = {config.name: emit(config, False) for config in dense}
    return sources | {name: emit(Config(name, "bf16", HEAD_DIM), False, TABLE_OF_VARIANTS) for name in args.only}


def compile_both(args):
    """Images and metadata in `args.work`; how many could not be made."""
    ptxas, failed = kernels.find_ptxas(), 0

    def work(item):
        side, (name, source) = item
        folder = pathlib.Path(args.work) / side
        folder.mkdir(parents=True, exist_ok=True)
        try:
            _, _, facts = kernels.compile_one(name, source, folder, getattr(args, side), args.target, args.target, ptxas)
            (folder / f"{name}.facts").write_text(json.dumps(facts))
        except (kernels.CompileError, OSError) as error:
            return f"{side} {name}: {forward.first_line(error)}"
        return None

    items = [(side, item) for item in kernels_of(args).items() for side in SIDES]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for problem in filter(None, pool.map(work, items)):
            print(problem)
            failed += 1
    print(f"{len(items) - failed} kernels in {args.work}, {failed} failed")
    return failed


def image_of(args, side, name):
    folder = pathlib.Path(args.work) / side
    image = next((path for ending in ("cubin", "ptx") if (path := folder / f"{name}.{ending}").exists()), None)
    if not image:
        return None
    return str(image), str(folder / f"{name}.json"), json.loads((folder / f"{name}.facts").read_text())


def is_same(args, name):
    first, second = (image_of(args, side, name) for side in SIDES)
    return bool(first and second) and pathlib.Path(first[0]).read_bytes() == pathlib.Path(second[0]).read_bytes()


def list_cells(args):
    """Yields (label, kernel, function that makes its tensors) for the selected cells."""

    def of_cell(cell):
        def make(torch):
            return dict(zip("qkv", forward._forward.make_inputs(torch, cell)))

        return cell.text, cell.config.name, make

    def of_program(name):
        def make(torch):
            return make_tensors(torch, PROGRAMS[name], sizes_of(PROGRAMS[name]))[0]

        return name, name, make

    cells = [of_cell(cell) for cell in args.cells] + [of_program(name) for name in args.only]
    same = [cell for cell in cells if is_same(args, cell[1])]
    left_out = {id(cell) for cell in same[REFERENCES:]} if args.changed else set()
    return [cell for cell in cells if id(cell) not in left_out], len(left_out)


def run_cell(torch, runtime, args, cell, rng):
    """Times one cell; returns its row, or None after printing the reason."""
    text, name, make = cell
    tensors, contestants, outputs, facts = make(torch), {}, {}, {}
    try:
        for side in SIDES:
            image = image_of(args, side, name)
            if not image:
                raise RuntimeError(f"there is no {side} kernel")
            contestants[side], outputs[side], facts[side] = prepare_ours(torch, runtime, image, tensors)
            contestants[side]()
            waiting.synchronize(torch)
    except RuntimeError as error:
        print(f"{text:<18} does not run: {forward.first_line(error)}", flush=True)
        return None
    times = forward.take_turns(torch, contestants, args.rounds, rng)
    medians = {side: statistics.median(times[side]) for side in SIDES}
    row = {"cell": text, "same": is_same(args, name), "ratio": medians["old"] / medians["new"], "ms": medians,
           "difference": relative_error(outputs["new"], outputs["old"]),
           "spills": {side: facts[side].get("spill_stores") for side in SIDES}}  # fmt: skip
    print(format_row(row), flush=True)
    return row


def format_row(row):
    spills = row["spills"]
    return (f"{row['cell']:<18} {row['ms']['old']:9.4f} {row['ms']['new']:9.4f} {row['ratio']:7.3f} "
            f"{row['difference']:9.2g}  {spills['old']} / {spills['new']}{'  same image' if row['same'] else ''}")  # fmt: skip


def summarise(rows, left_out):
    """Prints the bars; whether they are kept."""
    if not rows:
        print("nothing was timed")
        return False
    wrong = [row["cell"] for row in rows if not row["difference"] < forward.RELATIVE_ERROR]
    geomean = math.exp(statistics.mean(math.log(row["ratio"]) for row in rows))
    least = min(rows, key=lambda row: row["ratio"])
    print(f"{len(rows)} cells, {left_out} with the same image left out; old time over new: geomean {geomean:.4f} "
          f"(at least {LEAST_GEOMEAN}), least {least['ratio']:.3f} at {least['cell']} (at least {LEAST})")  # fmt: skip
    if wrong:
        print("outputs differ: " + ", ".join(wrong))
    return geomean >= LEAST_GEOMEAN and least["ratio"] >= LEAST and not wrong


def make_parser():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", help="fovea-compile to compare with")
    parser.add_argument("--new", help="fovea-compile that is compared")
    parser.add_argument("--work", required=True, help="folder of what was compiled")
    parser.add_argument("--compile-only", action="store_true", help="fill the folder, without a GPU")
    parser.add_argument("--cells", nargs="*", type=forward.Cell, help="as forward.py's; its default ones if not given")
    parser.add_argument("--only", nargs="*", choices=list(PROGRAMS), default=list(PROGRAMS), help="variants")
    parser.add_argument("--changed", action="store_true", help=f"but {REFERENCES} cells, only those whose images differ")
    parser.add_argument("--target", default="sm_90a", help="what both compile for")
    parser.add_argument("--runtime", help="libFoveaRuntime.so; found in the build folders by default")
    parser.add_argument("--rounds", type=int, default=40, help="turns of each side")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="kernels to compile at once")
    parser.add_argument("--seed", type=int, help="of the measurement order")
    parser.add_argument("--json", help="write the results there")
    return parser


def main():
    parser = make_parser()
    args = parser.parse_args()
    if args.cells is None:
        args.cells = [forward.Cell(text) for text in forward.DEFAULT_CELLS]
    if args.compile_only:
        if not args.old or not args.new:
            parser.error("--compile-only needs --old and --new")
        return 1 if compile_both(args) else 0
    args.compiler = None
    torch, runtime, _, device = forward.start(args, compiles=False)
    print(f"{device}\n{'cell':<18} {'old ms':>9} {'new ms':>9} {'old/new':>7} {'differs':>9}  spills old / new", flush=True)
    cells, left_out = list_cells(args)
    rng, rows = random.Random(args.seed), []
    for cell in cells:
        row = run_cell(torch, runtime, args, cell, rng)
        rows += [row] if row else []
        torch.cuda.empty_cache()
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"device": device, "rows": rows}, indent=1) + "\n")
    return 0 if summarise(rows, left_out) and len(rows) == len(cells) else 1


if __name__ == "__main__":
    sys.exit(main())
