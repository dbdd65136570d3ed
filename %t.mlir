#map = affine_map<() -> (1)>
module {
  gpu.module @m {
    launch.abi @apart target("sm_100a") plan(<#warp.tcgen05_unit, tile_m = 128, tile_n = 128, warps = 4, stages = 2, row_tiles = 1, dots = [<"s", ahead = 1>], roles = [<"load", warps = 4, registers = 48, owns = copies>, <"compute", warps = 4, registers = 192, owns = ["*"]>], asked = ["overlap"]>) tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>]) grid([] #map) threads(128) shared_memory(0)
    gpu.func @apart(%arg0: memref<?x32xbf16, strided<[?, 1]>>) kernel {
      %false = arith.constant false
      %c0_i32 = arith.constant 0 : i32
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %0 = warp.alloc : memref<128x32xbf16, #warp.shared<row_bytes = 64>>
      %1 = warp.tmem_alloc column(0) : memref<128x128xf32, #warp.tmem>
      %2 = warp.tmem_alloc column(128) : memref<128x128xf32, #warp.tmem>
      %3 = warp.pipeline "s.0" : !warp.pipeline<1>
      %4 = warp.pipeline "s.1" : !warp.pipeline<1>
      warp.producer_acquire %3[%c0_i32, %c0_i32] : !warp.pipeline<1>
      warp.dot_into "s.0" %0, %0, %1 accumulate(%false) transpose_b : memref<128x32xbf16, #warp.shared<row_bytes = 64>>, memref<128x32xbf16, #warp.shared<row_bytes = 64>>, memref<128x128xf32, #warp.tmem>
      warp.commit_after_dots %3[%c0_i32, %c0_i32] : !warp.pipeline<1>
      warp.producer_acquire %4[%c0_i32, %c0_i32] : !warp.pipeline<1>
      warp.dot_into "s.1" %0, %0, %2 accumulate(%false) transpose_b : memref<128x32xbf16, #warp.shared<row_bytes = 64>>, memref<128x32xbf16, #warp.shared<row_bytes = 64>>, memref<128x128xf32, #warp.tmem>
      warp.commit_after_dots %4[%c0_i32, %c0_i32] : !warp.pipeline<1>
      scf.for %arg1 = %c0 to %c4 step %c1 {
        warp.consumer_wait %3[%c0_i32, %c0_i32] : !warp.pipeline<1>
        %5 = warp.tmem_load %1 : memref<128x128xf32, #warp.tmem> to tensor<128x128xf32, #tile.reg>
        %6 = arith.addi %arg1, %c1 : index
        %7 = arith.cmpi slt, %6, %c4 : index
        scf.if %7 {
          warp.producer_acquire %3[%c0_i32, %c0_i32] : !warp.pipeline<1>
          warp.dot_into "s.0" %0, %0, %1 accumulate(%false) transpose_b : memref<128x32xbf16, #warp.shared<row_bytes = 64>>, memref<128x32xbf16, #warp.shared<row_bytes = 64>>, memref<128x128xf32, #warp.tmem>
          warp.commit_after_dots %3[%c0_i32, %c0_i32] : !warp.pipeline<1>
        }
        warp.consumer_release %3[%c0_i32, %c0_i32] : !warp.pipeline<1>
        warp.consumer_wait %4[%c0_i32, %c0_i32] : !warp.pipeline<1>
        %8 = warp.tmem_load %2 : memref<128x128xf32, #warp.tmem> to tensor<128x128xf32, #tile.reg>
        %9 = arith.addi %arg1, %c1 : index
        %10 = arith.cmpi slt, %9, %c4 : index
        scf.if %10 {
          warp.producer_acquire %4[%c0_i32, %c0_i32] : !warp.pipeline<1>
          warp.dot_into "s.1" %0, %0, %2 accumulate(%false) transpose_b : memref<128x32xbf16, #warp.shared<row_bytes = 64>>, memref<128x32xbf16, #warp.shared<row_bytes = 64>>, memref<128x128xf32, #warp.tmem>
          warp.commit_after_dots %4[%c0_i32, %c0_i32] : !warp.pipeline<1>
        }
        warp.consumer_release %4[%c0_i32, %c0_i32] : !warp.pipeline<1>
      }
      gpu.return
    }
  }
}

// -----
// -----
