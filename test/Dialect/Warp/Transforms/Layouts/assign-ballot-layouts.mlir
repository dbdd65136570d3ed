// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-assign-ballot-layouts,warp-assign-layouts)))' --split-input-file --verify-diagnostics | FileCheck %s

// The flags of a ballot are in the lane layout. Coordinates that the scores also use are
// rematerialized.
// CHECK-LABEL: gpu.func @f
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"o", write, tensor<?xi32>, ["S"], 4>]) parameters([#launch.memref<"o", [0]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%o: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    // CHECK: %[[I:.*]] = tile.iota dim 1 : tensor<1x32xi32, #warp.mma_sync<warps = 4>>
    %i = tile.iota dim 1 : tensor<1x32xi32, #tile.reg>
    %n = memref.load %o[%c0] : memref<?xi32>
    %b = tile.broadcast %n : i32 to tensor<1x32xi32, #tile.reg>
    %c = arith.constant dense<3> : tensor<1x32xi32, #tile.reg>
    %x = arith.muli %i, %c : tensor<1x32xi32, #tile.reg>
    %f = arith.cmpi slt, %x, %b : tensor<1x32xi32, #tile.reg>
    // CHECK-DAG: %[[J:.*]] = tile.iota dim 1 : tensor<1x32xi32, #warp.lanes>
    // CHECK-DAG: %[[C:.*]] = arith.constant dense<3> : tensor<1x32xi32, #warp.lanes>
    // CHECK-DAG: %[[X:.*]] = arith.muli %[[J]], %[[C]] : tensor<1x32xi32, #warp.lanes>
    // CHECK-DAG: %[[B:.*]] = tile.broadcast %{{.*}} : i32 to tensor<1x32xi32, #warp.lanes>
    // CHECK-DAG: %[[F:.*]] = arith.cmpi slt, %[[X]], %[[B]] : tensor<1x32xi32, #warp.lanes>
    // CHECK: tile.ballot %[[F]] : tensor<1x32xi1, #warp.lanes>
    %bits = tile.ballot %f : tensor<1x32xi1, #tile.reg>
    // CHECK: tile.store %[[I]]
    tile.store %i, %o[%c0] dims [-1, 0] : tensor<1x32xi32, #tile.reg>, memref<?xi32>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @carried target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"o", write, tensor<?xi32>, ["S"], 4>]) parameters([#launch.memref<"o", [0]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @carried(%o: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %no = arith.constant dense<false> : tensor<1x32xi1, #tile.reg>
    // expected-error@+1 {{the flags of a ballot must be computed by ops that can be rematerialized at their uses}}
    %r = scf.for %j = %c0 to %c1 step %c1 iter_args(%f = %no) -> (tensor<1x32xi1, #tile.reg>) {
      %bits = tile.ballot %f : tensor<1x32xi1, #tile.reg>
      scf.yield %f : tensor<1x32xi1, #tile.reg>
    }
    gpu.return
  }
}
