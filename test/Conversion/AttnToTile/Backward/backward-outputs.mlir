// The output path of dK and dV: TMA in persistent kernels; threads if a CTA has one tile, if
// requested, and if each warp group clears rows of V's stages.
// RUN: fovea-opt %s --fovea-to-warp=target=sm_90a | FileCheck %s --check-prefixes=CHECK,AUTO
// RUN: fovea-opt %s --fovea-to-warp='target=sm_90a schedule=output=tma' | FileCheck %s --check-prefixes=CHECK,AUTO
// RUN: fovea-opt %s --fovea-to-warp='target=sm_90a schedule=output=direct' | FileCheck %s --check-prefixes=CHECK,THREADS
// RUN: fovea-opt %s --fovea-to-warp='target=sm_90a schedule=work=single' | FileCheck %s --check-prefixes=CHECK,THREADS

// CHECK-LABEL: gpu.func @window(
// AUTO: warp.copy_out async "dv_out"
// AUTO: warp.copy_out async "dk_out"
// THREADS: tile.store "dv_out"
// THREADS: tile.store "dk_out"
!t = tensor<?x?x?x64xbf16>
func.func @window(%q: !t, %k: !t, %v: !t, %o: !t, %lse: tensor<?x?x?xf32>, %do: !t) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do
      mask_mod(%b: index, %h: index, %i: index, %j: index) {
        %c1024 = arith.constant 1024 : index
        %d = arith.subi %i, %j : index
        %near = arith.cmpi sle, %d, %c1024 : index
        %past = arith.cmpi sge, %i, %j : index
        %keep = arith.andi %near, %past : i1
        attn.yield %keep : i1
      } : !t, !t, !t, !t, tensor<?x?x?xf32>, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}

// CHECK-LABEL: gpu.func @lengths(
// CHECK: tile.store "dv_out"
// CHECK: tile.store "dk_out"
func.func @lengths(%q: !t, %k: !t, %v: !t, %o: !t, %lse: tensor<?x?x?xf32>, %do: !t, %n: tensor<?xi32>) -> (!t, !t, !t) {
  %dq, %dk, %dv = attn.backward %q, %k, %v, %o, %lse, %do lengths(%n : tensor<?xi32>) : !t, !t, !t, !t, tensor<?x?x?xf32>, !t -> !t, !t, !t
  return %dq, %dk, %dv : !t, !t, !t
}
