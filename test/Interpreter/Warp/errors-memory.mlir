// Shared memory as an argument, tensor memory read with another type.
// RUN: split-file %s %t
// RUN: not fovea-run %t/argument.mlir --random=1 2>&1 | FileCheck %s --check-prefix=ARGUMENT
// ARGUMENT: error: a kernel's argument cannot be a 'memref<16x16xf16, #warp.shared<row_bytes = 32>>'
// RUN: not fovea-run %t/tmem.mlir 2>&1 | FileCheck %s --check-prefix=TMEM
// TMEM: error: reads tensor memory as 'f32' that was written as another type
// TMEM-NEXT: warp.tmem_load
// TMEM: note: written here
// TMEM-NEXT: warp.tmem_store

//--- argument.mlir
!tile = memref<16x16xf16, #warp.shared<row_bytes = 32>>
gpu.module @m {
  gpu.func @f(%x: !tile) kernel {
    gpu.return
  }
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 1, stages = 1>)
    tensors([#launch.tensor<"x", read, tensor<16x16xf16>, ["A", "B"], 16>]) parameters([#launch.memref<"x", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(32) shared_memory(0)
}
//--- tmem.mlir
!scores = memref<128x64xf32, #warp.tmem>
!weights = memref<128x128xbf16, #warp.tmem>
!tile = tensor<128x64xf32, #tile.reg>
!narrow = tensor<128x128xbf16, #tile.reg>
gpu.module @m {
  gpu.func @f() kernel {
    %w = arith.constant dense<1.0> : !narrow
    %s = warp.tmem_alloc column(0) : !scores
    %p = warp.tmem_view %s from 0 : !scores to !weights
    warp.tmem_store %w to %p : !narrow, !weights
    %x = warp.tmem_load %s : !scores to !tile
    gpu.return
  }
  launch.abi @f target("sm_100a") plan(<#warp.mma_sync_unit, tile_m = 16, tile_n = 16, warps = 4, stages = 1>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
}
