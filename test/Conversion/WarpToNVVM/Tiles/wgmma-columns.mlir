// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' | FileCheck %s

// Columns from 128 on are the third and fourth panel, at an offset of 16384
// bytes, 1024 units.
// CHECK-LABEL: gpu.func @f(
// CHECK: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {$0, $1,
// CHECK-SAME: add.s64 a, $64, 128;\0A\09add.s64 b, $65, 1152;\0A\09wgmma.mma_async

// Rows from 64 on of a transposed first operand are its second panel, at an
// offset of 8192 bytes, 512 units.
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {$0, $1,
// CHECK-SAME: add.s64 a, $32, 640;\0A\09add.s64 b, $33, 128;

// 16 warps are launched with 128 registers per thread, regardless of the role's
// budget: ptxas rejects an instruction with 256 columns there (C7602). Two
// instructions have 128 each, with one fence and one commit.
// CHECK: wgmma.fence.sync.aligned;
// CHECK-SAME: add.s64 b, $129, 0;\0A\09wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {$0, $1,
// CHECK-SAME: $63}, a, b, z,
// CHECK-SAME: add.s64 b, $129, 384;\0A\09wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {$0, $1,
// CHECK-SAME: $63}, a, b, o,
// CHECK-SAME: add.s64 b, $129, 1024;\0A\09wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {$64, $65,
// CHECK-SAME: $127}, a, b, z,
// CHECK-SAME: add.s64 b, $129, 1408;
// CHECK-SAME: $127}, a, b, o, 1, 1, 0, 1;\0A\09wgmma.commit_group.sync.aligned;
#acc = #warp.wgmma<groups = 1>
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!b = memref<64x256xbf16, #warp.shared<row_bytes = 128>>
!w = memref<64x128xbf16, #warp.shared<row_bytes = 128>>
!o = memref<?x256xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 64, warps = 16, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<?x256xf32>, ["S", "D"], 4>])
    parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(512) shared_memory(65552)
  gpu.func @f(%o: !o) kernel {
    %ba = warp.alloc offset(0) : !a
    %bb = warp.alloc offset(8192) : !b
    %bw = warp.alloc offset(40960) : !w
    warp.specialize captures(%ba, %bb, %bw, %o : !a, !b, !w, !o)
      role @load warps(12) regs(24) {
      ^bb0(%a: !a, %b: !b, %w: !w, %o0: !o):
        warp.return
      }
      role @compute warps(4) regs(240) {
      ^bb0(%a: !a, %b: !b, %w: !w, %o0: !o):
        %c0 = arith.constant 0 : index
        %zero = arith.constant dense<0.0> : tensor<64x128xf32, #acc>
        %narrow = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
        %wide = arith.constant dense<0.0> : tensor<64x256xf32, #acc>
        %d = warp.dot %a, %b, %zero transpose_a columns(128) : !a, !b, tensor<64x128xf32, #acc>
        tile.store %d, %o0[%c0, %c0] dims [0, 1] : tensor<64x128xf32, #acc>, !o
        %rows = warp.dot %w, %a, %narrow transpose_a rows(64) : !w, !a, tensor<64x64xf32, #acc>
        tile.store %rows, %o0[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !o
        %e = warp.dot %a, %b, %wide : !a, !b, tensor<64x256xf32, #acc>
        tile.store %e, %o0[%c0, %c0] dims [0, 1] : tensor<64x256xf32, #acc>, !o
        warp.return
      }
    gpu.return
  }
}
