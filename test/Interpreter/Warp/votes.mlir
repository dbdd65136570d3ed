// Code under a ballot must leave rows unchanged whose condition is false. Here
// all conditions are false, and the result shows whether the branch was taken,
// which depends on the seed.
// RUN: not fovea-run %s --seeds=20 2>&1 | FileCheck %s
// CHECK: error: seeds 0 and {{[0-9]+}} give different numbers in output 'o'

#reg = #warp.mma_sync<warps = 1>
!tile = tensor<16x16xf32, #reg>
gpu.module @m {
  gpu.func @f(%o: memref<16x16xf32>) kernel {
    %c0 = arith.constant 0 : index
    %none = arith.constant dense<false> : tensor<16x16xi1, #reg>
    %zero = arith.constant dense<0.0> : !tile
    %one = arith.constant dense<1.0> : !tile
    %any = warp.any %none : tensor<16x16xi1, #reg>
    %r = scf.if %any -> !tile {
      scf.yield %one : !tile
    } else {
      scf.yield %zero : !tile
    }
    tile.store %r, %o[%c0, %c0] dims [0, 1] : !tile, memref<16x16xf32>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<16x16xf32>, ["M", "N"], 4>])
    parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
