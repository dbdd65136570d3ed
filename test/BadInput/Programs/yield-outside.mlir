// A yield without a region to end.
// RUN: %reject %s

func.func @f(%x: f32) {
  // expected-error @+1 {{expects parent op}}
  attn.yield %x : f32
}
