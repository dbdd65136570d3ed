// RUN: fovea-opt %s --attn-to-tile="target=sm_90a schedule=producer_registers=24,consumer_registers=240" --verify-diagnostics

func.func @f(%q: tensor<1x1x?x16xf16>, %n: tensor<1xi32>) -> tensor<1x1x?x16xf16> {
  // expected-error@+1 {{schedule has roles ('producer_registers'), but the copy engine can't copy this sequence form}}
  %o = attn.forward %q, %q, %q lengths(%n : tensor<1xi32>) : tensor<1x1x?x16xf16>, tensor<1x1x?x16xf16>, tensor<1x1x?x16xf16> -> tensor<1x1x?x16xf16>
  return %o : tensor<1x1x?x16xf16>
}
