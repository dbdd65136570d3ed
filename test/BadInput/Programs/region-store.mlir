// Regions are pure: nothing is allocated or stored.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>) -> tensor<2x4x64x32xbf16> {
  %o = attn.forward %q, %q, %q
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      // expected-error @+1 {{'memref.alloc' op is not allowed in score_mod: it may have side effects}}
      %m = memref.alloc() : memref<1xf32>
      %c0 = arith.constant 0 : index
      memref.store %s, %m[%c0] : memref<1xf32>
      attn.yield %s : f32
    } : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
