// Transposed operands must be loads or streams.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))' --split-input-file --verify-diagnostics

// Column sums of a transposed operand are not row sums of a product.
!memory = memref<?x64xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit,
       roles = [<"load", warps = 4, registers = 56, owns = copies>, <"compute", warps = 4, registers = 248, owns = ["*"]>]>)
    tensors([#launch.tensor<"v", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"v", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f(%v: !memory) kernel {
    %p = arith.constant dense<0.5> : tensor<64x64xbf16, #tile.reg>
    %o = arith.constant dense<3.0> : tensor<64x64xf32, #tile.reg>
    %l = arith.constant dense<2.0> : tensor<64x8xf32, #tile.reg>
    %c0 = arith.constant 0 : index
    %ones = arith.constant dense<1.0> : tensor<64x8xbf16, #tile.reg>
    %b = tile.load %v[%c0, %c0] dims [0, 1] : !memory to tensor<64x64xbf16, #tile.reg>
    %o1 = tile.dot %p, %b, %o : tensor<64x64xbf16, #tile.reg>, tensor<64x64xbf16, #tile.reg>, tensor<64x64xf32, #tile.reg>
    // expected-error@+1 {{second operand of a dot must be loaded from memory or a stream ('tile.stream')}}
    %l1 = tile.dot %p, %ones, %l transpose_a : tensor<64x64xbf16, #tile.reg>, tensor<64x8xbf16, #tile.reg>, tensor<64x8xf32, #tile.reg>
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit,
       roles = [<"load", warps = 4, registers = 56, owns = copies>, <"compute", warps = 4, registers = 248, owns = ["*"]>]>)
    tensors([#launch.tensor<"v", read, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"v", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  gpu.func @f(%v: !memory) kernel {
    %o = arith.constant dense<3.0> : tensor<64x64xf32, #tile.reg>
    %l = arith.constant dense<2.0> : tensor<64x8xf32, #tile.reg>
    %c0 = arith.constant 0 : index
    %ones = arith.constant dense<1.0> : tensor<64x8xbf16, #tile.reg>
    %b = tile.load %v[%c0, %c0] dims [0, 1] : !memory to tensor<64x64xbf16, #tile.reg>
    %o1 = tile.dot %b, %b, %o transpose_a : tensor<64x64xbf16, #tile.reg>, tensor<64x64xbf16, #tile.reg>, tensor<64x64xf32, #tile.reg>
    // expected-error@+1 {{second operand of a dot must be loaded from memory or a stream ('tile.stream')}}
    %l1 = tile.dot %b, %ones, %l : tensor<64x64xbf16, #tile.reg>, tensor<64x8xbf16, #tile.reg>, tensor<64x8xf32, #tile.reg>
    gpu.return
  }
}
