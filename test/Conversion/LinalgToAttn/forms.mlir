// Contractions and softmax in the forms that front ends emit.
// RUN: fovea-opt %s --attn-raise-linalg --split-input-file | FileCheck %s

// Named ops without batch and heads, which become dimensions of extent 1.
// CHECK-LABEL: func.func @single(
// CHECK-SAME: %[[Q:.*]]: tensor<4x8xf32>, %[[KT:.*]]: tensor<8x6xf32>, %[[V:.*]]: tensor<6x8xf32>
// CHECK-DAG: %[[Q4:.*]] = tensor.expand_shape %[[Q]] {{\[}}[0, 1, 2], [3]] output_shape [1, 1, 4, 8]
// CHECK-DAG: %[[K:.*]] = linalg.transpose ins(%[[KT]] : tensor<8x6xf32>) {{.*}} permutation = [1, 0]
// CHECK-DAG: %[[K4:.*]] = tensor.expand_shape %[[K]] {{\[}}[0, 1, 2], [3]]
// CHECK-DAG: %[[V4:.*]] = tensor.expand_shape %[[V]] {{\[}}[0, 1, 2], [3]]
// CHECK: %[[O4:.*]] = attn.forward %[[Q4]], %[[K4]], %[[V4]] scale(1.000000e+00) :
// CHECK-NOT: score_mod
// CHECK: %[[O:.*]] = tensor.collapse_shape %[[O4]] {{\[}}[0, 1, 2], [3]]
// CHECK-NEXT: return %[[O]]
func.func @single(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The form of torch-mlir: batch and heads are collapsed for the contractions and
// expanded between them; K is transposed. None of these ops remain.
// CHECK-LABEL: func.func @collapsed(
// CHECK-SAME: %[[Q:.*]]: tensor<?x3x?x8xf16>, %[[K:.*]]: tensor<?x3x?x8xf16>, %[[V:.*]]: tensor<?x3x?x8xf16>
// CHECK-NEXT: %[[O:.*]] = attn.forward %[[Q]], %[[K]], %[[V]] scale(5.000000e-01) :
// CHECK-NEXT: return %[[O]]
func.func @collapsed(%q: tensor<?x3x?x8xf16>, %k: tensor<?x3x?x8xf16>, %v: tensor<?x3x?x8xf16>) -> tensor<?x3x?x8xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %nb = tensor.dim %q, %c0 : tensor<?x3x?x8xf16>
  %ni = tensor.dim %q, %c2 : tensor<?x3x?x8xf16>
  %nj = tensor.dim %k, %c2 : tensor<?x3x?x8xf16>
  %nbh = arith.muli %nb, %c3 : index
  %q3 = tensor.collapse_shape %q [[0, 1], [2], [3]] : tensor<?x3x?x8xf16> into tensor<?x?x8xf16>
  %v3 = tensor.collapse_shape %v [[0, 1], [2], [3]] : tensor<?x3x?x8xf16> into tensor<?x?x8xf16>
  %te = tensor.empty(%nb, %nj) : tensor<?x3x8x?xf16>
  %t = linalg.transpose ins(%k : tensor<?x3x?x8xf16>) outs(%te : tensor<?x3x8x?xf16>) permutation = [0, 1, 3, 2]
  %t3 = tensor.collapse_shape %t [[0, 1], [2], [3]] : tensor<?x3x8x?xf16> into tensor<?x8x?xf16>
  %se = tensor.empty(%nbh, %ni, %nj) : tensor<?x?x?xf32>
  %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %s3 = linalg.batch_matmul ins(%q3, %t3 : tensor<?x?x8xf16>, tensor<?x8x?xf16>) outs(%sz : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %s = tensor.expand_shape %s3 [[0, 1], [2], [3]] output_shape [%nb, 3, %ni, %nj] : tensor<?x?x?xf32> into tensor<?x3x?x?xf32>
  %xe = tensor.empty(%nb, %ni, %nj) : tensor<?x3x?x?xf32>
  %x = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s : tensor<?x3x?x?xf32>) outs(%xe : tensor<?x3x?x?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %r = arith.mulf %a, %half : f32
    linalg.yield %r : f32
  } -> tensor<?x3x?x?xf32>
  %p = linalg.softmax dimension(3) ins(%x : tensor<?x3x?x?xf32>) outs(%xe : tensor<?x3x?x?xf32>) -> tensor<?x3x?x?xf32>
  %p3 = tensor.collapse_shape %p [[0, 1], [2], [3]] : tensor<?x3x?x?xf32> into tensor<?x?x?xf32>
  %he = tensor.empty(%nbh, %ni, %nj) : tensor<?x?x?xf16>
  %h = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b, i, j)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%p3 : tensor<?x?x?xf32>) outs(%he : tensor<?x?x?xf16>) {
  ^bb0(%a: f32, %b: f16):
    %r = arith.truncf %a : f32 to f16
    linalg.yield %r : f16
  } -> tensor<?x?x?xf16>
  %oe = tensor.empty(%nbh, %ni) : tensor<?x?x8xf32>
  %oz = linalg.fill ins(%zero : f32) outs(%oe : tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %o3 = linalg.batch_matmul ins(%h, %v3 : tensor<?x?x?xf16>, tensor<?x?x8xf16>) outs(%oz : tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %o = tensor.expand_shape %o3 [[0, 1], [2], [3]] output_shape [%nb, 3, %ni, 8] : tensor<?x?x8xf32> into tensor<?x3x?x8xf32>
  return %o : tensor<?x3x?x8xf32>
}

// -----

// A softmax of single ops, without a maximum. The operands of contractions are
// swapped, the scale is applied to the queries, and the values have another head dim.
// CHECK-LABEL: func.func @written_out(
// CHECK-SAME: %[[Q:.*]]: tensor<2x4x8xf32>, %[[K:.*]]: tensor<2x6x8xf32>, %[[V:.*]]: tensor<2x16x6xf32>
// CHECK-DAG: %[[Q4:.*]] = tensor.expand_shape %[[Q]] {{\[}}[0, 1], [2], [3]] output_shape [2, 1, 4, 8]
// CHECK-DAG: %[[K4:.*]] = tensor.expand_shape %[[K]] {{\[}}[0, 1], [2], [3]]
// CHECK-DAG: %[[VT:.*]] = linalg.transpose ins(%[[V]] : tensor<2x16x6xf32>) {{.*}} permutation = [0, 2, 1]
// CHECK-DAG: %[[V4:.*]] = tensor.expand_shape %[[VT]] {{\[}}[0, 1], [2], [3]]
// CHECK: attn.forward %[[Q4]], %[[K4]], %[[V4]] scale(2.500000e-01) :
// CHECK-NOT: math.exp
// CHECK: return
func.func @written_out(%q: tensor<2x4x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x16x6xf32>) -> tensor<2x16x4xf32> {
  %zs = arith.constant dense<0.0> : tensor<2x6x4xf32>
  %zr = arith.constant dense<0.0> : tensor<2x4xf32>
  %zo = arith.constant dense<0.0> : tensor<2x16x4xf32>
  %quarter = arith.constant dense<0.25> : tensor<2x4x8xf32>
  %scaled = arith.mulf %q, %quarter : tensor<2x4x8xf32>
  %s = linalg.contract indexing_maps = [affine_map<(b, j, i, d) -> (b, j, d)>, affine_map<(b, j, i, d) -> (b, i, d)>, affine_map<(b, j, i, d) -> (b, j, i)>]
    ins(%k, %scaled : tensor<2x6x8xf32>, tensor<2x4x8xf32>) outs(%zs : tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  %e = math.exp %s : tensor<2x6x4xf32>
  %n = linalg.reduce { arith.addf } ins(%e : tensor<2x6x4xf32>) outs(%zr : tensor<2x4xf32>) dimensions = [1]
  %w = linalg.broadcast ins(%n : tensor<2x4xf32>) outs(%zs : tensor<2x6x4xf32>) dimensions = [1]
  %p = arith.divf %e, %w : tensor<2x6x4xf32>
  %o = linalg.batch_matmul ins(%v, %p : tensor<2x16x6xf32>, tensor<2x6x4xf32>) outs(%zo : tensor<2x16x4xf32>) -> tensor<2x16x4xf32>
  return %o : tensor<2x16x4xf32>
}

// -----

// Six query heads share two key heads, which are repeated for them. Tensors are
// (batch, sequence, heads, width), transposed for the contractions and back, and
// extended to f32.
// CHECK-LABEL: func.func @grouped(
// CHECK-SAME: %[[Q:.*]]: tensor<1x4x6x8xbf16>, %[[K:.*]]: tensor<1x5x2x8xbf16>, %[[V:.*]]: tensor<1x5x2x8xbf16>
// CHECK-NEXT: %[[O:.*]] = attn.forward %[[Q]], %[[K]], %[[V]] scale(1.000000e+00) layout(bshd) : {{.*}} -> tensor<1x4x6x8xbf16>
// CHECK-NEXT: return %[[O]]
func.func @grouped(%q: tensor<1x4x6x8xbf16>, %k: tensor<1x5x2x8xbf16>, %v: tensor<1x5x2x8xbf16>) -> tensor<1x4x6x8xbf16> {
  %zs = arith.constant dense<0.0> : tensor<6x4x5xf32>
  %zo = arith.constant dense<0.0> : tensor<6x4x8xf32>
  %qw = arith.extf %q : tensor<1x4x6x8xbf16> to tensor<1x4x6x8xf32>
  %kw = arith.extf %k : tensor<1x5x2x8xbf16> to tensor<1x5x2x8xf32>
  %vw = arith.extf %v : tensor<1x5x2x8xbf16> to tensor<1x5x2x8xf32>
  %qe = tensor.empty() : tensor<1x6x4x8xf32>
  %qt = linalg.transpose ins(%qw : tensor<1x4x6x8xf32>) outs(%qe : tensor<1x6x4x8xf32>) permutation = [0, 2, 1, 3]
  %ke = tensor.empty() : tensor<1x2x5x8xf32>
  %kt = linalg.transpose ins(%kw : tensor<1x5x2x8xf32>) outs(%ke : tensor<1x2x5x8xf32>) permutation = [0, 2, 1, 3]
  %vt = linalg.transpose ins(%vw : tensor<1x5x2x8xf32>) outs(%ke : tensor<1x2x5x8xf32>) permutation = [0, 2, 1, 3]
  %re = tensor.empty() : tensor<1x2x3x5x8xf32>
  %kr = linalg.broadcast ins(%kt : tensor<1x2x5x8xf32>) outs(%re : tensor<1x2x3x5x8xf32>) dimensions = [2]
  %vr = linalg.broadcast ins(%vt : tensor<1x2x5x8xf32>) outs(%re : tensor<1x2x3x5x8xf32>) dimensions = [2]
  %q3 = tensor.collapse_shape %qt [[0, 1], [2], [3]] : tensor<1x6x4x8xf32> into tensor<6x4x8xf32>
  %k3 = tensor.collapse_shape %kr [[0, 1, 2], [3], [4]] : tensor<1x2x3x5x8xf32> into tensor<6x5x8xf32>
  %v3 = tensor.collapse_shape %vr [[0, 1, 2], [3], [4]] : tensor<1x2x3x5x8xf32> into tensor<6x5x8xf32>
  %s = linalg.batch_matmul
    indexing_maps = [affine_map<(b, i, j, d) -> (b, i, d)>, affine_map<(b, i, j, d) -> (b, j, d)>, affine_map<(b, i, j, d) -> (b, i, j)>]
    ins(%q3, %k3 : tensor<6x4x8xf32>, tensor<6x5x8xf32>) outs(%zs : tensor<6x4x5xf32>) -> tensor<6x4x5xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<6x4x5xf32>) outs(%zs : tensor<6x4x5xf32>) -> tensor<6x4x5xf32>
  %o3 = linalg.batch_matmul ins(%p, %v3 : tensor<6x4x5xf32>, tensor<6x5x8xf32>) outs(%zo : tensor<6x4x8xf32>) -> tensor<6x4x8xf32>
  %o4 = tensor.expand_shape %o3 [[0, 1], [2], [3]] output_shape [1, 6, 4, 8] : tensor<6x4x8xf32> into tensor<1x6x4x8xf32>
  %oe = tensor.empty() : tensor<1x4x6x8xf32>
  %ot = linalg.transpose ins(%o4 : tensor<1x6x4x8xf32>) outs(%oe : tensor<1x4x6x8xf32>) permutation = [0, 2, 1, 3]
  %o = arith.truncf %ot : tensor<1x4x6x8xf32> to tensor<1x4x6x8xbf16>
  return %o : tensor<1x4x6x8xbf16>
}

// -----

// One query per head, as in decoding: there is no query dimension.
// CHECK-LABEL: func.func @decode(
// CHECK-SAME: %[[Q:.*]]: tensor<3x8xf16>, %[[K:.*]]: tensor<3x?x8xf16>, %[[V:.*]]: tensor<3x?x8xf16>
// CHECK-DAG: %[[Q4:.*]] = tensor.expand_shape %[[Q]] {{\[}}[0, 1, 2], [3]] output_shape [3, 1, 1, 8]
// CHECK-DAG: %[[N:.*]] = tensor.dim
// CHECK-DAG: %[[K4:.*]] = tensor.expand_shape %[[K]] {{\[}}[0, 1], [2], [3]] output_shape [3, 1, %{{.*}}, 8]
// CHECK-DAG: %[[V4:.*]] = tensor.expand_shape %[[V]] {{\[}}[0, 1], [2], [3]]
// CHECK: %[[O4:.*]] = attn.forward %[[Q4]], %[[K4]], %[[V4]]
// CHECK: tensor.collapse_shape %[[O4]] {{\[}}[0, 1, 2], [3]]
func.func @decode(%q: tensor<3x8xf16>, %k: tensor<3x?x8xf16>, %v: tensor<3x?x8xf16>) -> tensor<3x8xf32> {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %k, %c1 : tensor<3x?x8xf16>
  %se = tensor.empty(%n) : tensor<3x?xf32>
  %sz = linalg.fill ins(%zero : f32) outs(%se : tensor<3x?xf32>) -> tensor<3x?xf32>
  %zo = arith.constant dense<0.0> : tensor<3x8xf32>
  %s = linalg.batch_matvec ins(%k, %q : tensor<3x?x8xf16>, tensor<3x8xf16>) outs(%sz : tensor<3x?xf32>) -> tensor<3x?xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<3x?xf32>) outs(%se : tensor<3x?xf32>) -> tensor<3x?xf32>
  %o = linalg.batch_vecmat ins(%p, %v : tensor<3x?xf32>, tensor<3x?x8xf16>) outs(%zo : tensor<3x8xf32>) -> tensor<3x8xf32>
  return %o : tensor<3x8xf32>
}

// -----

// Keys and values lack the query heads, which are a separate dimension: there is one
// key head.
// CHECK-LABEL: func.func @one_key_head(
// CHECK-SAME: %[[Q:.*]]: tensor<2x3x?x8xf32>, %[[K:.*]]: tensor<2x6x8xf32>, %[[V:.*]]: tensor<2x6x8xf32>
// CHECK-DAG: %[[K4:.*]] = tensor.expand_shape %[[K]] {{\[}}[0, 1], [2], [3]] output_shape [2, 1, 6, 8]
// CHECK-DAG: %[[V4:.*]] = tensor.expand_shape %[[V]] {{\[}}[0, 1], [2], [3]] output_shape [2, 1, 6, 8]
// CHECK: %[[O:.*]] = attn.forward %[[Q]], %[[K4]], %[[V4]]
// CHECK: return %[[O]]
func.func @one_key_head(%q: tensor<2x3x?x8xf32>, %k: tensor<2x6x8xf32>, %v: tensor<2x6x8xf32>, %s0: tensor<2x3x?x6xf32>, %o0: tensor<2x3x?x8xf32>) -> tensor<2x3x?x8xf32> {
  %zero = arith.constant 0.0 : f32
  %sz = linalg.fill ins(%zero : f32) outs(%s0 : tensor<2x3x?x6xf32>) -> tensor<2x3x?x6xf32>
  %oz = linalg.fill ins(%zero : f32) outs(%o0 : tensor<2x3x?x8xf32>) -> tensor<2x3x?x8xf32>
  %s = linalg.contract indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>, affine_map<(b, h, i, j, d) -> (b, j, d)>, affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
    ins(%q, %k : tensor<2x3x?x8xf32>, tensor<2x6x8xf32>) outs(%sz : tensor<2x3x?x6xf32>) -> tensor<2x3x?x6xf32>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x3x?x6xf32>) outs(%s0 : tensor<2x3x?x6xf32>) -> tensor<2x3x?x6xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>, affine_map<(b, h, i, d, j) -> (b, j, d)>, affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
    ins(%p, %v : tensor<2x3x?x6xf32>, tensor<2x6x8xf32>) outs(%oz : tensor<2x3x?x8xf32>) -> tensor<2x3x?x8xf32>
  return %o : tensor<2x3x?x8xf32>
}

// -----

// Bodies with and without an argument for their output.
// CHECK-LABEL: func.func @other_ops(
// CHECK: score_mod
// CHECK: %[[X:.*]] = arith.addf %s, %{{.*}} : f32
// CHECK-NEXT: %[[Y:.*]] = arith.mulf %[[X]], %{{.*}} : f32
// CHECK-NEXT: attn.yield %[[Y]] : f32
func.func @other_ops(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>, %b: tensor<4x6xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %x = linalg.map { arith.addf } ins(%s, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>)
  %y = linalg.elementwise kind=#linalg.elementwise_kind<mul> ins(%x, %b : tensor<4x6xf32>, tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%y : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A product of three matrices is not attention and gets no remark.
// CHECK-LABEL: func.func @no_attention(
// CHECK-NOT: attn
func.func @no_attention(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %o = linalg.matmul ins(%s, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}
