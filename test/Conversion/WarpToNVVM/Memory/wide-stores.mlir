// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file | FileCheck %s

// 16-bit tiles of 32 columns: four lanes transpose their words and each stores
// 16 bytes of each of its two rows, under a predicate and without a branch.
// CHECK-LABEL: gpu.func @f
// CHECK: scf.if
// CHECK: scf.if
// CHECK-COUNT-8: nvvm.shfl.sync bfly
// CHECK-NOT: scf.if
// CHECK-NOT: st.global.b32
// CHECK: "@$5 st.global.v4.b32 [$0+0], {$1, $2, $3, $4};", "l,r,r,r,r,b,~{memory}"
// CHECK-COUNT-4: nvvm.shfl.sync bfly
// CHECK: "@$5 st.global.v4.b32 [$0+64], {$1, $2, $3, $4};"
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f(%o: memref<?x64xbf16, strided<[?, 1]>>) kernel {
    warp.specialize captures(%o : memref<?x64xbf16, strided<[?, 1]>>)
      role @load warps(4) regs(24) {
      ^bb0(%o0: memref<?x64xbf16, strided<[?, 1]>>):
        warp.return
      }
      role @compute warps(4) regs(240) {
      ^bb0(%o1: memref<?x64xbf16, strided<[?, 1]>>):
        %c0 = arith.constant 0 : index
        %x = tile.load %o1[%c0, %c0] dims [0, 1] : memref<?x64xbf16, strided<[?, 1]>> to tensor<64x64xbf16, #warp.wgmma<groups = 1>>
        tile.store %x, %o1[%c0, %c0] dims [0, 1] : tensor<64x64xbf16, #warp.wgmma<groups = 1>>, memref<?x64xbf16, strided<[?, 1]>>
        warp.return
      }
    gpu.return
  }
}

// -----

// Rows without alignment are stored by pairs.
// CHECK-LABEL: gpu.func @f
// CHECK-NOT: st.global.v4
// CHECK: st.global.b32
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<?x64xbf16>, ["S", "D"], 4>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%o: memref<?x64xbf16, strided<[?, 1]>>) kernel {
    warp.specialize captures(%o : memref<?x64xbf16, strided<[?, 1]>>)
      role @compute warps(4) regs(240) {
      ^bb0(%o1: memref<?x64xbf16, strided<[?, 1]>>):
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : tensor<64x64xbf16, #warp.wgmma<groups = 1>>
        tile.store %x, %o1[%c0, %c0] dims [0, 1] : tensor<64x64xbf16, #warp.wgmma<groups = 1>>, memref<?x64xbf16, strided<[?, 1]>>
        warp.return
      }
    gpu.return
  }
}
