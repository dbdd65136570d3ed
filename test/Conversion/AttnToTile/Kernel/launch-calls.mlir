// RUN: fovea-opt %s --attn-to-tile="target=sm_80 launch-calls" --split-input-file --verify-diagnostics | FileCheck %s

// Operands are passed by their ABI names, in the op's order; unused function arguments are not
// passed; captures keep their indices. Sizes of results come from operands.
!t = tensor<?x4x?x64xf16>
// CHECK-NOT: func.func private @kernel
// CHECK-LABEL: gpu.module @kernel_module
// CHECK: launch.abi @kernel
func.func private @kernel(%unused: f32, %bias: tensor<?xf32>, %q: !t, %k: !t, %v: !t, %scale: f32) -> (!t, tensor<?x4x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v scale(%scale : f32) captures(%bias : tensor<?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>) {
      %e = tensor.extract %t[%j] : tensor<?xf32>
      %r = arith.addf %s, %e : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t, tensor<?x4x?xf32>
  return %o, %lse : !t, tensor<?x4x?xf32>
}
// CHECK-LABEL: func.func @host
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x4x?x64xf16>, %[[K:[a-z0-9]+]]: tensor<?x4x?x64xf16>, %[[BIAS:[a-z0-9]+]]: tensor<?xf32>, %[[S:[a-z0-9]+]]: f32)
// CHECK: %[[B:.*]] = tensor.dim %[[Q]], %{{.*}}
// CHECK: %[[ROWS:.*]] = tensor.dim %[[Q]], %{{.*}}
// CHECK: %[[O:.*]] = tensor.empty(%[[B]], %[[ROWS]]) : tensor<?x4x?x64xf16>
// CHECK: %[[LSE:.*]] = tensor.empty(%{{.*}}, %{{.*}}) : tensor<?x4x?xf32>
// CHECK: %[[R:.*]]:2 = launch.call @kernel_module::@kernel ins("q" = %[[Q]] : tensor<?x4x?x64xf16>, "k" = %[[K]] : {{.*}}, "v" = %[[K]] : {{.*}}, "scale" = %[[S]] : f32, "capture0" = %[[BIAS]] : tensor<?xf32>)
// CHECK-SAME: outs("o" = %[[O]] : {{.*}}, "lse" = %[[LSE]] : {{.*}}) -> tensor<?x4x?x64xf16>, tensor<?x4x?xf32>
// CHECK: return %[[R]]#0
func.func @host(%q: !t, %k: !t, %bias: tensor<?xf32>, %s: f32) -> !t {
  %o, %lse = call @kernel(%s, %bias, %q, %k, %k, %s) : (f32, tensor<?xf32>, !t, !t, !t, f32) -> (!t, tensor<?x4x?xf32>)
  return %o : !t
}

// -----

!t = tensor<1x4x128x64xf16>
// expected-error@+1 {{a function that becomes a kernel can only be called, found a use in 'func.constant'}}
func.func private @kernel(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q : !t, !t, !t -> !t
  return %o : !t
}
func.func @host(%q: !t) -> (!t) {
  // expected-note@+1 {{here}}
  %f = func.constant @kernel : (!t) -> !t
  %o = func.call_indirect %f(%q) : (!t) -> !t
  return %o : !t
}

// -----

// A cache that the kernel updates is the output, not an input.
!k = tensor<?x2x64xf16>
// CHECK-LABEL: gpu.module @append_module
func.func private @append(%c: !k, %k: !k, %s: tensor<?xi64>) -> !k {
  %r = attn.append (%k) to (%c) slots(%s : tensor<?xi64>) : !k to !k
  return %r : !k
}
// CHECK-LABEL: func.func @host
// CHECK-SAME: %[[C:[a-z0-9]+]]: tensor<?x2x64xf16>, %[[K:[a-z0-9]+]]: tensor<?x2x64xf16>, %[[S:[a-z0-9]+]]: tensor<?xi64>)
// CHECK: %[[R:.*]] = launch.call @append_module::@append ins("k" = %[[K]] : {{.*}}, "slots" = %[[S]] : {{.*}}) outs("k_cache" = %[[C]] : tensor<?x2x64xf16>)
// CHECK: return %[[R]]
func.func @host(%c: !k, %k: !k, %s: tensor<?xi64>) -> !k {
  %r = call @append(%c, %k, %s) : (!k, !k, tensor<?xi64>) -> !k
  return %r : !k
}
