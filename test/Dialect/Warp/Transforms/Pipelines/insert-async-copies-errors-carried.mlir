// The operands of a copy must not depend on loop-carried values.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-insert-async-copies)))' --split-input-file --verify-diagnostics

!buffer = memref<32x32xbf16, #warp.shared<row_bytes = 64>>
!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%k: !memory) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %n = memref.dim %k, %c0 : !memory
    %b = warp.alloc : !buffer
    // expected-error@+1 {{a copy depends on a value that the loop carries}}
    %r = scf.for %j = %c0 to %n step %c32 iter_args(%row = %c0) -> (index) {
      warp.copy %k[%row, %c0] dims [0, 1] to %b : !memory to !buffer
      %next = arith.addi %row, %c32 : index
      scf.yield %next : index
    }
    gpu.return
  }
}
