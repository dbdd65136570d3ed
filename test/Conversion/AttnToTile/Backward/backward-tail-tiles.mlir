// With ordered accumulation under a causal mask each head's shortest key tiles are tail tiles: a
// quarter of the tiles of 128 keys, a sixteenth of the tiles of 64. The kernel that counts slots
// uses the same order.
// RUN: fovea-opt %s --split-input-file --fovea-to-tile=target=sm_90a | FileCheck %s

// CHECK-LABEL: gpu.func @many_keys(
// CHECK: %[[TILES:.*]] = arith.ceildivui %{{.*}}, %c128 : index
// CHECK: %[[LATE:.*]] = arith.divui %[[TILES]], %c4 : index
// CHECK: arith.minui %[[LATE]], %[[TILES]] : index
// CHECK-LABEL: gpu.func @many_keys_turns(
// CHECK: %[[TILES:.*]] = arith.ceildivui %{{.*}}, %c128 : index
// CHECK: arith.divui %[[TILES]], %c4 : index

!x = tensor<?x?x?x128xbf16>
!r = tensor<?x?x?xf32>
func.func @many_keys(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v) deterministic
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.cmpi sge, %i, %j : index
      attn.yield %c : i1
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}

// -----

// CHECK-LABEL: gpu.func @few_keys(
// CHECK: %[[TILES:.*]] = arith.ceildivui %{{.*}}, %c64 : index
// CHECK: %[[LATE:.*]] = arith.divui %[[TILES]], %c16 : index
// CHECK: arith.minui %[[LATE]], %[[TILES]] : index
// CHECK-LABEL: gpu.func @few_keys_turns(
// CHECK: %[[TILES:.*]] = arith.ceildivui %{{.*}}, %c64 : index
// CHECK: arith.divui %[[TILES]], %c16 : index

!x = tensor<?x?x?x256xbf16>
!r = tensor<?x?x?xf32>
func.func @few_keys(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do gradients(q, k, v) deterministic
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c = arith.cmpi sge, %i, %j : index
      attn.yield %c : i1
    }
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}
