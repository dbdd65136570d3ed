// Functions that can have gradient functions, and the copies of functions with callers.
// RUN: fovea-opt %s --attn-make-gradient | FileCheck %s
// RUN: fovea-opt %s --attn-make-gradient=only-backward | FileCheck %s --check-prefix=ONLY
// RUN: fovea-opt %s --attn-make-gradient=gradients=v | FileCheck %s --check-prefix=ONE
// RUN: fovea-opt %s --attn-make-gradient --fovea-to-nvvm=target=sm_80 | FileCheck %s --check-prefix=KERNELS

!t = tensor<1x2x?x16xbf16>
!rows = tensor<1x2x?xf32>

// Constants are not arguments of gradient functions and have no gradients.
// CHECK-LABEL: func.func @constant(
// CHECK-SAME: -> (tensor<1x2x?x16xbf16>, tensor<1x2x?xf32>)
// CHECK-LABEL: func.func @constant_backward(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: {{[^%]*}}%[[K:[a-z0-9]+]]: {{[^%]*}}%[[V:[a-z0-9]+]]: {{[^%]*}}%[[O:[a-z0-9]+]]: {{[^%]*}}%[[LSE:[a-z0-9]+]]: {{[^%]*}}%[[DO:[a-z0-9]+]]: tensor<1x2x?x16xbf16>)
// CHECK: %[[W:.*]] = arith.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK: %dq, %dk, %dv = attn.backward %[[Q]], %[[K]], %[[V]], %[[O]], %[[LSE]], %[[DO]] captures(%[[W]] : tensor<2xf32>)
// ONLY-NOT: @constant(
// ONLY-LABEL: func.func @constant_backward(
// KERNELS-LABEL: gpu.module @constant_backward_backward_module
func.func @constant(%q: !t, %k: !t, %v: !t) -> !t {
  %w = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %o = attn.forward %q, %k, %v captures(%w : tensor<2xf32>) score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<2xf32>) {
    %a = tensor.extract %t[%h] : tensor<2xf32>
    %x = arith.mulf %s, %a : f32
    attn.yield %x : f32
  } : !t, !t, !t -> !t
  return %o : !t
}

// Existing results keep their positions; missing ones are appended.
// CHECK-LABEL: func.func @order(
// CHECK: %[[O:.*]], %[[LSE:.*]] = attn.forward
// CHECK: return %[[LSE]], %[[O]] : tensor<1x2x?xf32>, tensor<1x2x?x16xbf16>
// CHECK-LABEL: func.func @order_backward(
func.func @order(%v: !t, %q: !t, %k: !t) -> (!rows, !t) {
  %o, %lse = attn.forward %q, %k, %v : !t, !t, !t -> !t, !rows
  return %lse, %o : !rows, !t
}

// CHECK-LABEL: func.func @part(
// CHECK-SAME: -> (tensor<1x2x?xf32> {test.name = "lse"}, tensor<1x2x?x16xbf16>)
// CHECK: %[[O:.*]], %[[LSE:.*]] = attn.forward
// CHECK: return %[[LSE]], %[[O]] : tensor<1x2x?xf32>, tensor<1x2x?x16xbf16>
func.func @part(%q: !t, %k: !t, %v: !t) -> (!rows {test.name = "lse"}) {
  %o, %lse = attn.forward %q, %k, %v : !t, !t, !t -> !t, !rows
  return %lse : !rows
}

// An f32 output is used as is; its gradient has the type of the products.
// CHECK-LABEL: func.func @wide(
// CHECK: attn.backward {{.*}} : {{.*}}, tensor<1x2x?x16xf32>, tensor<1x2x?xf32>, tensor<1x2x?x16xbf16> -> tensor<1x2x?x16xbf16>, tensor<1x2x?x16xbf16>, tensor<1x2x?x16xbf16>
func.func @wide(%q: !t, %k: !t, %v: !t) -> tensor<1x2x?x16xf32> {
  %o = attn.forward %q, %k, %v : !t, !t, !t -> tensor<1x2x?x16xf32>
  return %o : tensor<1x2x?x16xf32>
}

// A caller gets the same results as before.
// CHECK-LABEL: func.func private @called(
// CHECK-SAME: -> tensor<1x2x?x16xbf16> {
// CHECK: return %{{[a-z]+}} : tensor<1x2x?x16xbf16>
// CHECK-LABEL: func.func @called_forward(
// CHECK-SAME: -> (tensor<1x2x?x16xbf16>, tensor<1x2x?xf32>)
// CHECK-LABEL: func.func @called_backward(
// ONLY-LABEL: func.func private @called(
// ONLY-NOT: @called_forward
// ONLY-LABEL: func.func @called_backward(
func.func private @called(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v : !t, !t, !t -> !t
  return %o : !t
}

// A function that returns all results is its own forward function.
// CHECK-LABEL: func.func @complete(
// CHECK-NOT: @complete_forward
// CHECK: func.func @complete_backward(
// ONE-LABEL: func.func @complete_backward(
// ONE: %dv = attn.backward
func.func @complete(%q: !t, %k: !t, %v: !t) -> (!t, !rows) {
  %o, %lse = attn.forward %q, %k, %v : !t, !t, !t -> !t, !rows
  return %o, %lse : !t, !rows
}

// CHECK-LABEL: func.func @main(
// CHECK: call @called(%{{.*}}) : (tensor<1x2x?x16xbf16>, tensor<1x2x?x16xbf16>, tensor<1x2x?x16xbf16>) -> tensor<1x2x?x16xbf16>
func.func @main(%q: !t) -> !t {
  %0 = call @called(%q, %q, %q) : (!t, !t, !t) -> !t
  %1:2 = call @complete(%0, %q, %q) : (!t, !t, !t) -> (!t, !rows)
  return %1#0 : !t
}

// Transposed block lists come last, if there are lists.
// RUN: fovea-opt %s --attn-make-gradient=query-blocks | FileCheck %s --check-prefix=LISTS
// LISTS-LABEL: func.func @constant_backward(
// LISTS-NOT: query_blocks
// LISTS-LABEL: func.func @lists_backward(
// LISTS-SAME: %[[C:[a-z0-9]+]]: tensor<1x1x3xi32>, %[[I:[a-z0-9]+]]: tensor<1x1x3x5xi32>, %[[TC:[a-z0-9]+]]: tensor<1x1x?xi32>, %[[TI:[a-z0-9]+]]: tensor<1x1x?x?xi32>)
// LISTS: blocks(%[[C]], %[[I]] : tensor<1x1x3xi32>, tensor<1x1x3x5xi32>, size = [16, 16]) query_blocks(%[[TC]], %[[TI]] : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>)
func.func @lists(%q: !t, %k: !t, %v: !t, %c: tensor<1x1x3xi32>, %i: tensor<1x1x3x5xi32>) -> !t {
  %o = attn.forward %q, %k, %v blocks(%c, %i : tensor<1x1x3xi32>, tensor<1x1x3x5xi32>, size = [16, 16]) : !t, !t, !t -> !t
  return %o : !t
}
