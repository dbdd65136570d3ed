// A matrix product with an epilogue, c = scale gelu(a b + bias), bias by column and
// scale by row. Two CTAs of a cluster share copies of b.
!memory = memref<?x?xbf16, strided<[?, 1]>>
!a = tensor<256x64xbf16, #tile.reg>
!b = tensor<64x256xbf16, #tile.reg>
!acc = tensor<256x256xf32, #tile.reg>
!out = tensor<256x256xbf16, #tile.reg>
gpu.module @product_gelu {
  launch.abi @product_gelu target("sm_90a")
    plan(<#warp.wgmma_unit, tile_m = 128, tile_n = 256, warps = 8, stages = 3, cluster = 2, work = static,
         order = ["c" + 1, "*" + 1, "c.read"],
         stores = [<"out", copied>],
         roles = [<"load", warps = 4, registers = 40, owns = copies>, <"compute", warps = 8, registers = 232, owns = ["*"]>]>)
    tensors([#launch.tensor<"a", read, tensor<?x?xbf16>, ["M", "K"], 16>,
             #launch.tensor<"b", read, tensor<?x?xbf16>, ["K", "N"], 16>,
             #launch.tensor<"bias", read, tensor<?xbf16>, ["N"], 4>,
             #launch.tensor<"scale", read, tensor<?xf32>, ["M"], 4>,
             #launch.tensor<"c", write, tensor<?x?xbf16>, ["M", "N"], 16>])
    parameters([#launch.memref<"a", [0, 1]>, #launch.memref<"b", [0, 1]>,
                #launch.memref<"bias", [0]>, #launch.memref<"scale", [0]>, #launch.memref<"c", [0, 1]>])
    grid(["M", "N"] affine_map<()[m, n] -> ((m ceildiv 256) * (n ceildiv 256) * 2)>)
    threads(256) shared_memory(0) persistent(1) cluster(2)
  gpu.func @product_gelu(%A: !memory, %B: !memory, %Bias: memref<?xbf16, strided<[1]>>, %Scale: memref<?xf32, strided<[1]>>, %C: !memory) kernel {
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
      // scale[i] * gelu(x + bias[j]), gelu(x) = x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
      %narrow = tile.load %Bias[%j] dims [-1, 0] : memref<?xbf16, strided<[1]>> to tensor<1x256xbf16, #tile.reg>
      %bias = arith.extf %narrow : tensor<1x256xbf16, #tile.reg> to tensor<1x256xf32, #tile.reg>
      %biases = tile.broadcast %bias : tensor<1x256xf32, #tile.reg> to !acc
      %x = arith.addf %sum, %biases : !acc
      %xx = arith.mulf %x, %x : !acc
      %cubic = arith.constant dense<0.0356774081> : !acc
      %linear = arith.constant dense<0.797884561> : !acc
      %slope = math.fma %xx, %cubic, %linear : !acc
      %argument = arith.mulf %slope, %x : !acc
      %tanh = math.tanh %argument fastmath<afn> : !acc
      %half = arith.constant dense<0.5> : !acc
      %halved = arith.mulf %x, %half : !acc
      %gelu = math.fma %halved, %tanh, %halved : !acc
      %scale = tile.load %Scale[%i] dims [0, -1] : memref<?xf32, strided<[1]>> to tensor<256x1xf32, #tile.reg>
      %scales = tile.broadcast %scale : tensor<256x1xf32, #tile.reg> to !acc
      %scaled = arith.mulf %gelu, %scales : !acc
      %rounded = arith.truncf %scaled : !acc to !out
      tile.store "out" %rounded, %C[%i, %j] dims [0, 1] : !out, !memory
    }
    gpu.return
  }
}
