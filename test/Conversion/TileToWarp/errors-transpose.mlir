// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(tile-to-warp)))' --split-input-file --verify-diagnostics

// A computed tile is divided among warps.
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit>) tensors([#launch.tensor<"o", write, tensor<?x32xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"o", [0, 1]>]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%O: memref<?x32xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %x = arith.constant dense<0.5> : tensor<32x64xf32, #tile.reg>
    // expected-error@+1 {{source of a transposition must be loaded from memory or a stream ('tile.stream')}}
    %t = tile.transpose %x : tensor<32x64xf32, #tile.reg> to tensor<64x32xf32, #tile.reg>
    tile.store "o" %t, %O[%c0, %c0] dims [0, 1] : tensor<64x32xf32, #tile.reg>, memref<?x32xf32, strided<[?, 1]>>
    gpu.return
  }
}

// -----

!memory = memref<?x64xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit>)
    tensors([#launch.tensor<"v", read, tensor<?x64xbf16>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<?x64xbf16>, ["S", "D"], 16>])
    parameters([#launch.memref<"v", [0, 1]>, #launch.memref<"o", [0, 1]>]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%V: !memory, %O: !memory) kernel {
    %c0 = arith.constant 0 : index
    %v = tile.load "v" %V[%c0, %c0] dims [0, 1] : !memory to tensor<64x64xbf16, #tile.reg>
    // expected-error@+1 {{transposed tiles that ops other than dots read must have elements of 8 bits, found 'tensor<64x64xbf16, #tile.reg>'}}
    %t = tile.transpose %v : tensor<64x64xbf16, #tile.reg> to tensor<64x64xbf16, #tile.reg>
    tile.store "o" %t, %O[%c0, %c0] dims [0, 1] : tensor<64x64xbf16, #tile.reg>, !memory
    gpu.return
  }
}

// -----

// A stream in a cluster has its rows in two CTAs.
!memory = memref<?x64xf8E4M3FN, strided<[?, 1]>>
!tile = tensor<64x64xf8E4M3FN, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 32, cluster = 2,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 208, owns = ["*"]>]>)
    tensors([#launch.tensor<"v", read, tensor<?x64xf8E4M3FN>, ["S", "D"], 16>, #launch.tensor<"o", write, tensor<?x64xf32>, ["S", "D"], 16>])
    parameters([#launch.memref<"v", [0, 1]>, #launch.memref<"o", [0, 1]>]) grid([] affine_map<() -> (2)>) threads(128) shared_memory(0) cluster(2)
  gpu.func @f(%V: !memory, %O: memref<?x64xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #tile.reg>
    %v = tile.load "v" %V[%c0, %c0] dims [0, 1] : !memory to !tile
    %t = tile.transpose %v : !tile to !tile
    %vt = tile.stream "vt" %t : !tile
    // expected-error@+1 {{second operand of a dot in a cluster must be loaded from memory: each CTA stores only its own rows of a stream}}
    %o = tile.dot "o" %v, %vt, %zero transpose_b : !tile, !tile, tensor<64x64xf32, #tile.reg>
    tile.store "o" %o, %O[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #tile.reg>, memref<?x64xf32, strided<[?, 1]>>
    gpu.return
  }
}
