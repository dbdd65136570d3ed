// RUN: fovea-opt %s --attn-analyze-mask | FileCheck %s

!t = tensor<?x?x?x64xbf16>

// Exact bounds need no kv_classify.
// CHECK-LABEL: func.func @window
// CHECK: kv_bounds
// CHECK-NOT: kv_classify
func.func @window(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %size = arith.constant 100 : index
      %distance = arith.subi %i, %j : index
      %keep = arith.cmpi ult, %distance, %size : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// CHECK-LABEL: func.func @causal_or_prefix
// CHECK: kv_bounds
// CHECK-NOT: kv_classify
func.func @causal_or_prefix(%q: !t, %n: index) -> !t {
  %o = attn.forward %q, %q, %q captures(%n : index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %n: index) {
      %prefix = arith.cmpi slt, %j, %n : index
      %causal = arith.cmpi sge, %i, %j : index
      %keep = arith.ori %prefix, %causal : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// The range of a union includes the gap between its parts.
// CHECK-LABEL: func.func @window_or_prefix
// CHECK: kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index)
// CHECK-DAG: %[[C9:.*]] = arith.constant 9 : index
// CHECK-DAG: %[[C63:.*]] = arith.constant 63 : index
// CHECK-DAG: %[[NEXT:.*]] = arith.addi %j1, %[[C9]]
// CHECK: %[[NEAR:.*]] = arith.cmpi sle, %i0, %[[NEXT]]
// CHECK: %[[PAST:.*]] = arith.cmpi sle, %j0, %i1
// CHECK: %[[WINDOW:.*]] = arith.andi %[[NEAR]], %[[PAST]]
// CHECK: %[[PREFIX:.*]] = arith.cmpi sle, %j0, %[[C63]]
// CHECK: %[[ANY:.*]] = arith.ori %[[WINDOW]], %[[PREFIX]]
// CHECK: attn.yield %[[ANY]], %{{.*}} : i1, i1
func.func @window_or_prefix(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %size = arith.constant 10 : index
      %n = arith.constant 64 : index
      %distance = arith.subi %i, %j : index
      %near = arith.cmpi slt, %distance, %size : index
      %past = arith.cmpi sge, %i, %j : index
      %window = arith.andi %near, %past : i1
      %prefix = arith.cmpi slt, %j, %n : index
      %keep = arith.ori %window, %prefix : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// 64-bit integers that are cast to index, as from PyTorch: the cast is lossless.
// CHECK-LABEL: func.func @documents_by_index
// CHECK: kv_classify({{.*}}, %[[D:.*]]: tensor<?xi64>) {
// CHECK-DAG: %[[X0:.*]] = attn.block_min %[[D]][%i0 to %i1]
// CHECK-DAG: %[[Y1:.*]] = attn.block_max %[[D]][%j0 to %j1]
// CHECK-DAG: %[[IX0:.*]] = arith.index_cast %[[X0]]
// CHECK-DAG: %[[IY1:.*]] = arith.index_cast %[[Y1]]
// CHECK-DAG: arith.cmpi sle, %[[IX0]], %[[IY1]] : index
func.func @documents_by_index(%q: !t, %doc: tensor<?xi64>) -> !t {
  %o = attn.forward %q, %q, %q captures(%doc : tensor<?xi64>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %d: tensor<?xi64>) {
      %x = tensor.extract %d[%i] : tensor<?xi64>
      %y = tensor.extract %d[%j] : tensor<?xi64>
      %m = arith.index_cast %x : i64 to index
      %n = arith.index_cast %y : i64 to index
      %keep = arith.cmpi eq, %m, %n : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// Possible overflow makes the interval unknown: a sum of such integers, and narrower ones.
// CHECK-LABEL: func.func @sums_of_numbers
// CHECK: kv_bounds
// CHECK-NOT: kv_classify
func.func @sums_of_numbers(%q: !t, %doc: tensor<?xi64>) -> !t {
  %o = attn.forward %q, %q, %q captures(%doc : tensor<?xi64>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %d: tensor<?xi64>) {
      %x = tensor.extract %d[%i] : tensor<?xi64>
      %y = tensor.extract %d[%j] : tensor<?xi64>
      %m = arith.index_cast %x : i64 to index
      %n = arith.index_cast %y : i64 to index
      %product = arith.muli %m, %n : index
      %narrow = arith.index_cast %product : index to i32
      %zero = arith.constant 0 : i32
      %keep = arith.cmpi eq, %narrow, %zero : i32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// Documents by their block min/max, without a difference that needs 33 bits.
// CHECK-LABEL: func.func @documents
// CHECK: kv_classify({{.*}}, %[[D:.*]]: tensor<?x?xi32>) {
// CHECK-NOT: arith.subi
// CHECK-DAG: %[[X0:.*]] = attn.block_min %[[D]][%b, %i0 to %i1]
// CHECK-DAG: %[[X1:.*]] = attn.block_max %[[D]][%b, %i0 to %i1]
// CHECK-DAG: %[[Y0:.*]] = attn.block_min %[[D]][%b, %j0 to %j1]
// CHECK-DAG: %[[Y1:.*]] = attn.block_max %[[D]][%b, %j0 to %j1]
// CHECK-DAG: %[[IX0:.*]] = arith.index_cast %[[X0]]
// CHECK-DAG: %[[IX1:.*]] = arith.index_cast %[[X1]]
// CHECK-DAG: %[[IY0:.*]] = arith.index_cast %[[Y0]]
// CHECK-DAG: %[[IY1:.*]] = arith.index_cast %[[Y1]]
// CHECK-DAG: %[[A:.*]] = arith.cmpi sle, %[[IX0]], %[[IY1]]
// CHECK-DAG: %[[B:.*]] = arith.cmpi sle, %[[IY0]], %[[IX1]]
// CHECK-DAG: %[[ANY:.*]] = arith.andi %[[A]], %[[B]]
// CHECK: attn.yield %[[ANY]], %{{.*}} : i1, i1
func.func @documents(%q: !t, %doc: tensor<?x?xi32>) -> !t {
  %o = attn.forward %q, %q, %q captures(%doc : tensor<?x?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %doc: tensor<?x?xi32>) {
      %x = tensor.extract %doc[%b, %i] : tensor<?x?xi32>
      %y = tensor.extract %doc[%b, %j] : tensor<?x?xi32>
      %same = arith.cmpi eq, %x, %y : i32
      attn.yield %same : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// A padding mask is its own block min/max.
// CHECK-LABEL: func.func @padding
// CHECK: kv_classify({{.*}}, %[[P:.*]]: tensor<?x?xi1>) {
// CHECK-NEXT: %[[ALL:.*]] = attn.block_min %[[P]][%b, %j0 to %j1]
// CHECK-NEXT: %[[ANY:.*]] = attn.block_max %[[P]][%b, %j0 to %j1]
// CHECK-NEXT: attn.yield %[[ANY]], %[[ALL]]
func.func @padding(%q: !t, %real: tensor<?x?xi1>) -> !t {
  %o = attn.forward %q, %q, %q captures(%real : tensor<?x?xi1>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %real: tensor<?x?xi1>) {
      %keep = tensor.extract %real[%b, %j] : tensor<?x?xi1>
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// An element at neither the query nor the key, or at both, is unknown: the region is
// not created.
// CHECK-LABEL: func.func @no_summary
// CHECK: kv_bounds
// CHECK-NOT: kv_classify
func.func @no_summary(%q: !t, %table: tensor<?xi1>, %bits: tensor<?x?xi1>) -> !t {
  %o = attn.forward %q, %q, %q captures(%table, %bits : tensor<?xi1>, tensor<?x?xi1>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %table: tensor<?xi1>, %bits: tensor<?x?xi1>) {
      %two = arith.constant 2 : index
      %half = arith.divui %j, %two : index
      %x = tensor.extract %table[%half] : tensor<?xi1>
      %y = tensor.extract %bits[%i, %j] : tensor<?x?xi1>
      %keep = arith.xori %x, %y : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// Half of the heads use a window, the others see everything: a select by head.
// CHECK-LABEL: func.func @per_head
// CHECK: kv_bounds
// CHECK-NOT: kv_classify
// CHECK: return
func.func @per_head(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %four = arith.constant 4 : index
      %size = arith.constant 10 : index
      %true = arith.constant true
      %local = arith.cmpi ult, %h, %four : index
      %distance = arith.subi %i, %j : index
      %near = arith.cmpi ult, %distance, %size : index
      %keep = arith.select %local, %near, %true : i1
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

