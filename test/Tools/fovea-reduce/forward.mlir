// The reducer removes everything from the op that the test script does not need:
// here all except its mask.
// RUN: fovea-reduce %s --reduction-tree="traversal-mode=0 test=%S/Inputs/has-mask.sh" -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir

// CHECK-LABEL: func.func @variant
// CHECK: attn.forward %{{[a-z0-9]+}}, %{{[a-z0-9]+}}, %{{[a-z0-9]+}}
// CHECK-NOT: scale
// CHECK-NOT: lengths
// CHECK-NOT: score_mod
// CHECK: mask_mod
// CHECK-NOT: func.func @unrelated
func.func @variant(%q: tensor<1x1x8x16xf16>, %n: tensor<1xi32>) -> tensor<1x1x8x16xf16> {
  %o = attn.forward %q, %q, %q scale(0.5)
    lengths(%n : tensor<1xi32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %r = arith.addf %s, %s : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : tensor<1x1x8x16xf16>, tensor<1x1x8x16xf16>, tensor<1x1x8x16xf16> -> tensor<1x1x8x16xf16>
  return %o : tensor<1x1x8x16xf16>
}
func.func @unrelated() {
  return
}
