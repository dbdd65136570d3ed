// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' | FileCheck %s

// Two CTAs, each with a warp group for 64 of the tile's 128 rows. Each CTA
// copies its own part of Q; of K each copies half of the rows to both CTAs.
// CHECK: launch.abi @f
// CHECK-SAME: #launch.tensor_map<"q", [1, 0], box = [64, 64], swizzle = 128>
// CHECK-SAME: #launch.tensor_map<"k", [1, 0], box = [64, 16], swizzle = 128>
// CHECK-LABEL: gpu.func @f(
// CHECK-SAME: {{.*}}, %[[Q:[a-z0-9]+]]: !llvm.ptr, %[[K:[a-z0-9]+]]: !llvm.ptr)
// CHECK-SAME: nvvm.cluster_dim = array<i32: 2, 1, 1>
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : i32
// CHECK-DAG: %[[BOTH:.*]] = arith.constant 3 : i16
// CHECK-DAG: %[[C2048:.*]] = arith.constant 2048 : i32
// CHECK-DAG: %[[BYTES_Q:.*]] = arith.constant 8192 : i32
// CHECK-DAG: %[[BYTES_K:.*]] = arith.constant 4096 : i32
// CHECK: %[[RANK:.*]] = nvvm.read.ptx.sreg.cluster.ctarank : i32

// The empty barrier of K expects arrivals of the warps of both CTAs, that of Q
// of its own ones.
// CHECK: mbarrier.init{{.*}} %{{.*}}, %[[ONE]]
// CHECK: mbarrier.init{{.*}} %{{.*}}, %c4_i32
// CHECK: mbarrier.init{{.*}} %{{.*}}, %[[ONE]]
// CHECK: mbarrier.init{{.*}} %{{.*}}, %c8_i32
// A cluster barrier follows the initialisation of the mbarriers in all CTAs.
// CHECK: nvvm.barrier0
// CHECK-NEXT: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait

// CHECK: expect_tx{{.*}} %{{.*}}, %[[BYTES_Q]]
// CHECK-NOT: multicast
// CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint {{.*}} %{{.*}}, %[[Q]],
// CHECK: expect_tx{{.*}} %{{.*}}, %[[BYTES_K]]
// CHECK: %[[AHEAD:.*]] = arith.muli %[[RANK]], %[[C2048]] : i32
// CHECK: cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [$0], [$1, {$2, $3}], [$4], $5, $6;", "r,l,r,r,r,h,l,b,~{memory}" {{.*}}, %[[K]], {{.*}}, %[[BOTH]],

// Row and thread indices run through the CTAs.
// CHECK: %[[LEADER:.*]] = nvvm.elect.sync
// CHECK: try_wait
// CHECK: try_wait
// CHECK: wgmma.mma_async
// CHECK: "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK: %[[PEER:.*]] = arith.xori %[[RANK]], %[[ONE]] : i32
// CHECK: mapa.shared::cluster.u32 r, $0, $2;{{.*}}@$1 mbarrier.arrive.shared::cluster.b64 _, [r];{{.*}} "r,b,r,~{memory}" %{{.*}}, %[[LEADER]], %[[PEER]]
// CHECK: "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];"
// CHECK-NOT: mbarrier.arrive.shared::cluster
// CHECK: nvvm.cluster.arrive
// CHECK-NEXT: nvvm.cluster.wait
// CHECK-NEXT: gpu.return
#acc = #warp.wgmma<groups = 2>
!memory = memref<?x64xbf16, strided<[?, 1]>>
!out = memref<?x32xf32, strided<[?, 1]>>
!bq = memref<128x64xbf16, #warp.shared<row_bytes = 128, ctas = 2>>
!bk = memref<32x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_n = 32, stages = 1, cluster = 2>)
    tensors([#launch.tensor<"q", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"k", read, tensor<?x64xbf16>, ["T", "D"], 16>, #launch.tensor<"o", write, tensor<?x32xf32>, ["S", "E"], 16>])
    parameters([#launch.memref<"q", [0, 1]>, #launch.memref<"k", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (2)>) threads(256) shared_memory(16448) cluster(2)
  gpu.func @f(%q: !memory, %k: !memory, %o: !out) kernel {
    %bq = warp.alloc offset(0) : !bq
    %bk = warp.alloc offset(8192) : !bk
    %p = warp.pipeline offset(16384) : !warp.pipeline<1>
    %r = warp.pipeline offset(16400) : !warp.pipeline<1>
    warp.specialize captures(%q, %k, %o, %bq, %bk, %p, %r : !memory, !memory, !out, !bq, !bk, !warp.pipeline<1>, !warp.pipeline<1>) cluster(2)
      role @load warps(4) regs(56) {
      ^bb0(%q0: !memory, %k0: !memory, %o0: !out, %bq0: !bq, %bk0: !bk, %p0: !warp.pipeline<1>, %r0: !warp.pipeline<1>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        warp.producer_acquire %p0[%z, %z] : !warp.pipeline<1>
        warp.copy async %q0[%c0, %c0] dims [0, 1] to %bq0 : !memory to !bq
        warp.producer_commit %p0[%z, %z] : !warp.pipeline<1>
        warp.producer_acquire %r0[%z, %z] : !warp.pipeline<1>
        warp.copy async %k0[%c0, %c0] dims [0, 1] to %bk0 : !memory to !bk
        warp.producer_commit %r0[%z, %z] : !warp.pipeline<1>
        warp.return
      }
      role @compute warps(4) regs(248) {
      ^bb0(%q1: !memory, %k1: !memory, %o1: !out, %bq1: !bq, %bk1: !bk, %p1: !warp.pipeline<1>, %r1: !warp.pipeline<1>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        %zero = arith.constant dense<0.0> : tensor<128x32xf32, #acc>
        warp.consumer_wait %p1[%z, %z] : !warp.pipeline<1>
        warp.consumer_wait %r1[%z, %z] : !warp.pipeline<1>
        %t = warp.dot async %bq1, %bk1, %zero transpose_b : !bq, !bk, tensor<128x32xf32, #acc>
        %s = warp.dot_wait %t : !warp.pending<tensor<128x32xf32, #acc>>
        warp.consumer_release %r1[%z, %z] : !warp.pipeline<1>
        warp.consumer_release %p1[%z, %z] : !warp.pipeline<1>
        tile.store %s, %o1[%c0, %c0] dims [0, 1] : tensor<128x32xf32, #acc>, !out
        warp.return
      }
    gpu.return
  }
}
