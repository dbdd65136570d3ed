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

def WarpOverlapDots
    : KernelPass<"warp-overlap-dots", [DotsReadMemory, IsOneProgram],
                 []> {
  let summary = "Overlap softmax with asynchronous dots";
  let body = [{
    Software-pipelines loops in which one dot's register operand is computed
    from another dot's result, with the upstream loop pipeliner
    (FlashAttention-3's intra-warpgroup overlap). Dots become asynchronous, and
    one iteration becomes: issue the QK dot of this block, issue the PV dot of
    the previous block, wait for the scores, compute softmax, wait for the PV
    dot, rescale its result. The QK dot of the first block precedes the loop,
    and the PV dot of the last block follows it. The row sums of P are part of
    the softmax, so the loop does not carry P in f32.

    If there are several delayed dots, one may need another's result, through a
    register operand or a stream, as in a backward pass. The dots that it needs
    are issued first, then the next block's QK dot and the dot itself, and
    softmax overlaps it. The other delayed accumulations of its role are waited
    for after softmax. Dots of other roles stay in place with their users. Loads
    that only delayed dots need move with them.

    For dots that the plan lists as `carried`, only the issue moves, together
    with the copies of their operands: after the last of their role's other
    dots, and before the wait for that dot. The loop carries them outstanding,
    and the iteration that uses them waits for them. Other dots of the role that
    depend, within their iteration, only on copied operands are issued right
    after that wait, so that the users of the carried dots overlap them. Of
    consecutive independent dots, dot i+1 is issued before the users of dot i.

    The pass does not change loops that may run zero times, loops in which all
    ops depend on the PV dot, and loops in which the prefetched dot depends on a
    dot that would come later. It also does not change kernels without roles or
    with an MMA unit whose dots are synchronous. In these cases it removes
    `ahead` from the plan.

    The result of `warp.dot_into` is waited for at the reader of the
    accumulator, so only the issue moves, with the copies of the operands and
    the pipeline ops around them. The first iteration's issue precedes the loop.
    The next iteration's issue follows the last use of the memory that it
    overwrites, under a branch that the last iteration does not take. All other
    ops stay, so no op is duplicated.

    16-bit values that are needed as f32 after a wait (P, in a backward pass)
    are converted right after that wait, from the 16-bit values kept live across
    it. Keeping the f32 values live would take twice the registers while dots
    are outstanding.

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
    Statistic<"numOverlapped", "overlapped", "Number of loops pipelined">
  ];
}

def WarpKeepDotsInFlight
    : KernelPass<"warp-keep-dots-in-flight", [DotsReadMemory, IsOneProgram],
                 []> {
  let summary = "Keep an accumulation outstanding across loop iterations";
  let body = [{
    Applies to dots that the plan lists as `in_flight`, each of which
    accumulates into a loop-carried value. The loop carries the outstanding dot
    (`warp.begin_sum`, `!warp.pending`). The next iteration accumulates into it
    without a wait, and the wait for the result follows the loop. Stages that
    the dot reads still have to be released only after they are read, so
    `warp.await_reads` is inserted one iteration later, after the issue of the
    next dot. The upstream loop pipeliner moves it and the releases; those of
    the last iteration follow the loop.

    Requires a loop that runs at least once (a bound that is a constant or
    `max(n, 1)`) and rings of at least two stages. Otherwise the pass fails,
    because only user-written plans contain `in_flight`. Kernels without roles
    do not change.

    Before:

    ```mlir
    %dk = scf.for %i = ... iter_args(%acc = %zero) {
      %sum = warp.dot "dk" %ds, %q, %acc : ...
      scf.yield %sum
    }
    ```

    After:

    ```mlir
    %start = warp.begin_sum %zero : ...
    %first = warp.dot async "dk" %ds0, %q0, %start : ...   // the first iteration's
    %last = scf.for %i = ... iter_args(%sum = %first) {
      %next = warp.dot async "dk" %ds, %q, %sum : ...
      warp.await_reads %sum : ...                          // and its stages are released
      scf.yield %next
    }
    %dk = warp.dot_wait %last : ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
  let statistics = [
    Statistic<"numDots", "dots", "Number of dots kept outstanding">
  ];
}

def WarpSinkMmaWaits
    : KernelPass<"warp-sink-mma-waits", [DotsReadMemory, IsOneProgram],
                 []> {
  let summary = "Sink the wait for a dot to its first use";
  let body = [{
    Applies to dots that the plan lists as `wait_late`. The ops between the dot
    and the first use of its result overlap the dot. The wait (`warp.dot_wait`)
    precedes that use, and releases of stages that the dot reads move after the
    wait. The wait comes earlier if one of these stages is acquired again, or if
    other memory that the dot reads is overwritten, before the first use. No
    other op moves.

    A dot with an operand in registers is an error, because the registers may be
    overwritten before the wait. In kernels without roles, only the plan's entry
    changes.

    Before:

    ```mlir
    %dq = warp.dot "dq.0" %ds, %k, %zero transpose_a : ...
    tile.scatter add "distance_sum" %share, %sums[%place] : ...
    warp.consumer_release %derivatives[%stage, %phase] : !warp.pipeline<2>
    tile.store add "dq_sum.0" %dq, ...
    ```

    After:

    ```mlir
    %issued = warp.dot async "dq.0" %ds, %k, %zero transpose_a : ...
    tile.scatter add "distance_sum" %share, %sums[%place] : ...
    %dq = warp.dot_wait %issued : ...
    warp.consumer_release %derivatives[%stage, %phase] : !warp.pipeline<2>
    tile.store add "dq_sum.0" %dq, ...
    ```
  }];
  let statistics = [
    Statistic<"numDots", "dots", "Number of waits that were sunk">
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
