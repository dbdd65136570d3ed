// Captured values that several roles need are loaded by each of them: a factor of scores by key,
// which P and dS need, with a role per accumulator (head dim 256), and with block-sparse lists
// of 64 keys. A derivative of a score_mod that is NaN for hidden pairs. Semaphore slots of
// sequences of one block, without a loop. Head dims that share no panel.
// DEFINE: %{level} = tile
// DEFINE: %{run} = fovea-run %t.mlir --random=1 --check --target=sm_90a --level=%{level}
// DEFINE: %{factor} = %{run} --entry=factor --dims=B=1,Hq=2,Hkv=2,Sq=130,Skv=150,capture0.0=150 | FileCheck %s
// DEFINE: %{hidden} = %{run} --entry=hidden --dims=B=1,Hq=2,Hkv=1,Sq=70,Skv=90 | FileCheck %s
// DEFINE: %{one} = %{run} --entry=one | FileCheck %s
// DEFINE: %{widths} = %{run} --entry=widths --dims=B=1,Hq=2,Hkv=1,Sq=140,Skv=150 | FileCheck %s
// RUN: fovea-opt %s --attn-differentiate -o %t.mlir
// RUN: %{factor}
// RUN: %{hidden}
// RUN: %{one}
// RUN: %{widths}
// REDEFINE: %{level} = warp
// RUN: %{factor}
// RUN: %{one}
// REDEFINE: %{level} = ptx
// RUN: %{factor}
// RUN: %{hidden}
// RUN: %{one}
// RUN: %{widths}
// RUN: fovea-run %t.mlir --random=1 --check --target=sm_80 --level=ptx --entry=hidden --dims=B=1,Hq=2,Hkv=1,Sq=70,Skv=90 | FileCheck %s

// CHECK: dq {{.*}} passed
// CHECK-NEXT: dk {{.*}} passed
// CHECK-NEXT: dv {{.*}} passed

!r = tensor<?x?x?xf32>
!s = tensor<?xf32>
!x = tensor<?x?x?x256xbf16>
func.func @factor(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x, %t: !s) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do captures(%t : !s)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %tt: !s) {
      %e = tensor.extract %tt[%j] : !s
      %n = arith.mulf %a, %e : f32
      attn.yield %n : f32
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}

// log(i - j) is NaN for keys after the query, which the mask hides.
!y = tensor<?x?x?x64xbf16>
func.func @hidden(%q: !y, %k: !y, %v: !y, %o: !y, %lse: !r, %do: !y) -> (!y, !y, !y) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index) {
      %d = arith.subi %i, %j : index
      %d32 = arith.index_cast %d : index to i32
      %f = arith.sitofp %d32 : i32 to f32
      %l = math.log %f : f32
      %n = arith.addf %a, %l : f32
      %t = math.tanh %n : f32
      attn.yield %t : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %m = arith.cmpi sgt, %i, %j : index
      attn.yield %m : i1
    }
    : !y, !y, !y, !y, !r, !y -> !y, !y, !y
  return %dq, %dk, %dv : !y, !y, !y
}

!z = tensor<1x2x40x128xbf16>
!zr = tensor<1x2x40xf32>
func.func @one(%q: !z, %k: !z, %v: !z, %o: !z, %lse: !zr, %do: !z) -> (!z, !z, !z) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do deterministic
    : !z, !z, !z, !z, !zr, !z -> !z, !z, !z
  return %dq, %dk, %dv : !z, !z, !z
}

!w = tensor<?x?x?x80xbf16>
!u = tensor<?x?x?x40xbf16>
func.func @widths(%q: !w, %k: !w, %v: !u, %o: !u, %lse: !r, %do: !u) -> (!w, !w, !u) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %m = arith.cmpi sge, %i, %j : index
      attn.yield %m : i1
    }
    : !w, !w, !u, !u, !r, !u -> !w, !w, !u
  return %dq, %dk, %dv : !w, !w, !u
}
