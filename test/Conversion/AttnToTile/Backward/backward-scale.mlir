// The gradient with respect to a run-time scale: with dQ it is a sum over queries of their rows of
// Q times those of the unscaled dQ, in the kernel that computes dQ. Without dQ it is a sum over
// pairs.
// RUN: fovea-opt %s --split-input-file --attn-to-tile=target=sm_90a --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,ROLES
// RUN: fovea-opt %s --split-input-file --attn-to-tile='target=sm_80 schedule=tile_n=32' --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,TILES

// ROLES-LABEL: launch.abi @all
// ROLES-SAME: epilogue([@all_queries, @all_dscale])
// ROLES: gpu.func @all(
// ROLES-NOT: tile.scatter
// CHECK-LABEL: gpu.func @all_queries(
// ROLES: %[[SUMS:.*]] = tile.load {{.*}} fragments
// TILES: %[[SUMS:.*]] = tile.for_blocks
// TILES-NOT: tile.scatter
// CHECK: %[[QUERIES:.*]] = arith.extf %{{.*}} : tensor<[[ROWS:[0-9]+]]x64xbf16, #tile.reg>
// CHECK: %[[PRODUCTS:.*]] = arith.mulf %[[SUMS]], %[[QUERIES]]
// CHECK: %[[SHARES:.*]] = tile.reduce add dim 1 %[[PRODUCTS]]
// CHECK: %[[EXIST:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : tensor<[[ROWS]]x1xi32, #tile.reg>
// CHECK: tile.scatter add exact %[[SHARES]], %{{.*}}[%c0] mask(%[[EXIST]]
// CHECK: tile.store "dq_out"

!x = tensor<?x2x?x64xbf16>
!r = tensor<?x2x?xf32>
func.func @all(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %s: f32) -> (!x, !x, !x, tensor<f32>) {
  %dq, %dk, %dv, %ds = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, scale) scale(%s : f32)
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x, tensor<f32>
  return %dq, %dk, %dv, %ds : !x, !x, !x, tensor<f32>
}

// -----

// CHECK-LABEL: launch.abi @alone
// CHECK: tile.for_blocks
// CHECK: tile.scatter add exact

!x = tensor<?x2x?x64xbf16>
!r = tensor<?x2x?xf32>
func.func @alone(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %s: f32) -> tensor<f32> {
  %ds = attn.backward %q, %k, %v, %o, %lse, %do gradients(scale) scale(%s : f32)
    : !x, !x, !x, !x, !r, !x -> tensor<f32>
  return %ds : tensor<f32>
}
