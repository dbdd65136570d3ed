// Which kernels find gradients by captured values. In roles another one meets all pairs
// again for them; else the queries' kernel has them on the way.
// RUN: fovea-opt %s --attn-differentiate --attn-to-tile=target=sm_90a | FileCheck %s --check-prefixes=CHECK,ROLES
// RUN: fovea-opt %s --attn-differentiate --attn-to-tile=target=sm_80 | FileCheck %s --check-prefixes=CHECK,TWO

// CHECK: launch.abi @slopes
// CHECK-SAME: #launch.scratch_memref<"dcapture0_sum", ["capture0.0"] #{{.*}} zeroed = true>
// ROLES-SAME: prologue([@slopes_delta]) epilogue([@slopes_queries, @slopes_sums, @slopes_dcapture0])
// TWO-SAME: prologue([@slopes_queries]) epilogue([@slopes_dcapture0])
// CHECK: gpu.func @slopes(
// CHECK-NOT: tile.scatter
// ROLES-LABEL: gpu.func @slopes_delta(
// ROLES-NOT: tile.scatter
// ROLES-LABEL: gpu.func @slopes_queries(
// ROLES-NOT: tile.scatter
// ROLES-LABEL: gpu.func @slopes_sums(
// ROLES: launch.await_previous
// ROLES-NOT: tile.store
// TWO-LABEL: gpu.func @slopes_queries(
// TWO: tile.store "delta"
// CHECK: tile.for_blocks
// Pairs that count, of rows that exist, by their head.
// CHECK: %[[EXISTS:.*]] = arith.cmpi slt, %{{.*}} : tensor<{{64|128}}x1xi32, #tile.reg>
// CHECK: %[[COUNTS:.*]] = arith.cmpf une, %{{.*}} : tensor<{{64x64|128x128}}xf32, #tile.reg>
// CHECK: %[[ALL:.*]] = tile.broadcast %[[EXISTS]]
// CHECK: %[[MASK:.*]] = arith.andi %[[COUNTS]], %[[ALL]]
// CHECK: tile.scatter add exact %{{.*}}, %{{.*}}[%{{.*}}] mask(%[[MASK]] : {{.*}}) : tensor<{{64x64|128x128}}xf32, #tile.reg>, memref<33x?xi64>[index]
// ROLES-NOT: tile.store
// TWO: tile.store "dq_out"
// CHECK-LABEL: gpu.func @slopes_dcapture0(
// ROLES: launch.await_previous
// Sums of few elements are exact; see backward-sums-exact.mlir.
// CHECK: tile.load %{{.*}} dims [1, -1] : memref<33x?xi64> to tensor<64x1xi64, #tile.reg>
// CHECK: %[[ROUNDED:.*]] = arith.truncf
// CHECK: tile.store %[[ROUNDED]]

// Others are f32, whatever adds to them first.
// CHECK: launch.abi @keys
// CHECK: tile.scatter add %{{.*}} : tensor<{{64x64|128x128}}xf32, #tile.reg>, memref<?xf32>[{{.*}}]
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
