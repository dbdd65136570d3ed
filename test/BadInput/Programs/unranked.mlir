// Unranked tensors have no dimensions to check.
// RUN: %reject %s

func.func @f(%q: tensor<*xbf16>, %k: tensor<*xbf16>, %v: tensor<*xbf16>) -> (tensor<*xbf16>) {
  // expected-error @+1 {{must be ranked tensor of any type values}}
  %o = attn.forward %q, %k, %v
    : tensor<*xbf16>, tensor<*xbf16>, tensor<*xbf16> -> tensor<*xbf16>
  return %o : tensor<*xbf16>
}
