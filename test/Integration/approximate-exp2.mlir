// Polynomials in place of exponentials: in attention, with every recurrence, and
// at the ends: -inf, large negative arguments, NaN.
//
// REQUIRES: fovea-run
// RUN: fovea-run %examples/causal.mlir --level=warp --target=sm_80 --schedule=exp2_by_fma=50,recurrence=deferred --check --random=1 --magnitude=8 --dims B=1,Hq=2,Hkv=1,Sq=150,Skv=333
// RUN: fovea-run %examples/causal.mlir --level=warp --target=sm_80 --schedule=exp2_by_fma=100,recurrence=lazy --check --random=1 --magnitude=8 --dims B=1,Hq=2,Hkv=1,Sq=150,Skv=333
// RUN: fovea-run %examples/causal.mlir --level=warp --target=sm_90a --schedule=exp2_by_fma=25,recurrence=lazy --check --random=1 --magnitude=8 --dims B=1,Hq=2,Hkv=1,Sq=150,Skv=333
// RUN: fovea-run %examples/causal.mlir --level=warp --target=sm_90a --schedule=exp2_by_fma=100,recurrence=lazy --check --random=1 --magnitude=8 --dims B=1,Hq=2,Hkv=1,Sq=150,Skv=333
// RUN: fovea-run %examples/causal.mlir --level=warp --target=sm_90a --schedule=exp2_by_fma=50,recurrence=conditional --check --random=1 --magnitude=8 --dims B=1,Hq=2,Hkv=1,Sq=150,Skv=333
// RUN: fovea-run %examples/causal.mlir --level=warp --target=sm_90a --schedule=exp2_by_fma=50,recurrence=normalized --check --random=1 --magnitude=8 --dims B=1,Hq=2,Hkv=1,Sq=150,Skv=333
// RUN: fovea-run %examples/causal.mlir --level=warp --target=sm_90a --schedule=exp2_by_fma=50,recurrence=three_pass --check --random=1 --magnitude=8 --dims B=1,Hq=2,Hkv=1,Sq=150,Skv=333
// RUN: fovea-run %examples/sinks_window.mlir --level=warp --target=sm_90a --schedule=exp2_by_fma=100 --check --random=1 --dims B=1,Hq=8,Hkv=8,Sq=100,Skv=300
// RUN: fovea-run %examples/lengths.mlir --level=warp --target=sm_90a --schedule=exp2_by_fma=50 --check --random=1 --dims B=3,Hq=2,Hkv=2,Sq=100,Skv=300

// RUN: mkdir -p %t
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-approximate-exp2{share=100})))' -o %t/kernel.mlir
// RUN: %python %S/Inputs/approximate_exp2.py make %t
// RUN: fovea-run %t/kernel.mlir --inputs %t/x.npy --outputs %t/y.npy %t/h.npy
// RUN: %python %S/Inputs/approximate_exp2.py check %t | FileCheck %s
// CHECK: ends: ok
// CHECK: relative error: ok

!t = tensor<16x64xf32, #tile.reg>
!h = tensor<16x64xf16, #tile.reg>
gpu.module @kernels {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<?x64xf32>, ["S", "D"], 4>,
             #launch.tensor<"y", write, tensor<?x64xf32>, ["S", "D"], 4>,
             #launch.tensor<"h", write, tensor<?x64xf16>, ["S", "D"], 2>])
    parameters([#launch.memref<"x", [0, 1]>, #launch.memref<"y", [0, 1]>, #launch.memref<"h", [0, 1]>])
    grid(["S"] affine_map<()[n] -> (n ceildiv 16)>) threads(32) shared_memory(0)
  gpu.func @f(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %h: memref<?x64xf16>) kernel {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %block = gpu.block_id x
    %i = arith.muli %block, %c16 : index
    %s = tile.load %x[%i, %c0] dims [0, 1] : memref<?x64xf32> to !t
    %e = math.exp2 %s : !t
    %w = arith.truncf %e : !t to !h
    tile.store %e, %y[%i, %c0] dims [0, 1] : !t, memref<?x64xf32>
    tile.store %w, %h[%i, %c0] dims [0, 1] : !h, memref<?x64xf16>
    gpu.return
  }
}
