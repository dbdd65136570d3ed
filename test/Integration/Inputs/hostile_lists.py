"""Gradients with unchecked block lists: whatever the lists contain, kernels stay within memory.

    hostile_lists.py FOVEA_RUN PROGRAM ENTRY FOLDER OPTION...
"""

import pathlib
import subprocess
import sys

import numpy as np

NAMES = ("q", "k", "v", "o", "lse", "do", "partial_count", "partial_index")
LARGEST = 2**31 - 1


def cases(given):
    """Yields (kind of error, replacement arrays)."""
    generator = np.random.default_rng(0)
    for kind in ("count", "index"):
        array = given[f"partial_{kind}"]
        for text, value in (("largest", LARGEST), ("negative", -5), ("equal", 0)):
            yield f"{text} {kind}", {f"partial_{kind}": np.full_like(array, value)}
    yield "any numbers", {name: generator.integers(-LARGEST, LARGEST, given[name].shape).astype(np.int32) for name in NAMES[-2:]}


def main():
    tool, program, entry, place, *options = sys.argv[1:]
    folder = pathlib.Path(place)
    given = {name: np.load(folder / f"{name}.npy") for name in NAMES}
    files = [folder / f"changed_{name}.npy" for name in NAMES]
    for text, changed in cases(given):
        for name, file in zip(NAMES, files):
            np.save(file, changed.get(name, given[name]))
        subprocess.run([tool, program, f"--entry={entry}", "--level=ptx", *options, "--inputs", *files], check=True)
        print(f"{text}: within memory")


if __name__ == "__main__":
    main()
