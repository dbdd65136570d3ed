// Kernels that can't be partitioned into roles.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-specialize)))' --split-input-file --verify-diagnostics

!memory = memref<?x32xbf16, strided<[?, 1]>>
!staged = memref<2x64x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!query = memref<128x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<128x64xf32, #warp.wgmma<groups = 2>>
gpu.module @m {
  // expected-error@+1 {{kernel has no 'launch.abi' beside it}}
  gpu.func @no_abi() kernel {
    gpu.return
  }

  launch.abi @two_blocks target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  // expected-error@+1 {{kernel must have one block}}
  gpu.func @two_blocks() kernel {
    cf.br ^end
  ^end:
    gpu.return
  }

  // Warps that are not whole warp groups.
  launch.abi @fourteen_warps target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>,
                <"idle", warps = 2, registers = 24, owns = []>]>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(192) shared_memory(0) persistent(1)
  // expected-error@+1 {{'warp.specialize' op roles must have a multiple of 4 warps in all, at most 32, found 14}}
  gpu.func @fourteen_warps() kernel {
    gpu.return
  }

  launch.abi @inner_pipeline target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @inner_pipeline(%g: !memory, %n: index) kernel {
    %c1 = arith.constant 1 : index
    %some = arith.cmpi ult, %c1, %n : index
    scf.if %some {
      // expected-error@+1 {{'warp.pipeline' op must be outside of loops and branches to be shared by roles}}
      %inner = warp.pipeline : !warp.pipeline<2>
    }
    gpu.return
  }

  // A while loop whose second region has ops.
  launch.abi @while_loop target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @while_loop(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0 : i32
    %ks = warp.alloc : !staged
    // expected-error@+1 {{this op can't be partitioned between roles}}
    %w = scf.while (%j = %c0) : (index) -> index {
      %to = warp.stage %ks[%z] : !staged to !buffer
      warp.copy async "k" %g[%j, %c0] dims [0, 1] to %to : !memory to !buffer
      %more = arith.cmpi ult, %j, %n : index
      scf.condition(%more) %j : index
    } do {
    ^bb0(%j: index):
      %next = arith.addi %j, %c1 : index
      scf.yield %next : index
    }
    gpu.return
  }

  // The copies depend on a result that only the other role computes.
  launch.abi @other_role_result target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @other_role_result(%g: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0 : i32
    %zs = arith.constant dense<0.0> : !scores
    %q = warp.alloc : !query
    %ks = warp.alloc : !staged
    %kp = warp.pipeline "k" : !warp.pipeline<2>
    %m = warp.mailbox : !warp.mailbox<2>
    // expected-error@+1 {{a role needs the result of an op that it does not own}}
    %j = warp.receive %m[%z] : !warp.mailbox<2>
      warp.producer_acquire %kp[%z, %z] : !warp.pipeline<2>
      %to = warp.stage %ks[%z] : !staged to !buffer
      warp.copy async "k" %g[%j, %c0] dims [0, 1] to %to : !memory to !buffer
      warp.producer_commit %kp[%z, %z] : !warp.pipeline<2>
      warp.consumer_wait %kp[%z, %z] : !warp.pipeline<2>
      %k = warp.stage %ks[%z] : !staged to !buffer
      %i = warp.dot async "s" %q, %k, %zs transpose_b : !query, !buffer, !scores
      %s = warp.dot_wait %i : !warp.pending<!scores>
      warp.consumer_release %kp[%z, %z] : !warp.pipeline<2>
    gpu.return
  }

  // Shared memory must be allocated before the roles.
  launch.abi @inner_alloc target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @inner_alloc(%g: !memory, %n: index) kernel {
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %first = gpu.block_id x
    %w:2 = scf.while (%item = %first, %round = %z) : (index, i32) -> (index, i32) {
      // expected-error@+1 {{'warp.alloc' op must be outside of loops and branches to be shared by roles}}
      %inner = warp.alloc : !buffer
      %next = warp.next_work %round : index
      %rounds = arith.addi %round, %one : i32
      %more = arith.cmpi ult, %next, %n : index
      scf.condition(%more) %next, %rounds : index, i32
    } do {
    ^bb0(%item: index, %round: i32):
      scf.yield %item, %round : index, i32
    }
    gpu.return
  }
}
