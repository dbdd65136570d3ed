// Captured values that neighbouring keys share: a block's last chunks may lie
// past the last one. And an index that is itself read from memory.
//
// REQUIRES: fovea-run
// DEFINE: %{run} = fovea-run %s --check --random=1 --integers=0:3 --dims B=1,Hq=2,Hkv=1,Sq=19,Skv=19
// RUN: %{run} --entry=chunks --level=tile --target=sm_80
// RUN: %{run} --entry=chunks --level=warp --target=sm_80
// RUN: %{run} --entry=chunks --level=tile --target=sm_90a
// RUN: %{run} --entry=chunks --level=warp --target=sm_90a
// RUN: %{run} --entry=indirect --level=tile --target=sm_80
// RUN: %{run} --entry=indirect --level=warp --target=sm_90a

!t = tensor<?x?x?x64xbf16>
!l = tensor<?x?x?xf32>

func.func @chunks(%q: !t, %k: !t, %v: !t, %w: tensor<2xi32>) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v captures(%w : tensor<2xi32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %c: tensor<2xi32>) {
      %c1 = arith.constant 1 : i32
      %c16 = arith.constant 16 : index
      %n = arith.divui %j, %c16 : index
      %x = tensor.extract %c[%n] : tensor<2xi32>
      %keep = arith.cmpi sge, %x, %c1 : i32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}

func.func @indirect(%q: !t, %k: !t, %v: !t, %w: tensor<2xi32>, %u: tensor<5xf32>) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v captures(%w, %u : tensor<2xi32>, tensor<5xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: tensor<2xi32>, %d: tensor<5xf32>) {
      %c3 = arith.constant 3 : index
      %c5 = arith.constant 5 : index
      %x = tensor.extract %c[%h] : tensor<2xi32>
      %n = arith.index_cast %x : i32 to index
      %m = arith.addi %n, %c3 : index
      %p = arith.remsi %m, %c5 : index
      %y = tensor.extract %d[%p] : tensor<5xf32>
      %r = arith.addf %s, %y : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}
