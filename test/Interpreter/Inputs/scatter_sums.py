"""Checks the outputs of Tile/scatter-add.mlir: scatter_sums.py PREFIX reads PREFIX.x.npy and
PREFIX.NAME.npy, and prints a line for each output."""

import sys

import numpy as np

prefix = sys.argv[1]
x = np.load(f"{prefix}.x.npy")
row, column = np.meshgrid(np.arange(32), np.arange(16), indexing="ij")
kept = np.where(column < 15, x, 0)
places = {
    "rows": (row + 10, kept, 40),
    "columns": (column, kept, 16),
    "all": (row * 0, kept, 1),
    "each": ((row + column) % 8, kept, 8),
    "of_rows": (row[:, :1] // 8, x[:, :1], 4),
}
for name, (place, values, size) in places.items():
    sums = np.zeros(size)
    inside = place < size
    np.add.at(sums, place[inside], values[inside])
    # Two blocks add the same.
    found = np.load(f"{prefix}.{name}.npy")
    print(name, "right" if np.array_equal(found, 2 * sums) else f"wrong: expected {2 * sums}, found {found}")
