"""Runs every example as PTX on shapes that are hard, several seeds each.

    run_shapes.py FOVEA_COMPILE FOVEA_RUN EXAMPLES TARGET [SCHEDULE EXAMPLE...]

Each example (or those that are named, with that schedule) is compiled once and
launched on: one query and one key, ragged tiles with all query heads on one key
head, more queries than keys (rows that see no key, where the mask ends at the
bottom right), and many short heads. Prints a line for each; exits with 1 if one
is wrong.
"""

import pathlib
import subprocess
import sys
import tempfile

from reporting import report

# Sizes and seeds.
SHAPES = {
    "one": ((1, 1, 1, 1, 1), 1),
    "ragged": ((1, 4, 1, 65, 129), 3),
    "empty rows": ((2, 2, 2, 140, 20), 1),
    "many heads": ((3, 6, 3, 17, 40), 1),
}


def captures(name, s):
    """Sizes that an example's captures have beside those of q, k and v."""
    heads, batch = {"capture0.0": s["Hq"]}, {"capture0.0": s["B"]}
    return {
        "alibi": heads,
        "bitmask": {**batch, "capture0.1": s["Sq"], "capture0.2": -(-s["Skv"] // 32)},
        "block_mask": {"partial_index.3": 4, "full_index.3": 5},
        "block_sparse": {"partial_index.3": 3},
        "documents": {**batch, "capture0.1": max(s["Sq"], s["Skv"])},
        "logit_bias": {**heads, "capture0.1": s["Sq"], "capture0.2": -(-s["Skv"] // 8) * 8},
        "packed": {"B": 1, "N+1": 5},
        "prefix_lm": batch,
        "relative_bias": heads,
        "tree_mask": batch,
    }.get(name, {})


# Examples of which some sizes are constants.
FIXED = {
    "gqa_decode": {"Hq": 32, "Hkv": 8, "Sq": 1},
    "soft_cap_window_gqa": {"B": 1, "Hq": 32, "Hkv": 16},
    "tree_mask": {"Hq": 32, "Hkv": 8, "Sq": 16},
}
# The tree's nodes are the last keys.
LEAST = {"tree_mask": {"Skv": 16}}


def sizes_of(name, shape):
    sizes = dict(zip(("B", "Hq", "Hkv", "Sq", "Skv"), shape)) | FIXED.get(name, {})
    for dim, least in LEAST.get(name, {}).items():
        sizes[dim] = max(sizes[dim], least)
    return sizes | captures(name, sizes)


def main(compiler, runner, examples, target, schedule="auto", *chosen):
    failed = False
    programs = sorted(pathlib.Path(examples).glob("*.mlir"))
    for program in programs:
        if chosen and program.stem not in chosen:
            continue
        with tempfile.TemporaryDirectory() as folder:
            ptx, metadata = f"{folder}/kernel.ptx", f"{folder}/kernel.json"
            command = [compiler, str(program), f"--target={target}", f"--schedule={schedule}", "-o", ptx]
            subprocess.run([*command, f"--metadata={metadata}"], check=True)
            for shape, (sizes, seeds) in SHAPES.items():
                dims = ",".join(f"{name}={size}" for name, size in sizes_of(program.stem, sizes).items())
                command = [runner, "--level=ptx", str(program), f"--kernel={ptx}", f"--metadata={metadata}", f"--target={target}"]
                command += [f"--dims={dims}", f"--integers=0:{sizes[4] - 1}", f"--seeds={seeds}", "--random=3", "--check"]
                result = subprocess.run(command, capture_output=True, text=True)
                failed |= report(f"{program.stem} {shape}", command, result)
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
