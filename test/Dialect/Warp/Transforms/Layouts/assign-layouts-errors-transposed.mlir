// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-assign-layouts)))' --split-input-file --verify-diagnostics

// An accumulator cannot have the layout of a transposed load.
!v = memref<128x64xf8E4M3FN, #warp.shared<row_bytes = 64>>
!f = tensor<64x128xf32, #tile.reg>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, warps = 4,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 208, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    %v = warp.alloc : !v
    %zero = arith.constant dense<0.0> : !f
    %t = warp.local_load transpose %v : !v to tensor<64x128xf8E4M3FN, #tile.reg>
    %x = arith.extf %t : tensor<64x128xf8E4M3FN, #tile.reg> to !f
    %k = warp.alloc : memref<128x64xf8E4M3FN, #warp.shared<row_bytes = 64>>
    %q = warp.alloc : memref<64x64xf8E4M3FN, #warp.shared<row_bytes = 64>>
    // expected-error@+1 {{accumulator is combined with a tile that is loaded transposed: one of them must pass through a stream ('tile.stream')}}
    %s = warp.dot "s" %q, %k, %zero transpose_b : memref<64x64xf8E4M3FN, #warp.shared<row_bytes = 64>>, memref<128x64xf8E4M3FN, #warp.shared<row_bytes = 64>>, !f
    %y = arith.addf %s, %x : !f
    gpu.return
  }
}

// -----

!v = memref<64x128xf8E4M3FN, #warp.shared<row_bytes = 128>>
!vt = memref<128x64xf8E4M3FN, #warp.shared<row_bytes = 64>>
gpu.module @m {
  // expected-error@+1 {{role 'transpose' has no layout for a tile that is loaded transposed: 'warps' must be in [1, 32], found 4000}}
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 64, warps = 4,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"transpose", warps = 4000, registers = 72, owns = ["vt"]>,
                <"compute", warps = 4, registers = 208, owns = ["*"]>]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f() kernel {
    %v = warp.alloc : !v
    %vt = warp.alloc : !vt
    %t = warp.local_load transpose %v : !v to tensor<128x64xf8E4M3FN, #tile.reg>
    warp.local_store "vt" %t to %vt : tensor<128x64xf8E4M3FN, #tile.reg>, !vt
    gpu.return
  }
}
