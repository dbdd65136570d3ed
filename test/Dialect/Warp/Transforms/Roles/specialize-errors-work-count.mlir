// The loop over work must carry its iteration count.
// RUN: fovea-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-specialize)))' --split-input-file --verify-diagnostics

!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @f(%g: !memory, %n: index) kernel {
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %first = gpu.block_id x
    %w:2 = scf.while (%item = %first, %round = %z) : (index, i32) -> (index, i32) {
      %count = arith.addi %round, %one : i32
      // expected-error@+1 {{the count of work must be carried by the loop over work}}
      %next = warp.next_work %count : index
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

// -----

!memory = memref<?x32xbf16, strided<[?, 1]>>
gpu.module @m {
  launch.abi @f target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, work = dynamic,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>]>)
    tensors([#launch.tensor<"k", read, tensor<?x32xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"k", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(256) shared_memory(0) persistent(1)
  gpu.func @f(%g: !memory, %n: index) kernel {
    %z = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %first = gpu.block_id x
    %w:2 = scf.while (%item = %first, %round = %z) : (index, i32) -> (index, i32) {
      // expected-error@+1 {{the count of work must be carried by the loop over work}}
      %next = warp.next_work %z : index
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
