// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' | FileCheck %s

// Each of two warp groups multiplies its 64 rows of A. Descriptors are computed
// once, from addresses masked to 14 bits, and a stage (8192 bytes) adds to
// them.
// CHECK-LABEL: gpu.func @f
// CHECK-DAG: %[[UPPER:.*]] = arith.constant 4611686293305294848 : i64
// CHECK-DAG: %[[KMAJOR:.*]] = arith.constant 65536 : i32
// CHECK-DAG: %[[MNMAJOR:.*]] = arith.constant 33554432 : i32
// CHECK-DAG: %[[MASK:.*]] = arith.constant 16383 : i32
// CHECK-DAG: %[[C4:.*]] = arith.constant 4 : i32
// CHECK-DAG: %[[GROUPBYTES:.*]] = arith.constant 8192 : i32
// CHECK-DAG: %[[UNITS:.*]] = arith.constant 512 : i32
// CHECK: nvvm.elect.sync
// CHECK: %[[GROUP:.*]] = arith.divui %{{.*}}, %[[C4]] : i32
// CHECK: arith.muli %[[GROUP]], %[[GROUPBYTES]] : i32
// CHECK: arith.shrui %{{.*}}, %[[C4]] : i32
// CHECK: arith.andi %{{.*}}, %[[MASK]] : i32
// CHECK: %[[LOWER:.*]] = arith.ori %{{.*}}, %[[KMAJOR]] : i32

// The loop issues two dots, in order, and waits for the first one only.
// CHECK: scf.for
// CHECK: %[[DISTANCE:.*]] = arith.muli %{{.*}}, %[[UNITS]] : i32
// CHECK: %[[STAGE:.*]] = arith.addi %{{.*}}, %[[DISTANCE]] : i32
// CHECK: %[[WIDE:.*]] = arith.extui %[[STAGE]] : i32 to i64
// CHECK: %[[K:.*]] = arith.ori %[[WIDE]], %[[UPPER]] : i64
// Starts at zero: outputs only, and the first k-step overwrites. Both operands
// advance by 32 bytes in a panel.
// CHECK: llvm.inline_asm has_side_effects "{{.*}}wgmma.fence.sync.aligned;
// CHECK-SAME: add.s64 a, $32, 0;\0A\09add.s64 b, $33, 0;\0A\09wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {$0, $1,
// CHECK-SAME: $31}, a, b, z, 1, 1, 0, 0;
// CHECK-SAME: add.s64 a, $32, 2;\0A\09add.s64 b, $33, 2;
// CHECK-SAME: $31}, a, b, o, 1, 1, 0, 0;
// CHECK-SAME: add.s64 a, $32, 6;\0A\09add.s64 b, $33, 6;
// CHECK-SAME: wgmma.commit_group.sync.aligned;
// CHECK-SAME: "=f,{{.*}}=f,l,l,~{memory}" %{{.*}}, %[[K]] : (i64, i64)
// The other dot accumulates; 16 rows of its second operand are 2048 bytes.
// CHECK: llvm.inline_asm has_side_effects "{{.*}}wgmma.fence.sync.aligned;
// CHECK-SAME: add.s64 b, $80, 0;\0A\09wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {$0,
// CHECK-SAME: $31}, {$64, $65, $66, $67}, b, o, 1, 1, 1;
// CHECK-SAME: add.s64 b, $80, 128;
// CHECK-SAME: $31}, {$68, $69, $70, $71}, b, o, 1, 1, 1;
// CHECK-SAME: "=f,{{.*}}=f,0,1,{{.*}},31,r,{{.*}}r,l,~{memory}"
// CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 1;", "=f,{{.*}}=f,0,1,{{.*}},31,~{memory}"
// Work that must precede the wait: a store under a condition that never holds,
// to the spare bytes.
// CHECK: llvm.inline_asm has_side_effects "{{.*}}setp.lt.f32 p, $0, 0f00000000;{{.*}}setp.lt.or.f32 p, $1, 0f00000000, p;{{.*}}@p st.volatile.shared.u32 [$2], 0;{{.*}}", "f,f,r,~{memory}"
// CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;"
// Values kept live across the wait pass through an empty text, as 16 words.
// CHECK: llvm.inline_asm has_side_effects "", "=r,{{.*}}=r,0,1,{{.*}},15,~{memory}"
// CHECK: scf.yield

// Without 'async' the dot waits at once. Panels of 32 columns have the 64-byte
// swizzle, and k-steps of the second panel have an offset of 4096 bytes.
// CHECK: m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, a, b, z, 1, 1, 0, 0;
// CHECK-SAME: add.s64 a, $4, 2;\0A\09add.s64 b, $5, 2;
// CHECK-SAME: add.s64 a, $4, 512;\0A\09add.s64 b, $5, 32;
// CHECK-NEXT: llvm.extractvalue
// CHECK: "wgmma.wait_group.sync.aligned 0;"
#acc = #warp.wgmma<groups = 2>
!q = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
!k = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!kr = memref<2x64x64xbf16, #warp.shared<row_bytes = 128>>
!h = memref<128x64xf16, #warp.shared<row_bytes = 64>>
!g = memref<8x64xf16, #warp.shared<row_bytes = 64>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<?x64xf32>, ["S", "D"], 4>, #launch.tensor<"r", write, tensor<?x8xf32>, ["S", "E"], 4>])
    parameters([#launch.memref<"o", [0, 1]>, #launch.memref<"r", [0, 1]>, #launch.scalar<"n", i32>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(65552)
  gpu.func @f(%o: memref<?x64xf32, strided<[?, 1]>>, %r: memref<?x8xf32, strided<[?, 1]>>, %n: i32) kernel {
    %bq = warp.alloc offset(0) : !q
    %bk = warp.alloc offset(16384) : !kr
    %bh = warp.alloc offset(32768) : !h
    %bg = warp.alloc offset(49152) : !g
    warp.specialize captures(%bq, %bk, %bh, %bg, %o, %r, %n : !q, !kr, !h, !g, memref<?x64xf32, strided<[?, 1]>>, memref<?x8xf32, strided<[?, 1]>>, i32)
      role @compute warps(8) regs(240) {
      ^bb0(%bq0: !q, %bk0: !kr, %bh0: !h, %bg0: !g, %o0: memref<?x64xf32, strided<[?, 1]>>, %r0: memref<?x8xf32, strided<[?, 1]>>, %n0: i32):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %zero = arith.constant dense<0.0> : tensor<128x64xf32, #acc>
        %zero8 = arith.constant dense<0.0> : tensor<128x8xf32, #acc>
        %p = arith.constant dense<1.0> : tensor<128x64xbf16, #acc>
        %l:2 = scf.for %i = %z to %n0 step %one iter_args(%w = %p, %acc = %zero) -> (tensor<128x64xbf16, #acc>, tensor<128x64xf32, #acc>) : i32 {
          %k = warp.stage %bk0[%i] : !kr to !k
          %st = warp.dot async %bq0, %k, %zero transpose_b : !q, !k, tensor<128x64xf32, #acc>
          %ot = warp.dot async %w, %k, %acc : tensor<128x64xbf16, #acc>, !k, tensor<128x64xf32, #acc>
          %s = warp.dot_wait %st : !warp.pending<tensor<128x64xf32, #acc>>
          %x = tile.reduce add dim 1 %s : tensor<128x64xf32, #acc> to tensor<128x1xf32, #acc>
          %t = arith.truncf %s : tensor<128x64xf32, #acc> to tensor<128x64xbf16, #acc>
          %on, %t2 = warp.dot_wait %ot above(%x : tensor<128x1xf32, #acc>) held(%t : tensor<128x64xbf16, #acc>) : !warp.pending<tensor<128x64xf32, #acc>>
          scf.yield %t2, %on : tensor<128x64xbf16, #acc>, tensor<128x64xf32, #acc>
        }
        tile.store %l#1, %o0[%c0, %c0] dims [0, 1] : tensor<128x64xf32, #acc>, memref<?x64xf32, strided<[?, 1]>>
        %d = warp.dot %bh0, %bg0, %zero8 transpose_b : !h, !g, tensor<128x8xf32, #acc>
        tile.store %d, %r0[%c0, %c0] dims [0, 1] : tensor<128x8xf32, #acc>, memref<?x8xf32, strided<[?, 1]>>
        warp.return
      }
    gpu.return
  }
}
