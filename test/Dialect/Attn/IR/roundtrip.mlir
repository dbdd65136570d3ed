// RUN: fovea-opt %s | fovea-opt | FileCheck %s
// RUN: fovea-opt %s --mlir-print-op-generic | fovea-opt | FileCheck %s

// CHECK-LABEL: func.func @plain
// CHECK: %[[O:.*]] = attn.forward %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x4x?x64xf16>, tensor<2x2x?x64xf16>, tensor<2x2x?x32xf16> -> tensor<2x4x?x32xf32>
func.func @plain(%q: tensor<2x4x?x64xf16>, %k: tensor<2x2x?x64xf16>, %v: tensor<2x2x?x32xf16>) -> tensor<2x4x?x32xf32> {
  %o = attn.forward %q, %k, %v
    : tensor<2x4x?x64xf16>, tensor<2x2x?x64xf16>, tensor<2x2x?x32xf16> -> tensor<2x4x?x32xf32>
  return %o : tensor<2x4x?x32xf32>
}

// CHECK-LABEL: func.func @regions
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<?x?x4x64xbf16>, %[[SL:[a-z0-9]+]]: tensor<4xf32>, %[[S:[a-z0-9]+]]: f32
// CHECK: %o, %lse = attn.forward %[[Q]], %[[Q]], %[[Q]] scale(%[[S]] : f32) layout(bshd) captures(%[[SL]] : tensor<4xf32>)
// CHECK-NEXT: score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %[[A:.*]]: tensor<4xf32>) {
// CHECK: attn.yield %{{.*}} : f32
// CHECK: mask_mod(%b: index, %h: index, %i: index, %j: index, %{{.*}}: tensor<4xf32>) {
// CHECK: attn.query_length
// CHECK: kv_bounds(%b: index, %h: index, %i0: index, %i1: index, %{{.*}}: tensor<4xf32>) {
// CHECK: %[[N:.*]] = attn.key_length
// CHECK: attn.yield %{{.*}}, %{{.*}}, %{{.*}}, %[[N]] : index, index, index, index
// CHECK: : tensor<?x?x4x64xbf16>, tensor<?x?x4x64xbf16>, tensor<?x?x4x64xbf16> -> tensor<?x?x4x64xbf16>, tensor<?x4x?xf32>
func.func @regions(%q: tensor<?x?x4x64xbf16>, %slopes: tensor<4xf32>, %scale: f32) -> tensor<?x?x4x64xbf16> {
  %o, %lse = attn.forward %q, %q, %q scale(%scale : f32) layout(bshd) captures(%slopes : tensor<4xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %sl: tensor<4xf32>) {
      %slope = tensor.extract %sl[%h] : tensor<4xf32>
      %r = arith.addf %s, %slope : f32
      attn.yield %r : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %sl: tensor<4xf32>) {
      %n = attn.query_length
      %keep = arith.cmpi slt, %j, %n : index
      attn.yield %keep : i1
    }
    kv_bounds(%b: index, %h: index, %i0: index, %i1: index, %sl: tensor<4xf32>) {
      %n = attn.key_length
      %zero = arith.constant 0 : index
      attn.yield %zero, %zero, %zero, %n : index, index, index, index
    }
    : tensor<?x?x4x64xbf16>, tensor<?x?x4x64xbf16>, tensor<?x?x4x64xbf16> -> tensor<?x?x4x64xbf16>, tensor<?x4x?xf32>
  return %o : tensor<?x?x4x64xbf16>
}

// CHECK-LABEL: func.func @forms
// CHECK: attn.forward {{.*}} scale(1.250000e-01) lengths(%{{.*}} : tensor<?xi32>) :
// CHECK: attn.forward {{.*}} packed(%{{.*}}, %{{.*}} : tensor<?xi32>, tensor<?xi32>) {tag = "kept"} :
// CHECK: attn.forward {{.*}} paged(%{{.*}}, %{{.*}} : tensor<?x?xi32>, tensor<?xi32>, page = 64) :
func.func @forms(%q: tensor<?x4x?x64xbf16>, %n: tensor<?xi32>, %table: tensor<?x?xi32>) {
  %0 = attn.forward %q, %q, %q lengths(%n : tensor<?xi32>) scale(0.125)
    : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16> -> tensor<?x4x?x64xbf16>
  %1 = attn.forward %q, %q, %q packed(%n, %n : tensor<?xi32>, tensor<?xi32>) {tag = "kept"}
    : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16> -> tensor<?x4x?x64xbf16>
  %2 = attn.forward %q, %q, %q paged(%table, %n : tensor<?x?xi32>, tensor<?xi32>, page = 64)
    : tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16>, tensor<?x4x?x64xbf16> -> tensor<?x4x?x64xbf16>
  return
}

// CHECK-LABEL: func.func @merge
// CHECK: attn.merge (%[[O0:.*]], %[[L0:.*]]), (%[[O1:.*]], %[[L1:.*]]) layout(bshd) : tensor<2x?x4x64xf32>, tensor<2x4x?xf32> -> tensor<2x?x4x64xbf16>
func.func @merge(%o0: tensor<2x?x4x64xf32>, %l0: tensor<2x4x?xf32>, %o1: tensor<2x?x4x64xf32>, %l1: tensor<2x4x?xf32>) -> tensor<2x?x4x64xbf16> {
  %o = attn.merge (%o0, %l0), (%o1, %l1) layout(bshd) : tensor<2x?x4x64xf32>, tensor<2x4x?xf32> -> tensor<2x?x4x64xbf16>
  return %o : tensor<2x?x4x64xbf16>
}

// CHECK-LABEL: func.func @stacked
// CHECK: attn.merge (%[[O:.*]], %[[L:.*]]) layout(bshd) : tensor<?x2x?x4x64xf32>, tensor<?x2x4x?xf32> -> tensor<2x?x4x64xbf16>, tensor<2x4x?xf32>
func.func @stacked(%os: tensor<?x2x?x4x64xf32>, %ls: tensor<?x2x4x?xf32>) -> (tensor<2x?x4x64xbf16>, tensor<2x4x?xf32>) {
  %o, %l = attn.merge (%os, %ls) layout(bshd) : tensor<?x2x?x4x64xf32>, tensor<?x2x4x?xf32> -> tensor<2x?x4x64xbf16>, tensor<2x4x?xf32>
  return %o, %l : tensor<2x?x4x64xbf16>, tensor<2x4x?xf32>
}

// CHECK-LABEL: func.func @weights
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<2x4x?x64xf16>, %[[T:[a-z0-9]+]]: tensor<4xf32>, %[[SEED:[a-z0-9]+]]: i64
// CHECK: attn.forward %[[Q]], %[[Q]], %[[Q]] lengths(%{{.*}} : tensor<2xi32>) sinks(%[[T]] : tensor<4xf32>) dropout(1.250000e-01, %[[SEED]], %[[SEED]]) captures(%[[T]] : tensor<4xf32>) :
func.func @weights(%q: tensor<2x4x?x64xf16>, %t: tensor<4xf32>, %seed: i64, %n: tensor<2xi32>) -> tensor<2x4x?x64xf16> {
  %o = attn.forward %q, %q, %q dropout(0.125, %seed, %seed, generator = 1) captures(%t : tensor<4xf32>) sinks(%t : tensor<4xf32>) lengths(%n : tensor<2xi32>)
    : tensor<2x4x?x64xf16>, tensor<2x4x?x64xf16>, tensor<2x4x?x64xf16> -> tensor<2x4x?x64xf16>
  return %o : tensor<2x4x?x64xf16>
}

// CHECK-LABEL: func.func @classify
// CHECK: kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index, %[[D:.*]]: tensor<2x?xi32>) {
// CHECK-NEXT: attn.block_min %[[D]][%b, %i0 to %i1] : tensor<2x?xi32>
// CHECK-NEXT: attn.block_max %[[D]][%j0 to %j1, %h] : tensor<2x?xi32>
// CHECK-NEXT: arith.cmpi
// CHECK-NEXT: attn.yield %{{.*}}, %{{.*}} : i1, i1
func.func @classify(%q: tensor<2x4x?x64xbf16>, %d: tensor<2x?xi32>) -> tensor<2x4x?x64xbf16> {
  %o = attn.forward %q, %q, %q captures(%d : tensor<2x?xi32>)
    kv_classify(%b: index, %h: index, %i0: index, %i1: index, %j0: index, %j1: index, %d: tensor<2x?xi32>) {
      %x = attn.block_min %d[%b, %i0 to %i1] : tensor<2x?xi32>
      %y = attn.block_max %d[%j0 to %j1, %h] : tensor<2x?xi32>
      %any = arith.cmpi sle, %x, %y : i32
      attn.yield %any, %any : i1, i1
    }
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return %o : tensor<2x4x?x64xbf16>
}
