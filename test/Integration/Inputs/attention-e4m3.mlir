// Attention on 8-bit elements. wgmma sums 8-bit operands along contiguous memory only, but the
// rows of V are keys. The role "transpose" therefore reads the stream "v" and fills the stream "vt"
// with V transposed; the role "compute" reads that one.
!query = memref<?x128xf8E4M3FN, strided<[?, 1]>>
!output = memref<?x128xbf16, strided<[?, 1]>>
!rows = tensor<128x128xf8E4M3FN, #tile.reg>
!keys = tensor<64x128xf8E4M3FN, #tile.reg>
!transposed = tensor<128x64xf8E4M3FN, #tile.reg>
!scores = tensor<128x64xf32, #tile.reg>
!keep = tensor<128x64xi1, #tile.reg>
!row = tensor<128x1xf32, #tile.reg>
!acc = tensor<128x128xf32, #tile.reg>
!out = tensor<128x128xbf16, #tile.reg>
gpu.module @attention {
  launch.abi @attention target("sm_90a")
    plan(<#warp.wgmma_unit, tile_m = 128, tile_n = 64, warps = 8, work = static, recurrence = deferred,
         streams = [<"q", stages = 1>, <"k", stages = 2>, <"v", stages = 2>, <"vt", stages = 2>],
         roles = [<"load", warps = 4, registers = 24, owns = copies>,
                  <"transpose", warps = 4, registers = 72, owns = ["vt"]>,
                  <"compute", warps = 8, registers = 208, owns = ["*"]>],
         order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1]>)
    tensors([#launch.tensor<"q", read, tensor<?x128xf8E4M3FN>, ["M", "D"], 16>,
             #launch.tensor<"k", read, tensor<?x128xf8E4M3FN>, ["N", "D"], 16>,
             #launch.tensor<"v", read, tensor<?x128xf8E4M3FN>, ["N", "D"], 16>,
             #launch.tensor<"o", write, tensor<?x128xbf16>, ["M", "D"], 16>,
             #launch.tensor<"lse", write, tensor<?xf32>, ["M"], 4>])
    parameters([#launch.memref<"q", [0, 1]>, #launch.memref<"k", [0, 1]>, #launch.memref<"v", [0, 1]>,
                #launch.memref<"o", [0, 1]>, #launch.memref<"lse", [0]>])
    grid(["M"] affine_map<()[m] -> (m ceildiv 128)>)
    threads(256) shared_memory(0) persistent(1)
  gpu.func @attention(%Q: !query, %K: !query, %V: !query, %O: !output, %L: memref<?xf32, strided<[1]>>) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : !scores
    %hidden = arith.constant dense<0xFF800000> : !scores
    %m = memref.dim %Q, %c0 : !query
    %n = memref.dim %K, %c0 : !query
    %n32 = arith.index_cast %n : index to i32
    %blocks = arith.divui %n, %c64 : index
    %full = arith.muli %blocks, %c64 : index
    %tiles = arith.ceildivui %m, %c128 : index
    tile.foreach_work %w to %tiles schedule(static) {
      %i = arith.muli %w, %c128 : index
      %q = tile.load "q" %Q[%i, %c0] dims [0, 1] : !query to !rows
      %max, %sum, %acc = tile.softmax_sum "o" %c0 to %n step 64 descending full(%c0, %full) scale(0.0883883476)
        scores(%j: index, %partial: i1) {
          %k = tile.load "k" %K[%j, %c0] dims [0, 1] : !query to !keys
          %s = tile.dot "s" %q, %k, %zero transpose_b : !rows, !keys, !scores
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
          %v = tile.load "v" %V[%j, %c0] dims [0, 1] : !query to !keys
          %t = tile.transpose %v : !keys to !transposed
          %vt = tile.stream "vt" %t : !transposed
          // The dot reads the stream in the other order.
          %back = tile.transpose %vt : !transposed to !keys
          tile.yield %back : !keys
        } : !row, !acc
      %o, %lse = tile.softmax_finish %max, %sum, %acc : !row, !acc
      %rounded = arith.truncf %o : !acc to !out
      tile.store "out" %rounded, %O[%i, %c0] dims [0, 1] : !out, !output
      tile.store "lse" %lse, %L[%i] dims [0, -1] : !row, memref<?xf32, strided<[1]>>
    }
    gpu.return
  }
}
