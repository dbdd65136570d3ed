"""Inputs of `summaries.mlir`, and a check of its outputs.

    `summaries.py` make FOLDER NAME EXPRESSION...     replaces captured tensors that
        fovea-run --save-inputs wrote: NAME is that of a file, the expression its
        elements, of its type; `shape` is its shape and `np` numpy
    `summaries.py` poison FOLDER      NaN for the values of the keys of document 0
    `summaries.py` clean FOLDER OUTPUT ROWS COLUMNS   rows of the output, in tiles of
        ROWS, must not be NaN unless the block min/max allow the tile to see a block
        of COLUMNS keys with such a value: other blocks must not be read
"""

import pathlib
import sys

import numpy as np

# bf16 is stored in files as two raw bytes.
NAN = np.array([0x7FC0], np.uint16).view("V2")[0]


def make(folder, *captures):
    for name, expression in zip(captures[::2], captures[1::2]):
        path = folder / f"{name}.npy"
        array = np.load(path)
        value = np.broadcast_to(np.asarray(eval(expression, {"np": np, "shape": array.shape})), array.shape)
        np.save(path, np.ascontiguousarray(value, array.dtype))


def poison(folder):
    doc, v = np.load(folder / "capture0.npy"), np.load(folder / "v.npy")
    for b in range(v.shape[0]):
        v[b, :, doc[b, : v.shape[2]] == 0] = NAN
    np.save(folder / "v.npy", v)


def extremes(doc, size):
    blocks = [doc[start : start + size] for start in range(0, len(doc), size)]
    return [(block.min(), block.max()) for block in blocks], [bool((block == 0).any()) for block in blocks]


def clean(folder, output, rows, columns):
    doc = np.load(folder / "capture0.npy")
    bits = np.load(output).view(np.uint16)
    is_nan = ((bits & 0x7FFF) > 0x7F80).any(-1)
    checked = 0
    for b in range(bits.shape[0]):
        tiles, _ = extremes(doc[b, : bits.shape[2]], rows)
        keys, poisoned = extremes(doc[b], columns)
        for number, (low, high) in enumerate(tiles):
            reads = any(
                least <= high and low <= most and bad for (least, most), bad in zip(keys, poisoned)
            )
            if not reads:
                tile = is_nan[b, :, number * rows : (number + 1) * rows]
                checked += 1
                if tile.any():
                    raise SystemExit(f"tile {number} of entry {b} read what it can't see")
    if not checked:
        raise SystemExit("no tile that could tell")
    if not is_nan.any():
        raise SystemExit("nothing was poisoned")
    print(f"{checked} tiles are clean")


if __name__ == "__main__":
    command, folder, *rest = sys.argv[1:]
    folder = pathlib.Path(folder)
    if command == "make":
        make(folder, *rest)
    elif command == "poison":
        poison(folder)
    else:
        clean(folder, rest[0], int(rest[1]), int(rest[2]))
