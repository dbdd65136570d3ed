// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-assign-relative-position-layouts,warp-assign-layouts)))' --split-input-file --verify-diagnostics | FileCheck %s

// The source of relative-position values is laid out by the warps whose rows use it. Tiles with
// other uses are rematerialized.
// CHECK-LABEL: gpu.func @f
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"t", read, tensor<?xf32>, ["S"], 4>, #launch.tensor<"o", write, tensor<?x?xf32>, ["M", "N"], 4>])
    parameters([#launch.memref<"t", [0]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%t: memref<?xf32, strided<[?]>>, %o: memref<?x?xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    // CHECK: %[[TWICE:.*]] = tile.iota dim 1 : tensor<1x96xi32, #warp.mma_sync<warps = 4>>
    %i = tile.iota dim 1 : tensor<1x96xi32, #tile.reg>
    // CHECK: %[[F:.*]] = arith.sitofp %[[TWICE]]
    %f = arith.sitofp %i : tensor<1x96xi32, #tile.reg> to tensor<1x96xf32, #tile.reg>
    %x = tile.gather %t[%i] : memref<?xf32, strided<[?]>>[tensor<1x96xi32, #tile.reg>] to tensor<1x96xf32, #tile.reg>
    // CHECK: %[[I:.*]] = tile.iota dim 1 : tensor<1x96xi32, #warp.diagonals<rows = 64, warps = 4>>
    // CHECK: %[[X:.*]] = tile.gather %{{.*}}[%[[I]]] : {{.*}} to tensor<1x96xf32, #warp.diagonals<rows = 64, warps = 4>>
    // CHECK: tile.diagonals %[[X]] : tensor<1x96xf32, #warp.diagonals<rows = 64, warps = 4>> to tensor<64x32xf32, #warp.mma_sync<warps = 4>>
    %d = tile.diagonals %x : tensor<1x96xf32, #tile.reg> to tensor<64x32xf32, #tile.reg>
    // CHECK: tile.store %[[F]]
    tile.store %f, %o[%c0, %c0] dims [-1, 1] : tensor<1x96xf32, #tile.reg>, memref<?x?xf32, strided<[?, 1]>>
    tile.store %d, %o[%c0, %c0] dims [0, 1] : tensor<64x32xf32, #tile.reg>, memref<?x?xf32, strided<[?, 1]>>
    gpu.return
  }
}

// -----

// Scatter indices are integers.
// CHECK-LABEL: gpu.func @places
gpu.module @m {
  launch.abi @places target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"o", accumulate, tensor<?xf32>, ["S"], 4>]) parameters([#launch.memref<"o", [0]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @places(%o: memref<?xf32>) kernel {
    %one = arith.constant dense<1.0> : tensor<64x32xf32, #tile.reg>
    // CHECK: %[[I:.*]] = tile.iota dim 1 : tensor<1x96xi32, #warp.diagonals<rows = 64, warps = 4>>
    %i = tile.iota dim 1 : tensor<1x96xi32, #tile.reg>
    // CHECK: %[[D:.*]] = tile.diagonals %[[I]] : tensor<1x96xi32, #warp.diagonals<rows = 64, warps = 4>> to tensor<64x32xi32, #warp.mma_sync<warps = 4>>
    %d = tile.diagonals %i : tensor<1x96xi32, #tile.reg> to tensor<64x32xi32, #tile.reg>
    // CHECK: tile.scatter add %{{.*}}, %{{.*}}[%[[D]]] : tensor<64x32xf32, #warp.mma_sync<warps = 4>>
    tile.scatter add %one, %o[%d] : tensor<64x32xf32, #tile.reg>, memref<?xf32>[tensor<64x32xi32, #tile.reg>]
    gpu.return
  }
}

// -----

// The rows of a tile that a role adds are partitioned by the warps of that role, not by all
// computing warps.
// CHECK-LABEL: gpu.func @role
gpu.module @m {
  launch.abi @role target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, tile_n = 64, warps = 8, stages = 1,
       roles = [<"left", warps = 8, registers = 152, owns = ["a"]>,
           <"right", warps = 4, registers = 152, owns = ["sum"]>]>)
    tensors([#launch.tensor<"o", accumulate, tensor<?xf32>, ["S"], 4>]) parameters([#launch.memref<"o", [0]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @role(%o: memref<?xf32>) kernel {
    %one = arith.constant dense<1.0> : tensor<128x64xf32, #tile.reg>
    %i = tile.iota dim 1 : tensor<1x192xi32, #tile.reg>
    // CHECK: tile.diagonals %{{.*}} : tensor<1x192xi32, #warp.diagonals<rows = 128, warps = 4>> to tensor<128x64xi32, #warp.mma_sync<warps = 4>>
    %d = tile.diagonals %i : tensor<1x192xi32, #tile.reg> to tensor<128x64xi32, #tile.reg>
    tile.scatter add "sum" %one, %o[%d] : tensor<128x64xf32, #tile.reg>, memref<?xf32>[tensor<128x64xi32, #tile.reg>]
    gpu.return
  }
}

// -----

// A role with one warp stores a tile from its lanes; each lane loads the values that it needs.
// CHECK-LABEL: gpu.func @stream
gpu.module @m {
  launch.abi @stream target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, tile_n = 64, warps = 8, stages = 1>)
    tensors([#launch.tensor<"t", read, tensor<?xf32>, ["S"], 4>, #launch.tensor<"o", write, tensor<?x?xf32>, ["M", "N"], 4>])
    parameters([#launch.memref<"t", [0]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @stream(%t: memref<?xf32, strided<[?]>>, %o: memref<?x?xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %buffer = warp.alloc : memref<1x192xf32, #warp.shared<row_bytes = 128>>
    %i = tile.iota dim 1 : tensor<1x192xi32, #tile.reg>
    %x = tile.gather %t[%i] : memref<?xf32, strided<[?]>>[tensor<1x192xi32, #tile.reg>] to tensor<1x192xf32, #tile.reg>
    // CHECK: %[[I:.*]] = tile.iota dim 1 : tensor<1x192xi32, #warp.lanes>
    // CHECK: %[[X:.*]] = tile.gather %{{.*}}[%[[I]]] : {{.*}} to tensor<1x192xf32, #warp.lanes>
    // CHECK: warp.local_store "diagonals.0" %[[X]]
    warp.local_store "diagonals.0" %x to %buffer : tensor<1x192xf32, #tile.reg>, memref<1x192xf32, #warp.shared<row_bytes = 128>>
    // CHECK-NOT: warp.local_load {{.*}} #warp.wgmma
    // CHECK: %[[L:.*]] = warp.local_load %{{.*}} to tensor<1x192xf32, #warp.fragment_diagonals<rows = 128, warps = 8>>
    %l = warp.local_load %buffer : memref<1x192xf32, #warp.shared<row_bytes = 128>> to tensor<1x192xf32, #tile.reg>
    // CHECK: tile.diagonals %[[L]] : tensor<1x192xf32, #warp.fragment_diagonals<rows = 128, warps = 8>> to tensor<128x64xf32, #warp.wgmma<groups = 2>>
    %d = tile.diagonals %l : tensor<1x192xf32, #tile.reg> to tensor<128x64xf32, #tile.reg>
    tile.store %d, %o[%c0, %c0] dims [0, 1] : tensor<128x64xf32, #tile.reg>, memref<?x?xf32, strided<[?, 1]>>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @carried target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"o", write, tensor<?x?xf32>, ["M", "N"], 4>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @carried(%o: memref<?x?xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<1x96xf32, #tile.reg>
    // expected-error@+1 {{the source of relative-position values must be computed by ops that can be rematerialized at their uses}}
    %sum = scf.for %i = %c0 to %c1 step %c1 iter_args(%x = %zero) -> (tensor<1x96xf32, #tile.reg>) {
      scf.yield %x : tensor<1x96xf32, #tile.reg>
    }
    %d = tile.diagonals %sum : tensor<1x96xf32, #tile.reg> to tensor<64x32xf32, #tile.reg>
    tile.store %d, %o[%c0, %c0] dims [0, 1] : tensor<64x32xf32, #tile.reg>, memref<?x?xf32, strided<[?, 1]>>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @rows target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"o", write, tensor<?x?xf32>, ["M", "N"], 4>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @rows(%o: memref<?x?xf32, strided<[?, 1]>>) kernel {
    %zero = arith.constant dense<0.0> : tensor<1x64xf32, #tile.reg>
    // expected-error@+1 {{'rows' must be a multiple of 64 for 4 warps, found 32}}
    %d = tile.diagonals %zero : tensor<1x64xf32, #tile.reg> to tensor<32x32xf32, #tile.reg>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @carried_to_memory target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, tile_n = 32, warps = 4, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<?x?xf32>, ["M", "N"], 4>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @carried_to_memory(%o: memref<?x?xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : tensor<1x96xf32, #tile.reg>
    %buffer = warp.alloc : memref<1x96xf32, #warp.shared<row_bytes = 128>>
    // expected-error@+1 {{the stored source of relative-position values must be computed by ops that can be rematerialized at their uses}}
    %sum = scf.for %i = %c0 to %c1 step %c1 iter_args(%x = %zero) -> (tensor<1x96xf32, #tile.reg>) {
      scf.yield %x : tensor<1x96xf32, #tile.reg>
    }
    warp.local_store "diagonals.0" %sum to %buffer : tensor<1x96xf32, #tile.reg>, memref<1x96xf32, #warp.shared<row_bytes = 128>>
    %l = warp.local_load %buffer : memref<1x96xf32, #warp.shared<row_bytes = 128>> to tensor<1x96xf32, #tile.reg>
    %d = tile.diagonals %l : tensor<1x96xf32, #tile.reg> to tensor<64x32xf32, #tile.reg>
    tile.store %d, %o[%c0, %c0] dims [0, 1] : tensor<64x32xf32, #tile.reg>, memref<?x?xf32, strided<[?, 1]>>
    gpu.return
  }
}
