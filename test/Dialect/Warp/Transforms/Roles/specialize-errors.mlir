// Kernels that can't be partitioned into roles.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-specialize)))' --split-input-file --verify-diagnostics

gpu.module @m {
  // expected-error@+1 {{kernel has no 'launch.abi' beside it}}
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  // expected-error@+1 {{kernel must have one block}}
  gpu.func @f() kernel {
    cf.br ^end
  ^end:
    gpu.return
  }
}

// -----

// Warps that are not whole warp groups.
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>,
                <"idle", warps = 2, registers = 24, owns = []>]>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(192) shared_memory(0) persistent(1)
  // expected-error@+1 {{'warp.specialize' op roles must have a multiple of 4 warps in all, at most 32, found 14}}
  gpu.func @f() kernel {
    gpu.return
  }
}

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @f(%g: !memory, %n: index) kernel {
    %c1 = arith.constant 1 : index
    %some = arith.cmpi ult, %c1, %n : index
    scf.if %some {
      // expected-error@+1 {{'warp.pipeline' op must be outside of loops and branches to be shared by roles}}
      %inner = warp.pipeline : !warp.pipeline<2>
    }
    gpu.return
  }
}
