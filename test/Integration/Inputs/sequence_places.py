"""Runs the kernel that orders packed sequences on its own, with many lengths, and compares the
order with a sort.

    sequence_places.py OPT RUN PROGRAM FOLDER PIPELINE ROWS    rows of a tile
"""

import pathlib
import re
import subprocess
import sys

import numpy as np

RNG = np.random.default_rng(5)
COUNTS = (0, 1, 2, 15, 16, 17, 63, 64, 65, 200, 1100)


def take_kernel(ir):
    """The ordering kernel as a kernel for the host: its scratch memory becomes an output. Lines
    that define aliases are kept.
    """
    aliases = [line for line in ir.splitlines() if line.startswith("#")]
    abi = re.search(r"^ *launch\.abi @\w+_order .*$", ir, re.M)[0]
    abi = re.sub(r"#launch\.scratch_memref<\"order\", \[\"N\+1\"\] #\w+>", '#launch.memref<"order", [0, 1]>', abi)
    output = '#launch.tensor<"order", write, tensor<2x?xi32>, ["two", "N+1"], 4>'
    abi = abi.replace("]) parameters(", f", {output}]) parameters(", 1)
    kernel = re.search(r"^    gpu\.func @\w+_order\(.*?^    }$", ir, re.M | re.S)[0]
    return "\n".join([*aliases, "gpu.module @m {", abi, kernel, "}"]) + "\n"


def sort(queries, keys, rows):
    """First slots and sequence indices, in order; after the last one the end and the index for no
    sequence.
    """
    order = np.lexsort((np.arange(len(keys)), -keys))
    slots = -(-queries[order] // rows)
    return np.array([np.r_[0, np.cumsum(slots)], np.r_[order, len(keys)]])


def main():
    opt, run, program, folder, pipeline, rows = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    ir = subprocess.run([opt, program, pipeline], capture_output=True, text=True, check=True).stdout
    (folder / "order.mlir").write_text(take_kernel(ir))
    for count in COUNTS:
        for most in (1, 4, 10**6):
            queries, keys = RNG.integers(0, most, count), RNG.integers(0, most, count)
            for name, lengths in (("cu_q", queries), ("cu_k", keys)):
                np.save(folder / f"{name}.npy", np.r_[0, np.cumsum(lengths)].astype(np.int32))
            inputs = [str(folder / f"{name}.npy") for name in ("cu_q", "cu_k")]
            output = str(folder / "order.npy")
            subprocess.run([run, str(folder / "order.mlir"), "--inputs", *inputs, "--outputs", output], check=True, stdout=subprocess.DEVNULL)
            if not np.array_equal(np.load(output), sort(queries, keys, int(rows))):
                raise SystemExit(f"{count} sequences of less than {most} keys: wrong order")
    print("sorted")


main()
