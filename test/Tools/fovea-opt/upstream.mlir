// Upstream's dialects and passes are there, so that other compilers' pipelines run in one tool with ours: what is
// around attention by theirs, attention by ours.
// RUN: fovea-opt %s --linalg-generalize-named-ops --fovea-to-nvvm=target=sm_80 | FileCheck %s
// RUN: fovea-opt %s --attn-outline --attn-to-tile=target=sm_80 \
// RUN:   --one-shot-bufferize='bufferize-function-boundaries allow-unknown-ops' --convert-linalg-to-loops | FileCheck %s --check-prefix=LOOPS
// CHECK-LABEL: gpu.module @f_forward_module
// CHECK: llvm.func @f_forward(
// CHECK-LABEL: func.func @f(
// CHECK: linalg.generic
// CHECK: call @f_forward(
// LOOPS-LABEL: func.func @f(
// LOOPS: scf.for
// LOOPS: call @f_forward(

!t = tensor<1x2x128x64xbf16>
func.func @f(%q: !t, %k: !t, %v: !t) -> !t {
  %empty = tensor.empty() : !t
  %twice = linalg.add ins(%q, %q : !t, !t) outs(%empty : !t) -> !t
  %o = attn.forward %twice, %k, %v : !t, !t, !t -> !t
  return %o : !t
}
