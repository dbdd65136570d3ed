// RUN: fovea-opt %s --attn-outline --split-input-file | FileCheck %s
// RUN: fovea-opt %s --attn-outline --attn-outline --split-input-file | FileCheck %s

!t = tensor<2x4x?x64xf32>
!l = tensor<2x4x?xf32>

// A kernel function is not changed.
// CHECK-LABEL: func.func @kernel
// CHECK-NEXT: attn.forward
// CHECK-NEXT: return
func.func @kernel(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q : !t, !t, !t -> !t
  return %o : !t
}

// CHECK-LABEL: func.func private @taken_forward_0
// CHECK-SAME: (%[[Q:.*]]: [[T:.*]], %[[K:.*]]: [[T]], %[[V:.*]]: [[T]], %[[S:.*]]: f32, %[[W:.*]]: index) -> ([[T]], [[L:.*]])
// CHECK-NEXT: %[[O:.*]], %[[LSE:.*]] = attn.forward %[[Q]], %[[K]], %[[V]] scale(%[[S]] : f32) captures(%[[W]] : index)
// CHECK: return %[[O]], %[[LSE]]
// CHECK-LABEL: func.func private @taken_forward_1
// CHECK-LABEL: func.func private @taken_merge
// CHECK-LABEL: func.func @taken(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<2x4x?x64xf32>, %[[B:[a-z0-9]+]]: index
// CHECK: %[[SCALE:.*]] = arith.constant
// CHECK: %[[O0:.*]]:2 = call @taken_forward_0(%[[X]], %[[X]], %[[X]], %[[SCALE]], %[[B]])
// CHECK: %[[O1:.*]]:2 = call @taken_forward_1(%[[O0]]#0, %[[X]], %[[X]])
// CHECK: %[[M:.*]] = call @taken_merge(%[[O0]]#0, %[[O1]]#0, %[[O0]]#1, %[[O1]]#1)
// CHECK-NOT: attn.
// CHECK: return %[[M]]
func.func @taken(%x: !t, %w: index) -> !t {
  %scale = arith.constant 0.5 : f32
  %o0, %l0 = attn.forward %x, %x, %x scale(%scale : f32) captures(%w : index)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %c: index) {
      %keep = arith.cmpi slt, %j, %c : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t, !l
  %o1, %l1 = attn.forward %o0, %x, %x : !t, !t, !t -> !t, !l
  %o = attn.merge (%o0, %l0), (%o1, %l1) : !t, !l -> !t
  return %o : !t
}

func.func private @taken_forward(!t) -> !t

// -----

!t = tensor<2x4x?x64xf32>

// Ops in nested regions are outlined, too.
// CHECK-LABEL: func.func private @nested_forward
// CHECK-LABEL: func.func @nested(
// CHECK: scf.for
// CHECK: func.call @nested_forward
func.func @nested(%x: !t, %n: index) -> !t {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r = scf.for %layer = %zero to %n step %one iter_args(%y = %x) -> !t {
    %o = attn.forward %y, %y, %y : !t, !t, !t -> !t
    scf.yield %o : !t
  }
  return %r : !t
}
