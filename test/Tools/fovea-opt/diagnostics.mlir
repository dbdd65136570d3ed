// A diagnostic has a location and shows the source line. The op is printed only
// on request, since an isolated op is printed without operand names.
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=17" 2>&1 | FileCheck %s --implicit-check-not=UNKNOWN --implicit-check-not="see current operation"
// RUN: sed -e 's/^!k = tensor<1x1x?x8x/!k = tensor<1x1x?x24x/' %s | not fovea-opt 2>&1 | FileCheck %s --check-prefix=VERIFIER --implicit-check-not=UNKNOWN
// RUN: not fovea-opt %s --attn-to-tile="target=sm_80 schedule=tile_m=17" --mlir-print-op-on-diagnostic 2>&1 | FileCheck %s --check-prefix=ASKED

// CHECK:      diagnostics.mlir:[[@LINE+11]]:8: error: schedule's 'tile_m' must be a multiple of 16 rows for each of 4 warps, found 17
// CHECK-NEXT: {{^}}  %o = attn.forward %q, %k, %k : tensor<
// CHECK-NEXT: {{^}}       ^

// VERIFIER: error: 'attn.forward' op query and key must have the same head dim, found 8 and 24

// ASKED: error: schedule's 'tile_m'
// ASKED: note: see current operation

!k = tensor<1x1x?x8xf16>
func.func @f(%q: tensor<1x1x?x8xf16>, %k: !k) -> tensor<1x1x?x8xf16> {
  %o = attn.forward %q, %k, %k : tensor<1x1x?x8xf16>, !k, !k -> tensor<1x1x?x8xf16>
  return %o : tensor<1x1x?x8xf16>
}
