// RUN: fovea-opt %s --attn-make-gradient --split-input-file --verify-diagnostics
// RUN: fovea-opt %s --attn-outline --attn-make-gradient --split-input-file | FileCheck %s

// After outlining, all of them have gradients.
// CHECK-COUNT-2: func.func @two_forward{{[_0-9]*}}_backward(
!t = tensor<1x2x?x16xbf16>
func.func @two(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v : !t, !t, !t -> !t
  // expected-error @below {{gradients need a function of one attn.forward, constants, and the return of its results, each at most once; found another attn.forward (attn-outline moves attn ops to such functions)}}
  %p = attn.forward %o, %k, %v : !t, !t, !t -> !t
  return %p : !t
}

// -----

// CHECK-LABEL: func.func @among_forward_backward(
!t = tensor<1x2x?x16xbf16>
func.func @among(%q: !t, %k: !t, %v: !t) -> !t {
  // expected-error @below {{found 'arith.addf'}}
  %twice = arith.addf %q, %q : !t
  %o = attn.forward %twice, %k, %v : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x?x16xbf16>
func.func @conditional(%c: i1, %q: !t, %k: !t, %v: !t) -> !t {
  %r = scf.if %c -> !t {
    // expected-error @below {{found an attn.forward in control flow}}
    %o = attn.forward %q, %k, %v : !t, !t, !t -> !t
    scf.yield %o : !t
  } else {
    scf.yield %q : !t
  }
  return %r : !t
}

// -----

!t = tensor<1x2x?x16xbf16>
func.func @more(%q: !t, %k: !t, %v: !t) -> (!t, !t) {
  %o = attn.forward %q, %k, %v : !t, !t, !t -> !t
  // expected-error @below {{found the return of another value}}
  return %o, %q : !t, !t
}

// -----

!t = tensor<1x2x?x16xbf16>
func.func @twice(%q: !t, %k: !t, %v: !t) -> (!t, !t) {
  %o = attn.forward %q, %k, %v : !t, !t, !t -> !t
  // expected-error @below {{found a result that is returned twice}}
  return %o, %o : !t, !t
}

// -----

!t = tensor<1x2x8x16xbf16>
func.func @constants() -> !t {
  %c = arith.constant dense<1.0> : !t
  // expected-error @below {{all operands are constants: expected an operand with a gradient}}
  %o = attn.forward %c, %c, %c : !t, !t, !t -> !t
  return %o : !t
}
