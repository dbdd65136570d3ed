// RUN: fovea-opt %s --canonicalize | FileCheck %s

!t = tensor<2x4x?x64xbf16>

// CHECK-LABEL: func.func @trivial_regions
// CHECK-NOT: score_mod
// CHECK-NOT: mask_mod
// CHECK-NOT: kv_bounds
// CHECK-NOT: kv_classify
// CHECK: return
func.func @trivial_regions(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      attn.yield %s : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %j, %j : index
      attn.yield %keep : i1
    }
    kv_bounds(%b: index, %h: index, %i0: index, %i1: index) {
      %n = attn.key_length
      attn.yield %b, %b, %n, %n : index, index, index, index
    }
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index) {
      %true = arith.constant true
      attn.yield %true, %true : i1, i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// A constant-false mask is kept: its rows are 0.
// CHECK-LABEL: func.func @all_hidden
// CHECK: mask_mod
func.func @all_hidden(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.constant false
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// CHECK-LABEL: func.func @captures
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x4x?x64xbf16>, %[[W:[a-z0-9]+]]: index
// CHECK: attn.forward %[[Q]], %[[Q]], %[[Q]] captures(%[[W]] : index, numbers = [1])
// CHECK-NEXT: mask_mod(%b: index, %h: index, %i: index, %j: index, %[[A:.*]]: index) {
// CHECK-NEXT: %[[END:.*]] = arith.addi %[[A]], %[[A]]
// CHECK-NEXT: arith.cmpi slt, %j, %[[END]]
func.func @captures(%q: !t, %w: index, %unused: tensor<4xf32>) -> !t {
  %o = attn.forward %q, %q, %q captures(%unused, %w, %w : tensor<4xf32>, index, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %c: tensor<4xf32>, %x: index, %y: index) {
      %end = arith.addi %x, %y : index
      %keep = arith.cmpi slt, %j, %end : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// A capture that only kv_classify uses stays; its repetitions are removed.
// CHECK-LABEL: func.func @classify_captures
// CHECK: captures(%{{.*}} : tensor<?xi1>, numbers = [1])
// CHECK: kv_classify({{.*}}, %[[A:[a-z0-9]+]]: tensor<?xi1>) {
// CHECK: attn.block_max %[[A]][%i0 to %i1]
// CHECK: attn.block_min %[[A]][%j0 to %j1]
func.func @classify_captures(%q: !t, %unused: index, %p: tensor<?xi1>) -> !t {
  %o = attn.forward %q, %q, %q captures(%unused, %p, %p : index, tensor<?xi1>, tensor<?xi1>)
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index, %c: index, %x: tensor<?xi1>, %y: tensor<?xi1>) {
      %any = attn.block_max %x[%i0 to %i1] : tensor<?xi1>
      %all = attn.block_min %y[%j0 to %j1] : tensor<?xi1>
      attn.yield %any, %all : i1, i1
    } : !t, !t, !t -> !t
  return %o : !t
}

// The other captures keep their numbers, also after repeated canonicalisation; numbers
// that equal the positions are not printed.
// CHECK-LABEL: func.func @numbers
// CHECK: captures(%{{.*}}, %{{.*}} : index, index, numbers = [3, 5])
// CHECK: captures(%{{.*}} : index)
func.func @numbers(%q: !t, %u: index, %v: index) -> (!t, !t) {
  %0 = attn.forward %q, %q, %q captures(%q, %u, %v : !t, index, index, numbers = [1, 3, 5])
    mask_mod(%b: index, %h: index, %i: index, %j: index, %c: !t, %x: index, %y: index) {
      %end = arith.addi %x, %y : index
      %keep = arith.cmpi slt, %j, %end : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  %1 = attn.forward %q, %q, %q captures(%u, %v : index, index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %x: index, %y: index) {
      %keep = arith.cmpi slt, %j, %x : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %0, %1 : !t, !t
}

// CHECK-LABEL: func.func @constant_scale
// CHECK: attn.forward %{{.*}}, %{{.*}}, %{{.*}} scale(2.500000e-01) :
// CHECK: attn.forward %{{.*}}, %{{.*}}, %{{.*}} scale(%{{.*}} : f32) :
func.func @constant_scale(%q: !t) -> (!t, !t) {
  %scale = arith.constant 0.25 : f32
  %infinite = arith.constant 0x7F800000 : f32
  %0 = attn.forward %q, %q, %q scale(%scale : f32) : !t, !t, !t -> !t
  %1 = attn.forward %q, %q, %q scale(%infinite : f32) : !t, !t, !t -> !t
  return %0, %1 : !t, !t
}
