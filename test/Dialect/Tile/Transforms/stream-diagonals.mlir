// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-stream-relative-positions)))' --split-input-file | FileCheck %s

// Values computed from scalars and from tensors that the kernel only reads.
// A common operand of two tiles is streamed once. Addresses stay, and so do sums of other
// tiles and tensors that the kernel writes.
// CHECK-LABEL: gpu.func @f
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_n = 32, streams = [<"diagonals.0", stages = 2, staged>, <"diagonals.1", stages = 2, staged>]>)
    tensors([#launch.tensor<"t", read, tensor<?xf32>, ["S"], 4>, #launch.tensor<"k", read, tensor<?x?xf16>, ["M", "N"], 16>, #launch.tensor<"o", accumulate, tensor<?x?xf32>, ["M", "N"], 4>])
    parameters([#launch.memref<"t", [0]>, #launch.memref<"k", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%t: memref<?xf32, strided<[?]>>, %k: memref<?x?xf16, strided<[?, 1]>>, %o: memref<?x?xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %i = tile.iota dim 1 : tensor<1x96xi32, #tile.reg>
    // CHECK: %[[X:.*]] = tile.gather
    // CHECK-NEXT: %[[XS:.*]] = tile.stream "diagonals.0" %[[X]] : tensor<1x96xf32, #tile.reg>
    %x = tile.gather %t[%i] : memref<?xf32, strided<[?]>>[tensor<1x96xi32, #tile.reg>] to tensor<1x96xf32, #tile.reg>
    // CHECK: tile.diagonals %[[XS]]
    %d = tile.diagonals %x : tensor<1x96xf32, #tile.reg> to tensor<64x32xf32, #tile.reg>
    // CHECK: %[[Y:.*]] = math.exp2 %[[X]]
    // CHECK-NEXT: %[[YS:.*]] = tile.stream "diagonals.1" %[[Y]] : tensor<1x96xf32, #tile.reg>
    %y = math.exp2 %x : tensor<1x96xf32, #tile.reg>
    // CHECK: tile.diagonals %[[YS]]
    %e = tile.diagonals %y : tensor<1x96xf32, #tile.reg> to tensor<64x32xf32, #tile.reg>
    // CHECK: tile.diagonals %[[XS]]
    %f = tile.diagonals %x : tensor<1x96xf32, #tile.reg> to tensor<64x32xf32, #tile.reg>
    // CHECK: tile.diagonals %{{.*}} : tensor<1x96xi32
    // CHECK-NOT: tile.stream
    %places = tile.diagonals %i : tensor<1x96xi32, #tile.reg> to tensor<64x32xi32, #tile.reg>
    %ks = tile.load "k" %k[%c0, %c0] dims [0, 1] : memref<?x?xf16, strided<[?, 1]>> to tensor<64x96xf16, #tile.reg>
    %wide = arith.extf %ks : tensor<64x96xf16, #tile.reg> to tensor<64x96xf32, #tile.reg>
    %sum = tile.reduce add dim 0 %wide : tensor<64x96xf32, #tile.reg> to tensor<1x96xf32, #tile.reg>
    %z = tile.diagonals %sum : tensor<1x96xf32, #tile.reg> to tensor<64x32xf32, #tile.reg>
    %old = tile.gather %o[%c0, %i] : memref<?x?xf32, strided<[?, 1]>>[index, tensor<1x96xi32, #tile.reg>] to tensor<1x96xf32, #tile.reg>
    %g = tile.diagonals %old : tensor<1x96xf32, #tile.reg> to tensor<64x32xf32, #tile.reg>
    tile.store %d, %o[%c0, %c0] dims [0, 1] : tensor<64x32xf32, #tile.reg>, memref<?x?xf32, strided<[?, 1]>>
    gpu.return
  }
}

// -----

// The plan limits the number of streams: there are two tiles of values and one stream.
// CHECK-LABEL: gpu.func @fewer
// CHECK: %[[S:.*]] = tile.stream "diagonals.0"
// CHECK-NOT: tile.stream
// CHECK: tile.diagonals %[[S]]
// CHECK-NOT: tile.stream
// CHECK: %[[Y:.*]] = math.exp2
// CHECK-NOT: tile.stream
// CHECK: tile.diagonals %[[Y]]
gpu.module @m {
  launch.abi @fewer target("sm_90a") plan(<#warp.wgmma_unit, tile_n = 32, streams = [<"diagonals.0", stages = 2, staged>]>)
    tensors([#launch.tensor<"o", write, tensor<?x?xf32>, ["M", "N"], 4>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @fewer(%o: memref<?x?xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %i = tile.iota dim 1 : tensor<1x96xi32, #tile.reg>
    %x = arith.sitofp %i : tensor<1x96xi32, #tile.reg> to tensor<1x96xf32, #tile.reg>
    %d = tile.diagonals %x : tensor<1x96xf32, #tile.reg> to tensor<64x32xf32, #tile.reg>
    %y = math.exp2 %x : tensor<1x96xf32, #tile.reg>
    %e = tile.diagonals %y : tensor<1x96xf32, #tile.reg> to tensor<64x32xf32, #tile.reg>
    %f = arith.addf %d, %e : tensor<64x32xf32, #tile.reg>
    tile.store %f, %o[%c0, %c0] dims [0, 1] : tensor<64x32xf32, #tile.reg>, memref<?x?xf32, strided<[?, 1]>>
    gpu.return
  }
}

// -----

// Another plan has no streams.
// CHECK-LABEL: gpu.func @none
// CHECK-NOT: tile.stream
gpu.module @m {
  launch.abi @none target("sm_90a") plan(<#warp.wgmma_unit, tile_n = 32>)
    tensors([#launch.tensor<"o", write, tensor<?x?xf32>, ["M", "N"], 4>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @none(%o: memref<?x?xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %i = tile.iota dim 1 : tensor<1x96xi32, #tile.reg>
    %x = arith.sitofp %i : tensor<1x96xi32, #tile.reg> to tensor<1x96xf32, #tile.reg>
    %d = tile.diagonals %x : tensor<1x96xf32, #tile.reg> to tensor<64x32xf32, #tile.reg>
    tile.store %d, %o[%c0, %c0] dims [0, 1] : tensor<64x32xf32, #tile.reg>, memref<?x?xf32, strided<[?, 1]>>
    gpu.return
  }
}

// -----

// Values that depend on the owned rows, also through loops and branches, stay with the consumers.
// CHECK-LABEL: gpu.func @held
// CHECK-NOT: tile.stream
// CHECK: tile.diagonals
// CHECK-NOT: tile.stream
gpu.module @m {
  launch.abi @held target("sm_90a") plan(<#warp.wgmma_unit, tile_n = 32, streams = [<"diagonals.0", stages = 2, staged>, <"diagonals.1", stages = 2, staged>]>)
    tensors([#launch.tensor<"t", read, tensor<?xf32>, ["S"], 4>, #launch.tensor<"o", write, tensor<?x?xf32>, ["M", "N"], 4>])
    parameters([#launch.memref<"t", [0]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @held(%t: memref<?xf32, strided<[?]>>, %o: memref<?x?xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %first, %count = tile.held_rows tensor<64x32xf32, #tile.reg>
    %x = tile.load %t[%first] dims [-1, 0] : memref<?xf32, strided<[?]>> to tensor<1x96xf32, #tile.reg>
    %d = tile.diagonals %x : tensor<1x96xf32, #tile.reg> to tensor<64x32xf32, #tile.reg>
    tile.store %d, %o[%c0, %c0] dims [0, 1] : tensor<64x32xf32, #tile.reg>, memref<?x?xf32, strided<[?, 1]>>
    %last = scf.for %i = %c0 to %c4 step %c1 iter_args(%at = %c0) -> index {
      %y = tile.load %t[%at] dims [-1, 0] : memref<?xf32, strided<[?]>> to tensor<1x96xf32, #tile.reg>
      %e = tile.diagonals %y : tensor<1x96xf32, #tile.reg> to tensor<64x32xf32, #tile.reg>
      tile.store %e, %o[%i, %c0] dims [0, 1] : tensor<64x32xf32, #tile.reg>, memref<?x?xf32, strided<[?, 1]>>
      %next = arith.addi %at, %count : index
      scf.yield %next : index
    }
    gpu.return
  }
}

// -----

// A scalar computed from a tile of another role.
// CHECK-LABEL: gpu.func @voted
// CHECK-NOT: tile.stream
// CHECK: tile.diagonals
// CHECK-NOT: tile.stream
// CHECK: gpu.return
gpu.module @m {
  launch.abi @voted target("sm_90a") plan(<#warp.wgmma_unit, tile_n = 32, streams = [<"diagonals.0", stages = 2, staged>]>)
    tensors([#launch.tensor<"t", read, tensor<?xf32>, ["S"], 4>, #launch.tensor<"o", write, tensor<?x?xf32>, ["M", "N"], 4>])
    parameters([#launch.memref<"t", [0]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @voted(%t: memref<?xf32, strided<[?]>>, %o: memref<?x?xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<1x32xf32, #tile.reg>
    %tile = tile.load %o[%c0, %c0] dims [0, 1] : memref<?x?xf32, strided<[?, 1]>> to tensor<64x32xf32, #tile.reg>
    %columns = tile.reduce max dim 0 %tile : tensor<64x32xf32, #tile.reg> to tensor<1x32xf32, #tile.reg>
    %above = arith.cmpf ogt, %columns, %zero : tensor<1x32xf32, #tile.reg>
    %flags = tile.ballot %above : tensor<1x32xi1, #tile.reg>
    %at = arith.index_cast %flags : i32 to index
    %x = tile.load %t[%at] dims [-1, 0] : memref<?xf32, strided<[?]>> to tensor<1x96xf32, #tile.reg>
    %d = tile.diagonals %x : tensor<1x96xf32, #tile.reg> to tensor<64x32xf32, #tile.reg>
    tile.store %d, %o[%c0, %c0] dims [0, 1] : tensor<64x32xf32, #tile.reg>, memref<?x?xf32, strided<[?, 1]>>
    gpu.return
  }
}
