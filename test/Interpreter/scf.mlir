// RUN: fovea-run %s --entry=loops --inputs 5 --outputs %t.a.npy %t.b.npy %t.c.npy
// RUN: %python %S/Inputs/npy.py print %t.a.npy %t.b.npy %t.c.npy | FileCheck %s
// RUN: rm -rf %t && mkdir %t
// RUN: fovea-run %s --entry=divergent --random=1 --precision=exact --save-inputs=%t --outputs %t/o.npy %t/lse.npy
// RUN: cp %t/q.npy %t/k.npy && cp %t/q.npy %t/v.npy
// RUN: %python %S/Inputs/attention.py %t %t/o.npy %t/lse.npy "score=np.where(i >= j, s + load('capture0')[np.clip(i - j, 0, 9)], 3 - s)" | FileCheck %s --check-prefix=DIVERGENT
// RUN: not fovea-run %s --entry=nowhere --inputs 0 2>&1 | FileCheck %s --check-prefix=BLOCKS

func.func @loops(%n: index) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // CHECK: shape
  // CHECK-NEXT: 6
  %sum = scf.for %i = %c0 to %n step %c2 iter_args(%s = %c0) -> index {
    %t = arith.addi %s, %i : index
    scf.yield %t : index
  }
  // CHECK: shape
  // CHECK-NEXT: 8
  %power = scf.while (%p = %c1) : (index) -> index {
    %more = arith.cmpi slt, %p, %n : index
    scf.condition(%more) %p : index
  } do {
  ^bb0(%p: index):
    %d = arith.addi %p, %p : index
    scf.yield %d : index
  }
  // CHECK: shape
  // CHECK-NEXT: 2
  %which = scf.index_switch %n -> index
  case 4 { scf.yield %c1 : index }
  case 5 { scf.yield %c2 : index }
  default { scf.yield %c0 : index }
  return %sum, %power, %which : index, index, index
}

// A per-element condition: each branch is evaluated for its own elements only,
// so the bias needs no entries for the others.
// DIVERGENT: agrees with numpy
func.func @divergent(%q: tensor<1x1x10x8xf32>, %bias: tensor<10xf32>) -> (tensor<1x1x10x8xf32>, tensor<1x1x10xf32>) {
  %o, %lse = attn.forward %q, %q, %q captures(%bias : tensor<10xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<10xf32>) {
      %below = arith.cmpi sge, %i, %j : index
      %r = scf.if %below -> f32 {
        %d = arith.subi %i, %j : index
        %e = tensor.extract %t[%d] : tensor<10xf32>
        %x = arith.addf %s, %e : f32
        scf.yield %x : f32
      } else {
        %c3 = arith.constant 3.0 : f32
        %x = arith.subf %c3, %s : f32
        scf.yield %x : f32
      }
      attn.yield %r : f32
    } : tensor<1x1x10x8xf32>, tensor<1x1x10x8xf32>, tensor<1x1x10x8xf32> -> tensor<1x1x10x8xf32>, tensor<1x1x10xf32>
  return %o, %lse : tensor<1x1x10x8xf32>, tensor<1x1x10xf32>
}

// BLOCKS: error: cannot execute a region with 2 blocks, expected one
func.func @nowhere(%n: index) -> index {
  cf.br ^bb1
^bb1:
  return %n : index
}
