"""Checks kernels with roles with ptxas: check-roles.py FOVEA_COMPILE PTXAS FOLDER.

Fails on a performance warning (C7508: setmaxnreg ignored; C7510 to C7518:
wgmma serialised), and if a kernel exceeds its limit of spills.
"""

import concurrent.futures
import datetime
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "GPU"))

import gpu_variants  # noqa: E402

# Kernel, whether it has an LSE, and bytes of spills, all outside of the main loops
# (check-sass.py).
KERNELS = [
    ("dense_bf16_d64_bhsd", False),
    ("causal_bf16_d64_bhsd", False),
    ("dense_bf16_d128_bhsd", True),
    ("causal_bf16_d128_bhsd", False),
    ("softcap_f16_d96_bshd", True),
    ("window_bf16_d192_dv128_bhsd", True),
    ("dense_bf16_d256_bhsd", True),
    ("causal_bf16_d256_bhsd", False),
    ("blocksparse_bf16_d128_bhsd", True),
    ("blockmask_bf16_d64_bhsd", False),
    # Vectors of 32 and 64 bits for each key.
    ("documents_bf16_d128_bhsd", True),
    ("documents_bf16_d64_bhsd", False),
    ("rounds_bf16_d64_bhsd", False),
    ("timed_bf16_d128_bhsd", False, 16),
]


# All variants, each at one of these, which changes daily. Without a fault of its own, or with the
# smaller schedule that replaces it, each must assemble without warnings.
HEAD_DIMS = (64, 128, 192)


def assemble(compiler, ptxas, folder, name, lse=True, options=()):
    """The output of the compiler and of ptxas."""
    source = pathlib.Path(folder) / f"{name}.mlir"
    program = [sys.executable, gpu_variants.__file__, name] + ([] if lse else ["--no-lse"])
    source.write_text(subprocess.run(program, check=True, capture_output=True, text=True).stdout)
    command = [compiler, source, "--target=sm_90a", "--emit=cubin", "-v", f"--ptxas={ptxas}", "-o", source.with_suffix(".cubin"), *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stderr


def check_variants(compiler, ptxas, folder):
    """The number of kernels, and of warnings."""
    today = datetime.date.today().toordinal()
    names = [f"{variant}_bf16_d{HEAD_DIMS[(today + index) % len(HEAD_DIMS)]}_bhsd"
             for index, variant in enumerate(gpu_variants.VARIANTS)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        metadata = [f"--metadata={folder}/{name}.json" for name in names]
        said = list(pool.map(lambda name, option: assemble(compiler, ptxas, folder, name, options=[option]), names, metadata))
    faults = [line for text in said for line in text.splitlines() if line.startswith("warning: ")]
    print("\n".join(faults))
    return len(names), len(faults)


def main():
    compiler, ptxas, folder = sys.argv[1:]
    bad = 0
    for name, lse, *allowed in KERNELS:
        said = assemble(compiler, ptxas, folder, name, lse)
        warnings = re.findall(r"C75\d\d", said)
        spills = int(re.search(r"(\d+) bytes spill stores", said).group(1))
        if warnings or spills > sum(allowed):
            bad += 1
            print(f"{name}: {spills} bytes of spill stores; warnings {warnings}")
    print(f"{len(KERNELS)} kernels with roles, {bad} bad")
    count, faults = check_variants(compiler, ptxas, folder)
    print(f"{count} kernels of variants, {faults} faults")
    return bad + faults != 0


sys.exit(main())
