// Names of captured values in the custom syntax; pruning keeps those of the remaining values.
// RUN: fovea-opt %s | fovea-opt | FileCheck %s
// RUN: fovea-opt %s --canonicalize | FileCheck %s --check-prefix=CANON
// RUN: fovea-opt %s --canonicalize --attn-make-gradient=gradients=q,gain | FileCheck %s --check-prefix=GRADIENT
// RUN: not fovea-opt %s --attn-make-gradient=gradients=capture1 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: fovea-compile %s --target=sm_80 --metadata=%t.json -o /dev/null
// RUN: FileCheck %s --check-prefix=METADATA < %t.json

// CHECK-LABEL: func.func @named
// CHECK: captures(%{{.*}}, %{{.*}}, %{{.*}} : tensor<8xf32>, f32, tensor<8xf32>, names = ["slopes", "gain", "unused"])
// CANON-LABEL: func.func @named
// CANON: captures(%{{.*}}, %{{.*}} : tensor<8xf32>, f32, names = ["slopes", "gain"])
// GRADIENT-LABEL: func.func @named_backward
// GRADIENT: attn.backward
// GRADIENT-SAME: captures = [1]
// GRADIENT-SAME: names = ["slopes", "gain"]
// UNKNOWN: expected a gradient among {{.*}}, found 'capture1'
// METADATA: "name":"slopes"
// METADATA: "kind":"scalar","name":"gain"
!t = tensor<1x8x64x64xbf16>
func.func @named(%q: !t, %a: tensor<8xf32>, %g: f32, %u: tensor<8xf32>) -> !t {
  %o = attn.forward %q, %q, %q captures(%a, %g, %u : tensor<8xf32>, f32, tensor<8xf32>, names = ["slopes", "gain", "unused"])
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %aa: tensor<8xf32>, %gg: f32, %uu: tensor<8xf32>) {
      %x = tensor.extract %aa[%h] : tensor<8xf32>
      %y = arith.mulf %s, %gg : f32
      %r = arith.addf %x, %y : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}
