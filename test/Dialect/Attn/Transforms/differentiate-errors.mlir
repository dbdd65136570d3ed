// RUN: fovea-opt %s --attn-differentiate --split-input-file --verify-diagnostics

!t = tensor<1x2x8x4xf32>
!rows = tensor<1x2x8xf32>

func.func @no_rule(%q: !t, %o: !t, %lse: !rows) -> !t {
  // expected-note@below {{'attn.backward' needs its derivative}}
  %0 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      // expected-error@below {{'arith.bitcast' has no derivative rule}}
      %0 = arith.bitcast %s : f32 to f32
      %1 = arith.negf %0 : f32
      attn.yield %1 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// -----

!t = tensor<1x2x8x4xf32>
!rows = tensor<1x2x8xf32>

// Kernels do not support this op either; its regions use the score without an operand.
func.func @region(%q: !t, %o: !t, %lse: !rows) -> !t {
  // expected-note@below {{'attn.backward' needs its derivative}}
  %0 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      // expected-error@below {{'scf.if' has no derivative rule}}
      %0 = scf.if %keep -> f32 {
        scf.yield %s : f32
      } else {
        %1 = arith.negf %s : f32
        scf.yield %1 : f32
      }
      attn.yield %0 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// -----

!t = tensor<1x2x8x4xf32>
!rows = tensor<1x2x8xf32>

// Only captured tensors themselves may be read.
func.func @whole_tensor(%q: !t, %o: !t, %lse: !rows, %u: tensor<8xf32>) -> (!t, tensor<8xf32>) {
  // expected-note@below {{'attn.backward' needs its derivative}}
  %0:2 = attn.backward %q, %q, %q, %o, %lse, %o gradients(q, captures = [0])
    captures(%u : tensor<8xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %ru: tensor<8xf32>) {
      // expected-error@below {{'arith.negf' has no derivative rule}}
      %negated = arith.negf %ru : tensor<8xf32>
      %0 = tensor.extract %negated[%i] : tensor<8xf32>
      %1 = arith.addf %s, %0 : f32
      attn.yield %1 : f32
    } : !t, !t, !t, !t, !rows, !t -> !t, tensor<8xf32>
  return %0#0, %0#1 : !t, tensor<8xf32>
}
