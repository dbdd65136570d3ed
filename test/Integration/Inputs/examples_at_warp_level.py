"""Runs every example at the warp level and checks the numbers.

    examples_at_warp_level.py FOVEA_RUN EXAMPLES TARGET SEEDS

Prints a line for each example; exits with 1 if one is wrong.
"""

import pathlib
import subprocess
import sys

# Sizes that leave ragged tiles and blocks, and several tiles for each CTA of a
# persistent kernel.
SIZES = {"B": 2, "Hq": 4, "Hkv": 2, "Sq": 300, "Skv": 430}
SPECIAL = {
    "bitmask": {"capture0.0": 2, "capture0.1": 300, "capture0.2": 14},
    "block_mask": {"partial_index.3": 4, "full_index.3": 5},
    "block_sparse": {"partial_index.3": 3},
    "alibi": {"capture0.0": 4},
    "gqa_decode": {"Hq": 32, "Hkv": 8, "Sq": 1},
    "documents": {"capture0.0": 2, "capture0.1": 430},
    "logit_bias": {"capture0.0": 4, "capture0.1": 300, "capture0.2": 430},
    "packed": {"B": 1, "N+1": 5},
    "prefix_lm": {"capture0.0": 2},
    "relative_bias": {"capture0.0": 4},
    "soft_cap_window_gqa": {"B": 1, "Hq": 32, "Hkv": 16, "Sq": 140, "Skv": 200},
    "tree_mask": {"Hq": 32, "Hkv": 8, "Sq": 16, "capture0.0": 2},
}


def main(fovea_run, examples, target, seeds):
    failed = False
    programs = sorted(pathlib.Path(examples).glob("*.mlir"))
    assert programs, f"no examples in {examples}"
    for program in programs:
        sizes = {**SIZES, **SPECIAL.get(program.stem, {})}
        dims = ",".join(f"{name}={size}" for name, size in sizes.items())
        command = [fovea_run, str(program), "--level=warp", f"--target={target}", f"--seeds={seeds}"]
        command += ["--random=1", f"--dims={dims}", "--integers=0:430", "--check"]
        result = subprocess.run(command, capture_output=True, text=True)
        print(program.stem, "passed" if result.returncode == 0 else "FAILED", flush=True)
        if result.returncode != 0:
            failed = True
            print(" ".join(command), result.stdout, result.stderr, sep="\n")
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
