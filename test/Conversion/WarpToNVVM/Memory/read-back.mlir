// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' | FileCheck %s

// If a dot of the same role reads the stage, as either operand, all warps of
// the group synchronise after the fence. If only another role reads it, each
// warp commits for itself.
// CHECK-LABEL: gpu.func @f
// CHECK: nvvm.fence.proxy
// CHECK: nvvm.barrier id
// CHECK: wgmma.mma_async
// CHECK: nvvm.fence.proxy
// CHECK-NOT: nvvm.barrier id
// CHECK: nvvm.bar.warp.sync
// CHECK: wgmma.mma_async
#acc = #warp.wgmma<groups = 1>
!tile = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!ring = memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>
!p = !warp.pipeline<2>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, warps = 4, stages = 2>)
    tensors([#launch.tensor<"o", write, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(41088)
  gpu.func @f(%o: memref<?x64xf32, strided<[?, 1]>>) kernel {
    %a = warp.alloc offset(0) : !tile
    %back = warp.alloc offset(8192) : !ring
    %over = warp.alloc offset(24576) : !ring
    %pb = warp.pipeline "back" offset(40960) : !p
    %po = warp.pipeline "over" offset(40992) : !p
    warp.specialize captures(%a, %back, %over, %pb, %po, %o : !tile, !ring, !ring, !p, !p, memref<?x64xf32, strided<[?, 1]>>)
      role @fill warps(4) regs(120) {
      ^bb0(%a0: !tile, %back0: !ring, %over0: !ring, %pb0: !p, %po0: !p, %o0: memref<?x64xf32, strided<[?, 1]>>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        %x = arith.constant dense<1.0> : tensor<64x64xbf16, #acc>
        %zero = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
        warp.producer_acquire %pb0[%z, %z] : !p
        %tb = warp.stage %back0[%z] : !ring to !tile
        warp.local_store "back" %x to %tb : tensor<64x64xbf16, #acc>, !tile
        warp.fence_stores %tb : !tile
        warp.producer_commit %pb0[%z, %z] : !p
        %d = warp.dot %a0, %tb, %zero : !tile, !tile, tensor<64x64xf32, #acc>
        tile.store %d, %o0[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, memref<?x64xf32, strided<[?, 1]>>
        warp.producer_acquire %po0[%z, %z] : !p
        %to = warp.stage %over0[%z] : !ring to !tile
        warp.local_store "over" %x to %to : tensor<64x64xbf16, #acc>, !tile
        warp.fence_stores %to : !tile
        warp.producer_commit %po0[%z, %z] : !p
        warp.return
      }
      role @read warps(4) regs(120) {
      ^bb0(%a0: !tile, %back0: !ring, %over0: !ring, %pb0: !p, %po0: !p, %o0: memref<?x64xf32, strided<[?, 1]>>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        %zero = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
        warp.consumer_wait %pb0[%z, %z] : !p
        warp.consumer_wait %po0[%z, %z] : !p
        %tb = warp.stage %back0[%z] : !ring to !tile
        %to = warp.stage %over0[%z] : !ring to !tile
        %d = warp.dot %tb, %to, %zero : !tile, !tile, tensor<64x64xf32, #acc>
        tile.store %d, %o0[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, memref<?x64xf32, strided<[?, 1]>>
        warp.consumer_release %pb0[%z, %z] : !p
        warp.consumer_release %po0[%z, %z] : !p
        warp.return
      }
    gpu.return
  }
}
