"""Checks the machine code of kernels with roles: check-sass.py FOVEA_COMPILE PTXAS CUOBJDUMP FOLDER.

Inspects the innermost loops with dots, one for blocks with a mask and one for
blocks without, and the loops with copies. They must not access local memory, move
values from ordinary to uniform registers or wait for all of memory; for
data-dependent masks the rules are weaker. A stage is released right after the wait
for the dot that read it. An iteration has only the arithmetic of the algorithm.
"""

import collections
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "GPU"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import sass  # noqa: E402
import gpu_variants  # noqa: E402

FORBIDDEN = {"LDL", "STL", "R2UR", "MEMBAR", "ERRBAR", "WARPSYNC"}

#: Maximum number of instructions between a wait for dots and the release after it.
#: In loops with masks ptxas schedules a part of the mask in between.
MOST_BETWEEN, MOST_BETWEEN_MASKED = 2, 8

#: Kernel, and minimum counts in the loop without masks: a tile's MMAs of 16 columns
#: each, and per thread and block the exponentials and the FMAs before them, the
#: sums, and the conversions of pairs to 16 bits.
KERNELS = {
    "dense_bf16_d64_bhsd": {"HGMMA": 8, "MUFU": 32, "FFMA": 32, "FADD": 0, "F2FP": 16},
    "causal_bf16_d64_bhsd": {"HGMMA": 8, "MUFU": 32, "FFMA": 32, "FADD": 0, "F2FP": 16},
    "tmacausal_bf16_d64_bhsd": {"HGMMA": 8, "MUFU": 32, "FFMA": 32, "FADD": 0, "F2FP": 16},
    "dense_bf16_d128_bhsd": {"HGMMA": 16, "MUFU": 64, "FFMA": 64, "FADD": 64, "F2FP": 32},
    "causal_bf16_d128_bhsd": {"HGMMA": 16, "MUFU": 64, "FFMA": 64, "FADD": 64, "F2FP": 32},
    "tmacausal_bf16_d128_bhsd": {"HGMMA": 16, "MUFU": 64, "FFMA": 64, "FADD": 64, "F2FP": 32},
    "window_bf16_d192_dv128_bhsd": {"HGMMA": 20, "MUFU": 64, "FFMA": 64, "FADD": 64, "F2FP": 32},
    "dense_bf16_d256_bhsd": {"HGMMA": 21, "MUFU": 40, "FFMA": 40, "FADD": 40, "F2FP": 20},
    "causal_bf16_d256_bhsd": {"HGMMA": 20, "MUFU": 32, "FFMA": 32, "FADD": 32, "F2FP": 16},
    "documents_bf16_d64_bhsd": {"HGMMA": 8, "MUFU": 32, "FFMA": 32, "FADD": 0, "F2FP": 16},
    "documents_bf16_d128_bhsd": {"HGMMA": 16, "MUFU": 64, "FFMA": 64, "FADD": 64, "F2FP": 32},
    "timed_bf16_d128_bhsd": {"HGMMA": 16, "MUFU": 64, "FFMA": 64, "FADD": 64, "F2FP": 32},
}

#: Kernels with data-dependent masks. Key vectors that do not exist whole go through
#: local memory, which the hot path must not access. The start of a block is received
#: through a mailbox, and moves to a uniform register once.
DATA_DEPENDENT = {"documents_bf16_d64_bhsd", "documents_bf16_d128_bhsd", "timed_bf16_d128_bhsd"}


def assemble(compiler, ptxas, folder, name):
    source = folder / f"{name}.mlir"
    program = [sys.executable, gpu_variants.__file__, name, "--no-lse"]
    source.write_text(subprocess.run(program, check=True, capture_output=True, text=True).stdout)
    cubin = source.with_suffix(".cubin")
    options = gpu_variants.VARIANTS[gpu_variants.Config.parse(name).variant].options
    subprocess.run([compiler, source, *options, "--target=sm_90a", "--emit=cubin", f"--ptxas={ptxas}", "-o", cubin], check=True)
    return cubin


def count(instructions):
    return collections.Counter(instruction.name for instruction in instructions)


def find_late_releases(path, most):
    """Waits for dots whose release is delayed."""
    late = []
    for index, instruction in enumerate(path):
        if instruction.opcode.startswith("WARPGROUP.DEPBAR"):
            following = path[index + 1 : index + 2 + most]
            if not any(i.opcode.startswith("SYNCS.ARRIVE") for i in following):
                late.append(f"no release after the wait at {instruction.address:#x}")
    return late


def check_kernel(instructions, expected, is_data_dependent):
    loops = sass.find_loops(instructions)
    dots = sass.find_innermost(loops, "HGMMA")
    copies = sass.find_innermost(loops, "UTMALDG")
    problems = [] if dots and copies else ["no loop with dots, or none with copies"]
    for loop in dots + copies:
        looked_at = loop.hot_path() if is_data_dependent else loop.instructions
        forbidden = FORBIDDEN - {"R2UR"} if is_data_dependent else FORBIDDEN
        found = forbidden & set(count(looked_at))
        problems += [f"{name} in the loop at {loop.header:#x}" for name in sorted(found)]
    # The loop without masks is the shortest.
    paths = sorted((loop.hot_path() for loop in dots), key=len)
    for index, path in enumerate(paths):
        problems += find_late_releases(path, MOST_BETWEEN_MASKED if index else MOST_BETWEEN)
    if paths:
        counts = count(paths[0])
        # A few more are allowed: carries of sums over the parts of a block.
        problems += [f"{counts[name]} {name}, expected {n}" for name, n in expected.items() if not n <= counts[name] <= n + 4]
    return problems


def main():
    compiler, ptxas, cuobjdump, folder = sys.argv[1:]
    bad = 0
    for name, expected in KERNELS.items():
        cubin = assemble(compiler, ptxas, pathlib.Path(folder), name)
        problems = check_kernel(sass.disassemble(cuobjdump, cubin), expected, name in DATA_DEPENDENT)
        bad += bool(problems)
        for problem in problems:
            print(f"{name}: {problem}")
    print(f"{len(KERNELS)} kernels with roles, {bad} bad")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
