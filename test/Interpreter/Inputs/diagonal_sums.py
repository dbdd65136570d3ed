"""Sums tiles by relative position: `tile.scatter add` with indices of `tile.diagonals`.

    diagonal_sums.py FOVEA_RUN FOLDER LEVEL...

Writes a program for each shape, with several kinds of indices, runs it at the levels,
and compares the sums with numpy's. Values are small integers, whose sums are exact in
any order. Prints the result for each shape.
"""

import pathlib
import subprocess
import sys

import numpy as np

# Rows and columns of a tile, and warps with 16, 32 or 48 rows each.
SHAPES = [(16, 16, 1), (32, 16, 2), (64, 64, 4), (64, 48, 2), (128, 128, 8), (48, 32, 1), (16, 256, 1)]

HEAD = """!full = tensor<{m}x{n}xf32, #tile.reg>
!places = tensor<{m}x{n}xi32, #tile.reg>
!wide = tensor<{m}x{n}xi64, #tile.reg>
!d = tensor<1x{s}xi32, #tile.reg>
!e = tensor<1x{s}xi64, #tile.reg>
gpu.module @m {{
  gpu.func @f(%x: memref<{m}x{n}xf32>, %keep: memref<{m}x{n}xi1>, {arguments}) kernel {{
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %v = tile.load %x[%c0, %c0] dims [0, 1] : memref<{m}x{n}xf32> to !full
    %k = tile.load %keep[%c0, %c0] dims [0, 1] : memref<{m}x{n}xi1> to tensor<{m}x{n}xi1, #tile.reg>
    %one = arith.constant dense<1> : !d
    %eight = arith.constant dense<8> : !d
    %twenty = arith.constant dense<20> : !d
    %last = arith.constant dense<{last}> : !d
    %i = tile.iota dim 1 : !d
"""

# Ops that compute the index for relative position %i, the same in Python, rows of the target.
KINDS = {
    "each": ("%p = arith.addi %i, %one : !d", lambda d, last: d + 1, 1),
    # The indices of the last relative positions are out of bounds.
    "back": ("%p = arith.subi %twenty, %i : !d", lambda d, last: 20 - d, 1),
    "all": ("%p = arith.divui %i, %last : !d", lambda d, last: d // last, 1),
    "buckets": ("%p = arith.divui %i, %eight : !d", lambda d, last: d // 8, 3),
    "clipped": ("%a = arith.maxsi %i, %eight : !d\n    %p = arith.minsi %a, %twenty : !d",
                lambda d, last: np.clip(d, 8, 20), 3),
    "twos": ("%p = arith.shrui %i, %one : !d", lambda d, last: d >> 1, 1),
    "wide": ("%q = arith.subi %i, %eight : !d\n    %p = arith.extsi %q : !d to !e", lambda d, last: d - 8, 1),
}
SIZE = 300


def write(path, rows, columns, warps):
    arguments, body, tensors, parameters = [], [], [], []
    for name, (places, _, count) in KINDS.items():
        memory = f"memref<{'%dx' % count if count > 1 else ''}{SIZE}xf32>"
        arguments.append(f"%{name}: {memory}")
        types = ("!e", "!wide") if name == "wide" else ("!d", "!places")
        for each in ("p", "q", "a"):
            places = places.replace(f"%{each} ", f"%{each}_{name} ").replace(f"%{each},", f"%{each}_{name},")
        body.append(places)
        body.append(f"%t_{name} = tile.diagonals %p_{name} : {types[0]} to {types[1]}")
        at, kind = ("%c2, ", "index, ") if count > 1 else ("", "")
        body.append(f"tile.scatter add %v, %{name}[{at}%t_{name}] mask(%k : tensor<{rows}x{columns}xi1, #tile.reg>) : "
                    f"!full, {memory}[{kind}{types[1]}]")
        tensors.append(f'#launch.tensor<"{name}", accumulate, tensor{memory[6:]}, [{chr(34) + name + "0" + chr(34) + ", " if count > 1 else ""}"{name}"], 4>')
        parameters.append(f'#launch.memref<"{name}", [{"0, 1" if count > 1 else "0"}]>')
    text = HEAD.format(m=rows, n=columns, s=rows + columns, last=rows + columns, arguments=", ".join(arguments))
    text += "".join(f"    {line}\n" for line in body)
    text += f"""    gpu.return
  }}
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_m = {rows}, tile_n = {columns}, warps = {warps}, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<{rows}x{columns}xf32>, ["A", "B"], 4>, #launch.tensor<"keep", read, tensor<{rows}x{columns}xi1>, ["A", "B"], 1>, {", ".join(tensors)}])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"keep", [0, 1]>, {", ".join(parameters)}])
    grid([] affine_map<() -> (1)>) threads({32 * warps}) shared_memory(0)
}}
"""
    path.write_text(text)


def expect(place, count, values):
    sums = np.zeros((count, SIZE) if count > 1 else SIZE, np.float32)
    inside = (place >= 0) & (place < SIZE)
    np.add.at(sums[2] if count > 1 else sums, place[inside], values[inside])
    return sums


def main():
    tool, folder, *levels = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(1)
    for rows, columns, warps in SHAPES:
        program = folder / "program.mlir"
        write(program, rows, columns, warps)
        x = random.integers(-50, 50, (rows, columns)).astype(np.float32)
        keep = random.random((rows, columns)) < 0.8
        np.save(folder / "x.npy", x)
        np.save(folder / "keep.npy", keep)
        row, column = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
        diagonal = column - row + rows - 1
        outputs = {name: folder / f"{name}.npy" for name in KINDS}
        for level in levels:
            for output in outputs.values():
                output.unlink(missing_ok=True)
            subprocess.run([tool, program, f"--level={level}", "--target=sm_80", "--inputs", folder / "x.npy", folder / "keep.npy",
                            "--outputs", *outputs.values()], check=True, stdout=subprocess.DEVNULL)
            wrong = [name for name, (_, place, count) in KINDS.items()
                     if not np.array_equal(np.load(outputs[name]), expect(place(diagonal, rows + columns), count, x * keep))]
            print(f"{rows}x{columns} of {warps} warps at {level}:", "wrong: " + ", ".join(wrong) if wrong else "right")


main()
