// RUN: not fovea-opt %s --attn-to-tile=target=sm_80 2>&1 | FileCheck %s --check-prefix=UNIT
// RUN: not fovea-opt %s --attn-to-tile=target=sm_100a 2>&1 | FileCheck %s --check-prefix=BLACKWELL
// RUN: not fovea-opt %s --attn-to-tile='target=sm_90a schedule=transpose_warps=0' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: sed 's/f8E4M3FN/bf16/g' %s | not fovea-opt - --attn-to-tile='target=sm_90a schedule=transpose_warps=2' 2>&1 | FileCheck %s --check-prefix=WIDE
// UNIT: error: there is no kernel for this problem on 'sm_80'; #warp.mma_sync_unit: it does not support elements of 8 bits
// BLACKWELL: error: there is no kernel for this problem on 'sm_100a'
// NONE: error: schedule's 'transpose_warps' must not be 0 for values of 8 bits, which wgmma reads transposed
// WIDE: error: schedule's 'transpose_warps' needs values of 8 bits, found 16
!t = tensor<1x2x?x64xf8E4M3FN>
func.func @f(%q: !t) -> tensor<1x2x?x64xbf16> {
  %o = attn.forward %q, %q, %q : !t, !t, !t -> tensor<1x2x?x64xbf16>
  return %o : tensor<1x2x?x64xbf16>
}
