// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-assign-layouts)))' --split-input-file --verify-diagnostics

// A tile that two roles with different numbers of warps use.
!memory = memref<?x64xf32, strided<[?, 1]>>
!t = tensor<128x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"left", warps = 8, registers = 152, owns = ["a"]>,
           <"right", warps = 4, registers = 152, owns = ["b"]>]>)
    tensors([#launch.tensor<"x", write, tensor<?x64xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"x", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f(%x: !memory) kernel {
    %c0 = arith.constant 0 : index
    %t = tile.load %x[%c0, %c0] dims [0, 1] : !memory to !t
    tile.store "a" %t, %x[%c0, %c0] dims [0, 1] : !t, !memory
    %n = arith.negf %t : !t
    // expected-error@+1 {{role 'right' has 4 warps, but this tile belongs to role 'left', which has 8: it must pass through a stream}}
    tile.store "b" %n, %x[%c0, %c0] dims [0, 1] : !t, !memory
    gpu.return
  }
}

// -----

// Dots need whole warp groups.
!memory = memref<?x64xf32, strided<[?, 1]>>
!t = tensor<128x64xf32, #tile.reg>
gpu.module @m {
  // expected-error@+1 {{role 'right' has 1 warps, for which the MMA unit has no layout: 'groups' must be in [1, 8], found 0}}
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"left", warps = 8, registers = 152, owns = ["a"]>,
           <"right", warps = 1, registers = 152, owns = ["b"]>]>)
    tensors([#launch.tensor<"x", write, tensor<?x64xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"x", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f(%x: !memory) kernel {
    %c0 = arith.constant 0 : index
    %t = tile.load %x[%c0, %c0] dims [0, 1] : !memory to !t
    tile.store "b" %t, %x[%c0, %c0] dims [0, 1] : !t, !memory
    gpu.return
  }
}

// -----

!memory = memref<?x64xf32, strided<[?, 1]>>
!t = tensor<128x64xf32, #tile.reg>
gpu.module @m {
  // expected-error@+1 {{role 'right' has 4000 warps, for which the MMA unit has no layout: 'groups' must be in [1, 8], found 1000}}
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, stages = 1,
       roles = [<"left", warps = 8, registers = 152, owns = ["a"]>,
           <"right", warps = 4000, registers = 152, owns = ["b"]>]>)
    tensors([#launch.tensor<"x", write, tensor<?x64xf32>, ["S", "D"], 16>]) parameters([#launch.memref<"x", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f(%x: !memory) kernel {
    %c0 = arith.constant 0 : index
    %t = tile.load %x[%c0, %c0] dims [0, 1] : !memory to !t
    tile.store "b" %t, %x[%c0, %c0] dims [0, 1] : !t, !memory
    gpu.return
  }
}
