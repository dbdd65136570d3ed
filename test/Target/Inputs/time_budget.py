"""Checks that compiling examples takes at most a multiple of the time of mlir-opt on a fixed
program in the same run, so that the result does not depend on the machine or its load.

    time_budget.py FOVEA_COMPILE MLIR_OPT TARGET EXAMPLE...

Times are CPU times, the minimum of up to ROUNDS repetitions, until they are within the budget:
load makes a program slower, never faster.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROUNDS = 5
REFERENCE_FUNCTIONS = 500
REFERENCE_PASSES = ["canonicalize", "cse", "loop-invariant-code-motion", "convert-scf-to-cf", "convert-to-llvm", "canonicalize"]
REFERENCE_FUNCTION = """
func.func @f{n}(%a: memref<?x?xf32>, %b: memref<?xf32>, %length: index, %x: f32) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %step = arith.constant {step} : index
  scf.for %i = %zero to %length step %one {{
    %sum = scf.for %j = %zero to %i step %step iter_args(%s = %x) -> f32 {{
      %v = memref.load %a[%i, %j] : memref<?x?xf32>
      %w = memref.load %b[%j] : memref<?xf32>
      %p = arith.mulf %v, %w : f32
      %small = arith.cmpf olt, %p, %x : f32
      %r = scf.if %small -> f32 {{
        %magnitude = math.absf %p : f32
        scf.yield %magnitude : f32
      }} else {{
        %moved = arith.addf %p, %x : f32
        scf.yield %moved : f32
      }}
      %t = arith.addf %s, %r : f32
      scf.yield %t : f32
    }}
    memref.store %sum, %b[%i] : memref<?xf32>
  }}
  return
}}
"""


def seconds(command):
    """CPU time of a command in user mode."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"failed: {' '.join(map(str, command))}")
    return usage.ru_utime


def over_budget(times, reference, args):
    """Descriptions of exceeded budgets."""
    for path, time in times.items():
        if time > args.each * reference:
            yield f"{path.name}: {time / reference:.2f} times the reference, expected at most {args.each:g}"
    mean = sum(times.values()) / len(times) / reference
    if mean > args.mean:
        yield f"mean: {mean:.2f} times the reference, expected at most {args.mean:g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("compiler")
    parser.add_argument("mlir_opt")
    parser.add_argument("target")
    parser.add_argument("examples", nargs="+", type=pathlib.Path)
    parser.add_argument("--each", type=float, required=True, help="maximum time of an example, relative to the reference")
    parser.add_argument("--mean", type=float, default=float("inf"), help="maximum mean time of the examples, relative to the reference")
    args = parser.parse_args()
    reference, times = float("inf"), {path: float("inf") for path in args.examples}
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as program:
        program.write("".join(REFERENCE_FUNCTION.format(n=n, step=n + 2) for n in range(REFERENCE_FUNCTIONS)))
        program.flush()
        passes = ["--mlir-disable-threading", *(f"--{name}" for name in REFERENCE_PASSES)]
        for _ in range(ROUNDS):
            for path in args.examples:
                times[path] = min(times[path], seconds([args.compiler, path, f"--target={args.target}", "-o", "/dev/null"]))
            # Twice as often: a slow reference alone would hide slow examples.
            for _ in range(2):
                reference = min(reference, seconds([args.mlir_opt, program.name, *passes, "-o", "/dev/null"]))
            problems = list(over_budget(times, reference, args))
            if not problems:
                break
    slowest = max(times, key=times.get)
    print(f"reference {reference:.2f} s, mean {sum(times.values()) / len(times) / reference:.2f} times that,"
          f" at most {times[slowest] / reference:.2f} ({slowest.name})")
    print("\n".join(problems) or "within the budget")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
