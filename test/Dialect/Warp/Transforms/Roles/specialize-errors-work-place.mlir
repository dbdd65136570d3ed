// Work must be fetched in the loop over work itself, not in a branch of it.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-specialize)))' --split-input-file --verify-diagnostics

gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([]) parameters([])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @f() kernel {
    %z = arith.constant 0 : i32
    // expected-error@+1 {{the next work index must be fetched in the loop over work}}
    %w = warp.next_work %z : index
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
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %first = gpu.block_id x
    %same = arith.cmpi eq, %n, %c1 : index
    %w:2 = scf.while (%item = %first, %round = %z) : (index, i32) -> (index, i32) {
      %next = scf.if %same -> (index) {
        // expected-error@+1 {{the next work index must be fetched in the loop over work}}
        %fetched = warp.next_work %round : index
        scf.yield %fetched : index
      } else {
        scf.yield %item : index
      }
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
