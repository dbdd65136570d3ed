// A coordinate that wraps in a narrow integer is not linear in the position: i8(130) is -126.
// RUN: fovea-run %s --level=tile --target=sm_90a --check --random=1 --dims Sq=40,Skv=300 | FileCheck %s
// CHECK: passed

!t = tensor<1x1x?x16xbf16>
func.func @narrow(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %scale = arith.constant 0.01 : f32
      %narrow = arith.index_cast %j : index to i8
      %float = arith.sitofp %narrow : i8 to f32
      %bias = arith.mulf %float, %scale : f32
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}
