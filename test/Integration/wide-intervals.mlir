// The interval of an "or" is computed with 64-bit signs; a kernel whose index has
// 32 bits would lose them. Only the compiled kernel shows it: its PTX is executed.
//
// REQUIRES: fovea-run
// DEFINE: %{run} = fovea-run %s --device=ptx --check --random=1 --dims B=1,Hq=3,Hkv=3
// RUN: %{run} --entry=signs --dims Sq=17,Skv=8 --target=sm_80
// RUN: %{run} --entry=signs --dims Sq=17,Skv=8 --target=sm_90a
// RUN: %{run} --entry=shifts --dims Sq=16,Skv=129 --target=sm_80
// RUN: %{run} --entry=shifts --dims Sq=16,Skv=129 --target=sm_90a

!t = tensor<?x?x?x16xf16>
!l = tensor<?x?x?xf32>
func.func @signs(%q: !t, %k: !t, %v: !t, %c: tensor<2xf32>) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v captures(%c : tensor<2xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %d: tensor<2xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %x = arith.subi %j, %i : index
      %p = arith.cmpi sge, %i, %j : index
      %y = arith.select %p, %c1, %c0 : index
      %z = arith.ori %x, %y : index
      %low = arith.maxsi %z, %c0 : index
      %n = arith.minsi %low, %c1 : index
      %r = tensor.extract %d[%n] : tensor<2xf32>
      attn.yield %r : f32
    } : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}

// The bits of 4 j are told apart from those below by shifts of up to 32.
func.func @shifts(%q: !t, %k: !t, %v: !t, %c: tensor<201xf32>) -> (!t, !l) {
  %o, %lse = attn.forward %q, %k, %v captures(%c : tensor<201xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %d: tensor<201xf32>) {
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %most = arith.constant 200 : index
      %x = arith.shli %j, %c2 : index
      %n = arith.addi %i, %c1 : index
      %y = arith.remsi %h, %n : index
      %z = arith.ori %x, %y : index
      %at = arith.minsi %z, %most : index
      %e = tensor.extract %d[%at] : tensor<201xf32>
      %r = arith.addf %s, %e : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t, !l
  return %o, %lse : !t, !l
}
