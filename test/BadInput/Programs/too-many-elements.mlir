// More elements than 64 bits count.
// RUN: %reject %s

func.func @f(%q: tensor<1000000000000x1000x1000x32xbf16>, %k: tensor<1000000000000x1000x1000x32xbf16>, %v: tensor<1000000000000x1000x1000x32xbf16>) -> (tensor<1000000000000x1000x1000x32xbf16>) {
  // expected-error @+1 {{has more than 2^63 elements}}
  %o = attn.forward %q, %k, %v
    : tensor<1000000000000x1000x1000x32xbf16>, tensor<1000000000000x1000x1000x32xbf16>, tensor<1000000000000x1000x1000x32xbf16> -> tensor<1000000000000x1000x1000x32xbf16>
  return %o : tensor<1000000000000x1000x1000x32xbf16>
}
