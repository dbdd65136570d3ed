// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file | FileCheck %s

// The lanes' shares of a vector are loaded before the dot that the mask waits
// for.
// CHECK-LABEL: gpu.func @ahead
// CHECK: ld.global.b64 $0, [$1];
// CHECK: mma.sync
// CHECK: nvvm.vote.sync all
// CHECK: nvvm.shfl.sync idx
#l = #warp.mma_sync<warps = 4>
!q = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!out = memref<?x64xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @ahead target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"t", read, tensor<?xi32>, ["S"], 4>, #launch.tensor<"o", write, tensor<?x64xf32>, ["M", "N"], 16>])
    parameters([#launch.memref<"t", [0]>, #launch.memref<"o", [0, 1]>, #launch.size<"S">])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(8192)
  gpu.func @ahead(%t: memref<?xi32, strided<[?]>>, %o: !out, %n: i32) kernel {
    %i = arith.index_cast %n : i32 to index
    %c0 = arith.constant 0 : index
    %q = warp.alloc offset(0) : !q
    %k = warp.alloc offset(4096) : !q
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #l>
    %hidden = arith.constant dense<0xFF800000> : tensor<64x64xf32, #l>
    %s = warp.dot "s" %q, %k, %zero transpose_b : !q, !q, tensor<64x64xf32, #l>
    %ids = tile.load %t[%i] dims [-1, 0] : memref<?xi32, strided<[?]>> to tensor<1x64xi32, #l>
    %tile = tile.broadcast %ids : tensor<1x64xi32, #l> to tensor<64x64xi32, #l>
    %five = arith.constant dense<5> : tensor<64x64xi32, #l>
    %keep = arith.cmpi eq, %tile, %five : tensor<64x64xi32, #l>
    %masked = arith.select %keep, %s, %hidden : tensor<64x64xi1, #l>, tensor<64x64xf32, #l>
    tile.store %masked, %o[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #l>, !out
    gpu.return
  }
}

// -----

// An address that is only known after the dot, here because the kernel has
// stored it: the loads stay after the dot.
// CHECK-LABEL: gpu.func @behind
// CHECK: mma.sync
// CHECK: st.global
// CHECK: ld.global.b64 $0, [$1];
// CHECK: nvvm.vote.sync all
#l = #warp.mma_sync<warps = 4>
!q = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!out = memref<?x64xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @behind target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"t", write, tensor<?xi32>, ["S"], 4>, #launch.tensor<"o", write, tensor<?x64xf32>, ["M", "N"], 16>])
    parameters([#launch.memref<"t", [0]>, #launch.memref<"o", [0, 1]>, #launch.size<"S">])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(8192)
  gpu.func @behind(%t: memref<?xi32, strided<[?]>>, %o: !out, %n: i32) kernel {
    %i = arith.index_cast %n : i32 to index
    %c0 = arith.constant 0 : index
    %q = warp.alloc offset(0) : !q
    %k = warp.alloc offset(4096) : !q
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #l>
    %hidden = arith.constant dense<0xFF800000> : tensor<64x64xf32, #l>
    %s = warp.dot "s" %q, %k, %zero transpose_b : !q, !q, tensor<64x64xf32, #l>
    %rows = tile.iota dim 0 : tensor<64x1xi32, #l>
    tile.store %rows, %t[%i] dims [0, -1] : tensor<64x1xi32, #l>, memref<?xi32, strided<[?]>>
    %ids = tile.load %t[%i] dims [-1, 0] : memref<?xi32, strided<[?]>> to tensor<1x64xi32, #l>
    %tile = tile.broadcast %ids : tensor<1x64xi32, #l> to tensor<64x64xi32, #l>
    %five = arith.constant dense<5> : tensor<64x64xi32, #l>
    %keep = arith.cmpi eq, %tile, %five : tensor<64x64xi32, #l>
    %masked = arith.select %keep, %s, %hidden : tensor<64x64xi1, #l>, tensor<64x64xf32, #l>
    tile.store %masked, %o[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #l>, !out
    gpu.return
  }
}
