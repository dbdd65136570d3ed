// RUN: not fovea-run %s --random=1 2>&1 | FileCheck %s

// Rows may change only if no outstanding dot reads them.
// CHECK: error: changes shared memory that an asynchronous dot may still read
// CHECK-NEXT: warp.zero_rows
// CHECK: note: the dot
// CHECK-NEXT: warp.dot async
!b = memref<16x16xbf16, #warp.shared<row_bytes = 32>>
!acc = tensor<16x16xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<16x16xbf16>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<16x16xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: memref<16x16xbf16>, %o: memref<16x16xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %zero = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !b
    warp.copy %k[%c0, %c0] dims [0, 1] to %b : memref<16x16xbf16> to !b
    warp.zero_rows %b from %c3 : !b
    %d = warp.dot async %b, %b, %zero : !b, !b, !acc
    // The same rows again: no change.
    warp.zero_rows %b from %c3 : !b
    warp.zero_rows %b from %c0 : !b
    %r = warp.dot_wait %d : !warp.pending<!acc>
    tile.store %r, %o[%c0, %c0] dims [0, 1] : !acc, memref<16x16xf32>
    gpu.return
  }
}
