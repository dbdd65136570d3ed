// RUN: fovea-opt %s --attn-to-tile='target=sm_100a schedule=row_tiles=2' --verify-diagnostics
!t = tensor<1x2x?x64xbf16>
func.func @f(%q: !t, %mean: tensor<1x1x64xf32>) -> !t {
  // expected-error @+1 {{scale 'v_mean' is not lowered to kernels whose accumulators are in tensor memory: expected 'row_tiles' 0, found 2}}
  %o = attn.forward %q, %q, %q scales(%mean : tensor<1x1x64xf32>, names = ["v_mean"]) : !t, !t, !t -> !t
  return %o : !t
}
