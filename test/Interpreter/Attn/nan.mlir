// A NaN in Q or K affects only the rows that use it, a NaN in V only rows for
// which its key is visible. --check permits additional NaN of kernels in V's
// column only. Row 0 of the queries is NaN; so is key 2, and key 3's value in
// column 1.
// RUN: %python %S/../Inputs/npy.py write %t.q.npy f32 "np.where(np.arange(4)[:, None] == 0, np.nan, np.ones((4, 2)))[None, None]"
// RUN: %python %S/../Inputs/npy.py write %t.k.npy f32 "np.where(np.arange(5)[:, None] == 2, np.nan, np.ones((5, 2)))[None, None]"
// RUN: %python %S/../Inputs/npy.py write %t.v.npy f32 "np.array([[2, 3]] * 3 + [[2, np.nan]] + [[8, 8]])[None, None]"
// RUN: fovea-run %s --inputs %t.q.npy %t.k.npy %t.v.npy --outputs %t.o.npy %t.lse.npy --check
// RUN: %python %S/../Inputs/npy.py print %t.o.npy %t.lse.npy | FileCheck %s
// CHECK: shape 1 1 4 2
// CHECK-NEXT: nan nan
// CHECK-NEXT: 2 3
// CHECK-NEXT: nan nan
// CHECK-NEXT: 0 0
// CHECK: shape 1 1 4
// CHECK-NEXT: nan {{[0-9.]+}} nan -inf
func.func @f(%q: tensor<1x1x4x2xf32>, %k: tensor<1x1x5x2xf32>, %v: tensor<1x1x5x2xf32>) -> (tensor<1x1x4x2xf32>, tensor<1x1x4xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %three = arith.constant 3 : index
      %some = arith.cmpi ne, %i, %three : index
      %keep0 = arith.cmpi sge, %i, %j : index
      %keep = arith.andi %some, %keep0 : i1
      attn.yield %keep : i1
    } : tensor<1x1x4x2xf32>, tensor<1x1x5x2xf32>, tensor<1x1x5x2xf32> -> tensor<1x1x4x2xf32>, tensor<1x1x4xf32>
  return %o, %lse : tensor<1x1x4x2xf32>, tensor<1x1x4xf32>
}
