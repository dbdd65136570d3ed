// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file --verify-diagnostics | FileCheck %s

// The first 128 threads write the block of ones, 16 bytes each. A proxy fence
// makes it visible to the tensor cores, and a CTA barrier follows.
// CHECK-LABEL: gpu.func @f
// CHECK-DAG: %[[ONES:.*]] = arith.constant dense<1065369472> : vector<4xi32>
// The distance to the ones, 32768 bytes, is the leading offset. A stage (16384
// bytes) adds 1024 to the address and subtracts it from the distance.
// CHECK-DAG: %[[LEADING:.*]] = arith.constant 134217728 : i32
// CHECK-DAG: %[[ADVANCE:.*]] = arith.constant -67107840 : i32
// CHECK-DAG: %[[FILLERS:.*]] = arith.constant 128 : i32
// CHECK: %[[MINE:.*]] = arith.cmpi ult, %{{.*}}, %[[FILLERS]] : i32
// CHECK: scf.if %[[MINE]] {
// CHECK: llvm.getelementptr %{{.*}}[32768]
// CHECK: llvm.store %[[ONES]], %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK-NEXT: nvvm.fence.proxy
// CHECK: nvvm.barrier0
// CHECK: arith.ori %{{.*}}, %[[LEADING]] : i32
// CHECK: arith.muli %{{.*}}, %[[ADVANCE]] : i32
// CHECK: add.s64 b, $104, 0;\0A\09wgmma.mma_async.sync.aligned.m64n72k16.f32.bf16.bf16 {$0,
// CHECK-SAME: $35}, {$72, $73, $74, $75}, b, o, 1, 1, 1;
// Two kilobytes further from the start, and closer to the ones.
// CHECK-SAME: add.s64 b, $104, -8388480;
#acc = #warp.wgmma<groups = 1>
!v = memref<2x128x64xbf16, #warp.shared<row_bytes = 128>>
!vs = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!ones = memref<16x8xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<?x72xf32>, ["S", "D"], 4>])
    parameters([#launch.memref<"o", [0, 1]>, #launch.scalar<"n", i32>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(34832)
  gpu.func @f(%o: memref<?x72xf32, strided<[?, 1]>>, %n: i32) kernel {
    %v = warp.alloc offset(0) : !v
    %ones = warp.ones offset(32768) : !ones
    warp.specialize captures(%v, %ones, %o, %n : !v, !ones, memref<?x72xf32, strided<[?, 1]>>, i32)
      role @compute warps(4) regs(240) {
      ^bb0(%v0: !v, %ones0: !ones, %o0: memref<?x72xf32, strided<[?, 1]>>, %n0: i32):
        %c0 = arith.constant 0 : index
        %x = tile.load %o0[%c0, %c0] dims [0, 1] : memref<?x72xf32, strided<[?, 1]>> to tensor<64x72xf32, #acc>
        %p = arith.constant dense<1.0> : tensor<64x128xbf16, #acc>
        %vs = warp.stage %v0[%n0] : !v to !vs
        %d = warp.dot %p, %vs, %x ones(%ones0 : !ones) : tensor<64x128xbf16, #acc>, !vs, tensor<64x72xf32, #acc>
        tile.store %d, %o0[%c0, %c0] dims [0, 1] : tensor<64x72xf32, #acc>, memref<?x72xf32, strided<[?, 1]>>
        warp.return
      }
    gpu.return
  }
}
