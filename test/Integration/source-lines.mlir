// With --line-info PTX says of each instruction by which line of the program it was made: those of a
// score_mod and a mask_mod by theirs, on both ways down; the others by the op's.
// REQUIRES: fovea-compile, fovea-run
// RUN: fovea-compile %s --target=sm_80 --line-info -o %t.80.ptx --metadata=%t.80.json && FileCheck %s --check-prefixes=CHECK,ADD < %t.80.ptx
// RUN: fovea-compile %s --target=sm_90a --line-info -o %t.90.ptx --metadata=%t.90.json && FileCheck %s < %t.90.ptx

// Lines are all that they add.
// RUN: fovea-compile %s --target=sm_90a -o %t.plain.ptx
// RUN: grep -v '\.loc\|\.file\|\$L__[tf]\|^//\|debug_macinfo' %t.90.ptx > %t.left && grep -v '\.loc\|\.file\|\$L__[tf]\|^//\|debug_macinfo' %t.plain.ptx | diff - %t.left
// RUN: not grep '\.loc\|\.file' %t.plain.ptx

// The emulator accepts them, and so does ptxas.
// DEFINE: %{run} = fovea-run %s --device=ptx --random=1 --dims B=1,Hq=2,Hkv=1,Sq=70,Skv=70 --check
// RUN: %{run} --target=sm_80 --kernel=%t.80.ptx --metadata=%t.80.json
// RUN: %{run} --target=sm_90a --kernel=%t.90.ptx --metadata=%t.90.json
// RUN: %if ptxas %{ %ptxas -lineinfo -arch=sm_90a %t.90.ptx -o %t.cubin && grep -c source-lines.mlir %t.cubin %}

// MLIR is then written with locations.
// RUN: fovea-compile --target=sm_80 %s --line-info --emit=warp | FileCheck %s --check-prefix=WARP
// WARP-LABEL: gpu.func @biased(
// WARP: warp.copy {{.*}}loc({{#loc[0-9]*}})
// WARP: loc("{{.*}}source-lines.mlir":{{[0-9]+}}:{{[0-9]+}})

// CHECK-LABEL: .entry biased(
func.func @biased(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %slopes: tensor<?xf32>)
    -> tensor<?x?x?x64xbf16> {
// CHECK: .loc 1 [[#@LINE+1]] 0
  %o = attn.forward %q, %k, %v captures(%slopes : tensor<?xf32>)
    score_mod(%s: f32, %b: index, %h: index, %i: index, %j: index, %slopes: tensor<?xf32>) {
// CHECK-DAG: .loc 1 [[#@LINE+1]] 16
      %slope = tensor.extract %slopes[%h] : tensor<?xf32>
      %distance = arith.subi %j, %i : index
      %narrow = arith.index_cast %distance : index to i32
// CHECK-DAG: .loc 1 [[#@LINE+1]] 16
      %float = arith.sitofp %narrow : i32 to f32
      %bias = arith.mulf %slope, %float : f32
// On sm_90a the product starts from the bias.
// ADD-DAG: .loc 1 [[#@LINE+1]] 17{{.*[[:space:]]}}{{.*}}{{(add|fma)\.rn\.ftz\.f32}}
      %biased = arith.addf %s, %bias : f32
      attn.yield %biased : f32
    }
    mask_mod(%b: index, %h: index, %i: index, %j: index, %slopes: tensor<?xf32>) {
// CHECK-DAG: .loc 1 [[#@LINE+1]] 17
      %causal = arith.cmpi sge, %i, %j : index
      attn.yield %causal : i1
    }
    : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>
    -> tensor<?x?x?x64xbf16>
  return %o : tensor<?x?x?x64xbf16>
}
// CHECK: .file 1 "{{.*}}source-lines.mlir"
