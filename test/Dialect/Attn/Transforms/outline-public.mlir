// RUN: fovea-opt %s --attn-outline=public-functions | FileCheck %s

!t = tensor<2x4x?x64xf32>

// The function remains for external callers and calls a kernel.
// CHECK-LABEL: func.func private @public_forward
// CHECK-NEXT: attn.forward
// CHECK-LABEL: func.func @public(
// CHECK-NEXT: call @public_forward
// CHECK-NEXT: return
func.func @public(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q : !t, !t, !t -> !t
  return %o : !t
}

// A private function is already a kernel function.
// CHECK-LABEL: func.func private @kernel
// CHECK-NEXT: attn.forward
func.func private @kernel(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q : !t, !t, !t -> !t
  return %o : !t
}
