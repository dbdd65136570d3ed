// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-output-copies)))' --split-input-file | FileCheck %s

// A buffer of its own, written after the previous tile has been read. Left alone: rows with a
// limit, PackGQA folds that don't divide 16, 32-bit elements, and tensors without the required
// alignment.
// CHECK-LABEL: gpu.func @own(
// CHECK-SAME: %[[O:.*]]: memref<?x?x72xbf16, strided<[?, ?, 1]>>, %[[E:.*]]: memref<?x72xf32>, %[[U:.*]]: memref<?x72xbf16>, %[[I:.*]]: index)
// CHECK-NEXT: %[[B:.*]] = warp.alloc : memref<128x80xbf16, #warp.shared<row_bytes = 128>>
// CHECK: scf.for
// CHECK-NEXT: warp.copy_out_wait %[[B]] :
// CHECK-NEXT: warp.local_store {{("[^"]+" )?}}%[[X:.*]] to %[[B]]
// CHECK-NEXT: warp.fence_stores %[[B]]
// CHECK-NEXT: warp.copy_out async {{("[^"]+" )?}}%[[B]] to %[[O]][%[[I]], %[[I]], %{{.*}}] dims [1, 2] :
// CHECK-NEXT: warp.copy_out_wait %[[B]] :
// CHECK-NEXT: warp.local_store {{("[^"]+" )?}}%[[X]] to %[[B]]
// CHECK-NEXT: warp.fence_stores %[[B]]
// CHECK-NEXT: warp.copy_out async {{("[^"]+" )?}}%[[B]] to %[[O]]{{.*}} fold [0, 8] :
// CHECK-NEXT: tile.store {{("[^"]+" )?}}{{.*}} limit
// CHECK-NEXT: tile.store {{("[^"]+" )?}}{{.*}} fold [0, 32]
// CHECK-NEXT: tile.store {{("[^"]+" )?}}{{.*}} tensor<128x80xf32
// CHECK-NEXT: tile.store {{("[^"]+" )?}}{{.*}}, %[[U]]
// CHECK-NEXT: }
// CHECK-NEXT: warp.copy_out_wait written %[[B]] :
// CHECK-NEXT: gpu.return
!x = tensor<128x80xbf16, #warp.wgmma<groups = 2>>
!y = tensor<128x80xf32, #warp.wgmma<groups = 2>>
!o = memref<?x?x72xbf16, strided<[?, ?, 1]>>
!e = memref<?x72xf32>
!u = memref<?x72xbf16>
gpu.module @m {
  launch.abi @own target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1,
       stores = [<"out", copied>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"o", write, tensor<?x?x72xbf16>, ["H", "S", "D"], 16>, #launch.tensor<"e", write, tensor<?x72xf32>, ["S", "D"], 16>, #launch.tensor<"u", write, tensor<?x72xbf16>, ["S", "D"], 2>])
    parameters([#launch.memref<"o", [0, 1, 2]>, #launch.memref<"e", [0, 1]>, #launch.memref<"u", [0, 1]>, #launch.scalar<"i", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @own(%o: !o, %e: !e, %u: !u, %i: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = arith.constant dense<1.0> : !x
    %y = arith.constant dense<1.0> : !y
    scf.for %j = %c0 to %i step %c1 {
      tile.store "out" %x, %o[%i, %i, %c0] dims [1, 2] : !x, !o
      tile.store "out" %x, %o[%i, %i, %c0] dims [1, 2] fold [0, 8] : !x, !o
      tile.store "out" %x, %o[%i, %i, %c0] limit(%i) dims [1, 2] : !x, !o
      tile.store "out" %x, %o[%i, %i, %c0] dims [1, 2] fold [0, 32] : !x, !o
      tile.store "out" %y, %e[%i, %c0] dims [0, 1] : !y, !e
      tile.store "out" %x, %u[%i, %c0] dims [0, 1] : !x, !u
    }
    gpu.return
  }
}
