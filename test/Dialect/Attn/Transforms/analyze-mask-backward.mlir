// query_bounds: the analysis with queries and keys exchanged.
// RUN: fovea-opt %s --attn-analyze-mask | FileCheck %s

!t = tensor<?x?x?x16xbf16>
!rows = tensor<?x?x?xf32>
// CHECK-LABEL: func @causal
// CHECK: kv_bounds(%b: index, %h: index, %i0: index, %i1: index) {
// CHECK: attn.key_length
// CHECK: query_bounds(%b: index, %h: index, %j0: index, %j1: index) {
// CHECK-NEXT: %[[N:.*]] = attn.query_length
// CHECK-NEXT: %[[LB:.*]] = arith.minsi %j0, %[[N]]
// CHECK-NEXT: %[[LAST:.*]] = arith.maxsi %j1, %[[LB]]
// CHECK-NEXT: %[[FB:.*]] = arith.minsi %[[LAST]], %[[N]]
// CHECK-NEXT: attn.yield %[[LB]], %[[FB]], %[[N]], %[[N]]
func.func @causal(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> !t {
  %0 = attn.backward %q, %k, %v, %o, %lse, %do gradients(k)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// Captured values are passed to the regions. Documents have no bounds; the block
// predicate serves both directions.
// CHECK-LABEL: func @documents
// CHECK: kv_classify(
// CHECK: query_bounds(%b: index, %h: index, %j0: index, %j1: index, %{{.*}}: tensor<?xi32>, %{{.*}}: index) {
// CHECK: %[[N:.*]] = attn.query_length
// CHECK-NOT: key_length
// CHECK: attn.yield
func.func @documents(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %doc: tensor<?xi32>, %w: index) -> !t {
  %0 = attn.backward %q, %k, %v, %o, %lse, %do gradients(k) captures(%doc, %w : tensor<?xi32>, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %d: tensor<?xi32>, %rw: index) {
      %di = tensor.extract %d[%i] : tensor<?xi32>
      %dj = tensor.extract %d[%j] : tensor<?xi32>
      %same = arith.cmpi eq, %di, %dj : i32
      %far = arith.subi %i, %j : index
      %near = arith.cmpi slt, %far, %rw : index
      %keep = arith.andi %same, %near : i1
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// Values used in regions of an op count as operands. An invariant bound is computed among the bounds;
// a condition on pairs is not analysed: all queries.
// CHECK-LABEL: func.func @choice
// CHECK: query_bounds(%[[B:.*]]: index, %{{.*}}: index, %[[J0:.*]]: index, %[[J1:.*]]: index, %[[N:.*]]: index)
// CHECK: %[[LIMIT:.*]] = scf.if
// CHECK: scf.yield %[[N]] : index
// CHECK: %[[LARGEST:.*]] = arith.minsi %{{.*}}, %{{.*}} : index
// CHECK: arith.addi %[[J1]], %[[LARGEST]]
// CHECK: attn.yield
func.func @choice(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %n: index) -> !t {
  %0 = attn.backward %q, %k, %v, %o, %lse, %do gradients(k) captures(%n : index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %nn: index) {
      %c8 = arith.constant 8 : index
      %many = arith.cmpi sge, %nn, %c8 : index
      %limit = scf.if %many -> index {
        scf.yield %c8 : index
      } else {
        scf.yield %nn : index
      }
      %far = arith.subi %i, %j : index
      %keep = arith.cmpi slt, %far, %limit : index
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// CHECK-LABEL: func.func @branch
// CHECK: query_bounds({{.*}})
// CHECK: %[[ALL:.*]] = attn.query_length
// CHECK: attn.yield %c0{{.*}}, %{{.*}}, %{{.*}}, %[[ALL]]
func.func @branch(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> !t {
  %0 = attn.backward %q, %k, %v, %o, %lse, %do gradients(k)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %yes = arith.constant true
      %past = arith.cmpi sge, %i, %j : index
      %keep = scf.if %past -> i1 {
        scf.yield %yes : i1
      } else {
        scf.yield %past : i1
      }
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}
