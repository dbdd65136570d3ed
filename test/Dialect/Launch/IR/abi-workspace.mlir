// RUN: fovea-opt %s | fovea-opt | FileCheck %s

// CHECK-LABEL: #map = affine_map<()[s0] -> (s0 * 2, 64)>
// CHECK: #launch.scratch_memref<"sums", ["ctas"] #map>, #launch.workspace_memref
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([]) parameters([#launch.scratch_memref<"sums", ["ctas"] affine_map<()[s] -> (s * 2, 64)>>, #launch.workspace_memref])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%sums: memref<?x64xf32>, %counters: memref<512xi32>) kernel {
    gpu.return
  }
}
