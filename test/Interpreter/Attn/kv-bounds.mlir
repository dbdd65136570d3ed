// RUN: fovea-run %s --entry=right --random=1 --dims Sq=70,Skv=50 --check-kv-bounds=16 | FileCheck %s --check-prefix=RIGHT
// RUN: not fovea-run %s --entry=outside --random=1 --check-kv-bounds=16 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// RUN: not fovea-run %s --entry=hidden --random=1 --check-kv-bounds=16 2>&1 | FileCheck %s --check-prefix=HIDDEN
// RUN: fovea-run %s --entry=hidden --random=1
// RUN: not fovea-run %s --entry=right --random=1 --check-kv-bounds=-1 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: error: --check-kv-bounds must not be negative

// RIGHT: o 1x1x70x8
func.func @right(%q: tensor<1x1x?x8xf32>, %k: tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32> {
  %o = attn.forward %q, %k, %k
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    }
    kv_bounds(%b: index, %h: index, %i0: index, %i1: index) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %fe = arith.addi %i0, %one : index
      %ub = arith.addi %i1, %one : index
      attn.yield %zero, %zero, %fe, %ub : index, index, index, index
    } : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32> -> tensor<1x1x?x8xf32>
  return %o : tensor<1x1x?x8xf32>
}

func.func @outside(%q: tensor<1x1x40x8xf32>, %k: tensor<1x1x40x8xf32>) -> tensor<1x1x40x8xf32> {
  // OUTSIDE: [[@LINE+1]]:{{.*}}error: kv_bounds of queries 16 to 31 of batch entry 0, head 0 claims that visible keys lie in [0, 20), but query 20 sees key 20
  %o = attn.forward %q, %k, %k
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    }
    kv_bounds(%b: index, %h: index, %i0: index, %i1: index) {
      %zero = arith.constant 0 : index
      %end = arith.constant 20 : index
      attn.yield %zero, %zero, %zero, %end : index, index, index, index
    } : tensor<1x1x40x8xf32>, tensor<1x1x40x8xf32>, tensor<1x1x40x8xf32> -> tensor<1x1x40x8xf32>
  return %o : tensor<1x1x40x8xf32>
}

func.func @hidden(%q: tensor<1x1x40x8xf32>, %k: tensor<1x1x40x8xf32>) -> tensor<1x1x40x8xf32> {
  // HIDDEN: error: kv_bounds of queries 0 to 15 of batch entry 0, head 0 claims that all keys in [0, 3) are visible, but query 0 does not see key 1
  %o = attn.forward %q, %k, %k
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    }
    kv_bounds(%b: index, %h: index, %i0: index, %i1: index) {
      %zero = arith.constant 0 : index
      %three = arith.constant 3 : index
      %end = arith.constant 40 : index
      attn.yield %zero, %zero, %three, %end : index, index, index, index
    } : tensor<1x1x40x8xf32>, tensor<1x1x40x8xf32>, tensor<1x1x40x8xf32> -> tensor<1x1x40x8xf32>
  return %o : tensor<1x1x40x8xf32>
}
