// In a loop that is not split: two signed comparisons, or one.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' | FileCheck %s

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([]) parameters([#launch.scalar<"n", index>, #launch.scalar<"a", index>, #launch.scalar<"b", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  // CHECK-LABEL: gpu.func @f
  // CHECK: %[[N:.*]] = arith.index_cast
  // CHECK-NEXT: %[[A:.*]] = arith.index_cast
  // CHECK-NEXT: %[[B:.*]] = arith.index_cast
  // CHECK: %[[BELOW:.*]] = arith.cmpi slt, %[[N]], %[[A]]
  // CHECK: %[[BEHIND:.*]] = arith.cmpi sge, %[[N]], %[[B]]
  // CHECK: %[[BOTH:.*]] = arith.ori %[[BELOW]], %[[BEHIND]]
  // CHECK: scf.if %[[BOTH]]
  // CHECK: %[[ONE:.*]] = arith.cmpi sge, %[[N]], %[[B]]
  // CHECK: scf.if %[[ONE]]
  gpu.func @f(%n: index, %a: index, %b: index) kernel {
    %both = tile.is_partial %n below %a from %b
    scf.if %both {
      gpu.barrier
    }
    %one = tile.is_partial %n from %b
    scf.if %one {
      gpu.barrier
    }
    gpu.return
  }
}
