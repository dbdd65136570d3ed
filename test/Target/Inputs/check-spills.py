"""Assembles kernels and fails if one spills: check-spills.py FOVEA_COMPILE PTXAS FOLDER."""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "GPU"))

import gpu_variants  # noqa: E402

KERNELS = [
    "dense_bf16_d128_bhsd",
    "lengths_bf16_d128_bhsd",
    "window_f16_d128_bshd",
    "alibi_bf16_d64_bhsd",
    "softcap_bf16_d64_bhsd",
    "causal_f16_d112_bhsd",
]


def main():
    compiler, ptxas, folder = sys.argv[1:]
    spilling = 0
    for name in KERNELS:
        source = pathlib.Path(folder) / f"{name}.mlir"
        source.write_text(subprocess.run([sys.executable, gpu_variants.__file__, name], check=True, capture_output=True, text=True).stdout)
        command = [compiler, source, "--target=sm_80", "--emit=cubin", "-v", f"--ptxas={ptxas}", "-o", source.with_suffix(".cubin")]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
        found = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", said)
        assert found, said
        if found.group(0) != "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads":
            spilling += 1
            print(f"{name}: {found.group(0)}")
    print(f"{len(KERNELS)} kernels, {spilling} spill")
    return spilling != 0


sys.exit(main())
