// A mask that only LLVM proves to hide everything: no integer is 2.5. P and dS are the constant 0 then: the operand of an
// outstanding product needs its own registers, which no other instruction uses in the meantime.
// RUN: fovea-opt %s --attn-differentiate -o %t.mlir
// RUN: fovea-run %t.mlir --random=1 --check --target=sm_90a --level=ptx --dims=B=1,Hq=1,Hkv=1,Sq=150,Skv=140 | FileCheck %s

// CHECK: dq {{.*}} passed
// CHECK: dk {{.*}} passed
// CHECK: dv {{.*}} passed

!x = tensor<?x?x?x64xbf16>
!r = tensor<?x?x?xf32>
func.func @hidden(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do deterministic
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %n = arith.index_cast %j : index to i32
      %f = arith.sitofp %n : i32 to f32
      %t = arith.mulf %s, %f : f32
      %four = arith.constant 4.0 : f32
      %near = arith.cmpf olt, %f, %four : f32
      %none = arith.constant 0xFF800000 : f32
      %x = arith.select %near, %t, %none : f32
      attn.yield %x : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %m = arith.andi %b, %i : index
      %n = arith.index_cast %m : index to i32
      %f = arith.sitofp %n : i32 to f32
      %half = arith.constant 2.5 : f32
      %sees = arith.cmpf oeq, %f, %half : f32
      attn.yield %sees : i1
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}
