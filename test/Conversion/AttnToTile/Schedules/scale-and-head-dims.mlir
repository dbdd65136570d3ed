// RUN: fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=64,tile_n=32,warps=4,stages=2,query_in_registers=0,min_blocks=1" | FileCheck %s

!t = tensor<1x1x?x16xf16>

// A positive constant is folded into the exponent: no multiplication.
// CHECK-LABEL: gpu.func @positive
// CHECK: tile.softmax_sum {{.*}} scale(5.000000e-01)
// CHECK: tile.dot
// CHECK-NOT: arith.mulf
// CHECK: scf.if
func.func @positive(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v scale(0.5) : !t, !t, !t -> !t
  return %o : !t
}

// The maximum of scaled scores is not that of the products: no folding.
// CHECK-LABEL: gpu.func @negative
// CHECK: tile.softmax_sum {{.*}} scale(1.000000e+00)
// CHECK: %[[S:.*]] = tile.dot
// CHECK: %[[C:.*]] = arith.constant dense<-5.000000e-01>
// CHECK: %[[SCALED:.*]] = arith.mulf %[[S]], %[[C]]
// CHECK: arith.select %{{.*}}, %[[SCALED]],
func.func @negative(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v scale(-0.5) : !t, !t, !t -> !t
  return %o : !t
}

// CHECK-LABEL: gpu.func @run_time
// CHECK-SAME: %{{.*}}: memref<{{[^%]*}}>, %{{.*}}: memref<{{[^%]*}}>, %{{.*}}: memref<{{[^%]*}}>, %[[SCALE:.*]]: f32,
// CHECK: tile.softmax_sum {{.*}} scale(1.000000e+00)
// CHECK: %[[S:.*]] = tile.dot
// CHECK: %[[C:.*]] = tile.broadcast %[[SCALE]] : f32 to tensor<64x32xf32, #tile.reg>
// CHECK: arith.mulf %[[S]], %[[C]]
func.func @run_time(%q: !t, %k: !t, %v: !t, %scale: f32) -> !t {
  %o = attn.forward %q, %k, %v scale(%scale : f32) : !t, !t, !t -> !t
  return %o : !t
}

// score_mod sees the scaled score.
// CHECK-LABEL: gpu.func @score_mod
// CHECK: tile.softmax_sum {{.*}} scale(1.000000e+00)
// CHECK: %[[S:.*]] = tile.dot
// CHECK: %[[HALF:.*]] = arith.constant dense<5.000000e-01>
// CHECK: %[[SCALED:.*]] = arith.mulf %[[S]], %[[HALF]]
// CHECK: %[[CAPPED:.*]] = math.tanh %[[SCALED]] fastmath<afn> : tensor<64x32xf32, #tile.reg>
// CHECK: arith.select %{{.*}}, %[[CAPPED]],
func.func @score_mod(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v scale(0.5)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %c = math.tanh %s : f32
      attn.yield %c : f32
    } : !t, !t, !t -> !t
  return %o : !t
}

// Head dims are padded to steps of 16 independently; memory keeps its size.
// CHECK-LABEL: gpu.func @padded
// CHECK-SAME: memref<1x1x?x24xf16
// CHECK: tile.load {{.*}} : memref<1x1x?x24xf16, {{.*}} to tensor<64x32xf16, #tile.reg>
// CHECK: tile.load {{.*}} : memref<1x1x?x24xf16, {{.*}} to tensor<32x32xf16, #tile.reg>
// CHECK: tile.load {{.*}} : memref<1x1x?x40xf16, {{.*}} to tensor<32x48xf16, #tile.reg>
// CHECK: tile.store {{.*}} : tensor<64x48xf16, #tile.reg>, memref<1x1x?x40xf16
func.func @padded(%q: tensor<1x1x?x24xf16>, %k: tensor<1x1x?x24xf16>, %v: tensor<1x1x?x40xf16>) -> tensor<1x1x?x40xf16> {
  %o = attn.forward %q, %k, %v : tensor<1x1x?x24xf16>, tensor<1x1x?x24xf16>, tensor<1x1x?x40xf16> -> tensor<1x1x?x40xf16>
  return %o : tensor<1x1x?x40xf16>
}
