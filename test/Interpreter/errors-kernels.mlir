// Kernels that cannot be executed, and values in kernels that do not fit the
// op. The file is a kernel; sed inserts the error.
// RUN: fovea-run %s --random=1 --dims S=3

// RUN: sed -e 's/-> (s)>) threads/-> (s - 4)>) threads/' %s | not fovea-run - --random=1 --dims S=3 2>&1 | FileCheck %s --check-prefix=GRID
// GRID: error: grid must have 0 to 2^31 - 1 blocks, found -1
// RUN: sed -e 's|// constraint|constraints([#launch.at_least<"S", 5>])|' %s | not fovea-run - --random=1 --dims S=3 2>&1 | FileCheck %s --check-prefix=CONSTRAINT
// CONSTRAINT: error: cannot run a kernel with the constraint #launch.at_least<"S", 5>
// RUN: sed -e 's/?xi32/?xi7/' %s | not fovea-run - --random=1 --dims S=3 2>&1 | FileCheck %s --check-prefix=TENSOR
// TENSOR: error: cannot run a kernel with tensors of type 'tensor<?xi7>'
// RUN: sed -e 's/parameters(\[/parameters([#launch.scalar<"w", i7>, /; s/(%%x: memref/(%%w: i7, %%x: memref/' %s | not fovea-run - --random=1 --dims S=3 2>&1 | FileCheck %s --check-prefix=SCALAR
// SCALAR: error: cannot run a kernel with scalars of type 'i7'
// RUN: sed -e 's,\/\/ here,%%y = memref.cast %%x : memref<?xi32> to memref<5xi32>,' %s | not fovea-run - --random=1 --dims S=3 2>&1 | FileCheck %s --check-prefix=CAST
// CAST: error: cast to 'memref<5xi32>' of a memref with extent 3 where 5 is expected
// RUN: sed -e 's,\/\/ here,linalg.fill ins(%%one : i32) outs(%%x : memref<?xi32>),' %s | not fovea-run - --random=1 --dims S=3 2>&1 | FileCheck %s --check-prefix=LINALG
// LINALG: error: cannot execute linalg on memory, expected tensors
// RUN: sed -e 's,\/\/ here,%%d = tile.for_blocks %%c0 to %%c32 step 16 full(%%c0\, %%c24) carry(%%c0 : index) do(%%j: index\, %%p: i1\, %%n: index) { tile.yield %%n : index },' %s | not fovea-run - --random=1 --dims S=3 2>&1 | FileCheck %s --check-prefix=FULL
// FULL: error: full_upper 24 lies inside the block of keys 16 to 31

!ints = tensor<16x16xi32, #tile.reg>
gpu.module @m {
  gpu.func @f(%x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c24 = arith.constant 24 : index
    %c32 = arith.constant 32 : index
    %one = arith.constant 1 : i32
    %ints = arith.constant dense<1> : !ints
    // here
    gpu.return
  }
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<?xi32>, ["S"], 4>])
    parameters([#launch.memref<"x", [0]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(32) shared_memory(0)
    // constraint
}
