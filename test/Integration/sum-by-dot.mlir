// Row sums by a product with ones, from the rounded probabilities of the product.
// REQUIRES: fovea-run
// DEFINE: %{run} = fovea-run %s --level=tile --check --random=1
// RUN: %{run} --target=sm_80 --schedule=sum_by_dot=1 --dims B=1,Hq=2,Hkv=1,Sq=150,Skv=333
// RUN: %{run} --target=sm_80 --schedule=sum_by_dot=1,recurrence=conditional --dims B=1,Hq=2,Hkv=1,Sq=150,Skv=333 --magnitude=30
// RUN: %{run} --target=sm_80 --schedule=sum_by_dot=1,recurrence=lazy --dims B=1,Hq=2,Hkv=1,Sq=150,Skv=333 --magnitude=30
// RUN: %{run} --target=sm_90a --schedule=sum_by_dot=1 --dims B=1,Hq=2,Hkv=1,Sq=300,Skv=100
// RUN: fovea-run %s --check --random=1 --level=warp --target=sm_90a --dims B=1,Hq=2,Hkv=1,Sq=300,Skv=200
// In every recurrence that has such sums, on the way to wgmma too.
// RUN: fovea-run %s --check --random=1 --level=warp --target=sm_90a --schedule=sum_by_dot=1,recurrence=deferred --dims B=1,Hq=2,Hkv=1,Sq=300,Skv=200 --magnitude=30
// RUN: fovea-run %s --check --random=1 --level=warp --target=sm_90a --schedule=sum_by_dot=1,recurrence=conditional --dims B=1,Hq=2,Hkv=1,Sq=300,Skv=200 --magnitude=30
// RUN: %python %S/../GPU/gpu_variants.py --no-lse softcap_bf16_d64_bhsd > %t.mlir
// RUN: fovea-run %t.mlir --check --random=1 --level=warp --target=sm_90a --schedule=sum_by_dot=1 --dims B=1,Hq=2,Hkv=1,Sq=300,Skv=200 --magnitude=30
// RUN: fovea-opt %s --attn-to-tile="target=sm_80 schedule=sum_by_dot=1" | FileCheck %s
// RUN: fovea-opt %s --attn-to-tile=target=sm_90a | FileCheck %s
// RUN: fovea-opt %s --fovea-to-warp=target=sm_90a | FileCheck %s --check-prefix=WARP

// CHECK-LABEL: launch.abi @forward
// CHECK-SAME: sum_by_dot,
// Each product of P and V is one dot, the first one without earlier
// accumulators.
// WARP-LABEL: gpu.func @forward(
// WARP-NOT: warp.dot async {{("[^"]+" )?}}%{{.*}}, %{{.*}}, %{{.*}} : tensor
// WARP: warp.dot async {{("[^"]+" )?}}%{{.*}}, %{{.*}}, %{{.*}} ones(

!q = tensor<?x?x?x64xbf16>
func.func @forward(%q: !q, %k: !q, %v: !q) -> !q {
  %o = attn.forward %q, %k, %v
    mask_mod(%b: index, %h: index, %i: index, %j: index) {
      %keep = arith.cmpi sge, %i, %j : index
      attn.yield %keep : i1
    } : !q, !q, !q -> !q
  return %o : !q
}
