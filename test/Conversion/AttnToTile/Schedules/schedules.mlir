// The problem features that determine the chosen schedule on sm_90a.
// RUN: fovea-opt %s --fovea-to-tile=target=sm_90a | FileCheck %s

// Rows with different numbers of keys: dynamic work distribution. For head dims up to 128, TMA
// stores all tiles, from a separate buffer if that only costs a third key stage.
// CHECK-LABEL: launch.abi @causal {{.*}} work = dynamic, {{.*}}recurrence = lazy, tau = 32, streams = [<"q", stages = 2>, <"k", stages = 2>], {{.*}}stores = [<"out", copied>]
func.func @causal(%q: tensor<1x1x?x128xbf16>) -> tensor<1x1x?x128xbf16> {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : tensor<1x1x?x128xbf16>, tensor<1x1x?x128xbf16>, tensor<1x1x?x128xbf16> -> tensor<1x1x?x128xbf16>
  return %o : tensor<1x1x?x128xbf16>
}

// CHECK-LABEL: launch.abi @small_causal {{.*}} work = dynamic, {{.*}}<"k", stages = 4>{{.*}}stores = [<"out", copied>]
func.func @small_causal(%q: tensor<1x1x?x64xbf16>) -> tensor<1x1x?x64xbf16> {
  %o = attn.forward %q, %q, %q
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16> -> tensor<1x1x?x64xbf16>
  return %o : tensor<1x1x?x64xbf16>
}

// P in f16 has a smaller range; 8 is the default.
// CHECK-LABEL: launch.abi @half {{.*}} recurrence = lazy, streams = {{.*}}stores = [<"out", copied>]
func.func @half(%q: tensor<1x1x?x128xf16>) -> tensor<1x1x?x128xf16> {
  %o = attn.forward %q, %q, %q : tensor<1x1x?x128xf16>, tensor<1x1x?x128xf16>, tensor<1x1x?x128xf16> -> tensor<1x1x?x128xf16>
  return %o : tensor<1x1x?x128xf16>
}

// Sequences of different lengths have unequal cost, too.
// CHECK-LABEL: launch.abi @lengths {{.*}} work = dynamic, {{.*}}recurrence = lazy, tau = 32, {{.*}}stores = [<"out", copied>], roles = [<"load", warps = 4, registers = 40,
func.func @lengths(%q: tensor<1x1x?x128xbf16>, %n: tensor<1xi32>) -> tensor<1x1x?x128xbf16> {
  %o = attn.forward %q, %q, %q lengths(%n : tensor<1xi32>) : tensor<1x1x?x128xbf16>, tensor<1x1x?x128xbf16>, tensor<1x1x?x128xbf16> -> tensor<1x1x?x128xbf16>
  return %o : tensor<1x1x?x128xbf16>
}

// Dropout draws random numbers in registers: two warp groups, narrower blocks, and all exponentials
// at once.
// CHECK-LABEL: launch.abi @dropout {{.*}} plan(<#warp.{{[a-z0-9_]+}}, tile_m = 128, tile_n = 112, warps = 8, {{.*}} work = static, {{.*}}ping_pong,
func.func @dropout(%q: tensor<1x1x?x64xbf16>, %s: i64) -> tensor<1x1x?x64xbf16> {
  %o = attn.forward %q, %q, %q dropout(0.1, %s, %s) : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16> -> tensor<1x1x?x64xbf16>
  return %o : tensor<1x1x?x64xbf16>
}

// A loaded value per score, added after the MMA: it has no bound, so no accumulator starts from it.
// CHECK-LABEL: launch.abi @table {{.*}} plan(<#warp.{{[a-z0-9_]+}}, tile_m = 128, tile_n = 112,
// CHECK-NOT: adds_to_summand
func.func @table(%q: tensor<1x1x?x128xbf16>, %t: tensor<?xf32>) -> tensor<1x1x?x128xbf16> {
  %o = attn.forward %q, %q, %q captures(%t : tensor<?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: tensor<?xf32>) {
      %zero = arith.constant 0 : index
      %most = arith.constant 256 : index
      %d = arith.subi %j, %i : index
      %low = arith.maxsi %d, %zero : index
      %at = arith.minsi %low, %most : index
      %x = tensor.extract %c[%at] : tensor<?xf32>
      %r = arith.addf %s, %x : f32
      attn.yield %r : f32
    } : tensor<1x1x?x128xbf16>, tensor<1x1x?x128xbf16>, tensor<1x1x?x128xbf16> -> tensor<1x1x?x128xbf16>
  return %o : tensor<1x1x?x128xbf16>
}

// CHECK: launch.abi @table_lse {{.*}} plan(<#warp.{{[a-z0-9_]+}}, tile_m = 128, tile_n = 112,
func.func @table_lse(%q: tensor<1x1x?x128xbf16>, %t: tensor<?xf32>) -> (tensor<1x1x?x128xbf16>, tensor<1x1x?xf32>) {
  %o, %lse = attn.forward %q, %q, %q captures(%t : tensor<?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: tensor<?xf32>) {
      %zero = arith.constant 0 : index
      %most = arith.constant 256 : index
      %d = arith.subi %j, %i : index
      %low = arith.maxsi %d, %zero : index
      %at = arith.minsi %low, %most : index
      %x = tensor.extract %c[%at] : tensor<?xf32>
      %r = arith.addf %s, %x : f32
      attn.yield %r : f32
    } : tensor<1x1x?x128xbf16>, tensor<1x1x?x128xbf16>, tensor<1x1x?x128xbf16> -> tensor<1x1x?x128xbf16>, tensor<1x1x?xf32>
  return %o, %lse : tensor<1x1x?x128xbf16>, tensor<1x1x?xf32>
}
