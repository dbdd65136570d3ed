// Upstream's path to binaries accepts the output of fovea-to-nvvm: tensor maps are
// passed by value there, too.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(fovea-to-nvvm{target=sm_90a},nvvm-attach-target{chip=sm_90a features=+ptx80},gpu-module-to-binary{format=isa})' \
// RUN:   | FileCheck %s

// CHECK-LABEL: gpu.binary @f_module [#gpu.object<#nvvm.target<chip = "sm_90a", features = "+ptx80">
// CHECK-SAME: .visible .entry f(
// CHECK-SAME: .param .align 64 .b8 f_param_0[128]
!t = tensor<1x2x70x64xbf16>
func.func @f(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v : !t, !t, !t -> !t
  return %o : !t
}
