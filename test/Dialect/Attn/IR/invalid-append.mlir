// RUN: fovea-opt %s -split-input-file -verify-diagnostics

func.func @one_value(%k: tensor<?x8x64xf32>, %kc: tensor<?x8x64xf32>, %s: tensor<?xi64>) {
  // expected-error@+1 {{new values and a cache of values must be given together, found one of them}}
  %0 = attn.append (%k, %k) to (%kc) slots(%s : tensor<?xi64>) : tensor<?x8x64xf32>, tensor<?x8x64xf32> to tensor<?x8x64xf32>
  return
}

// -----

func.func @rank(%k: tensor<8x64xf32>, %kc: tensor<?x8x64xf32>, %s: tensor<?xi64>) {
  // expected-error@+1 {{new keys and their cache must have rank 3 or 4, found 'tensor<8x64xf32>' and 'tensor<?x8x64xf32>'}}
  %0 = attn.append (%k) to (%kc) slots(%s : tensor<?xi64>) : tensor<8x64xf32> to tensor<?x8x64xf32>
  return
}

// -----

func.func @encoding(%k: tensor<?x8x64xf32, "dense">, %kc: tensor<?x8x64xf32>, %s: tensor<?xi64>) {
  // expected-error@+1 {{new keys and their cache must have no encoding}}
  %0 = attn.append (%k) to (%kc) slots(%s : tensor<?xi64>) : tensor<?x8x64xf32, "dense"> to tensor<?x8x64xf32>
  return
}

// -----

func.func @element(%k: tensor<?x8x64xf32>, %kc: tensor<?x8x64xbf16>, %s: tensor<?xi64>) {
  // expected-error@+1 {{new keys and their cache must have one element type: f8E4M3FN, f16, bf16 or f32, found 'tensor<?x8x64xf32>' and 'tensor<?x8x64xbf16>'}}
  %0 = attn.append (%k) to (%kc) slots(%s : tensor<?xi64>) : tensor<?x8x64xf32> to tensor<?x8x64xbf16>
  return
}

// -----

func.func @integers(%k: tensor<?x8x64xi8>, %kc: tensor<?x8x64xi8>, %s: tensor<?xi64>) {
  // expected-error@+1 {{new keys and their cache must have one element type: f8E4M3FN, f16, bf16 or f32, found 'tensor<?x8x64xi8>' and 'tensor<?x8x64xi8>'}}
  %0 = attn.append (%k) to (%kc) slots(%s : tensor<?xi64>) : tensor<?x8x64xi8> to tensor<?x8x64xi8>
  return
}

// -----

func.func @head_dim(%k: tensor<?x8x?xf32>, %kc: tensor<?x8x64xf32>, %s: tensor<?xi64>) {
  // expected-error@+1 {{head dim of keys must be static, found 'tensor<?x8x?xf32>' and 'tensor<?x8x64xf32>'}}
  %0 = attn.append (%k) to (%kc) slots(%s : tensor<?xi64>) : tensor<?x8x?xf32> to tensor<?x8x64xf32>
  return
}

// -----

func.func @heads(%k: tensor<?x8x64xf32>, %v: tensor<?x4x64xf32>, %kc: tensor<?x8x64xf32>, %s: tensor<?xi64>) {
  // expected-error@+1 {{new values and their cache must have the same heads and head dim, found 'tensor<?x4x64xf32>' and 'tensor<?x8x64xf32>'}}
  %0, %1 = attn.append (%k, %v) to (%kc, %kc) slots(%s : tensor<?xi64>) : tensor<?x8x64xf32>, tensor<?x4x64xf32> to tensor<?x8x64xf32>, tensor<?x8x64xf32>
  return
}

// -----

func.func @rows(%k: tensor<3x8x64xf32>, %v: tensor<4x8x32xf32>, %kc: tensor<?x8x64xf32>, %vc: tensor<?x8x32xf32>, %s: tensor<?xi64>) {
  // expected-error@+1 {{new keys and values must agree except in the head dim, found 'tensor<3x8x64xf32>' and 'tensor<4x8x32xf32>'}}
  %0, %1 = attn.append (%k, %v) to (%kc, %vc) slots(%s : tensor<?xi64>) : tensor<3x8x64xf32>, tensor<4x8x32xf32> to tensor<?x8x64xf32>, tensor<?x8x32xf32>
  return
}

// -----

func.func @caches(%k: tensor<?x8x64xf32>, %kc: tensor<?x16x8x64xf32>, %vc: tensor<?x8x8x64xf32>, %s: tensor<?xi64>) {
  // expected-error@+1 {{caches of keys and values must agree except in the head dim, found 'tensor<?x16x8x64xf32>' and 'tensor<?x8x8x64xf32>'}}
  %0, %1 = attn.append (%k, %k) to (%kc, %vc) slots(%s : tensor<?xi64>) : tensor<?x8x64xf32>, tensor<?x8x64xf32> to tensor<?x16x8x64xf32>, tensor<?x8x8x64xf32>
  return
}

// -----

func.func @neither(%k: tensor<?x8x64xf32>, %kc: tensor<?x8x64xf32>) {
  // expected-error@+1 {{positions must be given by slots or lengths, found neither}}
  %0 = attn.append (%k) to (%kc) : tensor<?x8x64xf32> to tensor<?x8x64xf32>
  return
}

// -----

func.func @both(%k: tensor<?x8x64xf32>, %kc: tensor<?x8x64xf32>, %s: tensor<?xi64>, %n: tensor<?xi32>) {
  // expected-error@+1 {{positions must be given by slots or lengths, found both}}
  %0 = attn.append (%k) to (%kc) slots(%s : tensor<?xi64>) lengths(%n : tensor<?xi32>) : tensor<?x8x64xf32> to tensor<?x8x64xf32>
  return
}

// -----

func.func @table(%k: tensor<?x8x64xf32>, %kc: tensor<?x8x64xf32>, %s: tensor<?xi64>, %t: tensor<?x?xi32>) {
  // expected-error@+1 {{page_table needs lengths}}
  %0 = attn.append (%k) to (%kc) slots(%s : tensor<?xi64>) page_table(%t : tensor<?x?xi32>) : tensor<?x8x64xf32> to tensor<?x8x64xf32>
  return
}

// -----

func.func @flat(%k: tensor<2x?x8x64xf32>, %kc: tensor<?x8x64xf32>, %n: tensor<2xi32>) {
  // expected-error@+1 {{with lengths the cache must have pages: rank 4, found 'tensor<?x8x64xf32>'}}
  %0 = attn.append (%k) to (%kc) lengths(%n : tensor<2xi32>) : tensor<2x?x8x64xf32> to tensor<?x8x64xf32>
  return
}

// -----

func.func @offsets(%k: tensor<?x8x64xf32>, %kc: tensor<?x16x8x64xf32>, %n: tensor<2xi32>) {
  // expected-error@+1 {{with lengths new keys must have rank 4, or 3 with offsets, found 'tensor<?x8x64xf32>'}}
  %0 = attn.append (%k) to (%kc) lengths(%n : tensor<2xi32>) : tensor<?x8x64xf32> to tensor<?x16x8x64xf32>
  return
}

// -----

func.func @slots_shape(%k: tensor<3x8x64xf32>, %kc: tensor<?x8x64xf32>, %s: tensor<4xi64>) {
  // expected-error@+1 {{slots must have the shape 3, found 'tensor<4xi64>'}}
  %0 = attn.append (%k) to (%kc) slots(%s : tensor<4xi64>) : tensor<3x8x64xf32> to tensor<?x8x64xf32>
  return
}

// -----

func.func @slots_type(%k: tensor<3x8x64xf32>, %kc: tensor<?x8x64xf32>, %s: tensor<3xi16>) {
  // expected-error@+1 {{slots must be i32 or i64, found 'tensor<3xi16>'}}
  %0 = attn.append (%k) to (%kc) slots(%s : tensor<3xi16>) : tensor<3x8x64xf32> to tensor<?x8x64xf32>
  return
}

// -----

func.func @lengths_type(%k: tensor<2x?x8x64xf32>, %kc: tensor<?x16x8x64xf32>, %n: tensor<2xi64>) {
  // expected-error@+1 {{lengths must be i32, found 'tensor<2xi64>'}}
  %0 = attn.append (%k) to (%kc) lengths(%n : tensor<2xi64>) : tensor<2x?x8x64xf32> to tensor<?x16x8x64xf32>
  return
}

// -----

func.func @table_shape(%k: tensor<2x?x8x64xf32>, %kc: tensor<?x16x8x64xf32>, %n: tensor<2xi32>, %t: tensor<3x?xi32>) {
  // expected-error@+1 {{page_table must have the shape 2x?, found 'tensor<3x?xi32>'}}
  %0 = attn.append (%k) to (%kc) page_table(%t : tensor<3x?xi32>) lengths(%n : tensor<2xi32>) : tensor<2x?x8x64xf32> to tensor<?x16x8x64xf32>
  return
}

// -----

func.func @offsets_shape(%k: tensor<?x8x64xf32>, %kc: tensor<?x16x8x64xf32>, %n: tensor<2xi32>, %c: tensor<2xi32>) {
  // expected-error@+1 {{offsets must have the shape 3, found 'tensor<2xi32>'}}
  %0 = attn.append (%k) to (%kc) lengths(%n : tensor<2xi32>) offsets(%c : tensor<2xi32>) : tensor<?x8x64xf32> to tensor<?x16x8x64xf32>
  return
}
