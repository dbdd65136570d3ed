// A matrix product, c = a b. Two CTAs of a cluster have 128 rows each of a tile of
// 256 x 256, two warp groups 64 each of these; both get all of b's box by multicast.
!memory = memref<?x?xbf16, strided<[?, 1]>>
!a = tensor<256x64xbf16, #tile.reg>
!b = tensor<64x256xbf16, #tile.reg>
!acc = tensor<256x256xf32, #tile.reg>
!out = tensor<256x256xbf16, #tile.reg>
gpu.module @product {
  launch.abi @product target("sm_90a")
    plan(<#warp.wgmma_unit, tile_m = 128, tile_n = 256, warps = 8, stages = 3, cluster = 2, work = static,
         order = ["c" + 1, "*" + 1, "c.read"],
         stores = [<"out", copied>],
         roles = [<"load", warps = 4, registers = 40, owns = copies>, <"compute", warps = 8, registers = 232, owns = ["*"]>]>)
    tensors([#launch.tensor<"a", read, tensor<?x?xbf16>, ["M", "K"], 16>,
             #launch.tensor<"b", read, tensor<?x?xbf16>, ["K", "N"], 16>,
             #launch.tensor<"c", write, tensor<?x?xbf16>, ["M", "N"], 16>])
    parameters([#launch.memref<"a", [0, 1]>, #launch.memref<"b", [0, 1]>, #launch.memref<"c", [0, 1]>])
    grid(["M", "N"] affine_map<()[m, n] -> ((m ceildiv 256) * (n ceildiv 256) * 2)>)
    threads(256) shared_memory(0) persistent(1) cluster(2)
  gpu.func @product(%A: !memory, %B: !memory, %C: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : !acc
    %m = memref.dim %A, %c0 : !memory
    %k = memref.dim %A, %c1 : !memory
    // At least one step, so that a product can be outstanding before the next: past the end all is zero.
    %depth = arith.maxsi %k, %c1 : index
    %n = memref.dim %B, %c1 : !memory
    %rows = arith.ceildivui %m, %c256 : index
    %columns = arith.ceildivui %n, %c256 : index
    %tiles = arith.muli %rows, %columns : index
    // Groups of 8 rows of tiles: B is read from L2 by all of them.
    %c8 = arith.constant 8 : index
    %inGroup = arith.muli %columns, %c8 : index
    tile.foreach_work %w to %tiles schedule(static) {
      %group = arith.divui %w, %inGroup : index
      %place = arith.remui %w, %inGroup : index
      %first = arith.muli %group, %c8 : index
      %left = arith.subi %rows, %first : index
      %height = arith.minui %left, %c8 : index
      %down = arith.remui %place, %height : index
      %along = arith.divui %place, %height : index
      %row = arith.addi %first, %down : index
      %i = arith.muli %row, %c256 : index
      %j = arith.muli %along, %c256 : index
      %sum = scf.for %l = %c0 to %depth step %c64 iter_args(%acc = %zero) -> !acc {
        %a = tile.load "a" %A[%i, %l] dims [0, 1] : !memory to !a
        %b = tile.load "b" %B[%l, %j] dims [0, 1] : !memory to !b
        %next = tile.dot "c" %a, %b, %acc : !a, !b, !acc
        scf.yield %next : !acc
      }
      %rounded = arith.truncf %sum : !acc to !out
      tile.store "out" %rounded, %C[%i, %j] dims [0, 1] : !out, !memory
    }
    gpu.return
  }
}
