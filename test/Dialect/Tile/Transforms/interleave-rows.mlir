// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-interleave-query-tiles{parts=2})))' | FileCheck %s
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-interleave-query-tiles)))' | FileCheck %s --check-prefix=ONE

// Without parts, or if the plan has no 'row_tiles', nothing changes.
// ONE-LABEL: gpu.func @sums(
// ONE: tile.load "q" {{.*}} to tensor<32x16xbf16, #tile.reg>
// ONE-NOT: "s.0"

!operand = tensor<32x16xbf16, #tile.reg>
!block = tensor<16x16xbf16, #tile.reg>
!score = tensor<32x16xf32, #tile.reg>
!row = tensor<32x1xf32, #tile.reg>
!count = tensor<32x1xi32, #tile.reg>
!memory = memref<?x16xbf16, strided<[?, 1]>>
!wide = memref<?x16xf32, strided<[?, 1]>>
gpu.module @kernels {
  launch.abi @sums target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 32, tile_n = 16, stages = 1>)
    tensors([#launch.tensor<"k", read, tensor<?x16xbf16>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<?x16xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"k", [0, 1]>, #launch.memref<"o", [0, 1]>, #launch.scalar<"n", index>]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  // CHECK-LABEL: gpu.func @sums
  // CHECK-SAME: %[[K:.*]]: memref<{{.*}}bf16{{.*}}>, %[[O:.*]]: memref<{{.*}}>, %[[N:[^:]*]]: index
  gpu.func @sums(%K: !memory, %O: !wide, %n: index) kernel {
    %zero = arith.constant dense<0.0> : !score
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    // The rows of a part start after those of the previous one.
    // CHECK: %[[Q0:.*]] = tile.load "q.0" %[[K]][%[[N]], %{{.*}}] {{.*}} to tensor<16x16xbf16
    // Values that depend on the owned rows are cloned, too; loop bounds are not.
    // CHECK: %[[END0:.*]] = arith.addi %{{.*}}, %{{.*}} : index
    // CHECK: %[[NEXT:.*]] = arith.addi %[[N]], %{{.*}} : index
    // CHECK: %[[Q1:.*]] = tile.load "q.1" %[[K]][%[[NEXT]], %{{.*}}]
    // CHECK: %[[END1:.*]] = arith.addi %{{.*}}, %{{.*}} : index
    %q = tile.load "q" %K[%n, %c0] dims [0, 1] : !memory to !operand
    %first, %rows = tile.held_rows !row
    %last = arith.addi %first, %rows : index
    // CHECK: %[[SUMS:.*]]:2 = scf.for %[[J:.*]] = {{.*}} iter_args(%[[A0:.*]] = %{{.*}}, %[[A1:.*]] = %{{.*}}) -> (tensor<16x16xf32, #tile.reg>, tensor<16x16xf32, #tile.reg>) {
    %sum = scf.for %j = %c0 to %n step %c16 iter_args(%acc = %zero) -> !score {
      // CHECK: %[[B:.*]] = tile.load "k" %[[K]]
      // CHECK-NOT: tile.load
      // CHECK: %[[PARTIAL0:.*]] = arith.cmpi slt, %[[J]], %[[END0]]
      // CHECK: %[[S0:.*]] = tile.dot "s.0" %[[Q0]], %[[B]], %{{.*}} transpose_b : tensor<16x16xbf16
      %k = tile.load "k" %K[%j, %c0] dims [0, 1] : !memory to !block
      %partial = arith.cmpi slt, %j, %last : index
      %s = tile.dot "s" %q, %k, %zero transpose_b : !operand, !block, !score
      // The branch of one part, then that of the other.
      // CHECK: %[[X0:.*]] = scf.if %[[PARTIAL0]] -> (tensor<16x16xf32, #tile.reg>)
      // CHECK: tile.iota dim 0 : tensor<16x1xi32
      // CHECK-NOT: arith.addi
      // CHECK: arith.select
      // CHECK: arith.truncf
      // CHECK: tile.dot "o.0" %{{.*}}, %[[B]], %[[A0]]
      // CHECK: %[[PARTIAL1:.*]] = arith.cmpi slt, %[[J]], %[[END1]]
      // CHECK: tile.dot "s.1" %[[Q1]], %[[B]]
      // CHECK: scf.if %[[PARTIAL1]]
      // CHECK: %[[ROW:.*]] = tile.iota dim 0 : tensor<16x1xi32
      // CHECK: arith.addi %[[ROW]], %{{.*}} : tensor<16x1xi32
      // CHECK: tile.dot "o.1" %{{.*}}, %[[B]], %[[A1]]
      // CHECK: scf.yield
      %x = scf.if %partial -> !score {
        %i = tile.iota dim 0 : !count
        %column = tile.iota dim 1 : tensor<1x16xi32, #tile.reg>
        %wide = tile.broadcast %i : !count to tensor<32x16xi32, #tile.reg>
        %keys = tile.broadcast %column : tensor<1x16xi32, #tile.reg> to tensor<32x16xi32, #tile.reg>
        %keep = arith.cmpi sge, %wide, %keys : tensor<32x16xi32, #tile.reg>
        %kept = arith.select %keep, %s, %zero : tensor<32x16xi1, #tile.reg>, !score
        scf.yield %kept : !score
      } else {
        scf.yield %s : !score
      }
      %p = arith.truncf %x : !score to tensor<32x16xbf16, #tile.reg>
      %o = tile.dot "o" %p, %k, %acc : tensor<32x16xbf16, #tile.reg>, !block, !score
      scf.yield %o : !score
    }
    // CHECK: tile.store "out.0" %[[SUMS]]#0, %[[O]][%[[N]], %{{.*}}]
    // CHECK: %[[BEHIND:.*]] = arith.addi %[[N]], %{{.*}} : index
    // CHECK: tile.store "out.1" %[[SUMS]]#1, %[[O]][%[[BEHIND]], %{{.*}}]
    tile.store "out" %sum, %O[%n, %c0] dims [0, 1] : !score, !wide
    gpu.return
  }
}
