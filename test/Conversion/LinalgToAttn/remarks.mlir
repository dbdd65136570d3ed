// Why attention is not raised: a remark for each reason.
// RUN: fovea-opt %s --attn-raise-linalg --remarks-filter=raise --split-input-file --verify-diagnostics -o %t

// Over queries.
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

// The same, written out.
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

// The sum is of scores.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %e = linalg.exp ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %zrn = arith.constant dense<0.0> : tensor<4xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="exponentials are divided by something else than their sum"}}
  %n = linalg.reduce { arith.addf } ins(%s : tensor<4x6xf32>) outs(%zrn : tensor<4xf32>) dimensions = [1]
  %w = linalg.broadcast ins(%n : tensor<4xf32>) outs(%zs : tensor<4x6xf32>) dimensions = [1]
  %p = linalg.div ins(%e, %w : tensor<4x6xf32>, tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The product is taken.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %e = linalg.exp ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %zrn = arith.constant dense<1.0> : tensor<4xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="exponentials are divided by something else than their sum"}}
  %n = linalg.reduce { arith.mulf } ins(%e : tensor<4x6xf32>) outs(%zrn : tensor<4xf32>) dimensions = [1]
  %w = linalg.broadcast ins(%n : tensor<4xf32>) outs(%zs : tensor<4x6xf32>) dimensions = [1]
  %p = linalg.div ins(%e, %w : tensor<4x6xf32>, tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A sink of exp(0).
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

// Dropout, say.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>, %m: tensor<4x6xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %y = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.mul ins(%y, %m : tensor<4x6xf32>, tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="'arith.mulf' changes the weights between the softmax and the second contraction"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// The same of a softmax that is written out.
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
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="'arith.negf' changes the weights between the softmax and the second contraction"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// No first contraction.
func.func @f(%q: tensor<4x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %p = linalg.softmax dimension(1) ins(%q : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the softmax is not of a contraction and elementwise ops behind it"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// What is between is not elementwise.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>, %c: f32, %n: index) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %x = tensor.insert %c into %s[%n, %n] : tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%x : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the softmax is not of a contraction and elementwise ops behind it, found 'tensor.insert'"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A sum over products of elements of one key.
func.func @f(%q: tensor<4x6x8xf32>, %k: tensor<6x8xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the key dimension must be one of one operand"}}
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

// A bias that the first contraction starts at.
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

// A residual that the second contraction starts at.
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

// Weights are returned.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> (tensor<4x8xf32>, tensor<4x6xf32>) {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="what 'linalg.softmax' computes from the scores is also used by 'func.return'"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o, %p : tensor<4x8xf32>, tensor<4x6xf32>
}

// -----

// Scores are looked at.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>, %n: index) -> (tensor<4x8xf32>, f32) {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %x = tensor.extract %s[%n, %n] : tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="what 'linalg.matmul' computes from the scores is also used by 'tensor.extract'"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o, %x : tensor<4x8xf32>, f32
}

// -----

// Scores are normalised by all of a row.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %zrn = arith.constant dense<0.0> : tensor<4xf32>
  %n = linalg.reduce { arith.addf } ins(%s : tensor<4x6xf32>) outs(%zrn : tensor<4xf32>) dimensions = [1]
  %w = linalg.broadcast ins(%n : tensor<4xf32>) outs(%zs : tensor<4x6xf32>) dimensions = [1]
  %x = linalg.div ins(%s, %w : tensor<4x6xf32>, tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%x : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="a score depends on what 'linalg.reduce' makes of other scores"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// A column of scores in the place of values.
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

// A choice at run time.
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

// Keys in two dimensions, of which one is left after the softmax.
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
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="keys are counted by more than one dimension"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// All queries are one.
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

// Values for each query.
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

// The width is not known.
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

// The result has a dimension of its own.
func.func @f(%q: tensor<4x8xf32>, %k: tensor<8x6xf32>, %v: tensor<6x8xf32>) -> tensor<4x8x2xf32> {
  %zs = arith.constant dense<0.0> : tensor<4x6xf32>
  %zo = arith.constant dense<0.0> : tensor<4x8x2xf32>
  %s = linalg.matmul ins(%q, %k : tensor<4x8xf32>, tensor<8x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<4x6xf32>) outs(%zs : tensor<4x6xf32>) -> tensor<4x6xf32>
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="the second contraction's result has dimensions of no operand"}}
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

// Types that differ.
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

// Doubles.
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

// The output is narrower than what it is computed from.
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

// Scores in double precision.
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

// A mask of five dimensions, of which three are single.
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
  // expected-remark@below {{[Missed] attention | Category:raise | Function=f | Reason="a score depends on a value that attention can't read, of type tensor<1x1x1x4x6xf32>"}}
  %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%zo : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----

// Infinite queries.
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
