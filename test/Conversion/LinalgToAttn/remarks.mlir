// Reasons why attention is not raised: one remark each.
// RUN: fovea-opt %s --attn-raise-linalg --remarks-filter=raise --split-input-file --verify-diagnostics -o %t

// The softmax is over queries.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the softmax is not over the dimension that the second contraction sums over"}}
  %p = linalg.softmax dimension(0) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The same as single ops.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %e = linalg.exp ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %zrn = arith.constant dense<0.0> : tensor<6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the softmax is not over the dimension that the second contraction sums over"}}
  %n = linalg.reduce { arith.addf } ins(%e : tensor<4x6xf32>) outs(%zrn : tensor<6xf32>) dimensions = [0]
  %w = linalg.broadcast ins(%n : tensor<6xf32>) outs(%zs : tensor<4x6xf32>) dimensions = [0]
  %p = linalg.div ins(%e, %w : tensor<4x6xf32>, tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The sum is of scores, not of exponentials.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %e = linalg.exp ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %zrn = arith.constant dense<0.0> : tensor<4xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="exponentials are not divided by their sum"}}
  %n = linalg.reduce { arith.addf } ins(%s : tensor<4x6xf32>) outs(%zrn : tensor<4xf32>) dimensions = [1]
  %w = linalg.broadcast ins(%n : tensor<4xf32>) outs(%zs : tensor<4x6xf32>) dimensions = [1]
  %p = linalg.div ins(%e, %w : tensor<4x6xf32>, tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A product instead of a sum.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %e = linalg.exp ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %zrn = arith.constant dense<1.0> : tensor<4xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="exponentials are not divided by their sum"}}
  %n = linalg.reduce { arith.mulf } ins(%e : tensor<4x6xf32>) outs(%zrn : tensor<4xf32>) dimensions = [1]
  %w = linalg.broadcast ins(%n : tensor<4xf32>) outs(%zs : tensor<4x6xf32>) dimensions = [1]
  %p = linalg.div ins(%e, %w : tensor<4x6xf32>, tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The sum starts at exp(0), like a sink.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %e = linalg.exp ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %zrn = arith.constant dense<1.0> : tensor<4xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the sum of exponentials does not start at 0"}}
  %n = linalg.reduce { arith.addf } ins(%e : tensor<4x6xf32>) outs(%zrn : tensor<4xf32>) dimensions = [1]
  %w = linalg.broadcast ins(%n : tensor<4xf32>) outs(%zs : tensor<4x6xf32>) dimensions = [1]
  %p = linalg.div ins(%e, %w : tensor<4x6xf32>, tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Probabilities are modified, as by dropout.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>, %m: tensor<4x6xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.mul ins(%y, %m : tensor<4x6xf32>, tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="'arith.mulf' modifies the probabilities between the softmax and the second contraction"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The same for a softmax of single ops.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %e = linalg.exp ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %zrn = arith.constant dense<0.0> : tensor<4xf32>
  %n = linalg.reduce { arith.addf } ins(%e : tensor<4x6xf32>) outs(%zrn : tensor<4xf32>) dimensions = [1]
  %w = linalg.broadcast ins(%n : tensor<4xf32>) outs(%zs : tensor<4x6xf32>) dimensions = [1]
  %y = linalg.div ins(%e, %w : tensor<4x6xf32>, tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.negf ins(%y : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="'arith.negf' modifies the probabilities between the softmax and the second contraction"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// There is no first contraction.
func.func @f(%q: tensor<4x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %p = linalg.softmax dimension(1) ins(%q : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the softmax input is not a contraction followed by elementwise ops"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The op between the contractions is not elementwise.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>, %c: f32, %n: index) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %x = tensor.insert %c into %s[%n, %n] : tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%x : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the softmax input is not a contraction followed by elementwise ops, found 'tensor.insert'"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The first contraction sums products of elements of one key only.
func.func @f(%q: tensor<4x6x8xf32>, %k: tensor<6x8xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the key dimension must be a dimension of exactly one operand"}}
  %s = linalg.generic {indexing_maps = [affine_map<(i, j, d) -> (i, j, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<4x6x8xf32>, tensor<6x8xf32>) outs(%zs : tensor<4x6xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The first contraction starts at a bias.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>, %z: tensor<4x6xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the contraction does not start at 0"}}
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%z : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The second contraction starts at a residual.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>, %z: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the contraction does not start at 0"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Probabilities are returned.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> (tensor<4x8xf32>, tensor<4x6xf32>) {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the result of 'linalg.softmax', which depends on the scores, is also used by 'func.return'"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o, %p : tensor<4x8xf32>, tensor<4x6xf32>
}

// -----

// Scores have another use.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>, %n: index) -> (tensor<4x8xf32>, f32) {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %x = tensor.extract %s[%n, %n] : tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the result of 'linalg.matmul', which depends on the scores, is also used by 'tensor.extract'"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o, %x : tensor<4x8xf32>, f32
}

// -----

// Scores are normalised by a sum over the row.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %zrn = arith.constant dense<0.0> : tensor<4xf32>
  %n = linalg.reduce { arith.addf } ins(%s : tensor<4x6xf32>) outs(%zrn : tensor<4xf32>) dimensions = [1]
  %w = linalg.broadcast ins(%n : tensor<4xf32>) outs(%zs : tensor<4x6xf32>) dimensions = [1]
  %x = linalg.div ins(%s, %w : tensor<4x6xf32>, tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%x : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="a score depends on other scores through 'linalg.reduce'"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A column of scores is used as values.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>) -> tensor<4x4xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zt = arith.constant dense<0.0> : tensor<6x4xf32>
  %zo = arith.constant dense<0.0> : tensor<4x4xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = linalg.transpose ins(%s : tensor<4x6xf32>) outs(%zt : tensor<6x4xf32>) permutation = [1, 0]
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="values depend on scores"}}
  %o = linalg.matmul ins(%p, %t : tensor<4x6xf32>, tensor<6x4xf32>) outs(%zo : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %o : tensor<4x4xf32>
}

// -----

// The contractions are in different blocks, under a run-time condition.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>, %b: i1) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %o = scf.if %b -> tensor<4x8xf32> {
    %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
    // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the contractions are in different blocks"}}
    %y = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
    scf.yield %y : tensor<4x8xf32>
  } else {
    scf.yield %zo : tensor<4x8xf32>
  }
  return %o : tensor<4x8xf32>
}

// -----

// Keys with two dimensions, one of which remains after the softmax.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %z3 = arith.constant dense<0.0> : tensor<4x2x3xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %t = tensor.expand_shape %s [[0], [1, 2]] output_shape [4, 2, 3] : tensor<4x6xf32> into tensor<4x2x3xf32>
  %e = linalg.exp ins(%t : tensor<4x2x3xf32>) outs(%z3 : tensor<4x2x3xf32>) -> tensor<4x2x3xf32>
  %x = tensor.collapse_shape %e [[0], [1, 2]] : tensor<4x2x3xf32> into tensor<4x6xf32>
  %zrn = arith.constant dense<0.0> : tensor<4xf32>
  %n = linalg.reduce { arith.addf } ins(%x : tensor<4x6xf32>) outs(%zrn : tensor<4xf32>) dimensions = [1]
  %w = linalg.broadcast ins(%n : tensor<4xf32>) outs(%zs : tensor<4x6xf32>) dimensions = [1]
  %p = linalg.div ins(%x, %w : tensor<4x6xf32>, tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the keys have more than one dimension"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// All queries are one query.
func.func @f(%q: tensor<8xf32>, %k: tensor<6x8xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j, d) -> (d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%q, %k : tensor<8xf32>, tensor<6x8xf32>) outs(%zs : tensor<4x6xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the queries lack a dimension of the scores"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// One value for all keys.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the values lack the key dimension"}}
  %o = linalg.generic {indexing_maps = [affine_map<(i, d, j) -> (i, j)>, affine_map<(i, d, j) -> (d)>, affine_map<(i, d, j) -> (i, d)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%p, %v : tensor<4x6xf32>, tensor<8xf32>) outs(%zo : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Values that depend on the query.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<4x6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="keys and values do not have the same dimensions"}}
  %o = linalg.generic {indexing_maps = [affine_map<(i, d, j) -> (i, j)>, affine_map<(i, d, j) -> (i, j, d)>, affine_map<(i, d, j) -> (i, d)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%p, %v : tensor<4x6xf32>, tensor<4x6x8xf32>) outs(%zo : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The result is repeated.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the head dimension must be static, and more than 1"}}
  %o = linalg.generic {indexing_maps = [affine_map<(i, d, j) -> (i, j)>, affine_map<(i, d, j) -> (j)>, affine_map<(i, d, j) -> (i, d)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%p, %v : tensor<4x6xf32>, tensor<6xf32>) outs(%zo : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The head dimension is dynamic.
func.func @f(%q: tensor<4x?xf32>, %k: tensor<?x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x?xf32>, tensor<?x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the head dimension must be static, and more than 1"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The result has a dimension that no operand has.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8x2xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8x2xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the result of the second contraction has a dimension that no operand has"}}
  %o = linalg.generic {indexing_maps = [affine_map<(i, d, x, j) -> (i, j)>, affine_map<(i, d, x, j) -> (j, d)>, affine_map<(i, d, x, j) -> (i, d, x)>],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
    ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %r = arith.addf %c, %m : f32
    linalg.yield %r : f32
  } -> tensor<4x8x2xf32>
  return %o : tensor<4x8x2xf32>
}

// -----

// No keys.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x0xf32>, %v: tensor<0x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x0xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x0xf32>) outs(%zs : tensor<4x0xf32>) -> tensor<4x0xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x0xf32>) outs(%zs : tensor<4x0xf32>) -> tensor<4x0xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="dimensions must be at least 1 and at most 2^30"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x0xf32>, tensor<0x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Different element types.
func.func @f(%q: tensor<4x8xf16>, %k: tensor<8x6xf16>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf16>, tensor<8x6xf16>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="queries, keys and values have different element types"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Elements of type f64.
func.func @f(%q: tensor<4x8xf64>, %k: tensor<8x6xf64>, %v: tensor<6x8xf64>) -> tensor<4x8xf64> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf64>
  %zo = arith.constant dense<0.0> : tensor<4x8xf64>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf64>, tensor<8x6xf64>) outs(%zs : tensor<4x6xf64>) -> tensor<4x6xf64>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf64>) outs(%zs : tensor<4x6xf64>) -> tensor<4x6xf64>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="elements must be f16, bf16 or f32, found f64"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf64>, tensor<6x8xf64>) outs(%zo : tensor<4x8xf64>) -> tensor<4x8xf64>
  return %o : tensor<4x8xf64>
}

// -----

// The output is narrower than the operands.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf16> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf16>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the output must have the queries' element type, or f32"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf16>) -> tensor<4x8xf16>
  return %o : tensor<4x8xf16>
}

// -----

// Scores are computed in f64.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf64>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf64>) -> tensor<4x6xf64>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf64>) outs(%zs : tensor<4x6xf64>) -> tensor<4x6xf64>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="scores must be computed in f32, or in narrower floats"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf64>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A mask of rank 5 with three dimensions of extent 1.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>, %m: tensor<1x1x1x4x6xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %x = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (0, 0, 0, i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
    ins(%s, %m : tensor<4x6xf32>, tensor<1x1x1x4x6xf32>) outs(%zs : tensor<4x6xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%x : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="a score depends on a value that can't be captured, of type tensor<1x1x1x4x6xf32>"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Too many queries.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %inf = arith.constant dense<0x7F800000> : tensor<4x8xf32>
  %x = arith.mulf %q, %inf : tensor<4x8xf32>
  %s = linalg.matmul ins(%x, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the scale is not finite"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}
