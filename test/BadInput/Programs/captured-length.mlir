// A captured tensor has an element for each head that it is indexed by.
// RUN: %reject %s

!t = tensor<2x4x64x32xbf16>
func.func @f(%q: !t, %k: !t, %v: !t, %m: tensor<3xf32>) -> !t {
  %o = attn.forward %q, %k, %v captures(%m : tensor<3xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<3xf32>) {
      // expected-error @+1 {{reads dimension 0 of captured value #0 at the query head: expected a size of at least 4}}
      %x = tensor.extract %t[%h] : tensor<3xf32>
      %r = arith.addf %s, %x : f32
      attn.yield %r : f32
    } : !t, !t, !t -> !t
  return %o : !t
}
