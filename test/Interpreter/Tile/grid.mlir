// The number of CTAs for a number of work items, which each CTA reports. A
// cluster's last CTA may have no item; for a persistent kernel there are 3 SMs
// here.
// RUN: %python %S/../Inputs/npy.py write %t.x.npy i32 "np.zeros((5, 1))"
// RUN: fovea-run %s --inputs %t.x.npy --outputs %t.o.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s --check-prefix=CLUSTER
// RUN: sed -e 's/cluster(2)/persistent(1)/' %s > %t.persistent.mlir
// RUN: fovea-run %t.persistent.mlir --inputs %t.x.npy --outputs %t.o.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s --check-prefix=PERSISTENT
// RUN: sed -e 's/cluster(2)/persistent(1) cluster(2)/' %s > %t.both.mlir
// RUN: fovea-run %t.both.mlir --inputs %t.x.npy --outputs %t.o.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s --check-prefix=BOTH

// CLUSTER:             shape 5 1
// CLUSTER-COUNT-5:     {{^}}6
// PERSISTENT:          shape 5 1
// PERSISTENT-COUNT-5:  {{^}}3
// BOTH:                shape 5 1
// BOTH-COUNT-5:        {{^}}2
gpu.module @m {
  gpu.func @f(%x: memref<?x1xi32>, %o: memref<?x1xi32>) kernel {
    %c0 = arith.constant 0 : index
    %first = gpu.block_id x
    %step = gpu.grid_dim x
    %items = memref.dim %x, %c0 : memref<?x1xi32>
    scf.for %i = %first to %items step %step {
      %n = arith.index_cast %step : index to i32
      %t = tile.broadcast %n : i32 to tensor<1x1xi32, #tile.reg>
      tile.store %t, %o[%i, %c0] dims [0, 1] : tensor<1x1xi32, #tile.reg>, memref<?x1xi32>
    }
    gpu.return
  }
  launch.abi @f target("sm_90a")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<?x1xi32>, ["S", "D"], 4>, #launch.tensor<"o", write, tensor<?x1xi32>, ["S", "D"], 4>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid(["S"] affine_map<()[s] -> (s)>) threads(32) shared_memory(0) cluster(2)
}
