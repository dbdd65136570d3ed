// Captures are values, not memory.
// RUN: %reject %s

func.func @f(%q: tensor<2x4x64x32xbf16>, %k: tensor<2x4x64x32xbf16>, %v: tensor<2x4x64x32xbf16>, %m: memref<4xf32>) -> (tensor<2x4x64x32xbf16>) {
  // expected-error @+1 {{captured value #0 must be an index, f32, i32 or i64, or a tensor}}
  %o = attn.forward %q, %k, %v captures(%m : memref<4xf32>)
    : tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16>, tensor<2x4x64x32xbf16> -> tensor<2x4x64x32xbf16>
  return %o : tensor<2x4x64x32xbf16>
}
