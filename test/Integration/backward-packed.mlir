// Gradients of packed sequences: tiles of queries and of keys see their own sequence.
// Against f64 at all levels: sequences without queries, without keys, of one row, some that
// divide no tile; grouped heads; a mask by lengths; a value that is read; one gradient alone.
// DEFINE: %{run} = fovea-run %s --check --dims=Hq=4,Hkv=2,Sq=300,Skv=350
// RUN: %{run},N+1=6 --entry=causal --random=1 --level=tile --target=sm_80
// RUN: %{run},N+1=6 --entry=causal --random=1 --level=warp --target=sm_80 --seeds=3
// RUN: %{run},N+1=6 --entry=causal --random=1 --level=ptx --target=sm_80
// RUN: %{run},N+1=6 --entry=causal --random=2 --level=ptx --target=sm_90a
// RUN: %{run},N+1=6 --entry=causal --random=2 --level=ptx --target=sm_90a --schedule=producer_registers=0
// RUN: %{run},N+1=40 --entry=causal --random=3 --level=ptx --target=sm_80
// RUN: %{run},N+1=2 --entry=causal --random=4 --level=ptx --target=sm_90a
// RUN: %{run},N+1=7 --entry=query --random=5 --level=ptx --target=sm_80
// RUN: %{run},N+1=7 --entry=key --random=6 --level=ptx --target=sm_80
// RUN: %{run},N+1=7,capture0.0=4 --entry=read --random=7 --level=tile --target=sm_80
// RUN: %{run},N+1=7,capture0.0=4 --entry=read --random=7 --level=ptx --target=sm_80

// In roles a sequence has blocks of queries of its own in scratch memory, and gradients go on from tile to tile of
// keys; wide heads, with roles for each sum; score_mods that derivatives need scores of.
// RUN: %{run},N+1=6 --entry=causal --random=1 --level=warp --target=sm_90a --seeds=3
// RUN: %{run},N+1=40 --entry=causal --random=3 --level=warp --target=sm_90a --seeds=2
// RUN: %{run},N+1=40 --entry=causal --random=3 --level=ptx --target=sm_90a
// RUN: fovea-run %s --check --dims=Hq=16,Hkv=16,Sq=1300,Skv=1350,N+1=3 --entry=causal --random=8 --level=ptx --target=sm_90a
// RUN: %{run},N+1=7,capture0.0=4 --entry=read --random=7 --level=ptx --target=sm_90a
// RUN: sed 's/x64xbf16/x256xbf16/g' %s > %t.wide.mlir
// DEFINE: %{wide} = fovea-run %t.wide.mlir --check --target=sm_90a --dims=Hq=4,Hkv=2,Sq=300,Skv=350
// RUN: %{wide},N+1=9 --entry=causal --random=1 --level=tile
// RUN: %{wide},N+1=9 --entry=causal --random=1 --level=warp --seeds=3
// RUN: %{wide},N+1=9 --entry=causal --random=1 --level=ptx
// RUN: %{wide},N+1=7,capture0.0=4 --entry=read --random=7 --level=ptx
// Sequences with NaN rows do not affect others; unchecked offsets stay within memory.
// RUN: rm -rf %t && fovea-run %s --entry=causal --random=1 --dims=Hq=4,Hkv=2,Sq=300,Skv=350,N+1=6 --save-inputs=%t
// RUN: %python %S/Inputs/packed_gradients.py fovea-run %s %t sm_80 sm_90a | FileCheck %s
// CHECK: sm_80: no number of one sequence reaches another
// CHECK: sm_80: reversed offsets keep within memory
// CHECK: sm_90a: no number of one sequence reaches another
// CHECK: sm_90a: reversed offsets keep within memory

!t = tensor<1x?x?x64xbf16>
!rows = tensor<1x?x?xf32>
!n = tensor<?xi32>
!s = tensor<?xf32>
func.func @causal(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %cu_q: !n, %cu_k: !n) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do packed(%cu_q, %cu_k : !n, !n)
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %m = attn.query_length
      %n = attn.key_length
      %x = arith.subi %i, %m : index
      %y = arith.subi %j, %n : index
      %keep = arith.cmpi sge, %x, %y : index
      attn.yield %keep : i1
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

func.func @query(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %cu_q: !n, %cu_k: !n) -> !t {
  %0 = attn.backward %q, %k, %v, %o, %lse, %do gradients(q) packed(%cu_q, %cu_k : !n, !n) : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

func.func @key(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %cu_q: !n, %cu_k: !n) -> !t {
  %0 = attn.backward %q, %k, %v, %o, %lse, %do gradients(k) packed(%cu_q, %cu_k : !n, !n) : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

func.func @read(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %cu_q: !n, %cu_k: !n, %w: !s) -> (!t, !t, !t, !s) {
  %0:4 = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v, captures = [0]) packed(%cu_q, %cu_k : !n, !n) captures(%w : !s)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: !s) {
      %e = tensor.extract %c[%h] : !s
      %p = arith.mulf %s, %e : f32
      %t = math.tanh %p : f32
      attn.yield %t : f32
    } : !t, !t, !t, !t, !rows, !t -> !t, !t, !t, !s
  return %0#0, %0#1, %0#2, %0#3 : !t, !t, !t, !s
}
