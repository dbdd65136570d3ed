// RUN: fovea-opt %s --attn-to-tile=target=sm_90a | FileCheck %s

// 64-bit values that are uniform in a tile are computed as i64, also by ops with several results.
// CHECK-LABEL: gpu.func @f(
// CHECK: %[[X:.*]] = memref.load {{.*}} : memref<2xi64
// CHECK: %{{.*}}, %[[HIGH:.*]] = arith.mulsi_extended %[[X]], %[[X]] : i64
// CHECK: arith.cmpi sgt, %[[HIGH]], %{{.*}} : i64
func.func @f(%q: tensor<1x2x?x64xbf16>, %t: tensor<2xi64>) -> tensor<1x2x?x64xbf16> {
  %o = attn.forward %q, %q, %q captures(%t : tensor<2xi64>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %c: tensor<2xi64>) {
      %x = tensor.extract %c[%h] : tensor<2xi64>
      %y = arith.index_cast %x : i64 to index
      %low, %high = arith.mulsi_extended %y, %y : index
      %one = arith.constant 1 : index
      %big = arith.cmpi sgt, %high, %one : index
      %none = arith.constant 0.0 : f32
      %r = arith.select %big, %none, %s : f32
      attn.yield %r : f32
    }
    : tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16> -> tensor<1x2x?x64xbf16>
  return %o : tensor<1x2x?x64xbf16>
}
