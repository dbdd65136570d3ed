// RUN: fovea-opt %s --attn-to-tile=target=sm_90a --canonicalize --cse | FileCheck %s

!t = tensor<1x2x?x64xbf16>

// A table of relative positions, clamped: far from 0 one load serves a whole block, if the index is
// within the table, since a block may be past the last key.
// CHECK-LABEL: gpu.func @distances
// CHECK: scores(%[[KEY:.*]]: index
// CHECK:   %[[LAST:.*]] = arith.addi %[[KEY]], %{{.*}} : index
// CHECK:   %[[LO:.*]] = arith.minsi %{{.*}}, %c16 : index
// CHECK:   %[[HI:.*]] = arith.minsi %{{.*}}, %c16 : index
// CHECK:   %[[INSIDE:.*]] = arith.cmpi ult, %[[LO]], %c17 : index
// CHECK:   %[[SAME:.*]] = arith.cmpi eq, %[[LO]], %[[HI]] : index
// CHECK:   %[[BOTH:.*]] = arith.andi %[[INSIDE]], %[[SAME]] : i1
// CHECK:   %[[SCORES:.*]] = scf.if %[[BOTH]]
// CHECK-NOT: tile.gather
// CHECK:     memref.load %{{.*}}[%{{.*}}, %[[LO]]]
// CHECK:     tile.broadcast %{{.*}} : f32 to tensor<192x{{.*}}xf32, #tile.reg>
// CHECK:   } else {
// CHECK:     tile.gather
func.func @distances(%q: !t, %k: !t, %v: !t, %table: tensor<2x17xf32>) -> !t {
  %o = attn.forward %q, %k, %v captures(%table : tensor<2x17xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<2x17xf32>) {
      %c0 = arith.constant 0 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %d = arith.subi %j, %i : index
      %e = arith.addi %d, %c8 : index
      %low = arith.maxsi %e, %c0 : index
      %n = arith.minsi %low, %c16 : index
      %bias = tensor.extract %t[%h, %n] : tensor<2x17xf32>
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}

// A product with the loaded value belongs to the block: no part of it is hoisted before the loop,
// and no term cancels in the softmax.
// CHECK-LABEL: gpu.func @product
// CHECK: scf.if
// CHECK-NOT: tile.gather
// CHECK:     %[[READ:.*]] = memref.load
// CHECK:     tile.broadcast %[[READ]] : f32 to tensor<192x[[N:[0-9]+]]xf32, #tile.reg>
// CHECK:     arith.mulf %{{.*}}, %{{.*}} : tensor<192x[[N]]xf32, #tile.reg>
// CHECK:   } else {
// CHECK:     tile.gather
func.func @product(%q: !t, %k: !t, %v: !t, %table: tensor<2x17xf32>) -> !t {
  %o = attn.forward %q, %k, %v captures(%table : tensor<2x17xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<2x17xf32>) {
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %d = arith.subi %j, %i : index
      %low = arith.maxsi %d, %c0 : index
      %n = arith.minsi %low, %c16 : index
      %factor = tensor.extract %t[%h, %n] : tensor<2x17xf32>
      %row = arith.index_cast %i : index to i32
      %bias = arith.sitofp %row : i32 to f32
      %sum = arith.addf %s, %bias : f32
      %r = arith.mulf %sum, %factor : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}

// Indices that no block shares, and one without a known interval.
// CHECK-LABEL: gpu.func @apart
// CHECK-NOT: scf.if {{.*}} -> (tensor<192x
// CHECK: tile.gather
// CHECK-NOT: scf.if {{.*}} -> (tensor<192x
// CHECK: tile.gather
func.func @apart(%q: !t, %k: !t, %v: !t, %table: tensor<?xf32>) -> !t {
  %o = attn.forward %q, %k, %v captures(%table : tensor<?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>) {
      %n = attn.key_length
      %d = arith.subi %j, %i : index
      %e = arith.addi %d, %n : index
      %x = tensor.extract %t[%e] : tensor<?xf32>
      %k1 = arith.fptosi %s : f32 to i32
      %m = arith.index_cast %k1 : i32 to index
      %f = arith.addi %m, %i : index
      %y = tensor.extract %t[%f] : tensor<?xf32>
      %r = arith.addf %x, %y : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}
