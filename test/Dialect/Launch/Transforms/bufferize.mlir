// RUN: fovea-opt %s --one-shot-bufferize='bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map' \
// RUN:   --split-input-file | FileCheck %s

#x = #launch.tensor<"x", read, tensor<?xf16>, ["S"], 2>
#y = #launch.tensor<"y", write, tensor<?xf16>, ["S"], 2>
launch.binary @b target("sm_80") tensors([#x, #y]) scalars([]) code("ptx") metadata("{}")

// The contents of an output are irrelevant: no copy. The input is not overwritten.
// CHECK-LABEL: func.func @f(
// CHECK-SAME: %[[X:.*]]: memref<?xf16>) -> memref<?xf16>
// CHECK: %[[Y:.*]] = memref.alloc(%{{.*}})
// CHECK-NOT: copy
// CHECK: launch.call @b ins("x" = %[[X]] : memref<?xf16>) outs("y" = %[[Y]] : memref<?xf16>)
// CHECK-NEXT: return %[[Y]]
func.func @f(%x: tensor<?xf16>) -> tensor<?xf16> {
  %c0 = arith.constant 0 : index
  %s = tensor.dim %x, %c0 : tensor<?xf16>
  %e = tensor.empty(%s) : tensor<?xf16>
  %r = launch.call @b ins("x" = %x : tensor<?xf16>) outs("y" = %e : tensor<?xf16>) -> tensor<?xf16>
  return %r : tensor<?xf16>
}

// Inputs and outputs must not share a buffer.
// CHECK-LABEL: func.func @same(
// CHECK-SAME: %[[X:.*]]: memref<8xf16>)
// CHECK: %[[Y:.*]] = memref.alloc()
// CHECK-NOT: memref.copy
// CHECK: launch.call @b ins("x" = %[[X]] : memref<8xf16>) outs("y" = %[[Y]] : memref<8xf16>)
func.func @same(%x: tensor<8xf16>) -> tensor<8xf16> {
  %r = launch.call @b ins("x" = %x : tensor<8xf16>) outs("y" = %x : tensor<8xf16>) -> tensor<8xf16>
  return %r : tensor<8xf16>
}

// -----

// An accumulating kernel reads the output's contents.
#x = #launch.tensor<"x", read, tensor<?xf16>, ["S"], 2>
#y = #launch.tensor<"y", accumulate, tensor<?xf16>, ["S"], 2>
launch.binary @b target("sm_80") tensors([#x, #y]) scalars([]) code("ptx") metadata("{}")

// CHECK-LABEL: func.func @f(
// CHECK-SAME: %[[X:.*]]: memref<8xf16>, %[[Y:.*]]: memref<8xf16>)
// CHECK: %[[COPY:.*]] = memref.alloc()
// CHECK: memref.copy %[[Y]], %[[COPY]]
// CHECK: launch.call @b ins("x" = %[[X]] : memref<8xf16>) outs("y" = %[[COPY]] : memref<8xf16>)
func.func @f(%x: tensor<8xf16>, %y: tensor<8xf16>) -> (tensor<8xf16>, tensor<8xf16>) {
  %r = launch.call @b ins("x" = %x : tensor<8xf16>) outs("y" = %y : tensor<8xf16>) -> tensor<8xf16>
  return %r, %y : tensor<8xf16>, tensor<8xf16>
}

// -----

// An updated output keeps the elements that the kernel does not write.
#x = #launch.tensor<"x", read, tensor<?xf16>, ["S"], 2>
#y = #launch.tensor<"y", update, tensor<?xf16>, ["S"], 2>
launch.binary @b target("sm_80") tensors([#x, #y]) scalars([]) code("ptx") metadata("{}")

// CHECK-LABEL: func.func @f(
// CHECK-SAME: %[[X:.*]]: memref<8xf16>, %[[Y:.*]]: memref<8xf16>)
// CHECK: %[[COPY:.*]] = memref.alloc()
// CHECK: memref.copy %[[Y]], %[[COPY]]
// CHECK: launch.call @b ins("x" = %[[X]] : memref<8xf16>) outs("y" = %[[COPY]] : memref<8xf16>)
func.func @f(%x: tensor<8xf16>, %y: tensor<8xf16>) -> (tensor<8xf16>, tensor<8xf16>) {
  %r = launch.call @b ins("x" = %x : tensor<8xf16>) outs("y" = %y : tensor<8xf16>) -> tensor<8xf16>
  return %r, %y : tensor<8xf16>, tensor<8xf16>
}

// Without another use of the old contents it is updated in place.
// CHECK-LABEL: func.func @in_place(
// CHECK-NOT: alloc
// CHECK: launch.call @b ins("x" = %{{.*}} : memref<8xf16>) outs("y" = %{{.*}} : memref<8xf16>)
func.func @in_place(%x: tensor<8xf16>, %y: tensor<8xf16>) -> tensor<8xf16> {
  %r = launch.call @b ins("x" = %x : tensor<8xf16>) outs("y" = %y : tensor<8xf16>) -> tensor<8xf16>
  return %r : tensor<8xf16>
}
