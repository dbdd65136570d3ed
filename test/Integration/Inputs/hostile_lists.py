"""Gradients with unchecked block lists: whatever the lists contain, kernels stay within memory.

    hostile_lists.py FOVEA_RUN PROGRAM ENTRY FOLDER OPTION...
"""

import pathlib
import subprocess
import sys

import numpy as np

TENSORS = ("q", "k", "v", "o", "lse", "do")
#: The lists; programs may lack the transposed ones.
LISTS = ("partial_count", "partial_index", "partial_query_count", "partial_query_index")
LARGEST = 2**31 - 1


def cases(given):
    """Yields (kind of error, replacement arrays)."""
    generator = np.random.default_rng(0)
    for kind in ("count", "index"):
        names = [name for name in given if name.endswith(kind)]
        for text, value in (("largest", LARGEST), ("negative", -5), ("equal", 0)):
            yield f"{text} {kind}", {name: np.full_like(given[name], value) for name in names}
    yield "any numbers", {name: generator.integers(-LARGEST, LARGEST, one.shape).astype(np.int32)
                          for name, one in given.items() if name in LISTS}


def main():
    tool, program, entry, place, *options = sys.argv[1:]
    folder = pathlib.Path(place)
    names = TENSORS + tuple(name for name in LISTS if (folder / f"{name}.npy").exists())
    given = {name: np.load(folder / f"{name}.npy") for name in names}
    files = [folder / f"changed_{name}.npy" for name in names]
    for text, changed in cases(given):
        for name, file in zip(names, files):
            np.save(file, changed.get(name, given[name]))
        subprocess.run([tool, program, f"--entry={entry}", "--level=ptx", *options, "--inputs", *files], check=True)
        print(f"{text}: within memory")


if __name__ == "__main__":
    main()
