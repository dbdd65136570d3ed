// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-output-copies)))' --split-input-file | FileCheck %s

// Two tiles use one stage: the copy has read the first one before the second one is written, and
// the stage is released after both.
// CHECK-LABEL: gpu.func @two(
// CHECK: %[[V:.*]] = warp.alloc
// CHECK: warp.copy_out async "dv_out"
// CHECK: warp.copy_out_wait %[[V]] :
// CHECK: warp.local_store "dk_out"
// CHECK: warp.copy_out async "dk_out"
// CHECK: warp.copy_out_wait %[[V]] :
// CHECK: warp.consumer_release
!x = tensor<128x64xbf16, #warp.wgmma<groups = 2>>
!o = memref<?x64xbf16>
!v = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!ring = memref<2x128x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @two target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1,
       streams = [<"v", stages = 2>],
       stores = [<"dv_out", copied, over = "v">, <"dk_out", copied, over = "v">],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"o", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"o", [0, 1]>, #launch.scalar<"i", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @two(%o: !o, %i: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %x = arith.constant dense<0.0> : !x
    %vs = warp.alloc : !ring
    %p = warp.pipeline "v" : !warp.pipeline<2>
    scf.for %j = %c0 to %i step %c1 {
      %r = arith.index_cast %j : index to i32
      warp.producer_acquire %p[%r, %z] : !warp.pipeline<2>
      %v = warp.stage %vs[%r] : !ring to !v
      warp.copy async "v" %o[%i, %c0] dims [0, 1] to %v : !o to !v
      warp.producer_commit %p[%r, %z] : !warp.pipeline<2>
      warp.consumer_wait %p[%r, %z] : !warp.pipeline<2>
      warp.consumer_release %p[%r, %z] : !warp.pipeline<2>
      tile.store "dv_out" %x, %o[%i, %c0] dims [0, 1] : !x, !o
      tile.store "dk_out" %x, %o[%i, %c0] dims [0, 1] : !x, !o
    }
    gpu.return
  }
}

// -----

// Each warp group zeroes rows of the stage, possibly late: no other group may write there.
// CHECK-LABEL: gpu.func @zeros(
// CHECK-NOT: warp.copy_out
// CHECK: tile.store "dv_out"
!x = tensor<128x64xbf16, #warp.wgmma<groups = 2>>
!o = memref<?x64xbf16>
!v = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!ring = memref<2x128x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @zeros target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1,
       streams = [<"v", stages = 2>],
       stores = [<"dv_out", copied, over = "v">, <"dk_out", copied, over = "v">],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"o", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"o", [0, 1]>, #launch.scalar<"i", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @zeros(%o: !o, %i: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %x = arith.constant dense<0.0> : !x
    %vs = warp.alloc : !ring
    %p = warp.pipeline "v" : !warp.pipeline<2>
    scf.for %j = %c0 to %i step %c1 {
      %r = arith.index_cast %j : index to i32
      warp.producer_acquire %p[%r, %z] : !warp.pipeline<2>
      %v = warp.stage %vs[%r] : !ring to !v
      warp.copy async "v" %o[%i, %c0] dims [0, 1] to %v : !o to !v
      warp.producer_commit %p[%r, %z] : !warp.pipeline<2>
      warp.consumer_wait %p[%r, %z] : !warp.pipeline<2>
      warp.zero_rows %v from %i : !v
      warp.consumer_release %p[%r, %z] : !warp.pipeline<2>
      tile.store "dv_out" %x, %o[%i, %c0] dims [0, 1] : !x, !o
      tile.store "dk_out" %x, %o[%i, %c0] dims [0, 1] : !x, !o
    }
    gpu.return
  }
}
