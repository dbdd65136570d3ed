// RUN: fovea-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' | FileCheck %s

// What the chip has, by its instruction; the rest by polynomials; nothing is left
// that would need a library.
// CHECK-LABEL: gpu.func @f
!memory = memref<?x32xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %x0 = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    // CHECK: llvm.call_intrinsic "llvm.exp2"
    %x1 = math.exp %x0 : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    // CHECK: llvm.call_intrinsic "llvm.exp2"
    %x2 = math.exp2 %x1 : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    // CHECK: llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
    %x3 = math.log %x2 : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    // CHECK: llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
    %x4 = math.log2 %x3 : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    // CHECK: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"
    %x5 = math.rsqrt %x4 fastmath<afn> : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    // CHECK: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
    %x6 = math.tanh %x5 : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    // CHECK: llvm.call_intrinsic "llvm.fabs"
    %x7 = math.absf %x6 : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    // CHECK: llvm.call_intrinsic "llvm.ceil"
    %x8 = math.ceil %x7 : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    // CHECK: llvm.call_intrinsic "llvm.floor"
    %x9 = math.floor %x8 : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    // CHECK: llvm.call_intrinsic "llvm.roundeven"
    %x10 = math.roundeven %x9 : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    // CHECK: llvm.call_intrinsic "llvm.sqrt"
    %x11 = math.sqrt %x10 fastmath<afn> : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    // CHECK: llvm.call_intrinsic "llvm.trunc"
    %x12 = math.trunc %x11 : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    // CHECK: llvm.call_intrinsic "llvm.fma"({{.*}}) {{.*}} : (vector<4xf32>, vector<4xf32>, vector<4xf32>)
    %f = math.fma %x12, %x0, %x0 : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    // CHECK: llvm.call_intrinsic "llvm.copysign"
    %copied = math.copysign %f, %x0 : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    // CHECK: llvm.call_intrinsic "llvm.maxnum"({{.*}}) {{.*}} : (vector<4xf32>, vector<4xf32>)
    %most = arith.maxnumf %copied, %x0 : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    // CHECK: llvm.call_intrinsic "llvm.minnum"({{.*}}) {{.*}} : (vector<4xf32>, vector<4xf32>)
    %g = arith.minnumf %most, %x0 : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    // Approximate divisions: reciprocals, or 2 units in the last place.
    // CHECK: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%{{.*}}) : (f32) -> f32
    // CHECK: llvm.call_intrinsic "llvm.nvvm.div.full"(%{{.*}}, %{{.*}}) : (f32, f32) -> f32
    // CHECK-NOT: arith.divf
    %one = arith.constant dense<1.0> : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    %i = arith.divf %one, %g fastmath<afn> : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    %d = arith.divf %i, %f fastmath<afn> : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    %h = math.sin %d : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    %e = math.erf %h : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    tile.store %e, %k[%c0, %c0] dims [0, 1] : tensor<64x8xf32, #warp.mma_sync<warps = 4>>, !memory
    // CHECK-NOT: math.
    gpu.return
  }
}

// Without `afn`, quotients and roots are rounded to nearest: by no branches, and
// right for operands of any size.
// CHECK-LABEL: gpu.func @exact
gpu.module @n {
  launch.abi @exact target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @exact(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    // CHECK-NOT: llvm.nvvm.div.full
    // CHECK: arith.select
    // CHECK: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%{{.*}}) : (f32) -> f32
    // CHECK-COUNT-6: llvm.call_intrinsic "llvm.fma"
    // CHECK: arith.cmpf uno
    %y = arith.divf %x, %x : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    // CHECK: llvm.call_intrinsic "llvm.nvvm.sqrt.rn.ftz.f"
    %z = math.sqrt %y : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    // CHECK: llvm.call_intrinsic "llvm.nvvm.sqrt.rn.ftz.f"
    // CHECK: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
    %r = math.rsqrt %z : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    tile.store %r, %k[%c0, %c0] dims [0, 1] : tensor<64x8xf32, #warp.mma_sync<warps = 4>>, !memory
    // CHECK: gpu.return
    gpu.return
  }
}

// -----

// Functions that choose between ways, of many elements: each as a whole.
// CHECK-LABEL: gpu.func @long
// CHECK: arith.select %{{.*}} : f32
// CHECK-NOT: arith.select %{{.*}} : vector
// CHECK: vector.from_elements %{{.*}} : vector<8xf32>
!memory = memref<?x32xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @long target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @long(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    %e = math.erf %x : tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    %b = arith.addf %e, %e : tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    tile.store %b, %k[%c0, %c0] dims [0, 1] : tensor<64x16xf32, #warp.mma_sync<warps = 4>>, !memory
    gpu.return
  }
}
