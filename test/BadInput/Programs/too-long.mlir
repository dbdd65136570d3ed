// Sequences end at 2^30.
// RUN: %reject %s

func.func @f(%q: tensor<1x1x1073741825x32xbf16>, %k: tensor<1x1x1073741825x32xbf16>, %v: tensor<1x1x1073741825x32xbf16>) -> (tensor<1x1x1073741825x32xbf16>) {
  // expected-error @+1 {{sequence must be at most 2^30 long, found 1073741825}}
  %o = attn.forward %q, %k, %v
    : tensor<1x1x1073741825x32xbf16>, tensor<1x1x1073741825x32xbf16>, tensor<1x1x1073741825x32xbf16> -> tensor<1x1x1073741825x32xbf16>
  return %o : tensor<1x1x1073741825x32xbf16>
}
