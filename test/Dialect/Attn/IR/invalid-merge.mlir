// RUN: fovea-opt %s -split-input-file -verify-diagnostics

func.func @rank(%o0: tensor<4x?x64xf32>, %l0: tensor<2x4x?xf32>) {
  // expected-error @+1 {{outputs must have rank 4, or 5 if they are stacked, and the result rank 4, found 'tensor<4x?x64xf32>' and 'tensor<2x4x?x64xf32>'}}
  %o, %l = attn.merge (%o0, %l0) : tensor<4x?x64xf32>, tensor<2x4x?xf32> -> tensor<2x4x?x64xf32>, tensor<2x4x?xf32>
  return
}

// -----

func.func @element(%o0: tensor<2x4x?x64xi32>, %l0: tensor<2x4x?xf32>) {
  // expected-error @+1 {{outputs must be f16, bf16 or f32, found 'i32' and 'f32'}}
  %o, %l = attn.merge (%o0, %l0) : tensor<2x4x?x64xi32>, tensor<2x4x?xf32> -> tensor<2x4x?x64xf32>, tensor<2x4x?xf32>
  return
}

// -----

func.func @encoding(%o0: tensor<2x4x?x64xbf16, "dense">, %l0: tensor<2x4x?xf32>) {
  // expected-error @+1 {{outputs must have no encoding}}
  %o, %l = attn.merge (%o0, %l0) : tensor<2x4x?x64xbf16, "dense">, tensor<2x4x?xf32> -> tensor<2x4x?x64xf32>, tensor<2x4x?xf32>
  return
}

// -----

func.func @head_dim(%o0: tensor<2x4x?x?xf32>, %l0: tensor<2x4x?xf32>) {
  // expected-error @+1 {{head dim must be static}}
  %o, %l = attn.merge (%o0, %l0) : tensor<2x4x?x?xf32>, tensor<2x4x?xf32> -> tensor<2x4x?x64xf32>, tensor<2x4x?xf32>
  return
}

// -----

func.func @shape(%o0: tensor<2x4x?x64xf32>, %l0: tensor<2x4x?xf32>) {
  // expected-error @+1 {{result shape 'tensor<2x8x?x64xf32>' does not match the parts' 'tensor<2x4x?x64xf32>'}}
  %o, %l = attn.merge (%o0, %l0) : tensor<2x4x?x64xf32>, tensor<2x4x?xf32> -> tensor<2x8x?x64xf32>, tensor<2x4x?xf32>
  return
}

// -----

func.func @lse(%o0: tensor<2x4x?x64xf32>, %l0: tensor<2x?xf32>) {
  // expected-error @+1 {{lse must be an f32 tensor of batch, heads, queries as the outputs have them, found 'tensor<2x?xf32>'}}
  %o, %l = attn.merge (%o0, %l0) : tensor<2x4x?x64xf32>, tensor<2x?xf32> -> tensor<2x4x?x64xf32>, tensor<2x4x?xf32>
  return
}

// -----

func.func @lse_result(%o0: tensor<2x4x?x64xf32>, %l0: tensor<2x4x?xf32>) {
  // expected-error @+1 {{lse must be an f32 tensor of batch, heads, queries as the outputs have them, found 'tensor<2x5x?xf32>'}}
  %o, %l = attn.merge (%o0, %l0) : tensor<2x4x?x64xf32>, tensor<2x4x?xf32> -> tensor<2x4x?x64xf32>, tensor<2x5x?xf32>
  return
}

// -----

func.func @lse_bshd(%o0: tensor<2x?x4x64xf32>, %l0: tensor<2x5x?xf32>) {
  // expected-error @+1 {{lse must be an f32 tensor}}
  %o, %l = attn.merge (%o0, %l0) layout(bshd) : tensor<2x?x4x64xf32>, tensor<2x5x?xf32> -> tensor<2x?x4x64xf32>, tensor<2x4x?xf32>
  return
}

// -----

func.func @nothing() {
  // expected-error @+1 {{expected (output, lse) pairs, found 0 operands}}
  %o = "attn.merge"() : () -> tensor<2x4x?x64xf32>
  return
}

// -----

func.func @odd(%o0: tensor<2x4x?x64xf32>, %l0: tensor<2x4x?xf32>) {
  // expected-error @+1 {{expected (output, lse) pairs, found 3 operands}}
  %o = "attn.merge"(%o0, %l0, %l0) : (tensor<2x4x?x64xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>) -> tensor<2x4x?x64xf32>
  return
}

// -----

func.func @part_types(%o0: tensor<2x4x?x64xf32>, %o1: tensor<2x4x?x64xbf16>, %l: tensor<2x4x?xf32>) {
  // expected-error @+1 {{all parts must have the same type}}
  %o = "attn.merge"(%o0, %o1, %l, %l) : (tensor<2x4x?x64xf32>, tensor<2x4x?x64xbf16>, tensor<2x4x?xf32>, tensor<2x4x?xf32>) -> tensor<2x4x?x64xf32>
  return
}

// -----

func.func @lse_types(%o0: tensor<2x4x?x64xf32>, %l0: tensor<2x4x?xf32>, %l1: tensor<2x4x8xf32>) {
  // expected-error @+1 {{all log-sum-exps must have the same type}}
  %o = "attn.merge"(%o0, %o0, %l0, %l1) : (tensor<2x4x?x64xf32>, tensor<2x4x?x64xf32>, tensor<2x4x?xf32>, tensor<2x4x8xf32>) -> tensor<2x4x?x64xf32>
  return
}

// -----

func.func @stacked_result(%o0: tensor<3x2x4x?x64xf32>, %l0: tensor<3x2x4x?xf32>) {
  // expected-error @+1 {{outputs must have rank 4, or 5 if they are stacked, and the result rank 4}}
  %o = attn.merge (%o0, %l0) : tensor<3x2x4x?x64xf32>, tensor<3x2x4x?xf32> -> tensor<3x2x4x?x64xf32>
  return
}

// -----

func.func @stacked_pairs(%o0: tensor<3x2x4x?x64xf32>, %l0: tensor<3x2x4x?xf32>) {
  // expected-error @+1 {{stacked parts must be the only pair, found 2 pairs of 'tensor<3x2x4x?x64xf32>'}}
  %o = attn.merge (%o0, %l0), (%o0, %l0) : tensor<3x2x4x?x64xf32>, tensor<3x2x4x?xf32> -> tensor<2x4x?x64xf32>
  return
}

// -----

func.func @stacked_lse(%o0: tensor<3x2x4x?x64xf32>, %l0: tensor<4x2x4x?xf32>) {
  // expected-error @+1 {{lse must be an f32 tensor of parts, batch, heads, queries as the outputs have them, found 'tensor<4x2x4x?xf32>'}}
  %o = attn.merge (%o0, %l0) : tensor<3x2x4x?x64xf32>, tensor<4x2x4x?xf32> -> tensor<2x4x?x64xf32>
  return
}
