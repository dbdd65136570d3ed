// RUN: fovea-opt %s | fovea-opt | FileCheck %s

// A launch of two kernels that share scratch memory: as memrefs, and then as
// addresses.
// CHECK-DAG: #[[$EXTENTS:.*]] = affine_map<()[s0, s1] -> (2, s0, s1 ceildiv 128)>
// CHECK-DAG: #[[$BYTES:.*]] = affine_map<()[s0, s1] -> ((s0 * (s1 ceildiv 128)) * 8)>
gpu.module @m {
  // CHECK-LABEL: launch.abi @f
  // CHECK-SAME:    parameters([#launch.memref<"x", [0, 1]>, #launch.scratch_memref<"least", ["B", "S"] #[[$EXTENTS]]>])
  // CHECK-SAME:    cluster(2) prologue([@g]) overlapped constraints(
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, tile_n = 128, warps = 8>)
    tensors([#launch.tensor<"x", read, tensor<?x?xi32>, ["B", "S"], 4>])
    parameters([#launch.memref<"x", [0, 1]>,
                #launch.scratch_memref<"least", ["B", "S"] affine_map<()[b, s] -> (2, b, s ceildiv 128)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(256) shared_memory(0) cluster(2) prologue([@g]) overlapped
    constraints([#launch.at_most<"S", 1000>])
  gpu.func @f(%x: memref<?x?xi32>, %least: memref<2x?x?xi32>) kernel {
    // CHECK: launch.await_previous
    launch.await_previous
    gpu.return
  }
  // CHECK-LABEL: launch.abi @before
  // CHECK-SAME: #launch.scratch_memref<"sum", ["S"] #{{.*}} zeroed = true>
  // CHECK-SAME: epilogue([@after]) constraints
  launch.abi @before target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, tile_n = 128, warps = 8>)
    tensors([#launch.tensor<"x", read, tensor<?x?xi32>, ["B", "S"], 4>])
    parameters([#launch.scratch_memref<"sum", ["S"] affine_map<()[s] -> (s)> zeroed = true>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(256) shared_memory(0) epilogue([@after]) constraints([])
  gpu.func @before(%sum: memref<?xf32>) kernel {
    gpu.return
  }
  // CHECK-LABEL: launch.abi @after
  // CHECK-SAME: overlapped
  launch.abi @after target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, tile_n = 128, warps = 8>)
    tensors([#launch.tensor<"x", read, tensor<?x?xi32>, ["B", "S"], 4>]) parameters([])
    grid(["S"] affine_map<()[s] -> (s)>) threads(256) shared_memory(0) overlapped
  gpu.func @after() kernel {
    launch.await_previous
    gpu.return
  }
  // CHECK-LABEL: launch.abi @g
  // CHECK-SAME: #launch.scratch<"least", ["B", "S"] #[[$BYTES]]>
  launch.abi @g target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<?x?xi32>, ["B", "S"], 4>])
    parameters([#launch.memref<"x", [0, 1]>,
                #launch.scratch<"least", ["B", "S"] affine_map<()[b, s] -> (b * (s ceildiv 128) * 8)>>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(32) shared_memory(0)
  gpu.func @g(%x: memref<?x?xi32>, %least: !llvm.ptr<1>) kernel {
    // CHECK: launch.allow_overlap
    launch.allow_overlap
    gpu.return
  }
}
