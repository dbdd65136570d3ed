// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' | FileCheck %s

// Threads of a role that adds to memory keep their index in a register, as the
// result of a shuffle: reading it again would wait for the additions. A role
// that only stores does not, nor does one with an increased register budget,
// which needs the register.
// CHECK-LABEL: gpu.func @f
// CHECK: %[[ID:.*]] = gpu.thread_id x
// CHECK: %[[THREAD:.*]] = arith.index_cast %[[ID]] : index to i32
// CHECK: nvvm.shfl.sync idx
// CHECK: %[[KEPT:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[THREAD]], %c0{{.*}}, %c31
// CHECK: nvvm.setmaxregister decrease 104
// CHECK: arith.andi %[[KEPT]], %c127
// CHECK: nvvm.setmaxregister decrease 112
// CHECK: arith.subi %[[THREAD]], %c128
// CHECK: nvvm.setmaxregister increase 240
// CHECK: arith.subi %[[THREAD]], %c256
!out = memref<?x?xf32, strided<[?, 1]>>
!t = tensor<64x16xf32, #warp.wgmma<groups = 1>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8, stages = 1>)
    tensors([#launch.tensor<"o", write, tensor<?x?xf32>, ["M", "N"], 16>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(64)
  gpu.func @f(%o: !out) kernel {
    warp.specialize captures(%o : !out)
      role @adds warps(4) regs(104) {
      ^bb0(%o0: !out):
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : !t
        tile.store add "a" %x, %o0[%c0, %c0] dims [0, 1] : !t, !out
        warp.return
      }
      role @stores warps(4) regs(112) {
      ^bb0(%o1: !out):
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : !t
        tile.store "b" %x, %o1[%c0, %c0] dims [0, 1] : !t, !out
        warp.return
      }
      role @computes warps(4) regs(240) {
      ^bb0(%o2: !out):
        %c0 = arith.constant 0 : index
        %x = arith.constant dense<1.0> : !t
        tile.store add "c" %x, %o2[%c0, %c0] dims [0, 1] : !t, !out
        warp.return
      }
    gpu.return
  }
}
