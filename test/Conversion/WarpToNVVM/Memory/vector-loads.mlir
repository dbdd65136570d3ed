// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file | FileCheck %s
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm{split-vector-loads=false},canonicalize,cse))' --split-input-file | FileCheck %s --check-prefix=APART

// Without the split each vector has its own check, and masks are not
// duplicated.
// APART-LABEL: gpu.func @f
// APART: %[[PLAIN:.*]] = nvvm.vote.sync all
// APART: scf.if %[[PLAIN]] -> (vector<16xi64>) {
// APART: %[[PLAIN:.*]] = nvvm.vote.sync all
// APART: scf.if %[[PLAIN]] -> (vector<16xi1>) {
// APART-COUNT-32: arith.select %{{.*}} : f32
// APART-NOT: arith.select

// A mask of vectors has one check for all of them, and two versions. In one,
// vectors exist whole and are contiguous, and each lane loads two elements for
// all lanes. In the other, elements are loaded one by one through local memory.
// Both versions yield the masked scores.
// CHECK-LABEL: gpu.func @f
// CHECK-DAG: %[[WORDS:.*]] = llvm.alloca %c16_i32 x i64 {alignment = 16 : i64}
// CHECK-DAG: %[[BYTES:.*]] = llvm.alloca %c16_i32 x i8 {alignment = 16 : i64}
// CHECK-COUNT-2: llvm.inline_asm "{{.*}}@p ld.global.b64 $0, [$1];
// CHECK: llvm.inline_asm "{{.*}}@p ld.global.b16 $0, [$1];
// CHECK-NOT: ld.global
// CHECK: %[[PLAIN:.*]] = nvvm.vote.sync all
// CHECK-NOT: nvvm.vote
// CHECK: %[[S:.*]] = scf.if %[[PLAIN]] -> (vector<32xf32>) {
// CHECK-COUNT-40: nvvm.shfl.sync idx
// CHECK-NOT: nvvm.shfl
// CHECK-COUNT-32: arith.select %{{.*}} : f32
// CHECK: } else {
// All stores precede the first load.
// CHECK-COUNT-16: llvm.inline_asm "{{.*}}@p ld.global.b64 $0, [$1];
// CHECK: llvm.store volatile
// CHECK-NOT: llvm.load
// CHECK-COUNT-16: llvm.inline_asm "{{.*}}@p ld.global.u8 $0, [$1];
// CHECK: %[[ZERO:.*]] = llvm.load volatile %{{.*}} : !llvm.ptr -> i32
// CHECK: llvm.getelementptr %{{.*}}[%[[ZERO]]] : (!llvm.ptr, i32) -> !llvm.ptr
// CHECK-COUNT-16: llvm.load %{{.*}} : !llvm.ptr -> i64
// CHECK-COUNT-32: arith.select %{{.*}} : f32
// CHECK: }
// CHECK-NOT: arith.select
// CHECK: vector.{{.*}} %[[S]]
#l = #warp.mma_sync<warps = 4>
!words = memref<?xi64, strided<[?]>>
!flags = memref<?xi1, strided<[?]>>
!out = memref<?x64xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"t", read, tensor<?xi64>, ["S"], 8>, #launch.tensor<"u", read, tensor<?xi1>, ["S"], 1>, #launch.tensor<"o", write, tensor<?x64xf32>, ["M", "N"], 16>])
    parameters([#launch.memref<"t", [0]>, #launch.memref<"u", [0]>, #launch.memref<"o", [0, 1]>, #launch.size<"S">])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%t: !words, %u: !flags, %o: !out, %n: i32) kernel {
    %i = arith.index_cast %n : i32 to index
    %c0 = arith.constant 0 : index
    %s = tile.load %o[%c0, %c0] dims [0, 1] : !out to tensor<64x64xf32, #l>
    %hidden = arith.constant dense<0xFF800000> : tensor<64x64xf32, #l>
    %q = tile.load %t[%i] dims [0, -1] : !words to tensor<64x1xi64, #l>
    %k = tile.load %t[%i] dims [-1, 0] : !words to tensor<1x64xi64, #l>
    %f = tile.load %u[%i] dims [-1, 0] : !flags to tensor<1x64xi1, #l>
    %qs = tile.broadcast %q : tensor<64x1xi64, #l> to tensor<64x64xi64, #l>
    %ks = tile.broadcast %k : tensor<1x64xi64, #l> to tensor<64x64xi64, #l>
    %fs = tile.broadcast %f : tensor<1x64xi1, #l> to tensor<64x64xi1, #l>
    %same = arith.cmpi eq, %qs, %ks : tensor<64x64xi64, #l>
    %keep = arith.andi %same, %fs : tensor<64x64xi1, #l>
    %masked = arith.select %keep, %s, %hidden : tensor<64x64xi1, #l>, tensor<64x64xf32, #l>
    tile.store %masked, %o[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #l>, !out
    gpu.return
  }
}

// -----

// Code that must not be duplicated is not split, here because of a store: the
// two versions of the vector join right after the loads.
// CHECK-LABEL: gpu.func @f
// CHECK-NOT: llvm.alloca
// CHECK: scf.if %{{.*}} -> (vector<16xi32>) {
// CHECK-COUNT-16: llvm.inline_asm has_side_effects "{{.*}}st.global.b32
#l = #warp.mma_sync<warps = 4>
!words = memref<?xi32, strided<[?]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"t", write, tensor<?xi32>, ["S"], 4>]) parameters([#launch.memref<"t", [0]>, #launch.size<"S">])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%t: !words, %n: i32) kernel {
    %i = arith.index_cast %n : i32 to index
    %k = tile.load %t[%i] dims [-1, 0] : !words to tensor<1x64xi32, #l>
    tile.store %k, %t[%i] dims [-1, 0] : tensor<1x64xi32, #l>, !words
    gpu.return
  }
}
