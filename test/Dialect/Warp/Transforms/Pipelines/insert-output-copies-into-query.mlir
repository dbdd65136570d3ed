// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-output-copies)))' --split-input-file | FileCheck %s

// The output uses the stage of Q, which is released after the copy has read it and not after S, in
// either branch.
// CHECK-LABEL: gpu.func @query(
// CHECK: %[[Q:.*]] = warp.alloc
// CHECK: scf.for
// CHECK: %[[S:.*]] = warp.dot {{("[^"]+" )?}}%
// CHECK-NEXT: scf.if
// CHECK: %[[V1:.*]] = warp.stage %[[Q]][%[[STAGE:.*]]] :
// CHECK-NEXT: warp.local_store {{("[^"]+" )?}}%{{.*}} to %[[V1]]
// CHECK-NEXT: warp.fence_stores %[[V1]]
// CHECK-NEXT: warp.copy_out async {{("[^"]+" )?}}%[[V1]]
// CHECK-NEXT: } else {
// CHECK: %[[V2:.*]] = warp.stage %[[Q]][%[[STAGE]]] :
// CHECK-NEXT: warp.local_store {{("[^"]+" )?}}%{{.*}} to %[[V2]]
// CHECK-NEXT: warp.fence_stores %[[V2]]
// CHECK-NEXT: warp.copy_out async {{("[^"]+" )?}}%[[V2]]
// CHECK-NEXT: }
// CHECK-NEXT: warp.copy_out_wait %[[Q]] :
// CHECK-NEXT: warp.consumer_release %{{.*}}[%[[STAGE]], %{{.*}}]
// CHECK-NEXT: }
// CHECK-NEXT: warp.copy_out_wait written %[[Q]] :
#reg = #warp.wgmma<groups = 2>
!x = tensor<128x64xbf16, #reg>
!s = tensor<128x64xf32, #reg>
!o = memref<?x64xbf16>
!q = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @query target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1,
       streams = [<"q", stages = 2>],
       stores = [<"out", copied, over = "q">],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"o", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"o", [0, 1]>, #launch.scalar<"i", index>, #launch.scalar<"c", i1>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @query(%o: !o, %i: index, %c: i1) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %zero = arith.constant dense<0.0> : !s
    %qs = warp.alloc : memref<2x128x64xbf16, #warp.shared<row_bytes = 128>>
    %p = warp.pipeline "q" : !warp.pipeline<2>
    %k = warp.alloc : memref<64x64xbf16, #warp.shared<row_bytes = 128>>
    scf.for %j = %c0 to %i step %c1 {
      %r = arith.index_cast %j : index to i32
      warp.producer_acquire %p[%r, %z] : !warp.pipeline<2>
      %q = warp.stage %qs[%r] : memref<2x128x64xbf16, #warp.shared<row_bytes = 128>> to !q
      warp.copy async "q" %o[%i, %c0] dims [0, 1] to %q : !o to !q
      warp.producer_commit %p[%r, %z] : !warp.pipeline<2>
      warp.consumer_wait %p[%r, %z] : !warp.pipeline<2>
      %s = warp.dot "s" %q, %k, %zero : !q, memref<64x64xbf16, #warp.shared<row_bytes = 128>>, !s
      warp.consumer_release %p[%r, %z] : !warp.pipeline<2>
      scf.if %c {
        %x = arith.truncf %s : !s to !x
        tile.store "out" %x, %o[%i, %c0] dims [0, 1] : !x, !o
      } else {
        %x = arith.constant dense<0.0> : !x
        tile.store "out" %x, %o[%i, %c0] dims [0, 1] : !x, !o
      }
    }
    gpu.return
  }
}
