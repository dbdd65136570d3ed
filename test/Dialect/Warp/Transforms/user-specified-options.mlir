// A user-specified option that can't be applied is an error. For a planner's choice it is a remark,
// and the plan then describes the code.
// RUN: fovea-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-schedule-loops,warp-hold-across-waits,warp-chain-tiles,warp-split-softmax,warp-approximate-exp2,warp-ping-pong,warp-insert-output-copies)))'
// RUN: sed -e 's/asked = .*]>/asked = []>/' %s | fovea-opt --split-input-file --remarks-filter=schedule --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-schedule-loops,warp-hold-across-waits,warp-chain-tiles,warp-split-softmax,warp-approximate-exp2,warp-ping-pong,warp-insert-output-copies)))' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: sed -e 's/asked = .*]>/asked = []>/' %s | fovea-opt --split-input-file --remarks-filter=schedule --pass-pipeline='builtin.module(gpu.module(gpu.func(warp-schedule-loops,warp-hold-across-waits,warp-chain-tiles,warp-split-softmax,warp-approximate-exp2,warp-ping-pong,warp-insert-output-copies)))' 2>/dev/null | FileCheck %s

// REMARK: remark: [Missed] overlap | Category:schedule | Function=overlap | Reason="no loop has steps of different stages"
// CHECK: launch.abi @overlap
// CHECK-SAME: order = ["s", "o"]>
// CHECK-LABEL: gpu.func @overlap
gpu.module @m {
  launch.abi @overlap target("sm_90a") plan(<#warp.wgmma_unit,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>],
       asked = ["overlap"]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  // expected-error@+1 {{schedule's 'overlap' is user-specified but cannot be applied: no loop has steps of different stages}}
  gpu.func @overlap() kernel {
    gpu.return
  }
}

// -----

// REMARK: remark: [Missed] chain | Category:schedule | Function=chain | Reason="an iteration over work needs one loop over blocks, with a dot issued before it and one after it"
// CHECK: launch.abi @chain
// CHECK-NOT: chain =
// CHECK-LABEL: gpu.func @chain
gpu.module @m {
  launch.abi @chain target("sm_90a") plan(<#warp.wgmma_unit, chain = 2,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>],
       asked = ["chain"]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  // expected-error@+1 {{schedule's 'chain' is user-specified but cannot be applied: an iteration over work needs one loop over blocks, with a dot issued before it and one after it}}
  gpu.func @chain() kernel {
    gpu.return
  }
}

// -----

// REMARK: remark: [Missed] softmax_part | Category:schedule | Function=softmax_part | Reason="no loop rounds an operand of its next dot while a dot is outstanding"
// CHECK: launch.abi @softmax_part
// CHECK-NOT: operand_above =
// CHECK-LABEL: gpu.func @softmax_part
gpu.module @m {
  launch.abi @softmax_part target("sm_90a") plan(<#warp.wgmma_unit,
       dots = [<"o", operand_above = 25>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>],
       asked = ["softmax_part"]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  // expected-error@+1 {{schedule's 'softmax_part' is user-specified but cannot be applied: no loop rounds an operand of its next dot while a dot is outstanding}}
  gpu.func @softmax_part() kernel {
    gpu.return
  }
}

// -----

// REMARK: remark: [Missed] exp2_by_fma | Category:schedule | Function=exp2_by_fma | Reason="no exponential is rounded for a dot, or the share is less than 8 columns"
// CHECK: launch.abi @exp2_by_fma
// CHECK-NOT: operand_by_fma =
// CHECK-LABEL: gpu.func @exp2_by_fma
gpu.module @m {
  launch.abi @exp2_by_fma target("sm_90a") plan(<#warp.wgmma_unit,
       dots = [<"o", operand_by_fma = 50>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>],
       asked = ["exp2_by_fma"]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  // expected-error@+1 {{schedule's 'exp2_by_fma' is user-specified but cannot be applied: no exponential is rounded for a dot, or the share is less than 8 columns}}
  gpu.func @exp2_by_fma() kernel {
    gpu.return
  }
}

// -----

// REMARK: remark: [Missed] ping_pong | Category:schedule | Function=ping_pong | Reason="expected at least two warp groups, found one"
// CHECK: launch.abi @ping_pong
// CHECK-NOT: ping_pong,
// CHECK-LABEL: gpu.func @ping_pong
gpu.module @m {
  launch.abi @ping_pong target("sm_90a") plan(<#warp.wgmma_unit, ping_pong,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>],
       asked = ["ping_pong"]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  // expected-error@+1 {{schedule's 'ping_pong' is user-specified but cannot be applied: expected at least two warp groups, found one}}
  gpu.func @ping_pong() kernel {
    gpu.return
  }
}

// -----

// A loop that may be empty has no first iteration to peel.
// REMARK: remark: [Missed] overlap | Category:schedule | Function=empty | Reason="the loop may run zero iterations"
// CHECK: launch.abi @empty
// CHECK-SAME: order = ["s", "o"]>
// CHECK-LABEL: gpu.func @empty
!query = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<64x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @empty target("sm_90a") plan(<#warp.wgmma_unit,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>],
       asked = ["overlap"]>)
    tensors([]) parameters([#launch.scalar<"n", index>]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @empty(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !scores
    %q = warp.alloc : !query
    %k = warp.alloc : !buffer
    // expected-error@+1 {{schedule's 'overlap' is user-specified but cannot be applied: the loop may run zero iterations}}
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!scores) {
      %s = warp.dot "s" %q, %k, %zero transpose_b : !query, !buffer, !scores
      %o = warp.dot "o" %q, %k, %acc transpose_b : !query, !buffer, !scores
      scf.yield %o : !scores
    }
    gpu.return
  }
}

// -----

// TMA does not know the end of a sequence.
// REMARK: remark: [Missed] output | Category:schedule | Function=limited | Reason="TMA can't write this tile"
// CHECK: launch.abi @limited
// CHECK-NOT: stores =
// CHECK-LABEL: gpu.func @limited
!memory = memref<?x64xbf16, strided<[?, 1]>>
!tile = tensor<64x64xbf16, #warp.wgmma<groups = 1>>
gpu.module @m {
  launch.abi @limited target("sm_90a") plan(<#warp.wgmma_unit,
       stores = [<"out", copied>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>],
       asked = ["output"]>)
    tensors([#launch.tensor<"o", write, tensor<?x64xbf16>, ["S", "D"], 16>]) parameters([#launch.memref<"o", [0, 1]>, #launch.scalar<"n", index>])
    grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @limited(%o: !memory, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %t = arith.constant dense<0.0> : !tile
    // expected-error@+1 {{schedule's 'output' is user-specified but cannot be applied: TMA can't write this tile}}
    tile.store "out" %t, %o[%c0, %c0] limit(%n) dims [0, 1] : !tile, !memory
    gpu.return
  }
}

// -----

// REMARK: remark: [Missed] ping_pong | Category:schedule | Function=no_bursts | Reason="no two dots are issued without a wait in between"
gpu.module @m {
  launch.abi @no_bursts target("sm_90a") plan(<#warp.wgmma_unit, tile_m = 128, warps = 8, ping_pong,
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 8, registers = 240, owns = ["*"]>],
       asked = ["ping_pong"]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(256) shared_memory(0)
  // expected-error@+1 {{schedule's 'ping_pong' is user-specified but cannot be applied: no two dots are issued without a wait in between}}
  gpu.func @no_bursts() kernel {
    gpu.return
  }
}

// -----

// One dot alone has nothing to overlap.
// REMARK: remark: [Missed] overlap | Category:schedule | Function=chained | Reason="no loop has steps of different stages"
!query = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!buffer = memref<64x32xbf16, #warp.shared<row_bytes = 64>>
!scores = tensor<64x64xf32, #tile.reg>
gpu.module @m {
  launch.abi @chained target("sm_90a") plan(<#warp.wgmma_unit,
       order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>],
       asked = ["overlap"]>)
    tensors([]) parameters([]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  // expected-error@+1 {{schedule's 'overlap' is user-specified but cannot be applied: no loop has steps of different stages}}
  gpu.func @chained() kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant dense<0.0> : !scores
    %q = warp.alloc : !query
    %k = warp.alloc : !buffer
    %r = scf.for %j = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (!scores) {
      %s = warp.dot "s" %q, %k, %acc transpose_b : !query, !buffer, !scores
      scf.yield %s : !scores
    }
    gpu.return
  }
}

// -----

// One percent of 64 columns is less than 16 columns.
// REMARK: remark: [Missed] softmax_part | Category:schedule | Function=few_columns | Reason="the block's exponentials can't be split at a multiple of 16 columns"
!operand = memref<64x64xbf16, #warp.shared<row_bytes = 128>>
!scores = tensor<64x64xf32, #tile.reg>
!weights = tensor<64x64xbf16, #tile.reg>
!sums = tensor<64x8xf32, #tile.reg>
gpu.module @m {
  launch.abi @few_columns target("sm_90a") plan(<#warp.wgmma_unit,
       dots = [<"o", operand_above = 1>],
       roles = [<"load", warps = 4, registers = 24, owns = copies>, <"compute", warps = 4, registers = 240, owns = ["*"]>],
       asked = ["softmax_part"]>)
    tensors([]) parameters([#launch.scalar<"n", index>]) grid([] affine_map<() -> (1)>) threads(128) shared_memory(0)
  gpu.func @few_columns(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant dense<0.0> : !scores
    %none = arith.constant dense<0.0> : !sums
    %first = arith.constant dense<0.0> : !weights
    %k = warp.alloc : !operand
    // expected-error@+1 {{schedule's 'softmax_part' is user-specified but cannot be applied: the block's exponentials can't be split at a multiple of 16 columns}}
    %r:3 = scf.for %j = %c0 to %n step %c1 iter_args(%w = %first, %acc = %zero, %l = %none) -> (!weights, !scores, !sums) {
      %i1 = warp.dot async %k, %k, %zero transpose_b : !operand, !operand, !scores
      %i2 = warp.dot async "o" %w, %k, %acc : !weights, !operand, !scores
      %s = warp.dot_wait %i1 : !warp.pending<!scores>
      %e = math.exp2 %s : !scores
      %sum = tile.reduce add dim 1 %e : !scores to !sums
      %l2 = arith.addf %l, %sum : !sums
      %p = arith.truncf %e : !scores to !weights
      %o = warp.dot_wait %i2 : !warp.pending<!scores>
      scf.yield %p, %o, %l2 : !weights, !scores, !sums
    }
    gpu.return
  }
}
