// The types of the indices and of the mask are printed separately, so that a gather
// round-trips.
// RUN: fovea-opt %s | fovea-opt | FileCheck %s

// CHECK-LABEL: func.func @gather
func.func @gather(%table: memref<?x32xf32, strided<[?, ?]>>, %bias: memref<f32>, %h: index,
                  %bucket: tensor<16x8xi32, #tile.reg>, %keep: tensor<16x8xi1, #tile.reg>) {
  // CHECK: tile.gather %{{.*}}[%{{.*}}, %{{.*}}] mask(%{{.*}} : tensor<16x8xi1, #tile.reg>) : memref<?x32xf32, strided<[?, ?]>>{{\[}}index, tensor<16x8xi32, #tile.reg>] to tensor<16x8xf32, #tile.reg>
  %0 = tile.gather %table[%h, %bucket] mask(%keep : tensor<16x8xi1, #tile.reg>)
    : memref<?x32xf32, strided<[?, ?]>>[index, tensor<16x8xi32, #tile.reg>] to tensor<16x8xf32, #tile.reg>
  // CHECK: tile.gather %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x32xf32, strided<[?, ?]>>{{\[}}index, tensor<16x8xi32, #tile.reg>] to tensor<16x8xf32, #tile.reg>
  %1 = tile.gather %table[%h, %bucket]
    : memref<?x32xf32, strided<[?, ?]>>[index, tensor<16x8xi32, #tile.reg>] to tensor<16x8xf32, #tile.reg>
  // CHECK: tile.gather %{{.*}}[] : memref<f32> to tensor<16x8xf32, #tile.reg>
  %2 = tile.gather %bias[] : memref<f32> to tensor<16x8xf32, #tile.reg>
  return
}
