// A captured matrix of 16-bit numbers and a clamped table: the matrix is loaded
// once for both ways to compute a block, so that it can be copied ahead.
//
// REQUIRES: fovea-run
// RUN: fovea-opt %s --attn-to-tile=target=sm_90a --canonicalize --cse | FileCheck %s
// DEFINE: %{run} = fovea-run %s --check --random=1 --dims B=1,Hq=2,Hkv=2,Sq=200,Skv=328
// RUN: %{run} --level=tile --target=sm_90a
// RUN: %{run} --level=warp --target=sm_90a --seeds=2
// RUN: %{run} --level=warp --target=sm_80
// RUN: fovea-compile %s --target=sm_90a -o %t.ptx

!t = tensor<?x?x?x64xbf16>
!l = tensor<?x?x?xf32>
!m = tensor<200x328xf16>
!w = tensor<33xf32>

// CHECK-LABEL: gpu.func @table_and_matrix
// CHECK: scores(
// CHECK: %[[M:.*]] = tile.load {{.*}} dims [0, 1] : memref<200x328xf16
// CHECK: scf.if
// CHECK-NOT: tile.load
// CHECK: arith.extf %[[M]]
// CHECK: } else {
// CHECK-NOT: tile.load
// CHECK: arith.extf %[[M]]
func.func @table_and_matrix(%q: !t, %k: !t, %v: !t, %m: !m, %w: !w) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v captures(%m, %w : !m, !w)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %n: !m, %t: !w) {
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %d = arith.subi %i, %j : index
      %low = arith.maxsi %d, %c0 : index
      %p = arith.minsi %low, %c32 : index
      %x = tensor.extract %t[%p] : !w
      %y16 = tensor.extract %n[%i, %j] : !m
      %y = arith.extf %y16 : f16 to f32
      %z = arith.addf %s, %y : f32
      %r = arith.addf %z, %x : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}
