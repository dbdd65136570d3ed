// RUN: not fovea-opt %s --attn-to-tile="target=sm_90a schedule=sum_by_dot=1" 2>&1 | FileCheck %s
// CHECK: error: schedule's 'sum_by_dot' needs a value head dim of 16, 32 or 64, found 128

func.func @f(%q: tensor<1x1x?x64xbf16>, %v: tensor<1x1x?x128xbf16>) -> tensor<1x1x?x128xbf16> {
  %o = attn.forward %q, %q, %v : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x128xbf16> -> tensor<1x1x?x128xbf16>
  return %o : tensor<1x1x?x128xbf16>
}
