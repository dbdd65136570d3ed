// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-assign-layouts)))' | FileCheck %s

// Each tile has the layout of the role that owns its named ops, through loops and branches. A
// constant that two roles use is cloned for each.
// CHECK-LABEL: gpu.func @f
// CHECK-DAG: arith.constant dense<2.000000e+00> : tensor<1x64xf32, #warp.wgmma<groups = 2>>
// CHECK-DAG: arith.constant dense<2.000000e+00> : tensor<1x64xf32, #warp.wgmma<groups = 1>>
// CHECK: scf.for {{.*}} -> (tensor<128x64xf32, #warp.wgmma<groups = 2>>, tensor<64x64xf32, #warp.wgmma<groups = 1>>)
// CHECK: scf.if {{.*}} -> (tensor<128x64xf32, #warp.wgmma<groups = 2>>)
// CHECK: arith.addf {{.*}} : tensor<128x64xf32, #warp.wgmma<groups = 2>>
// CHECK: arith.mulf {{.*}} : tensor<64x64xf32, #warp.wgmma<groups = 1>>
// CHECK: tile.store "a" {{.*}} : tensor<128x64xf32, #warp.wgmma<groups = 2>>
// CHECK: tile.store "b" {{.*}} : tensor<64x64xf32, #warp.wgmma<groups = 1>>
!memory = memref<?x64xf32, strided<[?, 1]>>
!left = tensor<128x64xf32, #tile.reg>
!right = tensor<64x64xf32, #tile.reg>
!column = tensor<1x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"left", warps = 8, registers = 152, owns = ["a"]>,
           <"right", warps = 4, registers = 152, owns = ["b"]>]>)
    tensors([#launch.tensor<"x", write, tensor<?x64xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"x", [0, 1]>, #launch.scalar<"n", index>, #launch.scalar<"c", i1>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f(%x: !memory, %n: index, %c: i1) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %two = arith.constant dense<2.0> : !column
    %l0 = tile.broadcast %two : !column to !left
    %r0 = tile.broadcast %two : !column to !right
    %of:2 = scf.for %i = %c0 to %n step %c1 iter_args(%l = %l0, %r = %r0) -> (!left, !right) {
      %m = scf.if %c -> (!left) {
        scf.yield %l : !left
      } else {
        scf.yield %l0 : !left
      }
      %l1 = arith.addf %m, %l0 : !left
      %r1 = arith.mulf %r, %r0 : !right
      scf.yield %l1, %r1 : !left, !right
    }
    tile.store "a" %of#0, %x[%c0, %c0] dims [0, 1] : !left, !memory
    tile.store "b" %of#1, %x[%c0, %c0] dims [0, 1] : !right, !memory
    gpu.return
  }
}

// A scattered tile has the warps of the role that adds it, too, in fragments with as many rows as
// needed: the accumulators of one warp group have 64.
// CHECK-LABEL: gpu.func @added
// CHECK: warp.local_load {{.*}} to tensor<128x64xbf16, #warp.mma_sync<warps = 4>>
// CHECK: tile.scatter add "sum" {{.*}} : tensor<128x64xf32, #warp.mma_sync<warps = 4>>, memref<?xf32>[tensor<128x1xi32, #warp.mma_sync<warps = 4>>]
!shared = memref<128x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @n {
  launch.abi @added target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"left", warps = 8, registers = 152, owns = ["a"]>,
           <"right", warps = 4, registers = 152, owns = ["sum"]>]>)
    tensors([#launch.tensor<"x", accumulate, tensor<?xf32>, ["S"], 4>]) parameters([#launch.memref<"x", [0]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @added(%x: memref<?xf32>) kernel {
    %memory = warp.alloc : !shared
    %h = warp.local_load %memory : !shared to tensor<128x64xbf16, #tile.reg>
    %f = arith.extf %h : tensor<128x64xbf16, #tile.reg> to tensor<128x64xf32, #tile.reg>
    %at = tile.iota dim 0 : tensor<128x1xi32, #tile.reg>
    tile.scatter add "sum" %f, %x[%at] : tensor<128x64xf32, #tile.reg>, memref<?xf32>[tensor<128x1xi32, #tile.reg>]
    gpu.return
  }
}

// A tile that is also stored or multiplied has the layout of the MMA unit, in any order of the ops.
// CHECK-LABEL: gpu.func @both
// CHECK: tile.scatter add "sum" {{.*}} : tensor<64x64xf32, #warp.wgmma<groups = 1>>
// CHECK: tile.store "sum" {{.*}} : tensor<64x64xf32, #warp.wgmma<groups = 1>>
gpu.module @o {
  launch.abi @both target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"left", warps = 8, registers = 152, owns = ["a"]>,
           <"right", warps = 4, registers = 152, owns = ["sum"]>]>)
    tensors([#launch.tensor<"x", accumulate, tensor<?xf32>, ["S"], 4>, #launch.tensor<"y", write, tensor<?x64xf32>, ["N", "D"], 16>])
    parameters([#launch.memref<"x", [0]>, #launch.memref<"y", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @both(%x: memref<?xf32>, %y: !memory) kernel {
    %c0 = arith.constant 0 : index
    %two = arith.constant dense<2.0> : !column
    %f = tile.broadcast %two : !column to !right
    %at = tile.iota dim 0 : tensor<64x1xi32, #tile.reg>
    tile.scatter add "sum" %f, %x[%at] : !right, memref<?xf32>[tensor<64x1xi32, #tile.reg>]
    tile.store "sum" %f, %y[%c0, %c0] dims [0, 1] : !right, !memory
    gpu.return
  }
}
