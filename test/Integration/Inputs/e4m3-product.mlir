// A matrix product of 8-bit elements, c = a b^T. The rows of a and b are contiguous along the
// sum, as 8-bit wgmma requires. Two warp groups have 64 rows each of a tile of 128 x 128.
!memory = memref<?x?xf8E4M3FN, strided<[?, 1]>>
!output = memref<?x?xbf16, strided<[?, 1]>>
!operand = tensor<128x128xf8E4M3FN, #tile.reg>
!acc = tensor<128x128xf32, #tile.reg>
!out = tensor<128x128xbf16, #tile.reg>
gpu.module @product {
  launch.abi @product target("sm_90a")
    plan(<#warp.wgmma_unit, tile_m = 128, tile_n = 128, warps = 8, stages = 3, work = static,
         order = ["c" + 1, "*" + 1, "c.read"],
         stores = [<"out", copied>],
         roles = [<"load", warps = 4, registers = 40, owns = copies>, <"compute", warps = 8, registers = 232, owns = ["*"]>]>)
    tensors([#launch.tensor<"a", read, tensor<?x?xf8E4M3FN>, ["M", "K"], 16>,
             #launch.tensor<"b", read, tensor<?x?xf8E4M3FN>, ["N", "K"], 16>,
             #launch.tensor<"c", write, tensor<?x?xbf16>, ["M", "N"], 16>])
    parameters([#launch.memref<"a", [0, 1]>, #launch.memref<"b", [0, 1]>, #launch.memref<"c", [0, 1]>])
    grid(["M", "N"] affine_map<()[m, n] -> ((m ceildiv 128) * (n ceildiv 128))>)
    threads(256) shared_memory(0) persistent(1)
  gpu.func @product(%A: !memory, %B: !memory, %C: !output) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : !acc
    %m = memref.dim %A, %c0 : !memory
    %k = memref.dim %A, %c1 : !memory
    // At least one step, so that a product can be outstanding before the next: past the end all is zero.
    %depth = arith.maxsi %k, %c1 : index
    %n = memref.dim %B, %c0 : !memory
    %rows = arith.ceildivui %m, %c128 : index
    %columns = arith.ceildivui %n, %c128 : index
    %tiles = arith.muli %rows, %columns : index
    tile.foreach_work %w to %tiles schedule(static) {
      %row = arith.remui %w, %rows : index
      %column = arith.divui %w, %rows : index
      %i = arith.muli %row, %c128 : index
      %j = arith.muli %column, %c128 : index
      %sum = scf.for %l = %c0 to %depth step %c128 iter_args(%acc = %zero) -> !acc {
        %a = tile.load "a" %A[%i, %l] dims [0, 1] : !memory to !operand
        %b = tile.load "b" %B[%j, %l] dims [0, 1] : !memory to !operand
        %next = tile.dot "c" %a, %b, %acc transpose_b : !operand, !operand, !acc
        scf.yield %next : !acc
      }
      %rounded = arith.truncf %sum : !acc to !out
      tile.store "out" %rounded, %C[%i, %j] dims [0, 1] : !out, !output
    }
    gpu.return
  }
}
