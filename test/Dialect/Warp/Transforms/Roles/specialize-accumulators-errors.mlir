// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-print-roles,warp-specialize)))' --split-input-file --verify-diagnostics -o /dev/null

// The dot that is waited for is unknown.
!a = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!acc = tensor<64x64xf32, #warp.wgmma<groups = 1>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([#launch.scalar<"n", i1>]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @f(%n: i1) kernel {
    %zero = arith.constant dense<0.0> : !acc
    %b = warp.alloc : !a
    %x = warp.dot async "c" %b, %b, %zero : !a, !a, !acc
    %y = warp.dot async "c" %b, %b, %zero : !a, !a, !acc
    %either = arith.select %n, %x, %y : !warp.pending<!acc>
    // expected-error @+1 {{waits for a dot that is passed through an op other than loops and branches}}
    warp.await_reads %either : !warp.pending<!acc>
    gpu.return
  }
}
