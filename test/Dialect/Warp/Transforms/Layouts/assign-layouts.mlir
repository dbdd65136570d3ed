// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-assign-layouts)))' --split-input-file | FileCheck %s

// CHECK-LABEL: gpu.func @f
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: arith.constant dense<0.000000e+00> : tensor<64x32xf32, #warp.mma_sync<warps = 4>>
    %zero = arith.constant dense<0.0> : tensor<64x32xf32, #tile.reg>
    // CHECK: tile.iota dim 0 : tensor<64x1xi32, #warp.mma_sync<warps = 4>>
    %row = tile.iota dim 0 : tensor<64x1xi32, #tile.reg>
    // CHECK: tile.load {{.*}} to tensor<1x32xbf16, #warp.mma_sync<warps = 4>>
    %column = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<1x32xbf16, #tile.reg>
    // CHECK: scf.for {{.*}} -> (tensor<64x32xf32, #warp.mma_sync<warps = 4>>)
    %r = scf.for %j = %c0 to %c1 step %c1 iter_args(%acc = %zero) -> (tensor<64x32xf32, #tile.reg>) {
      // CHECK: arith.addf {{.*}} : tensor<64x32xf32, #warp.mma_sync<warps = 4>>
      %s = arith.addf %acc, %acc : tensor<64x32xf32, #tile.reg>
      scf.yield %s : tensor<64x32xf32, #tile.reg>
    }
    // Global memory and scalars do not change.
    // CHECK: memref.dim %{{.*}} : memref<?x32xbf16, strided<[?, 1]>>
    %n = memref.dim %k, %c0 : !memory
    // CHECK-NOT: #tile.reg
    gpu.return
  }
}

// -----

// With roles: the wgmma layout for the computing warp groups, also for pending dots and
// loop-carried tiles.
// CHECK-LABEL: gpu.func @roles
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @roles target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([#launch.scalar<"n", index>]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @roles(%n: index) kernel {
    %q = warp.alloc : !query
    %k = warp.alloc : !buffer
    // CHECK: arith.constant dense<0.000000e+00> : tensor<128x64xf32, #warp.wgmma<groups = 2>>
    %zero = arith.constant dense<0.0> : !scores
    // CHECK: warp.dot async {{.*}}, tensor<128x64xf32, #warp.wgmma<groups = 2>>
    %i = warp.dot async %q, %k, %zero transpose_b : !query, !buffer, !scores
    // CHECK: scf.while (%{{.*}} = %{{.*}}) : (!warp.pending<tensor<128x64xf32, #warp.wgmma<groups = 2>>>) -> !warp.pending<tensor<128x64xf32, #warp.wgmma<groups = 2>>>
    %l = scf.while (%x = %i) : (!warp.pending<!scores>) -> !warp.pending<!scores> {
      %no = arith.constant false
      scf.condition(%no) %x : !warp.pending<!scores>
    } do {
    // CHECK: ^bb0(%{{.*}}: !warp.pending<tensor<128x64xf32, #warp.wgmma<groups = 2>>>):
    ^bb0(%x: !warp.pending<!scores>):
      scf.yield %x : !warp.pending<!scores>
    }
    // CHECK: warp.dot_wait %{{.*}} : !warp.pending<tensor<128x64xf32, #warp.wgmma<groups = 2>>>
    %s = warp.dot_wait %l : !warp.pending<!scores>
    // CHECK: tile.held_rows tensor<128x1xf32, #warp.wgmma<groups = 2>>
    %first, %count = tile.held_rows tensor<128x1xf32, #tile.reg>
    // CHECK: tile.iota dim 1 : tensor<1x64xi32, #warp.wgmma<groups = 2>>
    %column = tile.iota dim 1 : tensor<1x64xi32, #tile.reg>
    // CHECK-NOT: #tile.reg
    // CHECK: gpu.return
    gpu.return
  }
}

// -----

// The plan gives the number of warps that share rows (`column_warps`).
// CHECK-LABEL: gpu.func @shared
gpu.module @m {
  launch.abi @shared target("sm_80") plan(<#warp.mma_sync_unit, warps = 8, column_warps = 4>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @shared() kernel {
    // CHECK: arith.constant dense<0.000000e+00> : tensor<64x128xf32, #warp.mma_sync<warps = 2, column_warps = 4>>
    %zero = arith.constant dense<0.0> : tensor<64x128xf32, #tile.reg>
    gpu.return
  }
}

// -----

// Tiles of kernels that accumulate in tensor memory have one row per thread.
// CHECK-LABEL: gpu.func @tensor_memory
gpu.module @m {
  launch.abi @tensor_memory target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, warps = 4>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @tensor_memory() kernel {
    %s = warp.tmem_alloc column(0) : memref<128x64xf32, #warp.tmem>
    // CHECK: warp.tmem_load {{.*}} to tensor<128x64xf32, #warp.thread_rows>
    %x = warp.tmem_load %s : memref<128x64xf32, #warp.tmem> to tensor<128x64xf32, #tile.reg>
    // CHECK: tile.reduce {{.*}} to tensor<128x1xf32, #warp.thread_rows>
    %max = tile.reduce max dim 1 %x : tensor<128x64xf32, #tile.reg> to tensor<128x1xf32, #tile.reg>
    gpu.return
  }
}
