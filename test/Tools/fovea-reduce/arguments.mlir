// Arguments and captured values that nothing uses go, and what is said of
// candidates that are no valid programs is not printed.
// RUN: fovea-reduce %s --reduction-tree="traversal-mode=0 test=%S/Inputs/has-tanh.sh" -o %t.mlir 2> %t.errors
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: count 0 < %t.errors

// CHECK-LABEL: func.func @variant(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<1x1x8x16xf16>, %[[SLOPES:[a-z0-9]+]]: tensor<?xf32>) ->
// CHECK: attn.forward %[[Q]], %[[Q]], %[[Q]] captures(%[[SLOPES]] : tensor<?xf32>)
// CHECK-NEXT: score_mod
// CHECK: math.tanh
// CHECK: tensor.extract
// CHECK-NOT: mask_mod
func.func @variant(%a: f32, %q: tensor<1x1x8x16xf16>, %b: index, %slopes: tensor<?xf32>, %limit: tensor<?xi32>) -> tensor<1x1x8x16xf16> {
  %o = attn.forward %q, %q, %q captures(%limit, %slopes : tensor<?xi32>, tensor<?xf32>)
    score_mod(%s: f32, %b0: index, %h: index, %i: index, %j: index, %l: tensor<?xi32>, %c: tensor<?xf32>) {
      %t = math.tanh %s : f32
      %slope = tensor.extract %c[%h] : tensor<?xf32>
      %r = arith.addf %t, %slope : f32
      attn.yield %r : f32
    }
    mask_mod(%b0: index, %h: index, %i: index, %j: index, %l: tensor<?xi32>, %c: tensor<?xf32>) {
      %most = tensor.extract %l[%h] : tensor<?xi32>
      %k = arith.index_cast %most : i32 to index
      %keep = arith.cmpi sge, %k, %j : index
      attn.yield %keep : i1
    } : tensor<1x1x8x16xf16>, tensor<1x1x8x16xf16>, tensor<1x1x8x16xf16> -> tensor<1x1x8x16xf16>
  return %o : tensor<1x1x8x16xf16>
}
