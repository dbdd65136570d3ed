// A mask that compares floats may use hardware functions: they stay the same
// when scalarized.
// RUN: fovea-compile %s --target=sm_80 --emit=llvm -o - | FileCheck %s
// RUN: fovea-compile %s --target=sm_90a --emit=ptx -o - | FileCheck %s --check-prefix=PTX
// CHECK-LABEL: define ptx_kernel void @f(
// CHECK: call afn float @llvm.fma.f32
// PTX-LABEL: .entry f(
// PTX: ex2.approx.ftz.f32

!t = tensor<1x1x?x64xf16>
func.func @f(%q: !t, %k: !t, %v: !t) -> !t {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %x = arith.index_cast %j : index to i32
      %f = arith.sitofp %x : i32 to f32
      %t = math.tanh %f : f32
      %half = arith.constant 0.5 : f32
      %keep = arith.cmpf olt, %t, %half : f32
      attn.yield %keep : i1
    } : !t, !t, !t -> !t
  return %o : !t
}
