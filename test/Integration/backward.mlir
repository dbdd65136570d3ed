// Gradients of q, k and v by kernels that do not accumulate in memory: a tile of queries
// iterates over its keys, a tile of keys over its queries. At every level on both targets,
// against finite differences; sizes divide no tile.
// DEFINE: %{run} = %python %S/Inputs/run_backward.py fovea-run %s
// DEFINE: %{all} = attn,tile:sm_80,warp:sm_80,ptx:sm_80,tile:sm_90a,warp:sm_90a,ptx:sm_90a
// DEFINE: %{options} = element=bf16 tolerance=1.2e-2 places=60
// RUN: %{run} plain %t.d %{all} sizes=2,4,2,37,70,16,24 %{options} | FileCheck %s
// A score_mod, whose derivative the pipeline computes, and a mask with rows without keys.
// RUN: %{run} modified %t.d %{all} sizes=1,2,1,90,70,16,16 "score=2*np.tanh(0.1*s)+0.1*(j-i)" "mask=j <= i-3" %{options} | FileCheck %s
// Rows of heads in another order, a run-time scale, a loss on LSE, sinks.
// RUN: %{run} turned %t.d %{all} sizes=1,2,2,40,33,32,32 layout=bshd scale=0.4 dlse=1 sinks=1 %{options} -- dlse 0.4 sinks | FileCheck %s
// Fewer keys than the tensors have; those beyond have gradients of 0.
// RUN: %{run} lengths %t.d %{all} sizes=2,2,1,40,90,16,16 integers=n:70/10 "mask=j < n[b]" %{options} -- n | FileCheck %s
// CHECK: attn agrees
// CHECK-NEXT: tile:sm_80 agrees
// CHECK-NEXT: warp:sm_80 agrees
// CHECK-NEXT: ptx:sm_80 agrees
// CHECK-NEXT: tile:sm_90a agrees
// CHECK-NEXT: warp:sm_90a agrees
// CHECK-NEXT: ptx:sm_90a agrees

!t = tensor<?x?x?x16xbf16>
!v = tensor<?x?x?x24xbf16>
!w = tensor<?x?x?x32xbf16>
!rows = tensor<?x?x?xf32>
func.func @plain(%q: !t, %k: !t, %v: !v, %o: !v, %lse: !rows, %do: !v) -> (!t, !t, !v) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do : !t, !t, !v, !v, !rows, !v -> !t, !t, !v
  return %0#0, %0#1, %0#2 : !t, !t, !v
}

func.func @modified(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do 
      score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
        %c = arith.constant 0.1 : f32
        %two = arith.constant 2.0 : f32
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %bias = arith.mulf %c, %df : f32
        %0 = arith.mulf %s, %c : f32
        %1 = math.tanh %0 : f32
        %2 = arith.mulf %1, %two : f32
        %3 = arith.addf %2, %bias : f32
        attn.yield %3 : f32
      }
      mask_mod(%b: index, %h: index, %i: index, %j: index) {
        %c3 = arith.constant 3 : index
        %first = arith.subi %i, %c3 : index
        %keep = arith.cmpi sle, %j, %first : index
        attn.yield %keep : i1
      }
     : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}

func.func @turned(%q: !w, %k: !w, %v: !w, %o: !w, %lse: !rows, %do: !w, %dlse: !rows, %scale: f32, %sinks: tensor<?xf32>) -> (!w, !w, !w) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do lse_gradient(%dlse : !rows) scale(%scale : f32) layout(bshd) sinks(%sinks : tensor<?xf32>)
      : !w, !w, !w, !w, !rows, !w -> !w, !w, !w
  return %0#0, %0#1, %0#2 : !w, !w, !w
}

func.func @lengths(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %n: tensor<?xi32>) -> (!t, !t, !t) {
  %0:3 = attn.backward %q, %k, %v, %o, %lse, %do lengths(%n : tensor<?xi32>) : !t, !t, !t, !t, !rows, !t -> !t, !t, !t
  return %0#0, %0#1, %0#2 : !t, !t, !t
}
