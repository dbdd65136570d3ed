// RUN: fovea-opt %s --split-input-file --verify-diagnostics --attn-to-tile='target=sm_80 schedule=tile_n=16,stages=3'
// RUN: not fovea-opt %s --split-input-file --attn-to-tile='target=sm_80 schedule=warps=8' 2>&1 | FileCheck %s --check-prefix=FIELD
// FIELD: error: backward schedules can set 'tile_n', 'stages', 'key_stages', 'work', 'output' and 'producer_registers', found 'warps', which is not 8 in any of the kernels

!t = tensor<2x4x?x64xbf16>
!rows = tensor<2x4x?xf32>
func.func @fine(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t) -> !t {
  %0 = attn.backward %q, %k, %v, %o, %lse, %do gradients(k) : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// -----

!t = tensor<2x4x?x64xbf16>
!rows = tensor<2x4x?xf32>
// A bias for all heads: sums of any number of values, and exact ones would take 264 bytes per pair.
func.func @captures(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %c: tensor<2x?x?xf32>) -> tensor<2x?x?xf32> {
  // expected-error @+1 {{'dcapture0' is to be deterministic, but its elements, one for each pair of query and key, are sums over batch entries or heads: expected a captured tensor indexed by both}}
  %0 = attn.backward %q, %k, %v, %o, %lse, %do deterministic gradients(captures = [0]) captures(%c : tensor<2x?x?xf32>)
    score_mod(%a: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<2x?x?xf32>) {
      %e = tensor.extract %t[%b, %i, %j] : tensor<2x?x?xf32>
      %n = arith.addf %a, %e : f32
      attn.yield %n : f32
    }
    score_gradient(%a: f32, %g: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<2x?x?xf32>) {
      attn.contribute %g to %t[%b, %i, %j] : tensor<2x?x?xf32>
      attn.yield %g : f32
    }
    : !t, !t, !t, !t, !rows, !t -> tensor<2x?x?xf32>
  return %0 : tensor<2x?x?xf32>
}

// -----

!t = tensor<2x4x?x64xbf16>
!rows = tensor<2x4x?xf32>
func.func @blocks(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %n: tensor<1x1x?xi32>, %i: tensor<1x1x?x?xi32>) -> !t {
  // expected-error @+1 {{blocks of queries and keys must be multiples of 16, found size = [128, 40]}}
  %0 = attn.backward %q, %k, %v, %o, %lse, %do gradients(q) blocks(%n, %i : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, size = [128, 40]) : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// -----

!t = tensor<2x4x?x64xbf16>
!rows = tensor<2x4x?xf32>
func.func @short_blocks(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !rows, %do: !t, %n: tensor<1x1x?xi32>, %i: tensor<1x1x?x?xi32>) -> !t {
  // expected-error @+1 {{blocks of queries and keys must be multiples of 16, found size = [8, 64]}}
  %0 = attn.backward %q, %k, %v, %o, %lse, %do gradients(k) blocks(%n, %i : tensor<1x1x?xi32>, tensor<1x1x?x?xi32>, size = [8, 64]) : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// -----

!t = tensor<2x4x?x64xbf16>
!rows = tensor<2x4x?xf32>
func.func @no_derivative(%q: !t, %lse: !rows) -> !t {
  // expected-error @+1 {{score_mod's derivative is not known: run attn-differentiate first}}
  %0 = attn.backward %q, %q, %q, %q, %lse, %q gradients(q)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      attn.yield %s : f32
    } : !t, !t, !t, !t, !rows, !t -> !t
  return %0 : !t
}

// -----

!t = tensor<2x4x?x64xf16>
!out = tensor<2x4x?x64xf32>
!rows = tensor<2x4x?xf32>
func.func @wide_output(%q: !t, %k: !t, %v: !t, %o: !out, %lse: !rows, %do: !out) -> !t {
  // expected-error @+1 {{output gradient has element type 'f32', expected v's 'f16': round it to 'tensor<2x4x?x64xf16>' first}}
  %0 = attn.backward %q, %k, %v, %o, %lse, %do gradients(k) : !t, !t, !t, !out, !rows, !out -> !t
  return %0 : !t
}
