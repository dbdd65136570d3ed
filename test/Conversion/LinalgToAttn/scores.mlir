// Raising of the ops between the contractions: scale, score_mod, mask_mod.
// RUN: fovea-opt %s --attn-raise-linalg --split-input-file | FileCheck %s
// RUN: fovea-opt %s --attn-raise-linalg=masked-below=-1e4 --split-input-file | FileCheck %s --check-prefix=BELOW

#ij = affine_map<(i, j) -> (i, j)>
#j0 = affine_map<(i, j) -> (0, j)>

// A bias per key in f16, a soft cap, and a scalar of the program.
// CHECK-LABEL: func.func @bias(
// CHECK-SAME: %[[BIAS:[^:]*]]: tensor<1x6xf16>, %[[X:[^:]*]]: f32)
// CHECK: attn.forward {{.*}} scale(5.000000e-01) captures(%[[BIAS]], %[[X]] : tensor<1x6xf16>, f32)
// CHECK-NEXT: score_mod(%[[S:.*]]: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %[[J:.*]]: index, %[[B:.*]]: tensor<1x6xf16>, %[[Y:.*]]: f32) {
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[E:.*]] = tensor.extract %[[B]][%[[ZERO]], %[[J]]]
// CHECK-DAG: %[[W:.*]] = arith.extf %[[E]] : f16 to f32
// CHECK: %[[SUM:.*]] = arith.addf %[[S]], %[[W]] : f32
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[SUM]], %[[Y]] : f32
// CHECK: %[[CAP:.*]] = arith.constant 3.000000e+01 : f32
// CHECK: %[[RATIO:.*]] = arith.divf %[[PRODUCT]], %[[CAP]] : f32
// CHECK-NEXT: %[[TANH:.*]] = math.tanh %[[RATIO]] : f32
// CHECK-NEXT: %[[R:.*]] = arith.mulf %[[TANH]], %[[CAP]] : f32
// CHECK-NEXT: attn.yield %[[R]] : f32
// CHECK-NOT: mask_mod
func.func @bias(%q: tensor<4x8xf16>, %k: tensor<8x6xf16>, %v: tensor<6x8xf16>, %bias: tensor<1x6xf16>, %x: f32) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %two = arith.constant 2.0 : f32
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf16>, tensor<8x6xf16>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %x1 = linalg.generic {indexing_maps = [#ij, #j0, #ij], iterator_types = ["parallel", "parallel"]}
    ins(%s, %bias : tensor<4x6xf32>, tensor<1x6xf16>) outs(%zs : tensor<4x6xf32>) {
  ^bb0(%a: f32, %b: f16, %c: f32):
    %scaled = arith.divf %a, %two : f32
    %wide = arith.extf %b : f16 to f32
    %sum = arith.addf %scaled, %wide : f32
    %r = arith.mulf %sum, %x : f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  // A narrower intermediate type: the result is the same up to rounding.
  %h = arith.truncf %x1 : tensor<4x6xf32> to tensor<4x6xf16>
  %cap = arith.constant dense<30.0> : tensor<4x6xf16>
  %x2 = arith.divf %h, %cap : tensor<4x6xf16>
  %x3 = math.tanh %x2 : tensor<4x6xf16>
  %x4 = arith.mulf %x3, %cap : tensor<4x6xf16>
  %zp = tensor.empty() : tensor<4x6xf16>
  %p = linalg.softmax dimension(1) ins(%x4 : tensor<4x6xf16>) outs(%zp : tensor<4x6xf16>) -> tensor<4x6xf16>
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf16>, tensor<6x8xf16>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>

// A causal mask that was computed as an additive tensor, and a number of keys per
// query: both become conditions on coordinates.
// CHECK-LABEL: func.func @masks(
// CHECK-SAME: %[[LAST:[^:]*]]: tensor<4xi32>)
// CHECK: attn.forward {{.*}} scale(1.000000e+00) captures(%[[LAST]] : tensor<4xi32>)
// CHECK-NOT: score_mod
// CHECK: mask_mod(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index, %[[L:.*]]: tensor<4xi32>) {
// CHECK-DAG: %[[CAUSAL:.*]] = arith.cmpi sge, %[[I]], %[[J]] : index
// CHECK-DAG: %[[J32:.*]] = arith.index_cast %[[J]] : index to i32
// CHECK-DAG: %[[N:.*]] = tensor.extract %[[L]][%[[I]]] : tensor<4xi32>
// CHECK-DAG: %[[BEHIND:.*]] = arith.cmpi sgt, %[[J32]], %[[N]] : i32
// CHECK-DAG: %[[TRUE:.*]] = arith.constant true
// CHECK: %[[SEEN:.*]] = arith.xori %[[BEHIND]], %[[TRUE]] : i1
// CHECK: %[[ALL:.*]] = arith.andi %[[SEEN]], %[[CAUSAL]] : i1
// CHECK-NEXT: attn.yield %[[ALL]] : i1
func.func @masks(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>, %last: tensor<4xi32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %zero = arith.constant 0.0 : f32
  %hidden = arith.constant 0xFF800000 : f32
  %terms = linalg.generic {indexing_maps = [#ij], iterator_types = ["parallel", "parallel"]} outs(%zs : tensor<4x6xf32>) {
  ^bb0(%c: f32):
    %row = linalg.index 0 : index
    %column = linalg.index 1 : index
    %seen = arith.cmpi sge, %row, %column : index
    %r = arith.select %seen, %zero, %hidden : f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %x = linalg.add ins(%s, %terms : tensor<4x6xf32>, tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]}
    ins(%x, %last : tensor<4x6xf32>, tensor<4xi32>) outs(%zs : tensor<4x6xf32>) {
  ^bb0(%a: f32, %b: i32, %c: f32):
    %column = linalg.index 1 : index
    %j = arith.index_cast %column : index to i32
    %behind = arith.cmpi sgt, %j, %b : i32
    %r = arith.select %behind, %hidden, %a : f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%y : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A large negative number is an ordinary score unless `masked-below` covers it.
// CHECK-LABEL: func.func @large_negative(
// CHECK: score_mod(%[[S:.*]]: f32
// CHECK-DAG: %[[E:.*]] = tensor.extract
// CHECK-DAG: %[[LARGE:.*]] = arith.constant -1.000000e+09 : f32
// CHECK: arith.select %[[E]], %[[S]], %[[LARGE]] : f32
// CHECK-NOT: mask_mod
// CHECK: return
// BELOW-LABEL: func.func @large_negative(
// BELOW-NOT: score_mod
// BELOW: mask_mod({{.*}}, %[[I:.*]]: index, %[[J:.*]]: index, %[[M:.*]]: tensor<4x6xi1>) {
// BELOW-NEXT: %[[E:.*]] = tensor.extract %[[M]][%[[I]], %[[J]]] : tensor<4x6xi1>
// BELOW-NEXT: attn.yield %[[E]] : i1
func.func @large_negative(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>, %mask: tensor<4x6xi1>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %large = arith.constant dense<-1.0e9> : tensor<4x6xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %x = linalg.select ins(%mask, %s, %large : tensor<4x6xi1>, tensor<4x6xf32>, tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%x : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A condition on the score itself becomes part of score_mod.
// CHECK-LABEL: func.func @threshold(
// CHECK: score_mod(%[[S:.*]]: f32
// CHECK: %[[LESS:.*]] = arith.cmpf olt, %[[S]], %{{.*}} : f32
// CHECK: arith.select %[[LESS]], %{{.*}}, %[[S]] : f32
// CHECK-NOT: mask_mod
func.func @threshold(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %hidden = arith.constant dense<0xFF800000> : tensor<4x6xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %less = arith.cmpf olt, %s, %zs : tensor<4x6xf32>
  %x = arith.select %less, %hidden, %s : tensor<4x6xi1>, tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%x : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// An element at a computed index is read in the region. Batch and heads are one
// dimension of the scores and two dimensions of the bias.
// CHECK-LABEL: func.func @gather(
// CHECK-SAME: %[[TABLE:[^:]*]]: tensor<2x3x9xf32>, %[[AT:[^:]*]]: tensor<4x6xi32>)
// CHECK: captures(%[[AT]], %[[TABLE]] : tensor<4x6xi32>, tensor<2x3x9xf32>)
// CHECK-NEXT: score_mod(%[[S:.*]]: f32, %[[B:.*]]: index, %[[H:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index, %[[A:.*]]: tensor<4x6xi32>, %[[T:.*]]: tensor<2x3x9xf32>) {
// CHECK: %[[E:.*]] = tensor.extract %[[A]][%[[I]], %[[J]]] : tensor<4x6xi32>
// CHECK: %[[N:.*]] = arith.index_cast %[[E]] : i32 to index
// CHECK: %[[X:.*]] = tensor.extract %[[T]][%[[B]], %[[H]], %[[N]]] : tensor<2x3x9xf32>
// CHECK: arith.addf %[[S]], %[[X]] : f32
func.func @gather(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x6x8xf32>, %v: tensor<2x3x6x8xf32>, %table: tensor<2x3x9xf32>, %at: tensor<4x6xi32>) -> tensor<6x4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<6x4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<6x4x8xf32>
  %q3 = tensor.collapse_shape %q [[0, 1], [2], [3]] : tensor<2x3x4x8xf32> into tensor<6x4x8xf32>
  %k3 = tensor.collapse_shape %k [[0, 1], [2], [3]] : tensor<2x3x6x8xf32> into tensor<6x6x8xf32>
  %v3 = tensor.collapse_shape %v [[0, 1], [2], [3]] : tensor<2x3x6x8xf32> into tensor<6x6x8xf32>
  %s = linalg.contract indexing_maps = [affine_map<(b, i, j, d) -> (b, i, d)>, affine_map<(b, i, j, d) -> (b, j, d)>, affine_map<(b, i, j, d) -> (b, i, j)>]
    ins(%q3, %k3 : tensor<6x4x8xf32>, tensor<6x6x8xf32>) outs(%zs : tensor<6x4x6xf32>) -> tensor<6x4x6xf32>
  %s4 = tensor.expand_shape %s [[0, 1], [2], [3]] output_shape [2, 3, 4, 6] : tensor<6x4x6xf32> into tensor<2x3x4x6xf32>
  %z4 = tensor.empty() : tensor<2x3x4x6xf32>
  %x = linalg.generic {indexing_maps = [affine_map<(b, h, i, j) -> (b, h, i, j)>, affine_map<(b, h, i, j) -> (i, j)>, affine_map<(b, h, i, j) -> (b, h, i, j)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%s4, %at : tensor<2x3x4x6xf32>, tensor<4x6xi32>) outs(%z4 : tensor<2x3x4x6xf32>) {
  ^bb0(%a: f32, %n: i32, %c: f32):
    %b = linalg.index 0 : index
    %h = linalg.index 1 : index
    %m = arith.index_cast %n : i32 to index
    %t = tensor.extract %table[%b, %h, %m] : tensor<2x3x9xf32>
    %r = arith.addf %a, %t : f32
    linalg.yield %r : f32
  } -> tensor<2x3x4x6xf32>
  %p = linalg.softmax dimension(3) ins(%x : tensor<2x3x4x6xf32>) outs(%z4 : tensor<2x3x4x6xf32>) -> tensor<2x3x4x6xf32>
  %p3 = tensor.collapse_shape %p [[0, 1], [2], [3]] : tensor<2x3x4x6xf32> into tensor<6x4x6xf32>
  %o = linalg.batch_matmul ins(%p3, %v3 : tensor<6x4x6xf32>, tensor<6x6x8xf32>) outs(%zo : tensor<6x4x8xf32>) -> tensor<6x4x8xf32>
  return %o : tensor<6x4x8xf32>
}

// -----

// Heads that share keys are the inner part of the query heads: the region splits the
// head coordinate.
// CHECK-LABEL: func.func @heads_taken_apart(
// CHECK-SAME: %[[SLOPES:[^:]*]]: tensor<3xf32>)
// CHECK: score_mod(%[[S:.*]]: f32, %{{.*}}: index, %[[H:.*]]: index, %{{.*}}: index, %{{.*}}: index, %[[T:.*]]: tensor<3xf32>) {
// CHECK-DAG: %[[THREE:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[G:.*]] = arith.remui %[[H]], %[[THREE]] : index
// CHECK: %[[E:.*]] = tensor.extract %[[T]][%[[G]]] : tensor<3xf32>
// CHECK: arith.addf %[[S]], %[[E]] : f32
func.func @heads_taken_apart(%q: tensor<2x2x3x4x8xf32>, %k: tensor<2x2x6x8xf32>, %v: tensor<2x2x6x8xf32>, %slopes: tensor<3xf32>) -> tensor<2x2x3x4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<2x2x3x4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<2x2x3x4x8xf32>
  %s = linalg.contract indexing_maps = [affine_map<(b, h, g, i, j, d) -> (b, h, g, i, d)>, affine_map<(b, h, g, i, j, d) -> (b, h, j, d)>, affine_map<(b, h, g, i, j, d) -> (b, h, g, i, j)>]
    ins(%q, %k : tensor<2x2x3x4x8xf32>, tensor<2x2x6x8xf32>) outs(%zs : tensor<2x2x3x4x6xf32>) -> tensor<2x2x3x4x6xf32>
  %x = linalg.generic {indexing_maps = [affine_map<(b, h, g, i, j) -> (b, h, g, i, j)>, affine_map<(b, h, g, i, j) -> (g)>, affine_map<(b, h, g, i, j) -> (b, h, g, i, j)>],
                       iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
    ins(%s, %slopes : tensor<2x2x3x4x6xf32>, tensor<3xf32>) outs(%zs : tensor<2x2x3x4x6xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<2x2x3x4x6xf32>
  %p = linalg.softmax dimension(4) ins(%x : tensor<2x2x3x4x6xf32>) outs(%zs : tensor<2x2x3x4x6xf32>) -> tensor<2x2x3x4x6xf32>
  %o = linalg.contract indexing_maps = [affine_map<(b, h, g, i, d, j) -> (b, h, g, i, j)>, affine_map<(b, h, g, i, d, j) -> (b, h, j, d)>, affine_map<(b, h, g, i, d, j) -> (b, h, g, i, d)>]
    ins(%p, %v : tensor<2x2x3x4x6xf32>, tensor<2x2x6x8xf32>) outs(%zo : tensor<2x2x3x4x8xf32>) -> tensor<2x2x3x4x8xf32>
  return %o : tensor<2x2x3x4x8xf32>
}
