// A gradient's o and lse are not random but computed by its forward. If logits are large or
// there is a single key, one key has each row's whole probability: P (dP - delta) vanishes,
// and the check allows for its f32 rounding error.
// DEFINE: %{run} = fovea-run %s --random=2 --check --dims=Sq=70
// RUN: rm -rf %t && mkdir %t
// RUN: %{run},Skv=90 --entry=gradients --save-inputs=%t | FileCheck %s
// RUN: %{run},Skv=90 --entry=forward | FileCheck %s --check-prefix=FORWARD
// RUN: fovea-run %s --entry=forward --inputs %t/q.npy %t/k.npy %t/v.npy --outputs %t/o2.npy %t/lse2.npy
// RUN: cmp %t/o.npy %t/o2.npy
// RUN: cmp %t/lse.npy %t/lse2.npy
// RUN: %{run},Skv=90 --entry=gradients --magnitude=200 --level=ptx --target=sm_90a | FileCheck %s
// RUN: %{run},Skv=90 --entry=gradients --magnitude=200 --level=ptx --target=sm_80 | FileCheck %s
// RUN: %{run},Skv=1 --entry=gradients --level=ptx --target=sm_90a | FileCheck %s
// RUN: %{run},Skv=1 --entry=gradients --level=ptx --target=sm_80 | FileCheck %s
// CHECK: dq {{.*}} passed
// CHECK-NEXT: dk {{.*}} passed
// CHECK-NEXT: dv {{.*}} passed
// FORWARD: o {{.*}} passed
// FORWARD-NEXT: lse {{.*}} passed

// The tolerance does not hide wrong gradients: those of kernels with another scale.
// RUN: sed 's/scale(0.125)/scale(0.12)/' %s > %t/other.mlir
// RUN: not %{run},Skv=90 --entry=gradients --level=tile --target=sm_80 --reference=%t/other.mlir | FileCheck %s --check-prefix=WRONG
// WRONG: dq {{.*}} FAILED

!x = tensor<1x2x?x64xbf16>
!r = tensor<1x2x?xf32>
func.func @gradients(%q: !x, %k: !x, %v: !x, %o: !x, %lse: !r, %do: !x) -> (!x, !x, !x) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do scale(0.125) gradients(q, k, v)
    : !x, !x, !x, !x, !r, !x -> !x, !x, !x
  return %dq, %dk, %dv : !x, !x, !x
}

func.func @forward(%q: !x, %k: !x, %v: !x) -> (!x, !r) {
  %o, %lse = attn.forward %q, %k, %v scale(0.125) : !x, !x, !x -> !x, !r
  return %o, %lse : !x, !r
}
