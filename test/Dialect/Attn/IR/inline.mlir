// RUN: fovea-opt %s --inline | FileCheck %s

!t = tensor<?x?x?x64xbf16>

// A function with attention is inlined into its caller.
// CHECK-LABEL: func.func @caller
// CHECK-NOT: call
// CHECK: attn.forward %{{.*}}, %{{.*}}, %{{.*}} {{.*}}
func.func private @attend(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v : !t, !t, !t -> !t
  return %o : !t
}
func.func @caller(%q: !t, %k: !t, %v: !t) -> !t {
  %o = call @attend(%q, %k, %v) : (!t, !t, !t) -> !t
  return %o : !t
}
