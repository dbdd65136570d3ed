// RUN: fovea-opt %s -split-input-file -verify-diagnostics

func.func @rank(%q: tensor<4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{query must have rank 4, found 'tensor<4x?x64xbf16>'}}
  %o = attn.forward %q, %k, %v
    : tensor<4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @encoding(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16, "dense">, %v: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{key must have no encoding}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16, "dense">, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @integers(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x4x?x64xi8>) {
  // expected-error @+1 {{value must be f8E4M3FN, f16, bf16 or f32, found 'i8'}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xi8> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @dynamic_head_dim(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x?xbf16>, %v: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{head dim of the key must be static}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x?xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @empty(%q: tensor<2x4x0x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{query must not be empty}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x0x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @too_many_elements(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2147483648x2147483648x?x64xbf16>) {
  // expected-error @+1 {{value has more than 2^63 elements}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2147483648x2147483648x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @element_types(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xf16>, %v: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{query, key and value must have the same element type, found 'bf16', 'f16' and 'bf16'}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @output_type(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{output must be 'bf16' or f32, found 'f16'}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xf16>
  return
}

// -----

func.func @batch(%q: tensor<2x4x?x64xbf16>, %k: tensor<3x4x?x64xbf16>, %v: tensor<3x4x?x64xbf16>) {
  // expected-error @+1 {{query and key must have the same batch size, found 2 and 3}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x?x64xbf16>, tensor<3x4x?x64xbf16>, tensor<3x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @key_and_value(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x2x?x64xbf16>) {
  // expected-error @+1 {{key and value must agree in all but the head dim}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x2x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @head_dim(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x32xbf16>, %v: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{query and key must have the same head dim, found 64 and 32}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x32xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @head_count(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x3x?x64xbf16>, %v: tensor<2x3x?x64xbf16>) {
  // expected-error @+1 {{the number of query heads must be a multiple of the number of key heads, found 4 and 3}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x?x64xbf16>, tensor<2x3x?x64xbf16>, tensor<2x3x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @head_count_bshd(%q: tensor<2x?x4x64xbf16>, %k: tensor<2x?x3x64xbf16>, %v: tensor<2x?x3x64xbf16>) {
  // expected-error @+1 {{the number of query heads must be a multiple of the number of key heads, found 4 and 3}}
  %o = attn.forward %q, %k, %v layout(bshd)
    : tensor<2x?x4x64xbf16>, tensor<2x?x3x64xbf16>, tensor<2x?x3x64xbf16> -> tensor<2x?x4x64xbf16>
  return
}

// -----

func.func @output_shape(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{output must have the query's batch, heads and sequence}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x8x?x64xbf16>
  return
}

// -----

func.func @output_head_dim(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{output and value must have the same head dim, found 32 and 64}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x32xbf16>
  return
}

// -----

func.func @too_long(%q: tensor<2x4x1073741825x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{query sequence must be at most 2^30 long, found 1073741825}}
  %o = attn.forward %q, %k, %v
    : tensor<2x4x1073741825x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @lse_type(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{lse must be an f32 tensor of the query's batch, heads and sequence, found 'tensor<2x4x?xbf16>'}}
  %o, %lse = attn.forward %q, %k, %v
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>, tensor<2x4x?xbf16>
  return
}

// -----

func.func @lse_shape(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x4x?x64xbf16>, %v: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{lse must be an f32 tensor of the query's batch, heads and sequence, found 'tensor<2x5x?xf32>'}}
  %o, %lse = attn.forward %q, %k, %v
    : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>, tensor<2x5x?xf32>
  return
}

// -----

!t = tensor<1x1x?x64xbf16>
func.func @tf32(%q: !t) -> !t {
  // expected-error @+1 {{'tf32' needs query, key and value of f32, found 'bf16'}}
  %o = attn.forward %q, %q, %q tf32 : !t, !t, !t -> !t
  return %o : !t
}
