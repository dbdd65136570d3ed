// linalg on tensors, one iteration at a time.
// RUN: %python %S/Inputs/npy.py write %t.x.npy f32 "np.arange(6).reshape(2, 3)"
// RUN: %python %S/Inputs/npy.py write %t.n.npy i32 "np.arange(3)"
// RUN: fovea-run %s --entry=ops --inputs %t.x.npy --outputs %t.product.npy %t.places.npy %t.turned.npy %t.softmax.npy %t.columns.npy %t.doubled.npy
// RUN: %python %S/Inputs/npy.py print %t.product.npy %t.places.npy %t.turned.npy %t.softmax.npy %t.columns.npy %t.doubled.npy | FileCheck %s
// RUN: not fovea-run %s --entry=extents --inputs %t.x.npy %t.n.npy 2>&1 | FileCheck %s --check-prefix=EXTENTS
// RUN: not fovea-run %s --entry=elements --inputs %t.n.npy 2>&1 | FileCheck %s --check-prefix=ELEMENTS
// RUN: not fovea-run %s --entry=negative --inputs -1 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not fovea-run %s --entry=reshape --inputs %t.n.npy 2 2>&1 | FileCheck %s --check-prefix=RESHAPE
// RUN: not fovea-run %s --entry=reshape --inputs %t.n.npy -2 2>&1 | FileCheck %s --check-prefix=LESS

// CHECK: shape 2 2
// CHECK-NEXT: 5 14
// CHECK-NEXT: 14 50
// CHECK: shape 2 3
// CHECK-NEXT: 0 1 2
// CHECK-NEXT: 10 11 12
// CHECK: shape 3 2
// CHECK-NEXT: 0 3
// CHECK-NEXT: 1 4
// CHECK-NEXT: 2 5
// CHECK: shape 1 2 3
// CHECK-NEXT: 0.09{{[0-9]*}} 0.244{{[0-9]*}} 0.665{{[0-9]*}}
// CHECK-NEXT: 0.09{{[0-9]*}} 0.244{{[0-9]*}} 0.665{{[0-9]*}}
// CHECK: shape 2 3
// CHECK-NEXT: 0.047{{[0-9]*}} 0.047{{[0-9]*}} 0.047{{[0-9]*}}
// CHECK-NEXT: 0.952{{[0-9]*}} 0.952{{[0-9]*}} 0.952{{[0-9]*}}
// CHECK: shape 2 3
// CHECK-NEXT: 0 2 4
// CHECK-NEXT: 6 8 10
func.func @ops(%x: tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x3xf32>, tensor<3x2xf32>, tensor<1x2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %ten = arith.constant 10 : index
  %e = tensor.empty() : tensor<2x2xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>
  %t = tensor.empty() : tensor<3x2xf32>
  %turned = linalg.transpose ins(%x : tensor<2x3xf32>) outs(%t : tensor<3x2xf32>) permutation = [1, 0]
  %product = linalg.matmul ins(%x, %turned : tensor<2x3xf32>, tensor<3x2xf32>) outs(%z : tensor<2x2xf32>) -> tensor<2x2xf32>
  %places = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} outs(%x : tensor<2x3xf32>) {
  ^bb0(%out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %m = arith.muli %i, %ten : index
    %n = arith.addi %m, %j : index
    %n32 = arith.index_cast %n : index to i32
    %r = arith.sitofp %n32 : i32 to f32
    linalg.yield %r : f32
  } -> tensor<2x3xf32>
  %wide = tensor.expand_shape %x [[0, 1], [2]] output_shape [1, 2, 3] : tensor<2x3xf32> into tensor<1x2x3xf32>
  %softmax = linalg.softmax dimension(2) ins(%wide : tensor<1x2x3xf32>) outs(%wide : tensor<1x2x3xf32>) -> tensor<1x2x3xf32>
  %narrow = tensor.collapse_shape %wide [[0, 1], [2]] : tensor<1x2x3xf32> into tensor<2x3xf32>
  %columns = linalg.softmax dimension(0) ins(%narrow : tensor<2x3xf32>) outs(%x : tensor<2x3xf32>) -> tensor<2x3xf32>
  %doubled = linalg.map { arith.addf } ins(%x, %x : tensor<2x3xf32>, tensor<2x3xf32>) outs(%x : tensor<2x3xf32>)
  return %product, %places, %turned, %softmax, %columns, %doubled
    : tensor<2x2xf32>, tensor<2x3xf32>, tensor<3x2xf32>, tensor<1x2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

func.func @extents(%x: tensor<?x3xf32>, %n: tensor<?xi32>) -> tensor<?x3xf32> {
  // EXTENTS: linalg.mlir:[[@LINE+1]]:{{.*}}error: operands have extents 3 and 2 in dimension 0 of the iterations
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
    ins(%n : tensor<?xi32>) outs(%x : tensor<?x3xf32>) {
  ^bb0(%a: i32, %out: f32):
    linalg.yield %out : f32
  } -> tensor<?x3xf32>
  return %r : tensor<?x3xf32>
}

func.func @elements(%n: tensor<?xi32>) -> tensor<?xi32> {
  // ELEMENTS: linalg.mlir:[[@LINE+1]]:{{.*}}error: operand #0 has no element for each iteration
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i + 1)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    ins(%n : tensor<?xi32>) outs(%n : tensor<?xi32>) {
  ^bb0(%a: i32, %out: i32):
    linalg.yield %a : i32
  } -> tensor<?xi32>
  return %r : tensor<?xi32>
}

func.func @negative(%n: index) -> tensor<?xf32> {
  // NEGATIVE: linalg.mlir:[[@LINE+1]]:{{.*}}error: a tensor has a negative extent
  %e = tensor.empty(%n) : tensor<?xf32>
  return %e : tensor<?xf32>
}

func.func @reshape(%n: tensor<?xi32>, %size: index) -> tensor<1x?xi32> {
  // RESHAPE: linalg.mlir:[[@LINE+2]]:{{.*}}error: cannot reshape 3 elements to 2
  // LESS: linalg.mlir:[[@LINE+1]]:{{.*}}error: cannot reshape to an extent of -2
  %r = tensor.expand_shape %n [[0, 1]] output_shape [1, %size] : tensor<?xi32> into tensor<1x?xi32>
  return %r : tensor<1x?xi32>
}
