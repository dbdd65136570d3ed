//===- DotPasses.td - Passes that schedule dots and waits --*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_WARP_TRANSFORMS_DOTPASSES_TD
#define FOVEA_DIALECT_WARP_TRANSFORMS_DOTPASSES_TD

include "fovea/Dialect/Warp/IR/KernelFacts.td"

include "mlir/Pass/PassBase.td"

def WarpScheduleLoops
    : KernelPass<"warp-schedule-loops", [DotsReadMemory, IsOneProgram], []> {
  let summary = "Schedule loops by the plan's order";
  let body = [{
    Software-pipelines each loop that contains steps of different stages of the
    plan's `order`, with the upstream loop pipeliner.

    *Stages.* A listed op has the listed stage, the number of iterations by which
    it runs early. An op that computes from listed ops runs as early as its
    operands allow if its results are small, and otherwise (32-bit tiles) as
    early as its earliest user. Any other op (loads, the ops of their rings,
    index arithmetic) runs as early as its earliest user.

    *Order.* The steps are placed in the order of the list. Each is preceded by
    the ops of its stage that come before it in the program and do not depend on
    a later step, and by what they depend on. Arithmetic on tiles precedes the
    issue of an asynchronous dot only if the dot needs it. The step `"*"` stands
    for all ops of its stage that do not depend on a later step. The remaining
    ops follow, the latest stage first. Within these groups the program's order
    stays. A release of a stage comes after all waits for dots that read it.

    *Dependences* are values, also loop-carried ones; the protocols of rings
    (acquire, fill, commit, wait, read, release, and the next acquire of the same
    stage); and memory. An order that violates a dependence is an error, which
    names both ops and the dependence.

    Dots whose wait is a step (`"x.done"`) become asynchronous. Views of stages,
    large tiles that a few ops compute from rows and columns, and index tiles of
    scatters are recomputed in the stage that uses them, so that the loop carries
    less. The multiplication of zeros in the first iteration is folded.

    The pass does not change loops that may run zero times, kernels without
    roles, and kernels with a synchronous MMA unit.

    FlashAttention-3's overlap of softmax with the PV dot of the previous block
    is `order = ["s" + 1, "o", "s.done" + 1, "*" + 1, "o.done", "*", "o.acc" + 1]`.
    Before:

    ```mlir
    scf.for %j = %from to %to step %c1 iter_args(%acc = ...) {
      %s = warp.dot "s" %q, %k, %zero transpose_b : ...
      %p = ...                                    // softmax of %s
      %o = warp.dot "o" %p, %v, %acc : ...
      scf.yield %o
    }
    ```

    After:

    ```mlir
    %p0 = ...                                     // softmax of the first block
    scf.for %j = %second to %to step %c1 iter_args(%p = %p0, %acc = ...) {
      %pending = warp.dot async "s" %q, %k, %zero transpose_b : ...
      %sum = warp.dot async "o" %p, %v, %acc : ...  // the previous block's
      %s = warp.dot_wait %pending : ...
      %next = ...                                 // softmax of %s
      %o = warp.dot_wait %sum : ...
      scf.yield %next, %o
    }
    %last = warp.dot "o" %p, %v, %acc : ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
  let statistics = [
    Statistic<"numLoops", "loops", "Number of loops pipelined">
  ];
}

def WarpHoldAcrossWaits
    : KernelPass<"warp-hold-across-waits", [DotsReadMemory, IsOneProgram], []> {
  let summary = "Keep narrow tiles live across waits for dots";
  let body = [{
    While dots are outstanding, registers are scarce. In loops that the plan's
    order pipelines, values of at most 16 bits that are needed as f32 after a wait
    (P, in a backward pass) are converted right after that wait, from the narrow
    values kept live across it (`held`). If a wide tile and its rounded form are both
    used after a wait, the wide tile is kept live across it: ptxas would round it
    before the wait, and registers would hold both. In other kernels with roles,
    a dot whose register operand has later users becomes asynchronous, and its
    wait keeps the operand live.

    Example:

    ```mlir
    %s, %p1 = warp.dot_wait %pending held(%p : ...) : ...
    %wide = arith.extf %p1 : ...
    ```
  }];
  let statistics = [
    Statistic<"numHeld", "held", "Number of tiles kept live across a wait">
  ];
}

def WarpDelayAtomicAdds
    : KernelPass<"warp-delay-atomic-adds", [DotsReadMemory, IsOneProgram],
                 []> {
  let summary = "Delay the atomic add of a tile into the next iteration";
  let body = [{
    Applies to stores that the plan lists as `late`, each of which adds a tile
    to memory in a loop. The loop carries the tile and its address. The next
    iteration adds it after the issue of the first dot of the store's owner, and
    the last tile is added after the loop. The first iteration adds zeros at the
    address of its own tile. An atomic add blocks its thread until the memory
    queue accepts it; this time then overlaps the dot. The first dots of all
    owners of such stores are issued together.

    Requires a loop that runs at least once (a bound that is a constant or
    `max(n, 1)`), contains no semaphore wait, and accesses that memory only to
    add to it. Each owner needs a dot before its stores, with operands that are
    in shared memory where the first owner's dot is issued. If these conditions
    do not hold, and in kernels without roles, only the plan's entry changes.

    Before:

    ```mlir
    scf.for %i = %from to %to step %c1 {
      %row = arith.muli %i, %c64 : index
      %s = warp.dot "s" %k, %q, %zero transpose_b : ...
      ...
      tile.store add "dq_sum" %dq, %sums[%row] : ...
    }
    ```

    After:

    ```mlir
    %first = arith.muli %from, %c64 : index
    %last:2 = scf.for %i = %from to %to step %c1
        iter_args(%tile = %zeros, %there = %first) {
      %row = arith.muli %i, %c64 : index
      %issued = warp.dot async "s" %k, %q, %zero transpose_b : ...
      tile.store add "dq_sum" %tile, %sums[%there] : ...
      %s = warp.dot_wait %issued : ...
      ...
      scf.yield %dq, %row
    }
    tile.store add "dq_sum" %last#0, %sums[%last#1] : ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
  let statistics = [
    Statistic<"numStores", "stores", "Number of delayed stores">
  ];
}

#endif // FOVEA_DIALECT_WARP_TRANSFORMS_DOTPASSES_TD
