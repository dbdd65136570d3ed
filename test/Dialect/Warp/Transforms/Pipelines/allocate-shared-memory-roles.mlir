// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-allocate-shared-memory)))' --split-input-file --verify-diagnostics | FileCheck %s

// In a kernel with roles, pipelines get two barriers of 8 bytes for each stage and mailboxes 4
// bytes for each slot, after the buffers; 16 bytes are spare. A partial last panel has its full
// size.
// CHECK-LABEL: launch.abi @f
// CHECK-SAME: shared_memory(16456)
// CHECK: warp.pipeline offset(16384) : !warp.pipeline<2>
// CHECK: warp.mailbox offset(16416) : !warp.mailbox<1>
// CHECK: warp.pipeline offset(16424) : !warp.pipeline<1>
// CHECK: warp.alloc offset(0) : memref<64x80xbf16
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_m = 128, warps = 8>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(384) shared_memory(0)
  gpu.func @f() kernel {
    %p = warp.pipeline : !warp.pipeline<2>
    %m = warp.mailbox : !warp.mailbox<1>
    %r = warp.pipeline : !warp.pipeline<1>
    %a = warp.alloc : memref<64x80xbf16, #warp.shared<row_bytes = 128>>
    warp.specialize
      role @load warps(4) regs(24) { warp.return }
      role @compute warps(8) regs(240) { warp.return }
    gpu.return
  }
}
