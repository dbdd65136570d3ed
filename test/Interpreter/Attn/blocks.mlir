// Semantics of block-sparse lists: queries in blocks of 2, keys in blocks of 4.
// K is zero, so a row's output is the mean of the visible values.
// RUN: %python %S/../Inputs/npy.py write %t.q.npy f32 "np.zeros((1, 2, 5, 8))"
// RUN: %python %S/../Inputs/npy.py write %t.k.npy f32 "np.zeros((1, 2, 10, 8))"
// RUN: %python %S/../Inputs/npy.py write %t.v.npy f32 "np.arange(20).reshape(1, 2, 10, 1)"
// Counts larger than the row and negative ones, block indices past the last one
// and negative ones.
// RUN: %python %S/../Inputs/npy.py write %t.pc.npy i32 "[[[1, 0, 9]]]"
// RUN: %python %S/../Inputs/npy.py write %t.pi.npy i32 "[[[[0, 1], [0, 1], [7, 2]]]]"
// RUN: %python %S/../Inputs/npy.py write %t.fc.npy i32 "[[[1, 0, -3], [2, 1, 0]]]"
// RUN: %python %S/../Inputs/npy.py write %t.fi.npy i32 "[[[[2, 0], [0, 0], [0, 0]], [[-1, 1], [1, 1], [0, 1]]]]"
// RUN: fovea-run %s --entry=both --precision=exact --inputs %t.q.npy %t.k.npy %t.v.npy %t.pc.npy %t.pi.npy %t.fc.npy %t.fi.npy --outputs %t.o.npy %t.lse.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy %t.lse.npy | FileCheck %s
// Head 0, queries 0 and 1: the even ones of keys 0 to 3, and keys 8 and 9.
// CHECK: shape 1 2 5 1
// CHECK-NEXT: 4.75
// CHECK-NEXT: 4.75
// Queries 2 and 3 have no keys.
// CHECK-NEXT: 0
// CHECK-NEXT: 0
// Query 4: the even one of keys 8 and 9.
// CHECK-NEXT: 8
// Head 1, queries 0 and 1: even ones of keys 0 to 3, and 4 to 7.
// CHECK-NEXT: 14
// CHECK-NEXT: 14
// CHECK-NEXT: 15.5
// CHECK-NEXT: 15.5
// CHECK-NEXT: 18
// CHECK: shape 1 2 5
// CHECK-NEXT: 1.38629 1.38629 -inf -inf 0
// RUN: %python %S/../Inputs/npy.py write %t.fi2.npy i32 "[[[[2, 0], [0, 0], [0, 0]], [[0, 1], [1, 1], [0, 1]]]]"
// RUN: not fovea-run %s --entry=both --inputs %t.q.npy %t.k.npy %t.v.npy %t.pc.npy %t.pi.npy %t.fc.npy %t.fi2.npy 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: block of keys 0 is listed twice for block of queries 0 of batch entry 0, head 1
// RUN: %python %S/../Inputs/npy.py write %t.pc2.npy i32 "[[[1, 0]]]"
// RUN: not fovea-run %s --entry=both --inputs %t.q.npy %t.k.npy %t.v.npy %t.pc2.npy %t.pi.npy %t.fc.npy %t.fi.npy 2>&1 | FileCheck %s --check-prefix=AGREE
// AGREE: error: {{.*}}dimension Qblocks of 'partial_index' is 3, but 'partial_count' has 2
// RUN: not fovea-run %s --entry=both --random=1 --dims Hq=2,Hkv=2,Sq=5,Skv=9,Qblocks=2,partial_index.3=2,full_index.3=2 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: error: dimension Qblocks must be at least 3, the blocks of 2 in Sq, found 2

!q = tensor<1x?x?x8xf32>
!v = tensor<1x?x?x1xf32>
func.func @both(%q: !q, %k: !q, %v: !v, %pc: tensor<1x1x?xi32>, %pi: tensor<1x1x?x?xi32>, %fc: tensor<1x?x?xi32>, %fi: tensor<1x?x?x?xi32>) -> (!v, tensor<1x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v
    blocks(%pc, %pi, %fc, %fi : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, tensor<1x?x?xi32>, tensor<1x?x?x?xi32>, size = [2, 4])
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c2 = arith.constant 2 : index
      %c0 = arith.constant 0 : index
      %r = arith.remui %j, %c2 : index
      %keep = arith.cmpi eq, %r, %c0 : index
      attn.yield %keep : i1
    } : !q, !q, !v -> !v, tensor<1x?x?xf32>
  return %o, %lse : !v, tensor<1x?x?xf32>
}
