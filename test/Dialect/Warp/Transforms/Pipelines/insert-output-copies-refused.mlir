// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-output-copies)))' --split-input-file | FileCheck %s

// Other schedules do not change.
// CHECK-LABEL: gpu.func @direct(
// CHECK-NOT: warp.local_store
// CHECK: tile.store
!x = tensor<128x64xbf16, #warp.wgmma<groups = 2>>
gpu.module @m {
  launch.abi @direct target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"o", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"o", [0, 1]>]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @direct(%o: memref<?x64xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %x = arith.constant dense<1.0> : !x
    tile.store "out" %x, %o[%c0, %c0] dims [0, 1] : !x, memref<?x64xbf16>
    gpu.return
  }
}
