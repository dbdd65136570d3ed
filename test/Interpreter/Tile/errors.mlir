// If several blocks fail, the first one is reported, regardless of the order of
// execution.
// RUN: %python %S/../Inputs/npy.py write %t.x.npy i32 "np.arange(64)"
// RUN: not fovea-run %s --inputs %t.x.npy 2>&1 | FileCheck %s
gpu.module @m {
  gpu.func @f(%x: memref<64xi32>) kernel {
    %i = gpu.block_id x
    %c32 = arith.constant 32 : index
    %c40 = arith.constant 40 : index
    %late = arith.cmpi sge, %i, %c40 : index
    scf.if %late {
      %j = arith.addi %i, %c32 : index
      // CHECK: errors.mlir:[[@LINE+1]]:{{.*}}error: index 72 of dimension 0 lies outside [0, 64)
      %v = memref.load %x[%j] : memref<64xi32>
    }
    gpu.return
  }
  // CHECK: note: in block 40 of 64
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<64xi32>, ["A"], 4>])
    parameters([#launch.memref<"x", [0]>])
    grid([] affine_map<() -> (64)>) threads(32) shared_memory(0)
}
