"""Prints where the warp groups of a kernel spend their cycles, on one GPU.

    python benchmarks/clocks.py documents --compiler build-portable/bin/fovea-compile
    python benchmarks/clocks.py causal --schedule output=direct --group 2 --steps 40

The kernel of a variant (of variants.py, with its sizes) is traced (tracing.py) and run. The table
shows the steps between two positions of its PTX, which --work keeps. With warp specialisation group
0 copies and the others compute. Unlike times, cycles do not depend on the clock rate, which the
power limit determines.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "test" / "GPU"))

import forward  # noqa: E402
import kernels  # noqa: E402
import tracing  # noqa: E402
from variant_programs import PROGRAMS, compile_programs, make_tensors, sizes_of  # noqa: E402

WARM_LAUNCHES = 20


def make_parser():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variant", choices=PROGRAMS, help="whose kernel")
    parser.add_argument("--compiler", help="fovea-compile; found in the build folders by default")
    parser.add_argument("--runtime", help="libFoveaRuntime.so; found in the build folders by default")
    parser.add_argument("--target", default="sm_90a", help="what it is compiled for")
    parser.add_argument("--schedule", default="auto", help="its schedule")
    parser.add_argument("--group", type=int, default=1, help="the warp group that the table is of")
    parser.add_argument("--steps", type=int, default=24, help="rows of the table")
    parser.add_argument("--work", help="folder to keep PTX and machine code in")
    return parser


def trace_kernel(args, chip, folder):
    """Image and metadata of the traced kernel, and its sites."""
    inner = argparse.Namespace(**vars(args) | {"kernels": None, "jobs": os.cpu_count()})
    found = compile_programs([args.variant], inner, chip, folder)[args.variant]
    if isinstance(found, Exception):
        raise found
    metadata = pathlib.Path(found[1])
    source = metadata.with_suffix(".ptx")
    ptx, facts, sites = tracing.instrument(source.read_text(), metadata.read_text())
    traced = source.with_suffix(".trace.ptx")
    traced.write_text(ptx)
    traced.with_suffix(".json").write_text(facts)
    ptxas = kernels.find_ptxas()
    if not ptxas:
        raise RuntimeError("there is no ptxas")
    image = traced.with_suffix(".cubin")
    subprocess.run([ptxas, f"-arch={kernels.ptxas_chip(args.target, chip)}", str(traced), "-o", str(image)], check=True)
    return image, traced.with_suffix(".json"), sites


def run(torch, runtime, image, metadata, variant):
    """Numbers of each CTA's warp groups after a launch that others came before."""
    program = PROGRAMS[variant]
    tensors, _, _ = make_tensors(torch, program, sizes_of(program))
    kernel = runtime.load(image, metadata)
    groups = kernel.info()["threads"] // tracing.WARP_GROUP
    notes = torch.zeros(tracing.CTAS * groups * tracing.NOTES * 2, device="cuda", dtype=torch.int32)
    launch = kernel.prepare(**tensors, o=torch.empty_like(tensors["q"]), **{tracing.TENSOR: notes})
    stream = torch.cuda.current_stream().cuda_stream
    for _ in range(WARM_LAUNCHES):
        launch.run(stream)
    torch.cuda.synchronize()
    notes.zero_()
    launch.run(stream)
    torch.cuda.synchronize()
    return notes.view(tracing.CTAS, groups, tracing.NOTES * 2).cpu()


def main():
    args = make_parser().parse_args()
    torch, runtime, chip, device = forward.start(args)
    print(device)
    with tempfile.TemporaryDirectory() as folder:
        try:
            image, metadata, sites = trace_kernel(args, chip, args.work or folder)
            notes = run(torch, runtime, image, metadata, args.variant)
            if not 0 <= args.group < notes.shape[1]:
                raise ValueError(f"--group: expected 0 to {notes.shape[1] - 1}, found {args.group}")
            rows = [tracing.read_notes(cta[args.group].tolist()) for cta in notes]
            mean, longest, steps = tracing.summarise(rows)
        except (RuntimeError, ValueError, subprocess.CalledProcessError) as error:
            print(f"{args.variant}: {forward.first_line(error)}")
            return 1
    longer = longest / max(mean, 1)
    print(f"warp group {args.group}: {mean:.0f} cycles from first to last note, {longer:.2f} of that in the longest CTA")
    print(f"{'share':>6} {'times':>7} {'cycles':>7}  from -> to, by line of the PTX")
    for share, times, cycles, start, end in steps[: args.steps]:
        print(f"{100 * share:5.1f}% {times:7.1f} {cycles:7.0f}  {sites[start]} -> {sites[end]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
