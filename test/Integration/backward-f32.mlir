// Gradients of f32 tensors: products with the error of f32, and with tf32. Warps share the columns of wide heads.
// REQUIRES: fovea-run
// RUN: fovea-opt %s --attn-make-gradient=only-backward -o %t.mlir
// RUN: sed 's, tf32,,' %t.mlir > %t.exact.mlir
// DEFINE: %{run} = fovea-run %t.exact.mlir --random=1 --dims=B=1,Hq=2,Hkv=1,Sq=70,Skv=90 --check
// RUN: %{run} --target=sm_80 --level=tile | FileCheck %s
// RUN: %{run} --target=sm_80 --level=warp | FileCheck %s
// RUN: %{run} --target=sm_80 --level=ptx | FileCheck %s
// RUN: %{run} --target=sm_90a --level=ptx | FileCheck %s
// RUN: %{run} --target=sm_86 --level=ptx | FileCheck %s
// RUN: fovea-run %t.mlir --random=1 --dims=B=1,Hq=2,Hkv=1,Sq=70,Skv=90 --target=sm_80 --level=ptx --check | FileCheck %s
// The tolerance above allows for tf32. A kernel that rounds without permission fails the check.
// RUN: not fovea-run %t.mlir --reference=%t.exact.mlir --random=1 --dims=B=1,Hq=2,Hkv=1,Sq=70,Skv=90 --target=sm_80 --level=ptx --check | FileCheck %s --check-prefix=ROUNDED
// CHECK: dq {{.*}}: passed
// CHECK: dk {{.*}}: passed
// CHECK: dv {{.*}}: passed
// ROUNDED: dq {{.*}}: FAILED

!q = tensor<?x?x?x128xf32>
!v = tensor<?x?x?x96xf32>
func.func @f(%q: !q, %k: !q, %v: !v) -> !v {
  %o = attn.forward %q, %k, %v tf32
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %c20 = arith.constant 20 : index
      %last = arith.addi %i, %c20 : index
      %keep = arith.cmpi sge, %last, %j : index
      attn.yield %keep : i1
    } : !q, !q, !v -> !v
  return %o : !v
}
