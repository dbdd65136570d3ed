// Packed and paged sequences give the same results as separate sequences.
// RUN: %python %S/../Inputs/npy.py write %t.q.npy f32 "np.sin(np.arange(40)).reshape(1, 1, 5, 8)"
// RUN: %python %S/../Inputs/npy.py write %t.k.npy f32 "np.cos(np.arange(48)).reshape(1, 1, 6, 8)"
// RUN: %python %S/../Inputs/npy.py write %t.cu_q.npy i32 "[0, 2, 5]"
// RUN: %python %S/../Inputs/npy.py write %t.cu_k.npy i32 "[0, 4, 6]"
// RUN: fovea-run %s --entry=packed --precision=exact --inputs %t.q.npy %t.k.npy %t.cu_q.npy %t.cu_k.npy --outputs %t.packed.npy
// RUN: %python %S/../Inputs/npy.py print %t.packed.npy > %t.packed
// The same: two batch entries, keys in pages of two rows in any order.
// RUN: %python %S/../Inputs/npy.py write %t.pq.npy f32 "np.sin([np.r_[0:16, 0:8], np.r_[16:40]]).reshape(2, 1, 3, 8)"
// RUN: %python %S/../Inputs/npy.py write %t.pool.npy f32 "np.cos(np.r_[16:32, 32:48, 0:16]).reshape(3, 1, 2, 8)"
// RUN: %python %S/../Inputs/npy.py write %t.table.npy i32 "[[2, 0], [1, 0]]"
// RUN: %python %S/../Inputs/npy.py write %t.lengths.npy i32 "[4, 2]"
// RUN: fovea-run %s --entry=paged --precision=exact --inputs %t.pq.npy %t.pool.npy %t.table.npy %t.lengths.npy --outputs %t.paged.npy
// RUN: %python %S/../Inputs/npy.py print %t.paged.npy > %t.paged
// RUN: %python -c "a = open(r'%t.packed').read().split('\n')[1:-1]; b = open(r'%t.paged').read().split('\n')[1:-1]; print(a == b[:2] + b[3:], len(set(a)))" | FileCheck %s
// CHECK: True 5
// The same: packed queries over those pages, and over batch entries with lengths.
// RUN: fovea-run %s --entry=packed_paged --precision=exact --inputs %t.q.npy %t.cu_q.npy %t.pool.npy %t.table.npy %t.lengths.npy --outputs %t.mixed.npy
// RUN: %python %S/../Inputs/npy.py print %t.mixed.npy > %t.mixed && diff %t.packed %t.mixed
// RUN: %python %S/../Inputs/npy.py write %t.entries.npy f32 "np.cos([np.r_[0:32], np.r_[32:48, 0:16]]).reshape(2, 1, 4, 8)"
// RUN: fovea-run %s --entry=packed_lengths --precision=exact --inputs %t.q.npy %t.cu_q.npy %t.entries.npy %t.lengths.npy --outputs %t.mixed.npy
// RUN: %python %S/../Inputs/npy.py print %t.mixed.npy > %t.mixed && diff %t.packed %t.mixed
// RUN: not fovea-run %s --entry=packed_lengths --inputs %t.q.npy %t.cu_k.npy %t.entries.npy %t.lengths.npy 2>&1 | FileCheck %s --check-prefix=OFFSET
// RUN: %python %S/../Inputs/npy.py write %t.three.npy i32 "[4, 2, 1]"
// RUN: not fovea-run %s --entry=packed_lengths --inputs %t.q.npy %t.cu_q.npy %t.entries.npy %t.three.npy 2>&1 | FileCheck %s --check-prefix=ENTRIES
// ENTRIES: error: {{.*}}B
// RUN: %python %S/../Inputs/npy.py write %t.four.npy i32 "[0, 1, 2, 5]"
// RUN: not fovea-run %s --entry=packed_lengths --inputs %t.q.npy %t.four.npy %t.entries.npy %t.lengths.npy 2>&1 | FileCheck %s --check-prefix=MORE
// MORE: error: dimension B+1 must be one more than B, found 4 and 2
// RUN: %python %S/../Inputs/npy.py write %t.table.npy i32 "[[2, 0], [3, 0]]"
// RUN: not fovea-run %s --entry=paged --inputs %t.pq.npy %t.pool.npy %t.table.npy %t.lengths.npy 2>&1 | FileCheck %s --check-prefix=PAGE
// PAGE: error: page 3 of batch entry 1 lies outside [0, 3)
// RUN: not fovea-run %s --entry=packed --inputs %t.q.npy %t.k.npy %t.cu_k.npy %t.cu_k.npy 2>&1 | FileCheck %s --check-prefix=OFFSET
// OFFSET: error: 'cu_q' must be ascending within [0, 5], found 6 at 2

func.func @packed(%q: tensor<1x?x?x8xf32>, %k: tensor<1x?x?x8xf32>, %cu_q: tensor<?xi32>, %cu_k: tensor<?xi32>) -> tensor<1x?x?x8xf32> {
  %o = attn.forward %q, %k, %k packed(%cu_q, %cu_k : tensor<?xi32>, tensor<?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : tensor<1x?x?x8xf32>, tensor<1x?x?x8xf32>, tensor<1x?x?x8xf32> -> tensor<1x?x?x8xf32>
  return %o : tensor<1x?x?x8xf32>
}

func.func @paged(%q: tensor<2x?x?x8xf32>, %k: tensor<?x?x2x8xf32>, %table: tensor<2x?xi32>, %n: tensor<2xi32>) -> tensor<2x?x?x8xf32> {
  %o = attn.forward %q, %k, %k paged(%table, %n : tensor<2x?xi32>, tensor<2xi32>, page = 2)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : tensor<2x?x?x8xf32>, tensor<?x?x2x8xf32>, tensor<?x?x2x8xf32> -> tensor<2x?x?x8xf32>
  return %o : tensor<2x?x?x8xf32>
}

func.func @packed_paged(%q: tensor<1x?x?x8xf32>, %cu_q: tensor<?xi32>, %k: tensor<?x?x2x8xf32>, %table: tensor<?x?xi32>, %n: tensor<?xi32>) -> tensor<1x?x?x8xf32> {
  %o = attn.forward %q, %k, %k packed(%cu_q : tensor<?xi32>) paged(%table, %n : tensor<?x?xi32>, tensor<?xi32>, page = 2)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : tensor<1x?x?x8xf32>, tensor<?x?x2x8xf32>, tensor<?x?x2x8xf32> -> tensor<1x?x?x8xf32>
  return %o : tensor<1x?x?x8xf32>
}

func.func @packed_lengths(%q: tensor<1x?x?x8xf32>, %cu_q: tensor<?xi32>, %k: tensor<?x?x?x8xf32>, %n: tensor<?xi32>) -> tensor<1x?x?x8xf32> {
  %o = attn.forward %q, %k, %k packed(%cu_q : tensor<?xi32>) lengths(%n : tensor<?xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : tensor<1x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32> -> tensor<1x?x?x8xf32>
  return %o : tensor<1x?x?x8xf32>
}
