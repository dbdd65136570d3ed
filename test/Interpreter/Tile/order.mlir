// A kernel's dimension d is the host's dimension order[d]: this kernel reads
// the transposed tensor. All blocks of the grid run, with a scalar argument.
// RUN: %python %S/../Inputs/npy.py write %t.x.npy f16 "np.arange(6).reshape(2, 3)"
// RUN: fovea-run %s --inputs %t.x.npy 0.5 --outputs %t.o.npy
// RUN: %python %S/../Inputs/npy.py print %t.o.npy | FileCheck %s

// CHECK: shape 3 2
// CHECK-NEXT: 0 1.5
// CHECK-NEXT: 0.5 2
// CHECK-NEXT: 1 2.5
gpu.module @m {
  gpu.func @f(%x: memref<?x?xf16, strided<[?, ?]>>, %factor: f16, %o: memref<?x?xf16>) kernel {
    %c0 = arith.constant 0 : index
    %i = gpu.block_id x
    %f = tile.broadcast %factor : f16 to tensor<1x2xf16, #tile.reg>
    %a = tile.load %x[%i, %c0] dims [0, 1] : memref<?x?xf16, strided<[?, ?]>> to tensor<1x2xf16, #tile.reg>
    %b = arith.mulf %a, %f : tensor<1x2xf16, #tile.reg>
    tile.store %b, %o[%i, %c0] dims [0, 1] : tensor<1x2xf16, #tile.reg>, memref<?x?xf16>
    gpu.return
  }
  launch.abi @f target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<?x?xf16>, ["A", "B"], 2>, #launch.tensor<"o", write, tensor<?x?xf16>, ["B", "A"], 2>])
    parameters([#launch.memref<"x", [1, 0]>, #launch.scalar<"factor", f16>, #launch.memref<"o", [0, 1]>])
    grid(["B"] affine_map<()[b] -> (b)>) threads(32) shared_memory(0)
}
