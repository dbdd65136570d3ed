// The gradients of an f32 output, which is read in f32; dO has the operand type of the products.
// REQUIRES: fovea-run
// RUN: fovea-opt %s --attn-make-gradient=only-backward -o %t.mlir
// DEFINE: %{run} = fovea-run %t.mlir --random=1 --dims=B=1,Hq=2,Hkv=1,Sq=70,Skv=90
// RUN: %{run} --check=differences | FileCheck %s
// RUN: %{run} --check --target=sm_80 --level=tile | FileCheck %s
// RUN: %{run} --check --target=sm_80 --level=warp | FileCheck %s
// RUN: %{run} --check --target=sm_80 --level=ptx | FileCheck %s
// RUN: %{run} --check --target=sm_90a --level=tile | FileCheck %s
// RUN: %{run} --check --target=sm_90a --level=warp | FileCheck %s
// RUN: %{run} --check --target=sm_90a --level=ptx | FileCheck %s
// CHECK: dq {{.*}}: passed
// CHECK-NEXT: dk {{.*}}: passed
// CHECK-NEXT: dv {{.*}}: passed

!t = tensor<?x?x?x64xf16>
!o = tensor<?x?x?x64xf32>
func.func @f(%q: !t, %k: !t, %v: !t) -> !o {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !t, !t, !t -> !o
  return %o : !o
}
