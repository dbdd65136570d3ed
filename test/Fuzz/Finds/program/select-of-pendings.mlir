

// Who issued it can't be seen.
!a = memref<64x64xbf16, #warp.shared<panel = 64>>
!acc = tensor<64x64xf32, #warp.wgmma<groups = 1>>
gpu.module @m {
  tile.abi @f target("sm_90a") schedule(<tile_m = 64, tile_n = 64, warps = 4, stages = 2, query_in_registers = 0, min_blocks = 1, producer_registers = 24, consumer_registers = 240>)
    tensors([]) parameters([#tile.scalar<"n", i1>]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%n: i1) kernel {
    %zero = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !a
    %x = warp.dot async "c" %b, %b, %zero : !a, !a, !acc
    %y = warp.dot async "c" %b, %b, %zero : !a, !a, !acc
    %either = arith.select %n, %x, %y : !warp.pending<!acc>
    // expected-error @+1 {{waits for a dot that comes through something else than loops and branches}}
    warp.await_reads %either : !warp.pending<!acc>
    gpu.return
  }
}
