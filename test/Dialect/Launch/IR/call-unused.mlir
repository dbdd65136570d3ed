// RUN: fovea-opt %s --canonicalize | FileCheck %s
// RUN: fovea-opt %s --cse | FileCheck %s --check-prefix=CSE

launch.binary @b target("sm_80")
  tensors([#launch.tensor<"x", read, tensor<?xf16>, ["S"], 2>, #launch.tensor<"y", write, tensor<?xf16>, ["S"], 2>])
  scalars([]) code("ptx") metadata("{}")

// A launch on tensors has results only; a launch on memrefs has side effects.
// CHECK-LABEL: func.func @f
// CHECK: launch.call @b {{.*}} -> tensor<8xf16>
// CHECK-NOT: -> tensor
// CHECK: launch.call @b {{.*}} memref<8xf16>
// CSE-LABEL: func.func @f
// CSE-COUNT-1: -> tensor<8xf16>{{$}}
// CSE-NOT: -> tensor
// CSE: return
func.func @f(%x: tensor<8xf16>, %y: tensor<8xf16>, %a: memref<8xf16>, %c: memref<8xf16>) -> (tensor<8xf16>, tensor<8xf16>) {
  %0 = launch.call @b ins("x" = %x : tensor<8xf16>) outs("y" = %y : tensor<8xf16>) -> tensor<8xf16>
  %unused = launch.call @b ins("x" = %0 : tensor<8xf16>) outs("y" = %y : tensor<8xf16>) -> tensor<8xf16>
  launch.call @b ins("x" = %a : memref<8xf16>) outs("y" = %c : memref<8xf16>)
  return %0, %0 : tensor<8xf16>, tensor<8xf16>
}
