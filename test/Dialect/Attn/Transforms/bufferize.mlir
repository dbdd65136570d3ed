// RUN: fovea-opt %s --one-shot-bufferize=bufferize-function-boundaries --split-input-file --verify-diagnostics -o /dev/null
// RUN: fovea-opt %s --one-shot-bufferize='bufferize-function-boundaries allow-unknown-ops' --split-input-file | FileCheck %s

// Attn ops can't be bufferized. Upstream's bufferization reports which passes to run,
// or leaves the op on tensors with allow-unknown-ops.

!t = tensor<1x2x?x64xf16>
// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[M:.*]]: memref<1x2x?x64xf16
// CHECK: %[[Q:.*]] = bufferization.to_tensor %[[M]]
// CHECK: %[[O:.*]] = attn.forward %[[Q]], %[[Q]], %[[Q]]
// CHECK: bufferization.to_buffer %[[O]]
func.func @forward(%q: !t) -> !t {
  // expected-error@+2 {{'attn.forward' op can't be bufferized: run 'fovea-to-host' in place of bufferization, or 'attn-outline' and 'attn-to-tile{launch-calls}' before it}}
  // expected-error@+1 {{failed to bufferize op}}
  %o = attn.forward %q, %q, %q : !t, !t, !t -> !t
  return %o : !t
}

// -----

!t = tensor<1x2x8x64xf16>
!l = tensor<1x2x8xf32>
func.func @backward(%q: !t, %o: !t, %l: !l, %do: !t) -> !t {
  // expected-error@+2 {{'attn.backward' op can't be bufferized}}
  // expected-error@+1 {{failed to bufferize op}}
  %dq = attn.backward %q, %q, %q, %o, %l, %do gradients(q) : !t, !t, !t, !t, !l, !t -> !t
  return %dq : !t
}

// -----

!t = tensor<1x2x8x64xf16>
!l = tensor<1x2x8xf32>
func.func @merge(%o: !t, %l: !l) -> !t {
  // expected-error@+2 {{'attn.merge' op can't be bufferized}}
  // expected-error@+1 {{failed to bufferize op}}
  %r, %s = attn.merge (%o, %l), (%o, %l) : !t, !l -> !t, !l
  return %r : !t
}
