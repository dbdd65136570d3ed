// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-pipelines)))' | FileCheck %s

!memory = memref<?x32xbf16, strided<[?, 1]>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
gpu.module @m {
  // Without roles, `warp-insert-async-copies` has converted the copies.
  // CHECK-LABEL: gpu.func @no_roles
  // CHECK-NOT: warp.pipeline
  // CHECK: warp.copy {{("[^"]+" )?}}%
  launch.abi @no_roles target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @no_roles(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %b = warp.alloc : !buffer
    warp.copy "k" %k[%c0, %c0] dims [0, 1] to %b : !memory to !buffer
    %q = warp.local_load %b : !buffer to tensor<64x32xbf16, #tile.reg>
    gpu.return
  }
}
