// Loads 8-bit floats from global memory, adds them in f32 and stores the rounded sums: c = a + b.
!memory = memref<?x64xf8E4M3FN, strided<[?, 1]>>
!tile = tensor<64x64xf8E4M3FN, #tile.reg>
!wide = tensor<64x64xf32, #tile.reg>
gpu.module @sum {
  launch.abi @sum target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 64, tile_n = 64, warps = 4>)
    tensors([#launch.tensor<"a", read, tensor<?x64xf8E4M3FN>, ["M", "N"], 1>,
             #launch.tensor<"b", read, tensor<?x64xf8E4M3FN>, ["M", "N"], 1>,
             #launch.tensor<"c", write, tensor<?x64xf8E4M3FN>, ["M", "N"], 1>])
    parameters([#launch.memref<"a", [0, 1]>, #launch.memref<"b", [0, 1]>, #launch.memref<"c", [0, 1]>])
    grid(["M"] affine_map<()[m] -> (m ceildiv 64)>)
    threads(128) shared_memory(0)
  gpu.func @sum(%A: !memory, %B: !memory, %C: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %w = gpu.block_id x
    %i = arith.muli %w, %c64 : index
    %a = tile.load "a" %A[%i, %c0] dims [0, 1] : !memory to !tile
    %b = tile.load "b" %B[%i, %c0] dims [0, 1] : !memory to !tile
    %x = arith.extf %a : !tile to !wide
    %y = arith.extf %b : !tile to !wide
    %sum = arith.addf %x, %y : !wide
    %c = arith.truncf %sum : !wide to !tile
    tile.store "c" %c, %C[%i, %c0] dims [0, 1] : !tile, !memory
    gpu.return
  }
}
