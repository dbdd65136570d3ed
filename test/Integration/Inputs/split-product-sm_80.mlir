// A matrix product whose sum is split: two CTAs add their halves to c = a b, in f32.
!memory = memref<?x?xbf16, strided<[?, 1]>>
!a = tensor<128x64xbf16, #tile.reg>
!b = tensor<64x128xbf16, #tile.reg>
!acc = tensor<128x128xf32, #tile.reg>
!sums = memref<?x?xf32, strided<[?, 1]>>
gpu.module @split_product {
  launch.abi @split_product target("sm_80")
    plan(<#warp.mma_sync_unit, tile_m = 128, tile_n = 128, stages = 3>)
    tensors([#launch.tensor<"a", read, tensor<?x?xbf16>, ["M", "K"], 16>,
             #launch.tensor<"b", read, tensor<?x?xbf16>, ["K", "N"], 16>,
             #launch.tensor<"c", accumulate, tensor<?x?xf32>, ["M", "N"], 16>])
    parameters([#launch.memref<"a", [0, 1]>, #launch.memref<"b", [0, 1]>, #launch.memref<"c", [0, 1]>])
    grid(["M", "N"] affine_map<()[m, n] -> ((m ceildiv 128) * (n ceildiv 128) * 2)>)
    threads(128) shared_memory(0)
  gpu.func @split_product(%A: !memory, %B: !memory, %C: !sums) kernel {
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
    %c2 = arith.constant 2 : index
    %items = arith.muli %tiles, %c2 : index
    %steps = arith.ceildivui %k, %c128 : index
    %half = arith.muli %steps, %c64 : index
    // Groups of 8 rows of tiles: B is read from L2 by all of them.
    %c8 = arith.constant 8 : index
    %inGroup = arith.muli %columns, %c8 : index
    tile.foreach_work %item to %items schedule(single) {
      %w = arith.divui %item, %c2 : index
      %part = arith.remui %item, %c2 : index
      %from = arith.muli %part, %half : index
      %end = arith.addi %from, %half : index
      %to = arith.minui %end, %k : index
      %group = arith.divui %w, %inGroup : index
      %place = arith.remui %w, %inGroup : index
      %first = arith.muli %group, %c8 : index
      %left = arith.subi %rows, %first : index
      %height = arith.minui %left, %c8 : index
      %down = arith.remui %place, %height : index
      %along = arith.divui %place, %height : index
      %row = arith.addi %first, %down : index
      %i = arith.muli %row, %c128 : index
      %j = arith.muli %along, %c128 : index
      %sum = scf.for %l = %from to %to step %c64 iter_args(%acc = %zero) -> !acc {
        %a = tile.load "a" %A[%i, %l] dims [0, 1] : !memory to !a
        %b = tile.load "b" %B[%l, %j] dims [0, 1] : !memory to !b
        %next = tile.dot "c" %a, %b, %acc : !a, !b, !acc
        scf.yield %next : !acc
      }
      tile.store add "out" %sum, %C[%i, %j] dims [0, 1] : !acc, !sums
    }
    gpu.return
  }
}
