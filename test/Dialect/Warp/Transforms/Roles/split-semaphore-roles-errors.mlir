// The stores of a semaphore section belong to one role, and its release follows its wait.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-split-semaphore-roles)))' --split-input-file --verify-diagnostics

gpu.module @m {
  // expected-error@+1 {{kernel has no 'launch.abi' beside it}}
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

!t = tensor<64x64xf32, #warp.wgmma<groups = 1>>
!sums = memref<?x64xf32, strided<[64, 1]>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, tile_n = 64, warps = 4, stages = 2,
       roles = [<"acquire", warps = 4, registers = 24, owns = ["turn_acquire"]>, <"left", warps = 4, registers = 72, owns = ["sum", "turn_release"]>,
           <"right", warps = 4, registers = 72, owns = ["other"]>]>)
    tensors([#launch.tensor<"turns", accumulate, tensor<?xi32>, ["A"], 4>, #launch.tensor<"sums", accumulate, tensor<?x64xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"turns", [0]>, #launch.memref<"sums", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f(%turns: memref<?xi32>, %sums: !sums) kernel {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : i32
    %yes = arith.constant true
    %part = arith.constant dense<1.0> : !t
    tile.semaphore_wait "turn_acquire" %turns[%c0] for %one : memref<?xi32>
    tile.store add "sum" %part, %sums[%c0, %c0] dims [0, 1] : !t, !sums
    // expected-error@+1 {{belongs to role 'right', but role 'left' stores in the same semaphore section}}
    tile.store add "other" %part, %sums[%c0, %c0] dims [0, 1] : !t, !sums
    tile.semaphore_release "turn_release" %turns[%c0] : memref<?xi32>
    gpu.return
  }
}

// -----

!t = tensor<64x64xf32, #warp.wgmma<groups = 1>>
!sums = memref<?x64xf32, strided<[64, 1]>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, tile_n = 64, warps = 4, stages = 2,
       roles = [<"acquire", warps = 4, registers = 24, owns = ["turn_acquire"]>, <"left", warps = 4, registers = 72, owns = ["sum", "turn_release"]>,
           <"right", warps = 4, registers = 72, owns = ["other"]>]>)
    tensors([#launch.tensor<"turns", accumulate, tensor<?xi32>, ["A"], 4>, #launch.tensor<"sums", accumulate, tensor<?x64xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"turns", [0]>, #launch.memref<"sums", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f(%turns: memref<?xi32>, %sums: !sums) kernel {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : i32
    %yes = arith.constant true
    %part = arith.constant dense<1.0> : !t
    // expected-error@+1 {{role 'left' stores after this wait, which belongs to another role: expected a 'tile.semaphore_release' after the wait in the same block}}
    tile.semaphore_wait "turn_acquire" %turns[%c0] for %one : memref<?xi32>
    tile.store add "sum" %part, %sums[%c0, %c0] dims [0, 1] : !t, !sums
    gpu.return
  }
}
