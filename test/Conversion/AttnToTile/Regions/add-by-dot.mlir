// Accumulators that start from terms of score_mod. Two scalars per block bound a term linear in the
// key: within 4096 (here divided by the scale, 0.125) the accumulator starts from it, otherwise it
// is added after the product.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --attn-to-tile="target=sm_90a schedule=add_by_dot=1" -cse -canonicalize | FileCheck %s

!t = tensor<1x4x?x64xbf16>
// CHECK-LABEL: launch.abi @alibi {{.*}}adds_to_summand
// CHECK: %[[LIMIT:.*]] = arith.constant 3.276800e+04 : f32
// CHECK: tile.softmax_sum {{.*}} scale(1.250000e-01)
// CHECK: scores(
// CHECK: %[[START:.*]] = arith.mulf
// CHECK-DAG: %[[FIRST:.*]] = math.absf %[[START]]
// CHECK-DAG: %[[END:.*]] = math.fma %{{.*}}, %{{.*}}, %[[START]] : f32
// CHECK-DAG: %[[LAST:.*]] = math.absf %[[END]]
// CHECK-DAG: %[[A:.*]] = arith.cmpf ole, %[[FIRST]], %[[LIMIT]]
// CHECK-DAG: %[[B:.*]] = arith.cmpf ole, %[[LAST]], %[[LIMIT]]
// CHECK: %[[FITS:.*]] = arith.andi %[[A]], %[[B]]
// CHECK: %[[ACC:.*]] = scf.if %[[FITS]]
// CHECK:   tile.ramp %[[START]]
// CHECK: else
// CHECK-NEXT: scf.yield %{{cst.*}}
// CHECK: %[[DOT:.*]] = tile.dot "s" %{{.*}}, %{{.*}}, %[[ACC]]
// CHECK: scf.if %[[FITS]]
// CHECK-NEXT: scf.yield %[[DOT]]
// CHECK: else
// CHECK:   arith.addf %[[DOT]],
func.func @alibi(%q: !t, %slopes: tensor<4xf32>) -> !t {
  %o = attn.forward %q, %q, %q captures(%slopes : tensor<4xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %slopes: tensor<4xf32>) {
      %slope = tensor.extract %slopes[%h] : tensor<4xf32>
      %d = arith.subi %j, %i : index
      %d32 = arith.index_cast %d : index to i32
      %f = arith.sitofp %d32 : i32 to f32
      %bias = arith.mulf %slope, %f : f32
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x4x?x64xbf16>
func.func @bias(%q: !t, %bias: tensor<?x?xf32>) -> !t {
  // expected-error @below {{schedule's 'add_by_dot' is user-specified but cannot be applied: score_mod adds no term that an accumulator may start from: one linear in the key position, or in backward kernels one of the relative position}}
  %o = attn.forward %q, %q, %q captures(%bias : tensor<?x?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %bias: tensor<?x?xf32>) {
      %x = tensor.extract %bias[%i, %j] : tensor<?x?xf32>
      %r = arith.addf %s, %x : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}
