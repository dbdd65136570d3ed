// RUN: fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=64,tile_n=32,warps=4,stages=2,query_in_registers=0,min_blocks=1" | FileCheck %s

// CHECK-LABEL: gpu.func @grouped
func.func @grouped(%q: tensor<1x?x?x16xf16>, %k: tensor<1x?x?x16xf16>, %v: tensor<1x?x?x16xf16>) -> tensor<1x?x?x16xf16> {
  // CHECK: %[[HQ:.*]] = memref.dim %arg0, %c1
  // CHECK: %[[HKV:.*]] = memref.dim %arg1, %c1
  // CHECK: %[[GROUP:.*]] = arith.divui %[[HQ]], %[[HKV]]
  // CHECK: tile.foreach_work
  // CHECK: arith.remui
  // CHECK: %[[HEAD:.*]] = arith.remui
  // CHECK: %[[KV_HEAD:.*]] = arith.divui %[[HEAD]], %[[GROUP]]
  // CHECK: tile.load {{("[^"]+" )?}}%arg0[%{{.*}}, %[[HEAD]],
  // CHECK: tile.load {{("[^"]+" )?}}%arg1[%{{.*}}, %[[KV_HEAD]],
  // CHECK: tile.load {{("[^"]+" )?}}%arg2[%{{.*}}, %[[KV_HEAD]],
  // CHECK: tile.store {{("[^"]+" )?}}{{.*}}, %arg3[%{{.*}}, %[[HEAD]],
  %o = attn.forward %q, %k, %v : tensor<1x?x?x16xf16>, tensor<1x?x?x16xf16>, tensor<1x?x?x16xf16> -> tensor<1x?x?x16xf16>
  return %o : tensor<1x?x?x16xf16>
}

// The kernel's dimension order is batch, head, row, column; only the ABI has the host's order.
!s = tensor<2x?x8x16xf16>
// CHECK: launch.abi @bshd
// CHECK-SAME: #launch.tensor<"q", read, tensor<2x?x8x16xf16>, ["B", "Sq", "Hq", "D"], 16>
// CHECK-SAME: #launch.memref<"q", [0, 2, 1, 3]>
// CHECK-SAME: #launch.memref<"o", [0, 2, 1, 3]>
// CHECK-LABEL: gpu.func @bshd
// CHECK-SAME: %arg0: memref<2x8x?x16xf16, strided<[?, ?, ?, 1]>>
func.func @bshd(%q: !s, %k: !s, %v: !s) -> !s {
  // CHECK: memref.dim %arg0, %c2
  // CHECK: tile.load {{("[^"]+" )?}}%arg0[%[[B:[a-z0-9_]+]], %[[H:[a-z0-9_]+]], %[[ROW:[a-z0-9_]+]], %{{.*}}] dims [2, 3]
  // CHECK: tile.store {{("[^"]+" )?}}{{.*}}, %arg3[%[[B]], %[[H]], %[[ROW]], %{{.*}}] dims [2, 3]
  %o = attn.forward %q, %k, %v layout(bshd) : !s, !s, !s -> !s
  return %o : !s
}
