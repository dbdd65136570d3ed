// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp,warp-insert-pipelines)))' --split-input-file | FileCheck %s

// A bias tile passes through its own ring and is loaded into registers from there;
// a tensor without unit stride is loaded directly.
// CHECK-LABEL: gpu.func @f
// CHECK: %[[RING:.*]] = warp.pipeline {{("[^"]+" )?}}: !warp.pipeline<3>
// CHECK: warp.producer_acquire %[[RING]]
// CHECK: warp.copy async {{("[^"]+" )?}}%arg0
// CHECK: warp.producer_commit %[[RING]]
// CHECK: warp.consumer_wait %[[RING]]
// CHECK: %[[STAGE:.*]] = warp.stage %{{.*}} : memref<3x128x64xbf16, #warp.shared<row_bytes = 128>>
// CHECK: %[[X:.*]] = warp.local_load %[[STAGE]]
// CHECK: warp.consumer_release %[[RING]]
// CHECK: %[[Y:.*]] = tile.load {{("[^"]+" )?}}%arg1
// CHECK: arith.addf %[[X]], %[[Y]]
!a = memref<?x?xbf16, strided<[?, 1]>>
!b = memref<?x?xbf16, strided<[?, ?]>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       streams = [<"score", stages = 3, staged>],
       roles = [<"load", warps = 4, registers = 40, owns = copies>, <"compute", warps = 8, registers = 232, owns = ["*"]>]>)
    tensors([#launch.tensor<"a", read, tensor<?x?xbf16>, ["M", "N"], 16>, #launch.tensor<"b", read, tensor<?x?xbf16>, ["M", "N"], 2>])
    parameters([#launch.memref<"a", [0, 1]>, #launch.memref<"b", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f(%a: !a, %b: !b) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    scf.for %j = %c0 to %c256 step %c64 {
      %x = tile.load "score.0" %a[%c0, %j] dims [0, 1] : !a to tensor<128x64xbf16, #tile.reg>
      %y = tile.load "score.1" %b[%c0, %j] dims [0, 1] : !b to tensor<128x64xbf16, #tile.reg>
      %sum = arith.addf %x, %y : tensor<128x64xbf16, #tile.reg>
      tile.store %sum, %b[%c0, %j] dims [0, 1] : tensor<128x64xbf16, #tile.reg>, !b
    }
    gpu.return
  }
}

// -----

// The CTAs of a cluster split its rows.
// CHECK-LABEL: gpu.func @parted
// CHECK: warp.alloc : memref<{{.*}}256x64xbf16, #warp.shared<row_bytes = 128, ctas = 2>>
// CHECK: warp.local_load
!a = memref<?x?xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @parted target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, cluster = 2,
       streams = [<"score", stages = 2, staged>],
       roles = [<"load", warps = 4, registers = 40, owns = copies>, <"compute", warps = 8, registers = 232, owns = ["*"]>]>)
    tensors([#launch.tensor<"a", read, tensor<?x?xbf16>, ["M", "N"], 16>])
    parameters([#launch.memref<"a", [0, 1]>])
    grid([] affine_map<() -> (2)>) threads(256) shared_memory(0) cluster(2)
  gpu.func @parted(%a: !a) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    scf.for %j = %c0 to %c256 step %c64 {
      %x = tile.load "score.0" %a[%c0, %j] dims [0, 1] : !a to tensor<256x64xbf16, #tile.reg>
      %sum = arith.addf %x, %x : tensor<256x64xbf16, #tile.reg>
      tile.store %sum, %a[%c0, %j] dims [0, 1] : tensor<256x64xbf16, #tile.reg>, !a
    }
    gpu.return
  }
}
