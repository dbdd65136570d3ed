// Sinks and dropout with each recurrence, with rows without visible keys, with row
// sums by the tensor cores, and with large scores.
// REQUIRES: fovea-run
// DEFINE: %{run} = fovea-run %s --check --random=1 --dims B=2,Hq=2,Hkv=1,Sq=150,Skv=200
// RUN: %{run} --entry=both --level=tile --target=sm_80 --recurrence=three-pass
// RUN: %{run} --entry=both --level=tile --target=sm_80 --recurrence=normalized
// RUN: %{run} --entry=both --level=tile --target=sm_80 --recurrence=deferred
// RUN: %{run} --entry=both --level=tile --target=sm_80 --recurrence=conditional --magnitude=30
// RUN: %{run} --entry=both --level=tile --target=sm_80 --recurrence=lazy --magnitude=30
// RUN: %{run} --entry=sinks --level=tile --target=sm_80 --recurrence=lazy --magnitude=3000
// RUN: %{run} --entry=sinks --level=tile --target=sm_90a --schedule=sum_by_dot=1
// RUN: %{run} --entry=sinks --level=warp --target=sm_90a --seeds=2
// RUN: %{run} --entry=both --level=warp --target=sm_90a --seeds=2
// RUN: %{run} --entry=both --level=warp --target=sm_80
// A term common to all scores of a row may be factored out of them, and then out
// of the sink, too.
// RUN: %{run},capture0.0=2 --entry=sloped --level=tile --target=sm_80
// RUN: %{run},capture0.0=2 --entry=sloped --level=warp --target=sm_90a

!q = tensor<?x?x?x64xbf16>
func.func @sinks(%q: !q, %k: !q, %v: !q, %t: tensor<?xf32>) -> !q {
  %o = attn.forward %q, %k, %v sinks(%t : tensor<?xf32>)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c40 = arith.constant 40 : index
      %x = arith.addi %j, %c40 : index
      %keep = arith.cmpi sge, %i, %x : index
      attn.yield %keep : i1
    } : !q, !q, !q -> !q
  return %o : !q
}

func.func @both(%q: !q, %k: !q, %v: !q, %t: tensor<?xf32>, %seed: i64, %offset: i64) -> (!q, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v sinks(%t : tensor<?xf32>) dropout(0.3, %seed, %offset)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c40 = arith.constant 40 : index
      %x = arith.addi %j, %c40 : index
      %keep = arith.cmpi sge, %i, %x : index
      attn.yield %keep : i1
    } : !q, !q, !q -> !q, tensor<?x?x?xf32>
  return %o, %lse : !q, tensor<?x?x?xf32>
}

func.func @sloped(%q: !q, %k: !q, %v: !q, %t: tensor<?xf32>, %slopes: tensor<?xf32>) -> (!q, tensor<?x?x?xf32>) {
  %o, %lse = attn.forward %q, %k, %v sinks(%t : tensor<?xf32>) captures(%slopes : tensor<?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %sl: tensor<?xf32>) {
      %slope = tensor.extract %sl[%h] : tensor<?xf32>
      %d = arith.subi %j, %i : index
      %di = arith.index_cast %d : index to i32
      %df = arith.sitofp %di : i32 to f32
      %bias = arith.mulf %slope, %df : f32
      %r = arith.addf %s, %bias : f32
      attn.yield %r : f32
    } : !q, !q, !q -> !q, tensor<?x?x?xf32>
  return %o, %lse : !q, tensor<?x?x?xf32>
}
