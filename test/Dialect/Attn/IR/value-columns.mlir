// Values that are columns of the keys.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics | fovea-opt --split-input-file | FileCheck %s

!q = tensor<2x8x?x192xbf16>
!k = tensor<2x1x?x192xbf16>
// CHECK-LABEL: func.func @columns(
func.func @columns(%q: !q, %k: !k, %n: tensor<2xi32>) -> (tensor<2x8x?x128xbf16>, tensor<2x8x?xf32>) {
  // CHECK: attn.forward %{{.*}}, %{{.*}} value_columns(16, 128) scale(1.250000e-01) lengths(%{{.*}} : tensor<2xi32>) : tensor<2x8x?x192xbf16>, tensor<2x1x?x192xbf16> -> tensor<2x8x?x128xbf16>, tensor<2x8x?xf32>
  %o, %lse = attn.forward %q, %k lengths(%n : tensor<2xi32>) scale(0.125) value_columns(16, 128)
    : !q, !k -> tensor<2x8x?x128xbf16>, tensor<2x8x?xf32>
  return %o, %lse : tensor<2x8x?x128xbf16>, tensor<2x8x?xf32>
}

// -----

func.func @both(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16> {
  // expected-error @+1 {{expected either a value or 'value_columns', found both}}
  %o = attn.forward %q, %q, %q value_columns(0, 32)
    : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}

// -----

func.func @neither(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16> {
  // expected-error @+1 {{expected either a value or 'value_columns', found neither}}
  %o = attn.forward %q, %q : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}

// -----

func.func @one_number(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16> {
  // expected-error @+1 {{value_columns must be the first column and the number of columns, found 1 numbers}}
  %o = "attn.forward"(%q, %q) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0>, layout = #attn.layout<bhsd>, sequence = #attn.dense, valueColumns = array<i64: 32>}> ({}, {}, {}, {}) : (tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}

// -----

func.func @past_the_end(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x24xbf16> {
  // expected-error @+1 {{value_columns must be within the key's head dim 32, found 24 columns from 16}}
  %o = attn.forward %q, %q value_columns(16, 24) : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x24xbf16>
  return %o : tensor<2x4x64x24xbf16>
}

// -----

func.func @output(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16> {
  // expected-error @+1 {{output and value must have the same head dim, found 32 and 16}}
  %o = attn.forward %q, %q value_columns(0, 16) : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}

// -----

func.func @one_tensor(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16> {
  // expected-error @+1 {{expected q, k and v, or q and k, found 1 operands}}
  %o = attn.forward %q value_columns(0, 16) : tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}

// -----

func.func @three_types(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16> {
  // expected-error @+1 {{expected the types of q, k, found 3 types}}
  %o = attn.forward %q, %q value_columns(0, 32) : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
