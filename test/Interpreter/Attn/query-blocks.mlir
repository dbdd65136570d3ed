// Transposed block lists do not change gradients, and the interpreter reports a difference between
// the lists: queries in blocks of 2, keys in blocks of 4.
// RUN: %python %S/../Inputs/npy.py write %t.q.npy f32 "np.arange(40).reshape(1, 1, 5, 8) % 7"
// RUN: %python %S/../Inputs/npy.py write %t.k.npy f32 "np.arange(72).reshape(1, 1, 9, 8) % 5"
// RUN: %python %S/../Inputs/npy.py write %t.lse.npy f32 "np.full((1, 1, 5), 30)"
// RUN: %python %S/../Inputs/npy.py write %t.pc.npy i32 "[[[1, 0, 2]]]"
// RUN: %python %S/../Inputs/npy.py write %t.pi.npy i32 "[[[[2, 0], [1, 1], [0, 2]]]]"
// RUN: %python %S/../Inputs/npy.py write %t.fc.npy i32 "[[[1, 2, 0]]]"
// RUN: %python %S/../Inputs/npy.py write %t.fi.npy i32 "[[[[0, 0], [1, 7], [0, 0]]]]"
// Any order, an index out of range and a count above the width.
// RUN: %python %S/../Inputs/npy.py write %t.tpc.npy i32 "[[[1, 0, 9]]]"
// RUN: %python %S/../Inputs/npy.py write %t.tpi.npy i32 "[[[[2, 0, 0], [0, 1, 2], [2, -1, 0]]]]"
// RUN: %python %S/../Inputs/npy.py write %t.tfc.npy i32 "[[[1, 2, 0]]]"
// RUN: %python %S/../Inputs/npy.py write %t.tfi.npy i32 "[[[[0, 1], [5, 1], [0, 0]]]]"
// DEFINE: %{given} = --inputs %t.q.npy %t.k.npy %t.k.npy %t.q.npy %t.lse.npy %t.q.npy %t.pc.npy %t.pi.npy %t.fc.npy %t.fi.npy
// RUN: fovea-run %s --entry=plain %{given} --outputs %t.dk.npy
// RUN: fovea-run %s --entry=both %{given} %t.tpc.npy %t.tpi.npy %t.tfc.npy %t.tfi.npy --outputs %t.dk2.npy
// RUN: cmp %t.dk.npy %t.dk2.npy

// RUN: %python %S/../Inputs/npy.py write %t.less.npy i32 "[[[1, 0, 2]]]"
// RUN: not fovea-run %s --entry=both %{given} %t.less.npy %t.tpi.npy %t.tfc.npy %t.tfi.npy 2>&1 | FileCheck %s --check-prefix=LESS
// LESS: error: query_blocks must be blocks transposed: block of queries 0 and block of keys 2 of batch entry 0, head 0 are partial in blocks, found not listed in query_blocks
// RUN: %python %S/../Inputs/npy.py write %t.more.npy i32 "[[[1, 2, 1]]]"
// RUN: not fovea-run %s --entry=both %{given} %t.tpc.npy %t.tpi.npy %t.more.npy %t.tfi.npy 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: block of queries 0 is listed twice for block of keys 2 of batch entry 0, head 0
// RUN: %python %S/../Inputs/npy.py write %t.full.npy i32 "[[[0, 0, 9]]]"
// RUN: %python %S/../Inputs/npy.py write %t.two.npy i32 "[[[2, 2, 0]]]"
// RUN: %python %S/../Inputs/npy.py write %t.twofi.npy i32 "[[[[0, 2], [5, 1], [0, 0]]]]"
// RUN: not fovea-run %s --entry=both %{given} %t.full.npy %t.tpi.npy %t.two.npy %t.twofi.npy 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: error: query_blocks must be blocks transposed: block of queries 2 and block of keys 0 of batch entry 0, head 0 are partial in blocks, found full in query_blocks
// RUN: %python %S/../Inputs/npy.py write %t.one.npy i32 "[[[0, 0]]]"
// RUN: %python %S/../Inputs/npy.py write %t.onei.npy i32 "[[[[0], [0]]]]"
// RUN: not fovea-run %s --entry=both %{given} %t.one.npy %t.onei.npy %t.one.npy %t.onei.npy 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: error: {{.*}}Kblocks must be at least 3, the blocks of 4 in Skv, found 2

// Kernels do not compare the lists; fovea-run does on request.
// RUN: not fovea-run %s --entry=both --check-contents %{given} %t.tpc.npy %t.tpi.npy %t.tfc.npy %t.tfi.npy 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: tensor 'full_index' holds 7 at [0, 0, 1, 1], expected a block from 0 to 2
// RUN: %python %S/../Inputs/npy.py write %t.fc1.npy i32 "[[[1, 1, 0]]]"
// DEFINE: %{valid} = --inputs %t.q.npy %t.k.npy %t.k.npy %t.q.npy %t.lse.npy %t.q.npy %t.pc.npy %t.pi.npy %t.fc1.npy %t.fi.npy
// RUN: %python %S/../Inputs/npy.py write %t.tpc1.npy i32 "[[[1, 0, 2]]]"
// RUN: %python %S/../Inputs/npy.py write %t.tpi1.npy i32 "[[[[2, 9, 9], [9, 9, 9], [2, 0, 9]]]]"
// RUN: %python %S/../Inputs/npy.py write %t.tfc1.npy i32 "[[[1, 1, 0]]]"
// RUN: %python %S/../Inputs/npy.py write %t.tfi1.npy i32 "[[[[0, 9], [1, 9], [9, 9]]]]"
// RUN: fovea-run %s --entry=both --check-contents %{valid} %t.tpc1.npy %t.tpi1.npy %t.tfc1.npy %t.tfi1.npy
// RUN: not fovea-run %s --entry=both --check-contents %{valid} %t.tpc.npy %t.tpi1.npy %t.tfc1.npy %t.tfi1.npy 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: error: tensor 'partial_query_count' holds 9 at [0, 0, 2], expected 0 to 3, which is 'partial_query_index.3'
// RUN: %python %S/../Inputs/npy.py write %t.tfi2.npy i32 "[[[[0, 9], [0, 9], [9, 9]]]]"
// RUN: not fovea-run %s --entry=both --check-contents %{valid} %t.tpc1.npy %t.tpi1.npy %t.tfc1.npy %t.tfi2.npy 2>&1 | FileCheck %s --check-prefix=DIFFER
// DIFFER: error: tensor 'full_query_index' must be 'full_index' transposed: batch entry 0, head 0 has block of queries 1 and block of keys 1 only in 'full_index'

!q = tensor<1x1x?x8xf32>
!rows = tensor<1x1x?xf32>
!c = tensor<1x1x?xi32>
!i = tensor<1x1x?x?xi32>
func.func @plain(%q: !q, %k: !q, %v: !q, %o: !q, %lse: !rows, %do: !q, %pc: !c, %pi: !i, %fc: !c, %fi: !i) -> !q {
  %dk = attn.backward %q, %k, %v, %o, %lse, %do gradients(k) blocks(%pc, %pi, %fc, %fi : !c, !i, !c, !i, size = [2, 4])
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi slt, %i, %j : index
      attn.yield %keep : i1
    } : !q, !q, !q, !q, !rows, !q -> !q
  return %dk : !q
}

func.func @both(%q: !q, %k: !q, %v: !q, %o: !q, %lse: !rows, %do: !q, %pc: !c, %pi: !i, %fc: !c, %fi: !i, %tpc: !c, %tpi: !i, %tfc: !c, %tfi: !i) -> !q {
  %dk = attn.backward %q, %k, %v, %o, %lse, %do gradients(k) blocks(%pc, %pi, %fc, %fi : !c, !i, !c, !i, size = [2, 4])
    query_blocks(%tpc, %tpi, %tfc, %tfi : !c, !i, !c, !i)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi slt, %i, %j : index
      attn.yield %keep : i1
    } : !q, !q, !q, !q, !rows, !q -> !q
  return %dk : !q
}
