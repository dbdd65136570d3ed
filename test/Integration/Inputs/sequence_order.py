"""Runs packed sequences in the caller's order and longest first: each must be within its tolerance,
and the results must have the same bits.

    sequence_order.py RUN PROGRAM FOLDER TARGET ENTRY...
"""

import pathlib
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Interpreter" / "Inputs"))

from npy import to_bf16  # noqa: E402

RNG = np.random.default_rng(7)

# Queries and keys of each sequence; small numbers cost little.
LENGTHS = {
    "one": ([70], [90]),
    "none": ([], []),
    "empty": ([0, 0], [0, 3]),
    "rising": ([3, 40, 70, 130], [5, 30, 150, 210]),
    "equal": ([70] * 5, [70] * 5),
    "holes": ([0, 65, 0, 64, 10, 1, 0], [50, 0, 0, 33, 150, 1, 90]),
    # More than the prologue compares at a time, and more of those than one.
    "many": (RNG.integers(0, 4, 150), RNG.integers(0, 40, 150)),
    "more": (RNG.integers(0, 2, 1100), RNG.integers(0, 6, 1100)),
}
# Besides the automatic one, by the target.
SCHEDULES = {
    "sm_80": ["", "tile_m=16,warps=1,tile_n=16"],
    "sm_90a": ["", "work=static", "work=single,chain=0", "tile_m=64,warps=4,tile_n=16,consumer_registers=232", "cluster=2,work=static"],
}
# Rows that belong to no sequence are not written: there is nothing to check.
UNCHECKED = ("none", "empty")
# Slow cases run with the automatic schedule only, and the slowest one with a single mask, since the
# order does not depend on the mask.
SLOW = ("many", "more", "causal")
LONGEST = ("causal", "more")


def write_inputs(folder, lengths):
    queries, keys = (np.asarray(part, int) for part in lengths)
    rng = np.random.default_rng(3)
    total = max(queries.sum(), 1), max(keys.sum(), 1)
    arrays = {
        "q": to_bf16(rng.normal(size=(1, 4, total[0], 16))),
        "k": to_bf16(rng.normal(size=(1, 2, total[1], 16))),
        "v": to_bf16(rng.normal(size=(1, 2, total[1], 16))),
        "cu_q": np.r_[0, np.cumsum(queries)].astype(np.int32),
        "cu_k": np.r_[0, np.cumsum(keys)].astype(np.int32),
        "temperature": rng.uniform(0.1, 2, max(len(queries), 1)).astype(np.float32),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return [str(folder / f"{name}.npy") for name in arrays]


def main():
    run, program, folder, target, *entries = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for entry in entries:
        for name, lengths in LENGTHS.items():
            if (entry, name) == LONGEST:
                continue
            inputs = write_inputs(folder, lengths)
            for schedule in SCHEDULES[target][: 1 if {name, entry} & {*SLOW} else None]:
                found = []
                for first in (0, 1):
                    outputs = [str(folder / f"{tensor}{first}.npy") for tensor in ("o", "lse")]
                    fields = f"longest_first={first}" + (f",{schedule}" if schedule else "")
                    command = [run, program, f"--entry={entry}", "--level=warp", f"--target={target}", f"--schedule={fields}"]
                    command += ["--check"] * (name not in UNCHECKED)
                    result = subprocess.run([*command, "--inputs", *inputs, "--outputs", *outputs], capture_output=True, text=True)
                    right = result.returncode == 0
                    if right:
                        found.append([np.load(output).tobytes() for output in outputs])
                    else:
                        print(" ".join(command), result.stdout, result.stderr, sep="\n")
                same = len(found) == 2 and found[0] == found[1]
                failed += not same
                print(f"{target} {entry} {name} {schedule or 'auto'}: {'same' if same else 'DIFFERENT'}")
    return failed != 0


sys.exit(main())
