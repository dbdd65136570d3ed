// Fragments in memory: accumulators and vectors move 16 bytes at a time,
// without predicates.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file | FileCheck %s

// 64x32 accumulators of 128 threads: 16 each. A warp barrier follows the
// additions, so that no MMA with other registers is outstanding meanwhile.
// CHECK-LABEL: gpu.func @sums
// CHECK-COUNT-4: llvm.inline_asm has_side_effects "red.global.add.v4.f32 [$0], {$1, $2, $3, $4};", "l,f,f,f,f"
// CHECK-NOT: red.global
// CHECK: nvvm.bar.warp.sync
// CHECK-COUNT-4: llvm.load {{.*}} vector<4xf32>
// CHECK-COUNT-4: llvm.store {{.*}} vector<4xf32>
// CHECK: gpu.return
!memory = memref<?x32xf32, strided<[32, 1]>>
!tile = tensor<64x32xf32, #warp.wgmma<groups = 1>>
gpu.module @m {
  launch.abi @sums target("sm_90a") plan(<#warp.wgmma_unit, tile_n = 32>)
    tensors([#launch.tensor<"c", accumulate, tensor<?x32xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"c", [0, 1]>, #launch.scalar<"x", f32>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @sums(%c: !memory, %x: f32) kernel {
    %c0 = arith.constant 0 : index
    %t = tile.broadcast %x : f32 to !tile
    tile.store add %t, %c[%c0, %c0] dims [0, 1] fragments : !tile, !memory
    %l = tile.load %c[%c0, %c0] dims [0, 1] fragments : !memory to !tile
    tile.store %l, %c[%c0, %c0] dims [0, 1] fragments : !tile, !memory
    gpu.return
  }
}

// -----

// A target without vector additions adds single elements.
// CHECK-LABEL: gpu.func @single
// CHECK-COUNT-16: red.global.add.f32 [$0], $1;
!memory = memref<?x32xf32, strided<[32, 1]>>
!tile = tensor<64x32xf32, #warp.mma_sync<warps = 4>>
gpu.module @m {
  launch.abi @single target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"c", accumulate, tensor<?x32xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"c", [0, 1]>, #launch.scalar<"x", f32>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @single(%c: !memory, %x: f32) kernel {
    %c0 = arith.constant 0 : index
    %t = tile.broadcast %x : f32 to !tile
    tile.store add %t, %c[%c0, %c0] dims [0, 1] fragments : !tile, !memory
    gpu.return
  }
}

// -----

// Rows of 16-bit elements outside of loops: 16 bytes per lane, then the four
// lanes of a row exchange words. In a loop each thread loads its own elements.
// CHECK-LABEL: gpu.func @exchanged
// CHECK: ld.global.v4.b32
// CHECK-COUNT-4: nvvm.shfl.sync
// CHECK: scf.for
// CHECK-NOT: ld.global.v4.b32
// CHECK: gpu.return
!memory = memref<?x32xbf16, strided<[32, 1]>>
!tile = tensor<64x32xbf16, #warp.wgmma<groups = 1>>
gpu.module @m {
  launch.abi @exchanged target("sm_90a") plan(<#warp.wgmma_unit, tile_n = 32>)
    tensors([#launch.tensor<"c", read, tensor<?x32xbf16>, ["M", "N"], 16>, #launch.tensor<"o", write, tensor<?x32xbf16>, ["M", "N"], 16>])
    parameters([#launch.memref<"c", [0, 1]>, #launch.memref<"o", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @exchanged(%c: !memory, %o: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = tile.load %c[%c0, %c0] dims [0, 1] : !memory to !tile
    tile.store %t, %o[%c0, %c0] dims [0, 1] : !tile, !memory
    scf.for %i = %c0 to %n step %c1 {
      %u = tile.load %c[%i, %c0] dims [0, 1] : !memory to !tile
      tile.store %u, %o[%i, %c0] dims [0, 1] : !tile, !memory
    }
    gpu.return
  }
}

// -----

// 16-bit columns that are stored in fragments are not exchanged; booleans are
// bytes.
// CHECK-LABEL: gpu.func @narrow
// CHECK-NOT: nvvm.shfl
// CHECK-COUNT-4: llvm.store {{.*}} vector<4xbf16>
// CHECK-COUNT-4: llvm.store {{.*}} vector<4xi8>
// CHECK-NOT: nvvm.shfl
// CHECK: gpu.return
gpu.module @m {
  launch.abi @narrow target("sm_90a") plan(<#warp.wgmma_unit, tile_n = 32>)
    tensors([#launch.tensor<"c", write, tensor<?x32xbf16>, ["M", "N"], 16>, #launch.tensor<"d", write, tensor<?x32xi1>, ["M", "N"], 16>])
    parameters([#launch.memref<"c", [0, 1]>, #launch.memref<"d", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @narrow(%c: memref<?x32xbf16, strided<[32, 1]>>, %d: memref<?x32xi1, strided<[32, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %x = arith.constant dense<1.0> : tensor<64x32xbf16, #warp.wgmma<groups = 1>>
    %y = arith.constant dense<true> : tensor<64x32xi1, #warp.wgmma<groups = 1>>
    tile.store %x, %c[%c0, %c0] dims [0, 1] fragments : tensor<64x32xbf16, #warp.wgmma<groups = 1>>, memref<?x32xbf16, strided<[32, 1]>>
    tile.store %y, %d[%c0, %c0] dims [0, 1] fragments : tensor<64x32xi1, #warp.wgmma<groups = 1>>, memref<?x32xi1, strided<[32, 1]>>
    gpu.return
  }
}
