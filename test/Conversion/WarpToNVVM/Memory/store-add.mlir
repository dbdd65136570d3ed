// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file --verify-diagnostics | FileCheck %s

// Without TMA each element is added by the thread that holds it, if it exists:
// columns always do, rows up to the tensor's end.
// CHECK-LABEL: gpu.func @f
// CHECK-SAME: %[[X:[^ ]*]]: f32)
// CHECK: %[[FLAG:.*]] = arith.extui %{{.*}} : i1 to i32
// CHECK: llvm.inline_asm has_side_effects "{\0A\09.reg .pred p;\0A\09setp.ne.b32 p, $2, 0;\0A\09@p red.global.add.f32 [$0], $1;\0A\09}", "l,f,r" %{{.*}}, %[[X]], %[[FLAG]] : (!llvm.ptr<1>, f32, i32) -> ()
// CHECK-COUNT-15: red.global.add.f32
// CHECK-NOT: red.global.add.f32
// CHECK: gpu.return
!memory = memref<?x32xf32, strided<[?, 1]>>
!tile = tensor<64x32xf32, #warp.mma_sync<warps = 4>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"c", accumulate, tensor<?x32xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"c", [0, 1]>, #launch.scalar<"x", f32>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%c: !memory, %x: f32) kernel {
    %c0 = arith.constant 0 : index
    %t = tile.broadcast %x : f32 to !tile
    tile.store add %t, %c[%c0, %c0] dims [0, 1] : !tile, !memory
    gpu.return
  }
}

// -----

// The whole tile exists: no predicates.
// CHECK-LABEL: gpu.func @static
// CHECK-COUNT-16: llvm.inline_asm has_side_effects "red.global.add.f32 [$0], $1;", "l,f"
!memory = memref<64x32xf32, strided<[32, 1]>>
!tile = tensor<64x32xf32, #warp.mma_sync<warps = 4>>
gpu.module @m {
  launch.abi @static target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"c", accumulate, tensor<64x32xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"c", [0, 1]>, #launch.scalar<"x", f32>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @static(%c: !memory, %x: f32) kernel {
    %c0 = arith.constant 0 : index
    %t = tile.broadcast %x : f32 to !tile
    tile.store add %t, %c[%c0, %c0] dims [0, 1] : !tile, !memory
    gpu.return
  }
}

// -----

// Four lanes hold each element of a row tile, and would add it four times.
!memory = memref<?xf32, strided<[1]>>
!tile = tensor<64x1xf32, #warp.mma_sync<warps = 4>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"c", accumulate, tensor<?xf32>, ["M"], 4>]) parameters([#launch.memref<"c", [0]>, #launch.scalar<"x", f32>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%c: !memory, %x: f32) kernel {
    %c0 = arith.constant 0 : index
    %t = tile.broadcast %x : f32 to !tile
    // expected-error@+2 {{'add' needs at least 2 rows and 2 columns: smaller tiles are replicated across threads; found 'tensor<64x1xf32, #warp.mma_sync<warps = 4>>'}}
    // expected-error@+1 {{failed to legalize operation 'tile.store'}}
    tile.store add %t, %c[%c0] dims [0, -1] : !tile, !memory
    gpu.return
  }
}
