// A stock mlir-opt learns Fovea's dialects, passes and pipelines.
// REQUIRES: plugin
// RUN: mlir-opt --load-dialect-plugin=%plugin %examples/causal.mlir | FileCheck %s
// RUN: mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin --canonicalize %s | FileCheck %s --check-prefix=CANON
// RUN: mlir-opt --load-pass-plugin=%plugin --help | FileCheck %s --check-prefix=HELP
// RUN: not mlir-opt %examples/causal.mlir 2>&1 | FileCheck %s --check-prefix=WITHOUT

// CHECK-LABEL: func.func @causal(
// CHECK: attn.forward
// HELP: --fovea-to-nvvm
// WITHOUT: error: {{.*}}attn

// CANON-LABEL: func.func @identity
// CANON: attn.forward %{{.*}}, %{{.*}}, %{{.*}} :
func.func @identity(%q: tensor<1x1x8x16xf16>) -> tensor<1x1x8x16xf16> {
  %o = attn.forward %q, %q, %q
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index) {
      attn.yield %s : f32
    } : tensor<1x1x8x16xf16>, tensor<1x1x8x16xf16>, tensor<1x1x8x16xf16> -> tensor<1x1x8x16xf16>
  return %o : tensor<1x1x8x16xf16>
}
