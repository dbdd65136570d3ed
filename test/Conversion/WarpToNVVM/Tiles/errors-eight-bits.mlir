// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(warp-to-nvvm))' --split-input-file --verify-diagnostics

gpu.module @m {
  launch.abi @load target("sm_90a") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16384)
  gpu.func @load() kernel {
    %v = warp.alloc offset(0) : memref<64x128xf8E4M3FN, #warp.shared<row_bytes = 128>>
    // expected-error@+2 {{failed to legalize operation 'warp.local_load'}}
    // expected-error@+1 {{loads a transposed matrix of '#warp.row_pairs' with a multiple of 32 columns from a buffer of one CTA, found}}
    %t = warp.local_load transpose %v : memref<64x128xf8E4M3FN, #warp.shared<row_bytes = 128>> to tensor<128x64xf8E4M3FN, #warp.mma_sync<warps = 4>>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @store target("sm_90a") plan(<#warp.mma_sync_unit>) tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(16384)
  gpu.func @store() kernel {
    %b = warp.alloc offset(0) : memref<64x64xf8E4M3FN, #warp.shared<row_bytes = 64>>
    warp.specialize captures(%b : memref<64x64xf8E4M3FN, #warp.shared<row_bytes = 64>>)
      role @compute warps(4) regs(240) {
      ^bb0(%b0: memref<64x64xf8E4M3FN, #warp.shared<row_bytes = 64>>):
        %x = arith.constant dense<1.0> : tensor<64x64xf8E4M3FN, #warp.mma_sync<warps = 4>>
        // expected-error@+2 {{failed to legalize operation 'warp.local_store'}}
        // expected-error@+1 {{stores 8-bit matrices of '#warp.row_pairs' or '#warp.operand' with a multiple of 32 columns, found}}
        warp.local_store "x" %x to %b0 : tensor<64x64xf8E4M3FN, #warp.mma_sync<warps = 4>>, memref<64x64xf8E4M3FN, #warp.shared<row_bytes = 64>>
        warp.return
      }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @round target("sm_90a") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"o", write, tensor<?x64xf32>, ["S", "D"], 4>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @round(%o: memref<?x64xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %o[%c0, %c0] dims [0, 1] : memref<?x64xf32, strided<[?, 1]>> to tensor<64x64xf32, #warp.mma_sync<warps = 4>>
    // expected-error@+1 {{converts 8-bit floats: expected f32 to f8E4M3FN, or f8E4M3FN or f8E5M2 to f16 or f32, on a target with PTX ISA 8.1, found 'tensor<64x64xf32, #warp.mma_sync<warps = 4>>' to 'tensor<64x64xf8E5M2, #warp.mma_sync<warps = 4>>' on 'sm_90a'}}
    %y = arith.truncf %x : tensor<64x64xf32, #warp.mma_sync<warps = 4>> to tensor<64x64xf8E5M2, #warp.mma_sync<warps = 4>>
    %z = arith.extf %y : tensor<64x64xf8E5M2, #warp.mma_sync<warps = 4>> to tensor<64x64xf32, #warp.mma_sync<warps = 4>>
    tile.store %z, %o[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #warp.mma_sync<warps = 4>>, memref<?x64xf32, strided<[?, 1]>>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @extend target("sm_90a") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"i", read, tensor<?x64xf8E8M0FNU>, ["S", "D"], 1>, #launch.tensor<"o", write, tensor<?x64xf32>, ["S", "D"], 4>])
    parameters([#launch.memref<"i", [0, 1]>, #launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @extend(%i: memref<?x64xf8E8M0FNU, strided<[?, 1]>>, %o: memref<?x64xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %i[%c0, %c0] dims [0, 1] : memref<?x64xf8E8M0FNU, strided<[?, 1]>> to tensor<64x64xf8E8M0FNU, #warp.mma_sync<warps = 4>>
    // expected-error@+1 {{converts 8-bit floats: expected f32 to f8E4M3FN, or f8E4M3FN or f8E5M2 to f16 or f32, on a target with PTX ISA 8.1, found 'tensor<64x64xf8E8M0FNU, #warp.mma_sync<warps = 4>>' to}}
    %y = arith.extf %x : tensor<64x64xf8E8M0FNU, #warp.mma_sync<warps = 4>> to tensor<64x64xf32, #warp.mma_sync<warps = 4>>
    tile.store %y, %o[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #warp.mma_sync<warps = 4>>, memref<?x64xf32, strided<[?, 1]>>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @add target("sm_90a") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"x", write, tensor<?x64xf8E4M3FN>, ["S", "D"], 16>]) parameters([#launch.memref<"x", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @add(%x: memref<?x64xf8E4M3FN, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %v = tile.load %x[%c0, %c0] dims [0, 1] : memref<?x64xf8E4M3FN, strided<[?, 1]>> to tensor<64x64xf8E4M3FN, #warp.mma_sync<warps = 4>>
    // expected-error@+1 {{is not supported on 8-bit floats: expected f32 ('arith.extf')}}
    %y = arith.addf %v, %v : tensor<64x64xf8E4M3FN, #warp.mma_sync<warps = 4>>
    tile.store %y, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf8E4M3FN, #warp.mma_sync<warps = 4>>, memref<?x64xf8E4M3FN, strided<[?, 1]>>
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @target target("sm_80") plan(<#warp.mma_sync_unit>)
    tensors([#launch.tensor<"o", write, tensor<?x64xf32>, ["S", "D"], 4>]) parameters([#launch.memref<"o", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @target(%o: memref<?x64xf32, strided<[?, 1]>>) kernel {
    %c0 = arith.constant 0 : index
    %x = tile.load %o[%c0, %c0] dims [0, 1] : memref<?x64xf32, strided<[?, 1]>> to tensor<64x64xf32, #warp.mma_sync<warps = 4>>
    // expected-error@+1 {{on a target with PTX ISA 8.1, found 'tensor<64x64xf32, #warp.mma_sync<warps = 4>>' to 'tensor<64x64xf8E4M3FN, #warp.mma_sync<warps = 4>>' on 'sm_80'}}
    %y = arith.truncf %x : tensor<64x64xf32, #warp.mma_sync<warps = 4>> to tensor<64x64xf8E4M3FN, #warp.mma_sync<warps = 4>>
    gpu.return
  }
}
