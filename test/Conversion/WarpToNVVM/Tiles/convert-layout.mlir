// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm,canonicalize,cse))' --split-input-file | FileCheck %s

// A lane holds 8 of 32 columns in two rows, with 8 bits each. Adjacent pairs
// stay adjacent, so each of 8 words takes two shuffles, one for each register
// that it may come from. A lane reads from lane 2 (l mod 2) of its quad, or the
// next one.
// CHECK-LABEL: gpu.func @pairs
// CHECK-COUNT-16: nvvm.shfl.sync{{ +}}idx
// CHECK-NOT: nvvm.shfl.sync
// CHECK: gpu.return
!x = tensor<64x32xi32, #warp.mma_sync<warps = 4>>
!narrow = tensor<64x32xi8, #warp.mma_sync<warps = 4>>
!operand = tensor<64x32xi8, #warp.operand<of = #warp.mma_sync<warps = 4>, element_bits = 8>>
!y = tensor<64x32xi32, #warp.operand<of = #warp.mma_sync<warps = 4>, element_bits = 8>>
!memory = memref<?x?xi32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @pairs target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"o", write, tensor<?x?xi32>, ["M", "N"], 4>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @pairs(%o: !memory) kernel {
    %c0 = arith.constant 0 : index
    %v = tile.load %o[%c0, %c0] dims [0, 1] : !memory to !x
    %n = arith.trunci %v : !x to !narrow
    %c = warp.convert_layout %n : !narrow to !operand
    %w = arith.extui %c : !operand to !y
    tile.store %w, %o[%c0, %c0] dims [0, 1] : !y, !memory
    gpu.return
  }
}

// -----

// With another order of columns no data moves, nor does a row value.
// CHECK-LABEL: gpu.func @permuted
// CHECK-NOT: nvvm.shfl.sync
// CHECK: gpu.return
!x = tensor<64x32xi32, #warp.mma_sync<warps = 4>>
!y = tensor<64x32xi32, #warp.operand<of = #warp.mma_sync<warps = 4>, element_bits = 8>>
!row = tensor<64x1xi32, #warp.mma_sync<warps = 4>>
!other = tensor<64x1xi32, #warp.operand<of = #warp.mma_sync<warps = 4>, element_bits = 8>>
!memory = memref<?x?xi32, strided<[?, 1]>>
gpu.module @m {
  launch.abi @permuted target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"o", write, tensor<?x?xi32>, ["M", "N"], 4>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @permuted(%o: !memory) kernel {
    %c0 = arith.constant 0 : index
    %v = tile.load %o[%c0, %c0] dims [0, 1] : !memory to !x
    %c = warp.convert_layout permuted %v : !x to !y
    tile.store %c, %o[%c0, %c0] dims [0, 1] : !y, !memory
    %r = tile.load %o[%c0, %c0] dims [0, -1] : !memory to !row
    %p = warp.convert_layout %r : !row to !other
    tile.store %p, %o[%c0, %c0] dims [0, -1] : !other, !memory
    gpu.return
  }
}
