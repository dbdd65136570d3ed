// A sink is part of the softmax's sum and has no value: with two equal scores
// and one equal sink two thirds remain. If no key is visible, the sink has all
// the probability.
// RUN: %python %S/../Inputs/npy.py write %t.q.npy f32 "np.zeros((1, 2, 2, 8))"
// RUN: %python %S/../Inputs/npy.py write %t.k.npy f32 "np.ones((1, 2, 2, 8))"
// RUN: %python %S/../Inputs/npy.py write %t.s.npy f32 "[0, -np.inf]"
// RUN: fovea-run %s --inputs %t.q.npy %t.k.npy %t.k.npy %t.s.npy --outputs %t.o.npy %t.lse.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy %t.lse.npy | FileCheck %s
// RUN: %python %S/../Inputs/npy.py write %t.bad.npy f32 "[0, 1, 2]"
// RUN: not fovea-run %s --inputs %t.q.npy %t.k.npy %t.k.npy %t.bad.npy 2>&1 | FileCheck %s --check-prefix=BAD

// CHECK: shape 1 2 2 8
// CHECK-NEXT: 0 0 0 0 0 0 0 0
// CHECK-NEXT: 0.666667 0.666667
// CHECK-NEXT: 0 0 0 0 0 0 0 0
// CHECK-NEXT: 1 1 1 1
// CHECK: shape 1 2 2
// CHECK-NEXT: 0 1.09861
// CHECK-NEXT: -inf 0.693147

// BAD: dimension Hq of 'sinks' is 3, but 'q' has 2
func.func @f(%q: tensor<?x?x?x8xf32>, %k: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x8xf32>, %s: tensor<?xf32>)
    -> (tensor<?x?x?x8xf32>, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v sinks(%s : tensor<?xf32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c1 = arith.constant 1 : index
      %keep = arith.cmpi eq, %i, %c1 : index
      attn.yield %keep : i1
    } : tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32> -> tensor<?x?x?x8xf32>, tensor<?x?x?xf32>
  return %o, %lse : tensor<?x?x?x8xf32>, tensor<?x?x?xf32>
}
