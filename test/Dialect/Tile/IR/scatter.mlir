// The types of the indices and of the mask are printed separately, so that a scatter
// round-trips; it is not dead although it has no results.
// RUN: fovea-opt %s --canonicalize --cse | fovea-opt | FileCheck %s

// CHECK-LABEL: func.func @scatter
func.func @scatter(%table: memref<?x32xf32, strided<[?, ?]>>, %bins: memref<33x?x32xi64>, %cell: memref<f32>, %h: index, %x: tensor<16x8xf32, #tile.reg>,
                   %bucket: tensor<16x8xi32, #tile.reg>, %keep: tensor<16x8xi1, #tile.reg>, %one: tensor<1x1xf32, #tile.reg>) {
  // CHECK: tile.scatter %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] mask(%{{.*}} : tensor<16x8xi1, #tile.reg>) : tensor<16x8xf32, #tile.reg>, memref<?x32xf32, strided<[?, ?]>>{{\[}}index, tensor<16x8xi32, #tile.reg>]
  tile.scatter %x, %table[%h, %bucket] mask(%keep : tensor<16x8xi1, #tile.reg>)
    : tensor<16x8xf32, #tile.reg>, memref<?x32xf32, strided<[?, ?]>>[index, tensor<16x8xi32, #tile.reg>]
  // CHECK: tile.scatter %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : tensor<16x8xf32, #tile.reg>, memref<?x32xf32, strided<[?, ?]>>{{\[}}index, tensor<16x8xi32, #tile.reg>]
  tile.scatter %x, %table[%h, %bucket]
    : tensor<16x8xf32, #tile.reg>, memref<?x32xf32, strided<[?, ?]>>[index, tensor<16x8xi32, #tile.reg>]
  // CHECK: tile.scatter add %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : tensor<16x8xf32, #tile.reg>, memref<?x32xf32, strided<[?, ?]>>{{\[}}index, tensor<16x8xi32, #tile.reg>]
  tile.scatter add %x, %table[%h, %bucket]
    : tensor<16x8xf32, #tile.reg>, memref<?x32xf32, strided<[?, ?]>>[index, tensor<16x8xi32, #tile.reg>]
  // CHECK: tile.scatter add exact %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] mask(%{{.*}} : tensor<16x8xi1, #tile.reg>) : tensor<16x8xf32, #tile.reg>, memref<33x?x32xi64>{{\[}}index, tensor<16x8xi32, #tile.reg>]
  tile.scatter add exact %x, %bins[%h, %bucket] mask(%keep : tensor<16x8xi1, #tile.reg>)
    : tensor<16x8xf32, #tile.reg>, memref<33x?x32xi64>[index, tensor<16x8xi32, #tile.reg>]
  // CHECK: tile.scatter add "sum.1" %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] : tensor<16x8xf32, #tile.reg>
  tile.scatter add "sum.1" %x, %table[%h, %bucket]
    : tensor<16x8xf32, #tile.reg>, memref<?x32xf32, strided<[?, ?]>>[index, tensor<16x8xi32, #tile.reg>]
  // CHECK: tile.scatter %{{.*}}, %{{.*}}[] : tensor<1x1xf32, #tile.reg>, memref<f32>
  tile.scatter %one, %cell[] : tensor<1x1xf32, #tile.reg>, memref<f32>
  return
}
