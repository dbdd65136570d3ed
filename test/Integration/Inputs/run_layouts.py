"""Runs tiles through layout conversions and checks the positions of their elements.

    run_layouts.py FOVEA_RUN LEVEL...

Each program loads a tile in an accumulator's layout, converts it and stores it. The stored tile
must be the loaded one, with columns permuted as the conversion specifies; at the level `warp` and
by the lanes of `ptx`. Prints a line for each case; exits with 1 if one is wrong.
"""

import itertools
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

PROGRAM = """
!x = tensor<{rows}x{columns}xi32, {accumulator}>
!narrow = tensor<{rows}x{columns}x{element}, {accumulator}>
!changed = tensor<{rows}x{columns}x{element}, {operand}>
!y = tensor<{rows}x{columns}xi32, {operand}>
gpu.module @m {{
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32, warps = {warps}>)
    tensors([#launch.tensor<"x", read, tensor<?x?xi32>, ["M", "N"], 4>, #launch.tensor<"o", write, tensor<?x?xi32>, ["M", "N"], 4>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads({threads}) shared_memory(0)
  gpu.func @f(%x: memref<?x?xi32, strided<[?, 1]>>, %o: memref<?x?xi32, strided<[?, 1]>>) kernel {{
    %c0 = arith.constant 0 : index
    %v = tile.load %x[%c0, %c0] dims [0, 1] : memref<?x?xi32, strided<[?, 1]>> to !x
    {narrow}
    %c = warp.convert_layout {permuted} %n : !narrow to !changed
    {widen}
    {store}
    gpu.return
  }}
}}
"""
STORE = "tile.store {0}, %o[%c0, %c0] dims [0, 1] : {1}, memref<?x?xi32, strided<[?, 1]>>"
BACK = "%b = warp.convert_layout %w : !y to !x\n    "

LAYOUTS = {"#warp.mma_sync<warps = 2>": (2, 32), "#warp.mma_sync<warps = 4>": (4, 128), "#warp.wgmma<groups = 1>": (4, 64)}
CASES = [dict(zip(("layout", "bits", "element", "columns", "form"), case)) for case in itertools.product(
    LAYOUTS, (8, 32), ("i32", "i16", "i8"), (16, 64), ("plain", "permuted", "there and back"))]


def get_order(bits, columns):
    """The accumulator's column in an operand's column if no element moves between lanes: the n-th
    column of a lane stays its n-th column.
    """
    def by_lane(neighbours):
        blocks = range(0, columns, 4 * neighbours)
        return [[b + neighbours * lane + n for b in blocks for n in range(neighbours)] for lane in range(4)]
    order = [0] * columns
    for source, target in zip(itertools.chain(*by_lane(2)), itertools.chain(*by_lane(32 // bits))):
        order[target] = source
    return order


def make(layout, bits, element, columns, form):
    warps, rows = LAYOUTS[layout]
    narrow, widen = "%n = arith.trunci %v : !x to !narrow", "%w = arith.extui %c : !changed to !y"
    if element == "i32":
        narrow, widen = "%zero = arith.constant dense<0> : !x\n    %n = arith.ori %v, %zero : !x", \
            "%nothing = arith.constant dense<0> : !y\n    %w = arith.ori %c, %nothing : !y"
    return PROGRAM.format(rows=rows, columns=columns, accumulator=layout, element=element, threads=32 * warps, warps=warps,
                          operand=f"#warp.operand<of = {layout}, element_bits = {bits}>", narrow=narrow, widen=widen,
                          permuted="permuted" if form == "permuted" else "",
                          store=BACK + STORE.format("%b", "!x") if form == "there and back" else STORE.format("%w", "!y")), rows


def run(tool, level, case, folder):
    """Runs one case; returns an error message or an empty string."""
    program, rows = make(**case)
    columns, bits = case["columns"], int(case["element"][1:])
    x = np.random.default_rng(7).integers(0, 2 ** min(bits, 31), (rows, columns), dtype=np.int32)
    source, given, taken = (folder / name for name in ("p.mlir", "x.npy", "o.npy"))
    source.write_text(program)
    np.save(given, x)
    result = subprocess.run([tool, source, f"--level={level}", *(["--target=sm_80"] if level == "ptx" else []),
                             f"--inputs={given}", f"--outputs={taken}"], capture_output=True, text=True, check=False)
    if result.returncode:
        return (result.stderr + result.stdout).strip()
    wanted = x[:, get_order(case["bits"], columns)] if case["form"] == "permuted" else x
    wrong = np.argwhere(np.load(taken) != wanted)
    return f"{len(wrong)} elements, the first at {tuple(wrong[0])}" if len(wrong) else ""


def main():
    tool, *levels = sys.argv[1:]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for level in levels:
            for case in CASES:
                wrong = run(tool, level, case, pathlib.Path(folder))
                print(level, *case.values(), wrong or "passed")
                failed += bool(wrong)
    print(f"{failed} wrong")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
