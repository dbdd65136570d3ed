// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-lower-ballots),warp-to-nvvm))' --split-input-file | FileCheck %s

// All loads precede the stores: 96 accesses of 16 bytes of k and 48 of v, one per thread and row.
// CHECK-LABEL: gpu.func @wide
// CHECK-NOT: scf.for
// CHECK: llvm.inline_asm {{.*}}ld.global.v4.b32
// CHECK: llvm.inline_asm {{.*}}ld.global.v4.b32
// CHECK-NOT: ld.global
// CHECK: llvm.inline_asm {{.*}}st.global.v4.b32
// CHECK: llvm.inline_asm {{.*}}st.global.v4.b32
// CHECK-NOT: st.global
// CHECK: gpu.return
!k = memref<?x8x96xbf16, strided<[?, ?, 1]>>
!v = memref<?x8x48xbf16, strided<[?, ?, 1]>>
gpu.module @m {
  launch.abi @wide target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x8x96xbf16>, ["T", "H", "D"], 16>, #launch.tensor<"kc", update, tensor<?x8x96xbf16>, ["R", "H", "D"], 16>,
             #launch.tensor<"v", read, tensor<?x8x48xbf16>, ["T", "H", "E"], 16>, #launch.tensor<"vc", update, tensor<?x8x48xbf16>, ["R", "H", "E"], 16>])
    parameters([#launch.memref<"k", [0, 1, 2]>, #launch.memref<"v", [0, 1, 2]>, #launch.memref<"kc", [0, 1, 2]>, #launch.memref<"vc", [0, 1, 2]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @wide(%k: !k, %v: !v, %kc: !k, %vc: !v) kernel {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    tile.copy_rows %k, %v[%c1] to %kc, %vc[%c2] : !k, !v to !k, !v
    gpu.return
  }
}

// -----

// A size that the launch determines needs a loop, with four accesses per thread and iteration; rows
// without alignment are copied by elements.
// CHECK-LABEL: gpu.func @narrow
// CHECK: scf.for
// CHECK-COUNT-4: llvm.inline_asm {{.*}}ld.global.b16
// CHECK-NOT: ld.global
// CHECK-COUNT-4: llvm.inline_asm {{.*}}st.global.b16
// CHECK-NOT: st.global
// CHECK: gpu.return
!k = memref<?x?x96xbf16, strided<[?, ?, ?]>>
gpu.module @m {
  launch.abi @narrow target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x?x96xbf16>, ["T", "H", "D"], 2>, #launch.tensor<"kc", update, tensor<?x?x96xbf16>, ["R", "H", "D"], 2>])
    parameters([#launch.memref<"k", [0, 1, 2]>, #launch.memref<"kc", [0, 1, 2]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @narrow(%k: !k, %kc: !k) kernel {
    %c1 = arith.constant 1 : index
    tile.copy_rows %k[%c1] to %kc[%c1] : !k to !k
    gpu.return
  }
}
