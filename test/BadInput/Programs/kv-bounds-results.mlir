// Bounds are four.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16> {
  %o = attn.forward %q, %q, %q
    kv_bounds(%b: index, %h: index, %i0: index, %i1: index) {
      // expected-error @+1 {{in kv_bounds must yield ('index', 'index', 'index', 'index'), found ('index')}}
      attn.yield %i1 : index
    } : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
