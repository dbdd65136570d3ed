// REQUIRES: ptxas

// Specialised warp programs as PTX that ptxas accepts, without spills and with
// asynchronous MMAs (C75xx would report serialisation).
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-allocate-shared-memory,warp-sync-lanes)),fovea-warp-to-nvvm)' \
// RUN:   | fovea-translate --nvvm-to-ptx -o %t.ptx
// RUN: FileCheck %s --check-prefix=PTX < %t.ptx
// RUN: %ptxas -arch=sm_90a -v %t.ptx -o %t.cubin 2>&1 | FileCheck %s --check-prefix=SAID

// PTX-LABEL: .entry f(
// PTX: .param .align 64 .b8 f_param_{{.*}}[128]
// SAID-NOT: C75
// SAID: 0 bytes spill stores, 0 bytes spill loads
// SAID-NOT: C75

// Q, K, V by TMA; S = Q K^T; P = S as bf16; O = P V, without softmax.
#acc = #warp.wgmma<groups = 2>
!global = memref<?x?x64xbf16, strided<[?, ?, 1]>>
!q = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!k = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a")
    plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1,
         roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"q", read, tensor<?x?x64xbf16>, ["S", "H", "D"], 16>, #launch.tensor<"k", read, tensor<?x?x64xbf16>, ["Sk", "H", "D"], 16>,
             #launch.tensor<"v", read, tensor<?x?x64xbf16>, ["Sk", "H", "D"], 16>, #launch.tensor<"o", write, tensor<?x?x64xbf16>, ["S", "H", "D"], 16>])
    parameters([#launch.memref<"q", [1, 0, 2]>, #launch.memref<"k", [1, 0, 2]>, #launch.memref<"v", [1, 0, 2]>, #launch.memref<"o", [1, 0, 2]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f(%q: !global, %k: !global, %v: !global, %o: !global) kernel {
    %bq = warp.alloc : !q
    %bk = warp.alloc : !k
    %bv = warp.alloc : !k
    %pq = warp.pipeline : !warp.pipeline<1>
    %pk = warp.pipeline : !warp.pipeline<1>
    %pv = warp.pipeline : !warp.pipeline<1>
    %h = gpu.block_id x
    warp.specialize captures(%q, %k, %v, %o, %bq, %bk, %bv, %pq, %pk, %pv, %h : !global, !global, !global, !global, !q, !k, !k, !warp.pipeline<1>, !warp.pipeline<1>, !warp.pipeline<1>, index)
      role @load warps(4) regs(24) {
      ^bb0(%q0: !global, %k0: !global, %v0: !global, %o0: !global, %bq0: !q, %bk0: !k, %bv0: !k, %pq0: !warp.pipeline<1>, %pk0: !warp.pipeline<1>, %pv0: !warp.pipeline<1>, %h0: index):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        warp.producer_acquire %pq0[%z, %z] : !warp.pipeline<1>
        warp.copy async %q0[%h0, %c0, %c0] dims [1, 2] to %bq0 : !global to !q
        warp.producer_commit %pq0[%z, %z] : !warp.pipeline<1>
        warp.producer_acquire %pk0[%z, %z] : !warp.pipeline<1>
        warp.copy async %k0[%h0, %c0, %c0] dims [1, 2] to %bk0 : !global to !k
        warp.producer_commit %pk0[%z, %z] : !warp.pipeline<1>
        warp.producer_acquire %pv0[%z, %z] : !warp.pipeline<1>
        warp.copy async %v0[%h0, %c0, %c0] dims [1, 2] to %bv0 : !global to !k
        warp.producer_commit %pv0[%z, %z] : !warp.pipeline<1>
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%q1: !global, %k1: !global, %v1: !global, %o1: !global, %bq1: !q, %bk1: !k, %bv1: !k, %pq1: !warp.pipeline<1>, %pk1: !warp.pipeline<1>, %pv1: !warp.pipeline<1>, %h1: index):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        %zero = arith.constant dense<0.0> : tensor<128x64xf32, #acc>
        warp.consumer_wait %pq1[%z, %z] : !warp.pipeline<1>
        warp.consumer_wait %pk1[%z, %z] : !warp.pipeline<1>
        %st = warp.dot async %bq1, %bk1, %zero transpose_b : !q, !k, tensor<128x64xf32, #acc>
        %s = warp.dot_wait %st : !warp.pending<tensor<128x64xf32, #acc>>
        warp.consumer_release %pk1[%z, %z] : !warp.pipeline<1>
        warp.consumer_release %pq1[%z, %z] : !warp.pipeline<1>
        %p = arith.truncf %s : tensor<128x64xf32, #acc> to tensor<128x64xbf16, #acc>
        warp.consumer_wait %pv1[%z, %z] : !warp.pipeline<1>
        %ot = warp.dot async %p, %bv1, %zero : tensor<128x64xbf16, #acc>, !k, tensor<128x64xf32, #acc>
        %out = warp.dot_wait %ot : !warp.pending<tensor<128x64xf32, #acc>>
        warp.consumer_release %pv1[%z, %z] : !warp.pipeline<1>
        %out16 = arith.truncf %out : tensor<128x64xf32, #acc> to tensor<128x64xbf16, #acc>
        tile.store %out16, %o1[%h1, %c0, %c0] dims [1, 2] : tensor<128x64xbf16, #acc>, !global
        warp.return
      }
    gpu.return
  }
}
