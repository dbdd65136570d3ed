// RUN: fovea-opt %s --fovea-to-host=target=sm_80 --split-input-file --verify-diagnostics -o /dev/null

// The pipeline reports unsupported programs.

!t = tensor<1x2x?x64xf16>
// expected-error@+1 {{a function that becomes a kernel can only be called, found a use in 'func.constant'}}
func.func private @kernel(%q: !t) -> !t {
  %o = attn.forward %q, %q, %q : !t, !t, !t -> !t
  return %o : !t
}
func.func @host() -> ((!t) -> !t) {
  // expected-note@+1 {{here}}
  %f = func.constant @kernel : (!t) -> !t
  return %f : (!t) -> !t
}

// -----

// A host's op that upstream has no buffers for.
!t = tensor<1x2x?x64xf16>
func.func @host(%q: !t) -> !t {
  // expected-error@+1 {{op was not bufferized}}
  %x = arith.addf %q, %q : !t
  %o = attn.forward %x, %q, %q : !t, !t, !t -> !t
  return %o : !t
}
