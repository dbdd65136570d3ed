// Without roles the queries kernel computes gradients with respect to captured tensors. With roles
// key tiles do; see capture-grads-by-key.mlir.
// RUN: fovea-opt %s --attn-differentiate --attn-to-tile=target=sm_80 | FileCheck %s

// CHECK: launch.abi @slopes
// CHECK-SAME: #launch.scratch_memref<"dcapture0_sum", ["capture0.0"] #{{.*}} zeroed = true>
// CHECK-SAME: prologue([@slopes_queries]) epilogue([@slopes_dcapture0])
// CHECK: gpu.func @slopes(
// CHECK-NOT: tile.scatter
// CHECK-LABEL: gpu.func @slopes_queries(
// CHECK: tile.store "delta"
// CHECK: tile.for_blocks
// Pairs that count, with existing queries, indexed by head.
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %{{.*}} : tensor<64x1xi32, #tile.reg>
// CHECK: %[[COUNTS:.*]] = arith.cmpf une, %{{.*}} : tensor<64x64xf32, #tile.reg>
// CHECK: %[[ALL:.*]] = tile.broadcast %[[EXISTS]]
// CHECK: %[[MASK:.*]] = arith.andi %[[COUNTS]], %[[ALL]]
// CHECK: tile.scatter add exact %{{.*}}, %{{.*}}[%{{.*}}] mask(%[[MASK]] : {{.*}}) : tensor<64x64xf32, #tile.reg>, memref<33x?xi64>[index]
// CHECK: tile.store "dq_out"
// CHECK-LABEL: gpu.func @slopes_dcapture0(
// Sums with few elements are exact; see capture-grads-exact.mlir.
// CHECK: tile.load %{{.*}} dims [1, -1] : memref<33x?xi64> to tensor<64x1xi64, #tile.reg>
// CHECK: %[[ROUNDED:.*]] = arith.truncf
// CHECK: tile.store %[[ROUNDED]]

// Others are f32, independent of their first contribution.
// CHECK: launch.abi @keys
// CHECK: tile.scatter add %{{.*}} : tensor<64x64xf32, #tile.reg>, memref<?xf32>[{{.*}}]
// CHECK-LABEL: gpu.func @keys_dcapture0(
// CHECK: %[[SUM:.*]] = tile.load %{{.*}}[%{{.*}}] dims [0, -1] : memref<?xf32> to tensor<64x1xf32, #tile.reg>
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[SUM]]
// CHECK: tile.store %[[ROUNDED]]

!x = tensor<?x?x?x64xbf16>
!r = tensor<?x?x?xf32>
!s = tensor<?xbf16>
func.func @slopes(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !s) -> (!x, !x, !x, !s) {
  %dq, %dk, %dv, %dt = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0]) captures(%t : !s)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s) {
      %e = tensor.extract %tt[%h] : !s
      %f = arith.extf %e : bf16 to f32
      %n = arith.mulf %a, %f : f32
      attn.yield %n : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, !s
  return %dq, %dk, %dv, %dt : !x, !x, !x, !s
}

func.func @keys(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !s) -> (!x, !x, !x, !s) {
  %dq, %dk, %dv, %dt = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0]) captures(%t : !s)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s) {
      %e = tensor.extract %tt[%j] : !s
      %f = arith.extf %e : bf16 to f32
      %n = arith.mulf %a, %f : f32
      attn.yield %n : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, !s
  return %dq, %dk, %dv, %dt : !x, !x, !x, !s
}
