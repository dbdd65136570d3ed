// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-sync-lanes),warp-to-nvvm))' --split-input-file --verify-diagnostics

// One thread of one warp issues copies to all CTAs of a cluster; this role has
// other warps, which acquire nothing.
!memory = memref<?x64xbf16, strided<[?, 1]>>
!buffer = memref<32x64xbf16, #warp.shared<row_bytes = 128>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_n = 32, stages = 1, cluster = 2>)
    tensors([#launch.tensor<"k", read, tensor<?x64xbf16>, ["T", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>])
    grid([] affine_map<() -> (2)>) threads(256) shared_memory(4112) cluster(2)
  gpu.func @f(%k: !memory) kernel {
    %b = warp.alloc offset(0) : !buffer
    %p = warp.pipeline offset(4096) : !warp.pipeline<1>
    warp.specialize captures(%k, %b, %p : !memory, !buffer, !warp.pipeline<1>) cluster(2)
      role @load warps(4) regs(56) {
      ^bb0(%k0: !memory, %b0: !buffer, %p0: !warp.pipeline<1>):
        %z = arith.constant 0 : i32
        warp.consumer_wait %p0[%z, %z] : !warp.pipeline<1>
        warp.consumer_release %p0[%z, %z] : !warp.pipeline<1>
        warp.return
      }
      role @compute warps(4) regs(248) {
      ^bb0(%k1: !memory, %b1: !buffer, %p1: !warp.pipeline<1>):
        %c0 = arith.constant 0 : index
        %z = arith.constant 0 : i32
        %t = arith.constant dense<0.0> : tensor<64x64xbf16, #warp.wgmma<groups = 1>>
        // expected-error@+1 {{role 'compute' copies for all CTAs of a cluster: expected a role that only fills pipelines}}
        warp.producer_acquire %p1[%z, %z] : !warp.pipeline<1>
        warp.copy async %k1[%c0, %c0] dims [0, 1] to %b1 : !memory to !buffer
        warp.producer_commit %p1[%z, %z] : !warp.pipeline<1>
        tile.store %t, %k1[%c0, %c0] dims [0, 1] : tensor<64x64xbf16, #warp.wgmma<groups = 1>>, !memory
        warp.return
      }
    gpu.return
  }
}

// -----

// Limits of the GPU's registers, and those that its launch gives each thread.
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.mma_sync_unit, tile_n = 32, warps = 8, stages = 1>)
    tensors([]) parameters([]) grid([] affine_map<() -> (2)>) threads(384) shared_memory(0)
  gpu.func @f() kernel {
    // expected-error@+1 {{roles need 66560 registers: a launch of 12 warps has 64512}}
    warp.specialize
      role @load warps(4) regs(40) { warp.return }
      role @compute warps(8) regs(240) { warp.return }
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error@+1 {{unknown target 'sm_1', expected one of}}
  launch.abi @f target("sm_1") plan(<#warp.mma_sync_unit, tile_n = 32, warps = 8, stages = 1>)
    tensors([]) parameters([]) grid([] affine_map<() -> (2)>) threads(384) shared_memory(0)
  gpu.func @f() kernel {
    warp.specialize
      role @load warps(4) regs(40) { warp.return }
      role @compute warps(8) regs(216) { warp.return }
    gpu.return
  }
}
