// RUN: fovea-opt %s -split-input-file -verify-diagnostics

!t = tensor<1x8x64x64xbf16>
func.func @count(%q: !t, %a: f32, %b: f32) -> !t {
  // expected-error @+1 {{expected a name for each of 2 captured values, found 1}}
  %o = attn.forward %q, %q, %q captures(%a, %b : f32, f32, names = ["x"]) : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x8x64x64xbf16>
func.func @identifier(%q: !t, %a: f32) -> !t {
  // expected-error @+1 {{the name of a captured value must be an identifier, found "1x"}}
  %o = attn.forward %q, %q, %q captures(%a : f32, names = ["1x"]) : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x8x64x64xbf16>
func.func @reserved(%q: !t, %a: f32) -> !t {
  // expected-error @+1 {{a captured value cannot be named "lse", which is the name of an operand or result}}
  %o = attn.forward %q, %q, %q captures(%a : f32, names = ["lse"]) : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x8x64x64xbf16>
func.func @twice(%q: !t, %a: f32) -> !t {
  // expected-error @+1 {{two captured values have the name "x"}}
  %o = attn.forward %q, %q, %q captures(%a, %a : f32, f32, names = ["x", "x"]) : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x8x64x64xbf16>
func.func @both(%q: !t, %a: f32) -> !t {
  // expected-error @+1 {{captured values must have names or numbers, found both}}
  %o = attn.forward %q, %q, %q captures(%a : f32, names = ["x"]) {captureNumbers = array<i64: 0>} : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x8x64x64xbf16>
func.func @type(%q: !t, %a: i8) -> !t {
  // expected-error @+1 {{captured value 'x' must be an index, f32, i32 or i64}}
  %o = attn.forward %q, %q, %q captures(%a : i8, names = ["x"]) : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x8x64x64xbf16>
!r = tensor<1x8x64xf32>
func.func @gradient(%q: !t, %r: !r, %a: f32, %b: f32) -> (!t, tensor<f32>) {
  // expected-error @+1 {{the gradient of captured value 'x' would have the name 'dx' of another tensor}}
  %0:2 = attn.backward %q, %q, %q, %q, %r, %q gradients(q, captures = [0]) captures(%a, %b : f32, f32, names = ["x", "dx"]) : !t, !t, !t, !t, !r, !t -> !t, tensor<f32>
  return %0#0, %0#1 : !t, tensor<f32>
}
