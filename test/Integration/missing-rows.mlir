// A mask that hides everything from existing rows, but not from rows past the end:
// conditions on owned rows cover both.
//
// REQUIRES: fovea-run
// RUN: fovea-run %s --random=1 --dims B=1,Hq=1,Hkv=1,Sq=2,Skv=150 --level=tile --target=sm_90a --entry=few --check
// RUN: fovea-run %s --random=1 --dims B=1,Hq=1,Hkv=1,Sq=65,Skv=150 --level=tile --target=sm_90a --entry=more --check
// RUN: fovea-run %s --random=1 --dims B=1,Hq=1,Hkv=1,Sq=65,Skv=150 --level=warp --target=sm_90a --entry=more --check

!t = tensor<?x?x?x64xbf16>
!l = tensor<?x?x?xf32>

func.func @few(%q: !t, %k: !t, %v: !t) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c2 = arith.constant 2 : index
      %keep = arith.cmpi sge, %i, %c2 : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}

func.func @more(%q: !t, %k: !t, %v: !t) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c64 = arith.constant 64 : index
      %keep = arith.cmpi sgt, %i, %c64 : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}
