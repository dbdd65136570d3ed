// A matrix product, c = a b, split along the sum: each CTA takes an equal share of the steps of
// all tiles of 128 x 128. The CTA that finishes a tile last adds the partial sums of all of them,
// in the order of their steps.
!memory = memref<?x?xbf16, strided<[?, 1]>>
!a = tensor<128x64xbf16, #tile.reg>
!b = tensor<64x128xbf16, #tile.reg>
!acc = tensor<128x128xf32, #tile.reg>
!out = tensor<128x128xbf16, #tile.reg>
!rows = tensor<16x128xf32, #tile.reg>
!some = tensor<16x128xbf16, #tile.reg>
gpu.module @product {
  launch.abi @product target("sm_90a")
    plan(<#warp.wgmma_unit, tile_m = 128, tile_n = 128, warps = 8, stages = 4, work = shares,
         order = ["c" + 1, "*" + 1, "c.read"],
         roles = [<"load", warps = 4, registers = 40, owns = copies>, <"compute", warps = 8, registers = 232, owns = ["*"]>]>)
    tensors([#launch.tensor<"a", read, tensor<?x?xbf16>, ["M", "K"], 16>,
             #launch.tensor<"b", read, tensor<?x?xbf16>, ["K", "N"], 16>,
             #launch.tensor<"c", write, tensor<?x?xbf16>, ["M", "N"], 16>])
    parameters([#launch.memref<"a", [0, 1]>, #launch.memref<"b", [0, 1]>, #launch.memref<"c", [0, 1]>,
                #launch.scratch_memref<"sums", ["ctas"] affine_map<()[ctas] -> (ctas * 2, 128, 128)>>,
                #launch.workspace_memref])
    // The steps of all tiles, and one for tiles without any.
    grid(["M", "N", "K"] affine_map<()[m, n, k] -> ((m ceildiv 128) * (n ceildiv 128) * (k floordiv 64 + 1))>)
    threads(256) shared_memory(0) persistent(1)
  gpu.func @product(%A: !memory, %B: !memory, %C: !memory, %sums: memref<?x128x128xf32>, %counters: memref<512xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant dense<0.0> : !acc
    %m = memref.dim %A, %c0 : !memory
    %k = memref.dim %A, %c1 : !memory
    %n = memref.dim %B, %c1 : !memory
    %rows = arith.ceildivui %m, %c128 : index
    %columns = arith.ceildivui %n, %c128 : index
    %tiles = arith.muli %rows, %columns : index
    tile.foreach_work %w blocks(%first to %end) part(%part of %parts at %cta) to %tiles schedule(shares) per(%tiles)
      extent(%group: index) {
        %steps = arith.ceildivui %k, %c64 : index
        %some = arith.maxui %steps, %c1 : index
        tile.yield %some : index
      } do {
      %row = arith.remui %w, %rows : index
      %column = arith.divui %w, %rows : index
      %i = arith.muli %row, %c128 : index
      %j = arith.muli %column, %c128 : index
      %from = arith.muli %first, %c64 : index
      // A piece has a step, which the product that is outstanding before the next needs.
      %to = arith.muli %end, %c64 : index
      %span = arith.subi %to, %from : index
      %depth = arith.maxsi %span, %c1 : index
      %sum = scf.for %done = %c0 to %depth step %c64 iter_args(%acc = %zero) -> !acc {
        %l = arith.addi %from, %done : index
        %a = tile.load "a" %A[%i, %l] dims [0, 1] : !memory to !a
        %b = tile.load "b" %B[%l, %j] dims [0, 1] : !memory to !b
        %next = tile.dot "c" %a, %b, %acc : !a, !b, !acc
        scf.yield %next : !acc
      }
      %left = arith.subi %m, %i : index
      %height = arith.minui %left, %c128 : index
      tile.join "sum" (%sum) part(%part of %parts at %cta) rows(%height) memory(%sums) counters(%counters) step 16
        : !acc through memref<?x128x128xf32>, memref<512xi32>
        combine(%x: !rows, %y: !rows) {
          %both = arith.addf %x, %y : !rows
          tile.yield %both : !rows
        }
        whole(%all: !acc) {
          %rounded = arith.truncf %all : !acc to !out
          tile.store "out" %rounded, %C[%i, %j] dims [0, 1] : !out, !memory
          tile.yield
        }
        each(%down: index, %joined: !rows) {
          %at = arith.addi %i, %down : index
          %rounded = arith.truncf %joined : !rows to !some
          tile.store "out" %rounded, %C[%at, %j] dims [0, 1] : !some, !memory
          tile.yield
        }
    }
    gpu.return
  }
}
