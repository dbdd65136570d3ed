// A score_mod of the relative position: computed per relative position, exchanged
// between lanes. For both targets, whole and ragged blocks, clusters, with and
// without partial blocks of a causal mask.
//
// REQUIRES: fovea-run
// DEFINE: %{run} = fovea-run %s --check --random=1 --magnitude=4 --dims B=1,Hq=2,Hkv=1,Sq=200,Skv=330,capture0.0=2,capture1.0=2
// RUN: %{run} --level=attn
// RUN: %{run} --level=tile --target=sm_80
// RUN: %{run} --level=warp --target=sm_80
// RUN: %{run} --level=warp --target=sm_80 --schedule=tile_m=128,tile_n=48,warps=4
// RUN: %{run} --level=tile --target=sm_90a
// RUN: %{run} --level=warp --target=sm_90a --seeds=3
// RUN: %{run} --level=warp --target=sm_90a --schedule=cluster=2,work=static
// RUN: fovea-compile %s --target=sm_90a | FileCheck %s
// CHECK-LABEL: .entry logarithms(
// CHECK: shfl.sync.idx
func.func @logarithms(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>,
                      %slopes: tensor<?xf32>, %table: tensor<?x32xf32>) -> tensor<?x?x?x64xbf16> {
  %o = attn.forward %q, %k, %v captures(%slopes, %table : tensor<?xf32>, tensor<?x32xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %slopes: tensor<?xf32>, %table: tensor<?x32xf32>) {
      %one = arith.constant 1.0 : f32
      %c3 = arith.constant 3 : i32
      %most = arith.constant 31 : index
      %slope = tensor.extract %slopes[%h] : tensor<?xf32>
      %d = arith.subi %i, %j : index
      %far = math.absi %d : index
      %integer = arith.index_cast %far : index to i32
      %x = arith.sitofp %integer : i32 to f32
      %y = arith.addf %x, %one : f32
      %l = math.log %y : f32
      %log = arith.mulf %l, %slope : f32
      // Also a table, in steps of eight.
      %eighth = arith.shrui %integer, %c3 : i32
      %step = arith.index_cast %eighth : i32 to index
      %bucket = arith.minsi %step, %most : index
      %bias = tensor.extract %table[%h, %bucket] : tensor<?x32xf32>
      %sum = arith.addf %s, %bias : f32
      %r = arith.subf %sum, %log : f32
      attn.yield %r : f32
    }
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>
  return %o : tensor<?x?x?x64xbf16>
}
