// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-distribute-work)))' --split-input-file --verify-diagnostics

gpu.module @m {
  // expected-error@+1 {{kernel has no 'launch.abi' beside it}}
  gpu.func @f(%n: index) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_80") plan(<#warp.mma_sync_unit, tile_n = 32>)
    tensors([]) parameters([#launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%n: index) kernel {
    // expected-error@+1 {{work of schedule 'single' is lowered by 'tile-lower-work'}}
    tile.foreach_work %w to %n schedule(single) {
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = static,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([#launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @f(%n: index) kernel {
    tile.foreach_work %w to %n schedule(static) {
    }
    // expected-error@+1 {{a kernel must have one loop over work}}
    tile.foreach_work %w to %n schedule(static) {
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, cluster = 2, work = dynamic,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([#launch.scalar<"n", index>])
    grid([] affine_map<() -> (2)>) threads(256) shared_memory(0) persistent(1) cluster(2)
  gpu.func @f(%n: index) kernel {
    // expected-error@+1 {{work of schedule 'dynamic' is not supported for clusters}}
    tile.foreach_work %w to %n schedule(dynamic) {
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, cluster = 2, work = shares,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([#launch.scalar<"n", index>])
    grid([] affine_map<() -> (2)>) threads(256) shared_memory(0) persistent(1) cluster(2)
  gpu.func @f(%n: index) kernel {
    // expected-error@+1 {{work of schedule 'shares' is not supported for clusters}}
    tile.foreach_work %w blocks(%first to %end) part(%part of %parts at %cta) to %n schedule(shares) per(%n)
      extent(%g: index) {
        tile.yield %n : index
      } do {
    }
    gpu.return
  }
}
