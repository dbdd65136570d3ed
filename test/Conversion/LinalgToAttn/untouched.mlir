// Programs without attention on tensors are not changed and get no remarks.
// RUN: fovea-opt %s --attn-raise-linalg --remarks-filter=raise 2>&1 | FileCheck %s --implicit-check-not=attn.forward --implicit-check-not=remark

// Attention on memrefs.
// CHECK-LABEL: func.func @memory(
func.func @memory(%q: memref<4x8xf32>, %k: memref<8x6xf32>, %v: memref<6x8xf32>, %s: memref<4x6xf32>, %o: memref<4x8xf32>) {
  linalg.matmul ins(%q, %k : memref<4x8xf32>, memref<8x6xf32>) outs(%s : memref<4x6xf32>)
  linalg.softmax dimension(1) ins(%s : memref<4x6xf32>) outs(%s : memref<4x6xf32>)
  linalg.matmul ins(%s, %v : memref<4x6xf32>, memref<6x8xf32>) outs(%o : memref<4x8xf32>)
  return
}

// A softmax over one key, which is 1.
// CHECK-LABEL: func.func @one_key(
func.func @one_key(%q: tensor<4x8xf32>, %k: tensor<8x1xf32>, %v: tensor<1x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x1xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x1xf32>) outs(%zs : tensor<4x1xf32>) -> tensor<4x1xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x1xf32>) outs(%zs : tensor<4x1xf32>) -> tensor<4x1xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x1xf32>, tensor<1x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @integers(
func.func @integers(%q: tensor<4x8xi32>, %k: tensor<8x6xi32>, %v: tensor<6x8xi32>) -> tensor<4x8xi32> {
  %zs = arith.constant dense<0> : tensor<4x6xi32>
  %zo = arith.constant dense<0> : tensor<4x8xi32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xi32>, tensor<8x6xi32>) outs(%zs : tensor<4x6xi32>) -> tensor<4x6xi32>
  %o = linalg.matmul ins(%s, %v : tensor<4x6xi32>, tensor<6x8xi32>) outs(%zo : tensor<4x8xi32>) -> tensor<4x8xi32>
  return %o : tensor<4x8xi32>
}

// Not a sum of products, although the op implements the contraction interface.
// CHECK-LABEL: func.func @negated(
func.func @negated(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(i, d, j) -> (i, j)>, affine_map<(i, d, j) -> (j, d)>, affine_map<(i, d, j) -> (i, d)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %n = arith.negf %b : f32
    %m = arith.mulf %a, %n : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}
