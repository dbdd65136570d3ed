// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' | FileCheck %s

// An outstanding accumulation: its registers go from dot to dot, and no text in
// between accesses them. The wait in the loop leaves one dot outstanding.
// CHECK-LABEL: gpu.func @f
// Starts at zero, as does the initial tile of the accumulation.
// CHECK: llvm.inline_asm has_side_effects "{{.*}}$33, 0;{{.*}}a, b, z, 1, 1,{{.*}}wgmma.commit_group.sync.aligned;{{.*}}", "=f,{{.*}}=f,l,l,~{memory}"
// CHECK: scf.for {{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<32xf32>)
// CHECK: %[[IN:.*]]:32 = vector.to_elements %[[ACC]]
// CHECK: llvm.inline_asm has_side_effects "{{.*}}wgmma.commit_group.sync.aligned;{{.*}}", "=f,{{.*}}=f,0,1,{{.*}},31,l,l,~{memory}" %[[IN]]#0
// CHECK: nvvm.wgmma.wait.group.sync.aligned 1
// CHECK: scf.yield
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;", "=f,{{.*}}=f,0,1,{{.*}},31,~{memory}"
// After a branch, the minimum of both paths.
// CHECK: scf.if
// CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 1;", "=f,
#acc = #warp.wgmma<groups = 1>
!acc = tensor<64x64xf32, #acc>
!out = memref<?x64xf32, strided<[?, 1]>>
!a = memref<64x16xbf16, #warp.shared<row_bytes = 32>>
!b = memref<16x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, stages = 1>)
    tensors([#launch.tensor<"c", write, tensor<?x64xf32>, ["M", "N"], 16>])
    parameters([#launch.memref<"c", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(8192)
  gpu.func @f(%C: !out, %N: index) kernel {
    %A = warp.alloc offset(0) : !a
    %B = warp.alloc offset(4096) : !b
    warp.specialize captures(%C, %N, %A, %B : !out, index, !a, !b)
      role @compute warps(4) regs(240) {
      ^bb0(%c: !out, %n: index, %a: !a, %b: !b):
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %zero = arith.constant dense<0.0> : !acc
        %begin = warp.begin_sum %zero : !acc
        %p0 = warp.dot async "c" %a, %b, %begin : !a, !b, !warp.pending<!acc>
        %sum:2 = scf.for %i = %c1 to %n step %c1 iter_args(%before = %p0, %behind = %p0) -> (!warp.pending<!acc>, !warp.pending<!acc>) {
          %next = warp.dot async "c" %a, %b, %before : !a, !b, !warp.pending<!acc>
          warp.await_reads %behind : !warp.pending<!acc>
          scf.yield %next, %next : !warp.pending<!acc>, !warp.pending<!acc>
        }
        warp.await_reads %sum#1 : !warp.pending<!acc>
        %tile = warp.dot_wait %sum#0 : !warp.pending<!acc>
        tile.store %tile, %c[%c0, %c0] dims [0, 1] : !acc, !out
        %yes = arith.cmpi eq, %n, %c0 : index
        %either = scf.if %yes -> (!warp.pending<!acc>) {
          %x = warp.dot async %a, %b, %zero : !a, !b, !acc
          %y = warp.dot async %a, %b, %zero : !a, !b, !acc
          %other = warp.dot_wait %y : !warp.pending<!acc>
          tile.store %other, %c[%c1, %c0] dims [0, 1] : !acc, !out
          scf.yield %x : !warp.pending<!acc>
        } else {
          %x = warp.dot async %a, %b, %tile : !a, !b, !acc
          scf.yield %x : !warp.pending<!acc>
        }
        %younger = warp.dot async %a, %b, %zero : !a, !b, !acc
        %t = warp.dot_wait %either : !warp.pending<!acc>
        %u = warp.dot_wait %younger : !warp.pending<!acc>
        tile.store %t, %c[%c0, %c0] dims [0, 1] : !acc, !out
        tile.store %u, %c[%c0, %c0] dims [0, 1] : !acc, !out
        warp.return
      }
    gpu.return
  }
}
