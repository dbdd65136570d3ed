// RUN: fovea-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' | FileCheck %s

// Hardware instructions if there are any, otherwise polynomials; no library
// function is left.
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
    // Approximate divisions: reciprocals, or 2 ulp.
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

// Without `afn`, quotients and roots are rounded to nearest, without branches,
// and correct for operands of any magnitude.
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

// Functions with several ranges on many elements: one element at a time.
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

// -----

// Large angles are reduced in a warp-uniform branch, a few per block; the sine
// itself is outside of it.
// CHECK-LABEL: gpu.func @angles
// CHECK: %[[ANY:.*]] = nvvm.vote.sync any %{{.*}}, %{{.*}} -> i1
// CHECK: scf.if %[[ANY]] -> (vector<8xf32>, i32)
// CHECK: %[[FEW:.*]] = nvvm.vote.sync any
// CHECK: scf.if %[[FEW]] -> (f32, f32)
// CHECK: llvm.call_intrinsic "llvm.fshl.i32"
// CHECK: scf.yield %{{.*}}, %{{.*}} : vector<8xf32>, i32
// CHECK: vector.to_elements %{{.*}}#0 : vector<8xf32>
// CHECK-NOT: llvm.fshl
// CHECK-NOT: scf.if
// CHECK-NOT: math.
// CHECK: gpu.return
!memory = memref<?x32xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @angles target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @angles(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    %y = math.cos %x : tensor<64x16xf32, #warp.mma_sync<warps = 4>>
    tile.store %y, %k[%c0, %c0] dims [0, 1] : tensor<64x16xf32, #warp.mma_sync<warps = 4>>, !memory
    gpu.return
  }
}

// -----

// Few angles: without a branch.
// CHECK-LABEL: gpu.func @few
// CHECK-NOT: scf.if
// CHECK: llvm.call_intrinsic "llvm.fshl.i32"
// CHECK-NOT: scf.if
// CHECK: gpu.return
!memory = memref<?x32xf32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @few target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @few(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %k[%c0, %c0] dims [0, 1] : !memory to tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    %y = math.sin %x : tensor<64x8xf32, #warp.mma_sync<warps = 4>>
    tile.store %y, %k[%c0, %c0] dims [0, 1] : tensor<64x8xf32, #warp.mma_sync<warps = 4>>, !memory
    gpu.return
  }
}

// -----

// Functions without an instruction: no library function is left.
// CHECK-LABEL: gpu.func @functions
// CHECK-NOT: math.
// CHECK: gpu.return
!memory = memref<?x32xf32, strided<[?, 1]>>
!tile = tensor<64x8xf32, #warp.mma_sync<warps = 4>>
gpu.module @m {
  launch.abi @functions target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @functions(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %k[%c0, %c0] dims [0, 1] : !memory to !tile
    %n = arith.fptosi %x : !tile to tensor<64x8xi32, #warp.mma_sync<warps = 4>>
    %0 = math.tan %x : !tile
    %1 = math.asin %0 : !tile
    %2 = math.acos %1 : !tile
    %3 = math.atan %2 : !tile
    %4 = math.atan2 %3, %x : !tile
    %5 = math.sinh %4 : !tile
    %6 = math.cosh %5 : !tile
    %7 = math.asinh %6 : !tile
    %8 = math.acosh %7 : !tile
    %9 = math.atanh %8 : !tile
    %10 = math.expm1 %9 : !tile
    %11 = math.log1p %10 : !tile
    %12 = math.log10 %11 : !tile
    %13 = math.powf %12, %x : !tile
    %14 = math.fpowi %13, %n : !tile, tensor<64x8xi32, #warp.mma_sync<warps = 4>>
    %15 = math.erfc %14 : !tile
    %16 = math.cbrt %15 : !tile
    tile.store %16, %k[%c0, %c0] dims [0, 1] : !tile, !memory
    gpu.return
  }
}
