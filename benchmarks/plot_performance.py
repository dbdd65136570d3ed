"""Draws docs/img/forward.svg and docs/img/backward.svg from tables of docs/Performance.md. Run it
after the tables change.
"""

import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]

HEADINGS = {"forward": "## Forward on sm_90a", "backward": "## Gradients on sm_90a"}
# Columns of the tables, as the package's plots name contestants.
CONTESTANTS = {"ours": "fovea", "FlashAttention-3": "FlashAttention-3", "cuDNN": "CUDNN_ATTENTION",
               "FLASH": "FLASH_ATTENTION", "flex": "flex_attention"}


def read_rows(page, name):
    """A table's rows in the format of benchmarks/forward.py."""
    table = re.search(r"^\|.*?(?=^\s*$)", page[page.index(HEADINGS[name]) :], re.MULTILINE | re.DOTALL).group()
    columns, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
    return [
        {"cell": cell.replace(", ", ":"), "name": CONTESTANTS[column], "tflops": float(number)}
        for cell, *numbers in lines
        for column, number in zip(columns[1:], numbers)
        if column in CONTESTANTS
    ]


def main():
    sys.path.insert(0, str(ROOT / "python"))
    os.environ["SOURCE_DATE_EPOCH"] = "0"  # no date in the file
    import matplotlib
    from fovea import bench

    matplotlib.rcParams.update({"svg.hashsalt": "fovea", "svg.fonttype": "none"})
    page = (ROOT / "docs" / "Performance.md").read_text()
    for name in HEADINGS:
        rows = read_rows(page, name)
        bench.plot({"device": "NVIDIA H200", "tables": {name: rows}}, str(ROOT / "docs" / "img" / f"{name}.svg"))
        print(f"{len(rows)} bars in docs/img/{name}.svg")


if __name__ == "__main__":
    main()
