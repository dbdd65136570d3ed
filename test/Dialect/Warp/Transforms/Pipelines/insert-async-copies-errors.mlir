// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-async-copies)))' --split-input-file --verify-diagnostics

gpu.module @m {
  // expected-error@+1 {{kernel has no 'launch.abi' beside it}}
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

// All copies of a loop share one ring position.
!buffer = memref<32x32xbf16, #warp.shared<row_bytes = 64>>
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32, streams = [<"k", stages = 3>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : !memory
    %a = warp.alloc : !buffer
    %b = warp.alloc : !buffer
    scf.for %j = %c0 to %n step %c32 {
      // expected-note@+1 {{the other copy}}
      warp.copy "k" %k[%j, %c0] dims [0, 1] to %a : !memory to !buffer
      // expected-error@+1 {{has 2 stages, another copy of its loop has 3}}
      warp.copy "v" %k[%j, %c0] dims [0, 1] to %b : !memory to !buffer
    }
    gpu.return
  }
}

// -----

!buffer = memref<32x32xbf16, #warp.shared<row_bytes = 64>>
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %first = arith.constant 0 : i32
    %last = arith.constant 64 : i32
    %step = arith.constant 32 : i32
    %b = warp.alloc : !buffer
    // expected-error@+1 {{a loop with copies must count in 'index', found 'i32'}}
    scf.for %j = %first to %last step %step : i32 {
      warp.copy %k[%c0, %c0] dims [0, 1] to %b : !memory to !buffer
    }
    gpu.return
  }
}
