// Latent attention: a row of K has 576 columns, the first 512 are the value. K is loaded
// once for both products. Each compute role accumulates half of the output's columns;
// P, the rescaling factors and the inverse row sums reach the second one through streams.
!memory = memref<?x576xbf16, strided<[?, 1]>>
!output = memref<?x512xbf16, strided<[?, 1]>>
!keys = tensor<64x576xbf16, #tile.reg>
!scores = tensor<64x64xf32, #tile.reg>
!keep = tensor<64x64xi1, #tile.reg>
!row = tensor<64x1xf32, #tile.reg>
!half = tensor<64x256xf32, #tile.reg>
!out = tensor<64x256xbf16, #tile.reg>
gpu.module @latent {
  launch.abi @latent target("sm_90a")
    plan(<#warp.wgmma_unit, tile_m = 64, tile_n = 64, warps = 4, work = static, recurrence = conditional,
         streams = [<"q", stages = 1>, <"k", stages = 2>, <"p", stages = 1, staged>,
                    <"factor", stages = 1, staged>, <"scale", stages = 1, staged>],
         roles = [<"load", warps = 4, registers = 24, owns = copies>,
                  <"score", warps = 4, registers = 240, owns = ["s", "p", "factor", "scale", "o.0", "out.0", "lse"]>,
                  <"values", warps = 4, registers = 240, owns = ["o.1", "out.1"]>]>)
    tensors([#launch.tensor<"q", read, tensor<?x576xbf16>, ["M", "D"], 16>,
             #launch.tensor<"k", read, tensor<?x576xbf16>, ["N", "D"], 16>,
             #launch.tensor<"o", write, tensor<?x512xbf16>, ["M", "Dv"], 16>,
             #launch.tensor<"lse", write, tensor<?xf32>, ["M"], 4>])
    parameters([#launch.memref<"q", [0, 1]>, #launch.memref<"k", [0, 1]>, #launch.memref<"o", [0, 1]>, #launch.memref<"lse", [0]>])
    grid(["M"] affine_map<()[m] -> (m ceildiv 64)>)
    threads(128) shared_memory(0) persistent(1)
  gpu.func @latent(%Q: !memory, %K: !memory, %O: !output, %L: memref<?xf32, strided<[1]>>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : !scores
    %hidden = arith.constant dense<0xFF800000> : !scores
    %m = memref.dim %Q, %c0 : !memory
    %n = memref.dim %K, %c0 : !memory
    %n32 = arith.index_cast %n : index to i32
    %blocks = arith.divui %n, %c64 : index
    %full = arith.muli %blocks, %c64 : index
    %tiles = arith.ceildivui %m, %c64 : index
    tile.foreach_work %w to %tiles schedule(static) {
      %i = arith.muli %w, %c64 : index
      %q = tile.load "q" %Q[%i, %c0] dims [0, 1] : !memory to !keys
      %max, %sum, %accs:2 = tile.softmax_sum "o" %c0 to %n step 64 descending full(%c0, %full) scale(0.0416666667)
        scores(%j: index, %partial: i1) {
          %k = tile.load "k" %K[%j, %c0] dims [0, 1] : !memory to !keys
          %s = tile.dot "s" %q, %k, %zero transpose_b : !keys, !keys, !scores
          %masked = scf.if %partial -> !scores {
            %iota = tile.iota dim 1 : tensor<1x64xi32, #tile.reg>
            %j32 = arith.index_cast %j : index to i32
            %base = tile.broadcast %j32 : i32 to tensor<1x64xi32, #tile.reg>
            %key = arith.addi %iota, %base : tensor<1x64xi32, #tile.reg>
            %end = tile.broadcast %n32 : i32 to tensor<1x64xi32, #tile.reg>
            %exists = arith.cmpi slt, %key, %end : tensor<1x64xi32, #tile.reg>
            %keep = tile.broadcast %exists : tensor<1x64xi1, #tile.reg> to !keep
            %x = arith.select %keep, %s, %hidden : !keep, !scores
            scf.yield %x : !scores
          } else {
            scf.yield %s : !scores
          }
          tile.yield %masked : !scores
        }
        values(%j: index) {
          %k = tile.load "k" %K[%j, %c0] dims [0, 1] : !memory to !keys
          tile.yield %k : !keys
        } : !row, !half, !half
      %o:2, %lse = tile.softmax_finish %max, %sum, %accs#0, %accs#1 : !row, !half, !half
      %o0 = arith.truncf %o#0 : !half to !out
      %o1 = arith.truncf %o#1 : !half to !out
      tile.store "out.0" %o0, %O[%i, %c0] dims [0, 1] : !out, !output
      tile.store "out.1" %o1, %O[%i, %c256] dims [0, 1] : !out, !output
      tile.store "lse" %lse, %L[%i] dims [0, -1] : !row, memref<?xf32, strided<[1]>>
    }
    gpu.return
  }
}
