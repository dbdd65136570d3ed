// RUN: fovea-opt %s -split-input-file -verify-diagnostics

func.func @layout(%q: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{expected 'bhsd' or 'bshd', found 'sbhd'}}
  %o = attn.forward %q, %q, %q layout(sbhd) : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @twice(%q: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{'scale' is specified twice}}
  %o = attn.forward %q, %q, %q scale(1.0) scale(2.0) : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @two_forms(%q: tensor<2x4x?x64xbf16>, %n: tensor<2xi32>) {
  // expected-error @+1 {{'sequence form' is specified twice}}
  %o = attn.forward %q, %q, %q lengths(%n : tensor<2xi32>) lengths(%n : tensor<2xi32>) : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @types(%q: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{expected the types of q, k and v, found 2 types}}
  %o = attn.forward %q, %q, %q : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @results(%q: tensor<2x4x?x64xbf16>) {
  // expected-error @+1 {{expected one or two results, found 3}}
  %o:3 = attn.forward %q, %q, %q : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @merge_results(%o: tensor<2x4x?x64xf32>, %l: tensor<2x4x?xf32>) {
  // expected-error @+1 {{expected one or two results, found 3}}
  %r:3 = attn.merge (%o, %l) : tensor<2x4x?x64xf32>, tensor<2x4x?xf32> -> f32, f32, f32
  return
}

// -----

func.func @sinks_none(%q: tensor<2x4x?x64xbf16>, %s: tensor<4xf32>) {
  // expected-error @+1 {{expected one tensor of sinks, found 2}}
  %o = attn.forward %q, %q, %q sinks(%s, %s : tensor<4xf32>, tensor<4xf32>) : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @dropout_operands(%q: tensor<2x4x?x64xbf16>, %s: i64) {
  // expected-error @+1 {{expected ','}}
  %o = attn.forward %q, %q, %q dropout(0.5) : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}

// -----

func.func @dropout_generator(%q: tensor<2x4x?x64xbf16>, %s: i64) {
  // expected-error @+1 {{expected 'generator'}}
  %o = attn.forward %q, %q, %q dropout(0.5, %s, %s, 1) : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16> -> tensor<2x4x?x64xbf16>
  return
}
