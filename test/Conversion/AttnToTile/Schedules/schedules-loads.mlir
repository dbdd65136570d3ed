// RUN: fovea-opt %s --attn-to-tile=target=sm_90a --split-input-file | FileCheck %s

// Values loaded per score take registers until the MMA to which they are added is done: three warp
// groups, with narrower blocks. Values per key leave room for wider ones.
!t = tensor<1x1x?x64xbf16>
!table = tensor<?x?xf32>
// CHECK-LABEL: launch.abi @both
// CHECK-SAME: tile_n = 80, warps = 12
func.func @both(%q: !t, %k: !t, %v: !t, %table: !table) -> !t {
  %o = attn.forward %q, %k, %v captures(%table : !table)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: !table) {
      %d = arith.subi %i, %j : index
      %bias = tensor.extract %x[%h, %d] : !table
      %sum = arith.addf %s, %bias : f32
      attn.yield %sum : f32
    } : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x1x?x64xbf16>
!table = tensor<?x?xf32>
// CHECK-LABEL: launch.abi @each
// CHECK-SAME: tile_n = 96, warps = 12
func.func @each(%q: !t, %k: !t, %v: !t, %table: !table) -> !t {
  %o = attn.forward %q, %k, %v captures(%table : !table)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: !table) {
      %row = tensor.extract %x[%h, %i] : !table
      %column = tensor.extract %x[%h, %j] : !table
      %bias = arith.mulf %row, %column : f32
      %sum = arith.addf %s, %bias : f32
      attn.yield %sum : f32
    } : !t, !t, !t -> !t
  return %o : !t
}
