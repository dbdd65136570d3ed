// RUN: fovea-opt %s --attn-analyze-mask --attn-to-tile=target=sm_90a | FileCheck %s

// The preprocess kernel does not need the block min/max of documents: it runs concurrently with the
// kernel that computes them, and waits for it at its end. It starts with the last head's tiles, as
// does the postprocess kernel: each kernel starts with data that the previous one left in L2.
// CHECK-LABEL: gpu.func @documents(
// CHECK-NEXT: launch.await_previous
// CHECK-LABEL: gpu.func @documents_summaries(
// CHECK-NEXT: launch.allow_overlap
// CHECK-NOT: launch.await_previous
// CHECK-LABEL: gpu.func @documents_delta(
// CHECK-NEXT: launch.allow_overlap
// CHECK: tile.foreach_work %[[ITEM:.*]] to %[[ITEMS:.*]] schedule(single)
// CHECK: %[[LAST:.*]] = arith.subi %[[ITEMS]], %{{.*}} : index
// CHECK: arith.subi %[[LAST]], %[[ITEM]] : index
// CHECK: launch.await_previous
// CHECK-NEXT: gpu.return
// CHECK-LABEL: gpu.func @documents_queries(
// CHECK-NEXT: launch.await_previous
// CHECK: tile.foreach_work %[[ITEM:.*]] to %[[ITEMS:.*]] schedule(single)
// CHECK: %[[LAST:.*]] = arith.subi %[[ITEMS]], %{{.*}} : index
// CHECK: arith.subi %[[LAST]], %[[ITEM]] : index
!t = tensor<?x?x?x64xbf16>
!l = tensor<?x?x?xf32>
!d = tensor<?x?xi32>
func.func @documents(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %documents: !d) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do captures(%documents : !d)
    mask_mod(%b: index, %h: index, %i: index, %j: index, %of: !d) {
      %x = tensor.extract %of[%b, %i] : !d
      %y = tensor.extract %of[%b, %j] : !d
      %same = arith.cmpi eq, %x, %y : i32
      attn.yield %same : i1
    } : !t, !t, !t, !t, !l, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}
