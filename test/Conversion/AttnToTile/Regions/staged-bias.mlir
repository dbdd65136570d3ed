// RUN: fovea-opt %s --attn-to-tile=target=sm_90a | FileCheck %s
// RUN: fovea-opt %s --attn-to-tile="target=sm_90a schedule=score_stages=0" | FileCheck %s --check-prefix=OFF
// RUN: fovea-opt %s --attn-to-tile=target=sm_80 | FileCheck %s --check-prefix=OFF

!t = tensor<1x4x?x64xbf16>

// A 16-bit tensor that score_mod reads at query and key is contiguous by key, so that TMA can load
// its tiles.
// CHECK-LABEL: launch.abi @bias
// CHECK-SAME: <"score", stages = 2, staged>
// CHECK-SAME: #launch.tensor<"capture0", read, tensor<4x?x?xbf16>, {{.*}}, 16>
// CHECK: gpu.func @bias({{.*}}, %arg3: memref<4x?x?xbf16, strided<[?, ?, 1]>>,
// CHECK: tile.load {{("[^"]+" )?}}%arg3{{.*}} dims [1, 2]
// OFF-LABEL: launch.abi @bias
// OFF-NOT: "score"
// OFF-SAME: #launch.tensor<"capture0", read, tensor<4x?x?xbf16>, {{.*}}, 2>
// OFF: gpu.func @bias({{.*}}, %arg3: memref<4x?x?xbf16, strided<[?, ?, ?]>>,
func.func @bias(%q: !t, %k: !t, %v: !t, %bias: tensor<4x?x?xbf16>) -> !t {
  %o = attn.forward %q, %k, %v captures(%bias : tensor<4x?x?xbf16>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %bias: tensor<4x?x?xbf16>) {
      %c3 = arith.constant 3 : index
      %j3 = arith.addi %c3, %j : index
      %i3 = arith.subi %i, %c3 : index
      %x = tensor.extract %bias[%h, %i3, %j3] : tensor<4x?x?xbf16>
      %wide = arith.extf %x : bf16 to f32
      %r = arith.addf %s, %wide : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}

// Not if f32, transposed, indexed by relative position, or with a stride.
// CHECK-LABEL: launch.abi @others
// CHECK-NOT: <"score"
// CHECK-SAME: #launch.tensor<"capture0", {{[^>]*}}>, {{[^>]*}}, 4>
// CHECK-SAME: #launch.tensor<"capture1", {{[^>]*}}>, {{[^>]*}}, 2>
func.func @others(%q: !t, %k: !t, %v: !t, %x: tensor<?x?xf32>, %y: tensor<?x?xbf16>) -> !t {
  %o = attn.forward %q, %k, %v captures(%x, %y : tensor<?x?xf32>, tensor<?x?xbf16>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<?x?xf32>, %y: tensor<?x?xbf16>) {
      %c3 = arith.constant 3 : index
      %x0 = tensor.extract %x[%i, %j] : tensor<?x?xf32>
      %y0 = tensor.extract %y[%j, %i] : tensor<?x?xbf16>
      %y1 = tensor.extract %y[%j, %j] : tensor<?x?xbf16>
      %j3 = arith.muli %j, %c3 : index
      %y2 = tensor.extract %y[%i, %j3] : tensor<?x?xbf16>
      %y3 = tensor.extract %y[%h, %j] : tensor<?x?xbf16>
      %sum0 = arith.addf %y0, %y1 : bf16
      %sum1 = arith.addf %y2, %y3 : bf16
      %sum2 = arith.addf %sum0, %sum1 : bf16
      %wide = arith.extf %sum2 : bf16 to f32
      %r0 = arith.addf %s, %wide : f32
      %r = arith.addf %r0, %x0 : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}

// Batch entries that share a bias process the same tile of it one after the other.
// CHECK-LABEL: gpu.func @shared
// CHECK: tile.foreach_work %[[ITEM:.*]] to
// CHECK: %[[B:.*]] = arith.remui %[[ITEM]], %c4
// CHECK: %[[REST:.*]] = arith.divui %[[ITEM]], %c4
// CHECK: %[[TILE:.*]] = arith.remui %[[REST]], %{{.*}}
// CHECK: %[[H:.*]] = arith.divui %[[REST]], %{{.*}}
// CHECK: tile.load {{("[^"]+" )?}}%arg0[%[[B]], %[[H]],
func.func @shared(%q: tensor<4x2x512x128xbf16>, %k: tensor<4x2x512x128xbf16>, %v: tensor<4x2x512x128xbf16>,
                  %bias: tensor<2x512x512xbf16>) -> tensor<4x2x512x128xbf16> {
  %o = attn.forward %q, %k, %v captures(%bias : tensor<2x512x512xbf16>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<2x512x512xbf16>) {
      %x = tensor.extract %t[%h, %i, %j] : tensor<2x512x512xbf16>
      %y = arith.extf %x : bf16 to f32
      %r = arith.addf %s, %y : f32
      attn.yield %r : f32
    } : tensor<4x2x512x128xbf16>, tensor<4x2x512x128xbf16>, tensor<4x2x512x128xbf16> -> tensor<4x2x512x128xbf16>
  return %o : tensor<4x2x512x128xbf16>
}
