// Row sums by a dot need roles, and a product of one panel next to them.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))' --split-input-file --verify-diagnostics

!memory = memref<?x64xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"v", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"v", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%v: !memory) kernel {
    %p = arith.constant dense<0.5> : tensor<64x32xbf16, #tile.reg>
    %o = arith.constant dense<3.0> : tensor<64x64xf32, #tile.reg>
    %l = arith.constant dense<2.0> : tensor<64x8xf32, #tile.reg>
    %c0 = arith.constant 0 : index
    %ones = arith.constant dense<1.0> : tensor<32x8xbf16, #tile.reg>
    %b = tile.load %v[%c0, %c0] dims [0, 1] : !memory to tensor<32x64xbf16, #tile.reg>
    %o1 = tile.dot %p, %b, %o : tensor<64x32xbf16, #tile.reg>, tensor<32x64xbf16, #tile.reg>, tensor<64x64xf32, #tile.reg>
    // expected-error@+1 {{row sums by a dot need a schedule with roles ('producer_registers')}}
    %l1 = tile.dot %p, %ones, %l : tensor<64x32xbf16, #tile.reg>, tensor<32x8xbf16, #tile.reg>, tensor<64x8xf32, #tile.reg>
    gpu.return
  }
}

// -----

!memory = memref<?x128xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_n = 32,
       roles = [<"load", warps = 4, registers = 56, owns = copies>, <"compute", warps = 4, registers = 248, owns = ["*"]>]>)
    tensors([#launch.tensor<"v", read, tensor<?x128xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"v", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f(%v: !memory) kernel {
    %p = arith.constant dense<0.5> : tensor<64x32xbf16, #tile.reg>
    %o = arith.constant dense<3.0> : tensor<64x128xf32, #tile.reg>
    %l = arith.constant dense<2.0> : tensor<64x8xf32, #tile.reg>
    %c0 = arith.constant 0 : index
    %ones = arith.constant dense<1.0> : tensor<32x8xbf16, #tile.reg>
    %b = tile.load %v[%c0, %c0] dims [0, 1] : !memory to tensor<32x128xbf16, #tile.reg>
    %o1 = tile.dot %p, %b, %o : tensor<64x32xbf16, #tile.reg>, tensor<32x128xbf16, #tile.reg>, tensor<64x128xf32, #tile.reg>
    // expected-error@+1 {{row sums by a dot need a product of one panel of 32, 64 or 128 bytes next to them, found 'tensor<64x128xf32, #tile.reg>'}}
    %l1 = tile.dot %p, %ones, %l : tensor<64x32xbf16, #tile.reg>, tensor<32x8xbf16, #tile.reg>, tensor<64x8xf32, #tile.reg>
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_n = 32,
       roles = [<"load", warps = 4, registers = 56, owns = copies>, <"compute", warps = 4, registers = 248, owns = ["*"]>]>)
    tensors([#launch.tensor<"v", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"v", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f(%v: !memory) kernel {
    %p = arith.constant dense<0.5> : tensor<64x32xbf16, #tile.reg>
    %o = arith.constant dense<3.0> : tensor<64x64xf32, #tile.reg>
    %c0 = arith.constant 0 : index
    %ones = arith.constant dense<1.0> : tensor<32x8xbf16, #tile.reg>
    %b = tile.load %v[%c0, %c0] dims [0, 1] : !memory to tensor<32x64xbf16, #tile.reg>
    %o1 = tile.dot %p, %b, %o : tensor<64x32xbf16, #tile.reg>, tensor<32x64xbf16, #tile.reg>, tensor<64x64xf32, #tile.reg>
    %after = tile.reduce add dim 1 %o1 : tensor<64x64xf32, #tile.reg> to tensor<64x8xf32, #tile.reg>
    // expected-error@+1 {{row sums by a dot depend on the product next to them}}
    %l1 = tile.dot %p, %ones, %after : tensor<64x32xbf16, #tile.reg>, tensor<32x8xbf16, #tile.reg>, tensor<64x8xf32, #tile.reg>
    gpu.return
  }
}
