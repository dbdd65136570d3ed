//===- DotPasses.td - Passes on when dots are waited for ----*- tablegen -*-===//
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
  let summary = "Run softmax under dots in flight";
  let body = [{
    Pipelines loops in which one dot's register operand is computed from
    another's result, with upstream's loop pipeliner: dots become asynchronous,
    and the order of an iteration becomes: issue this block's scores, issue the
    last block's product, wait for the scores, softmax, wait for the product,
    rescale it (FlashAttention 3, intra-warpgroup overlap). The first block's
    scores and the last block's product stand before and behind the loop. Sums of
    the weights are a part of the softmax, so that the loop need not carry the
    weights as floats.

    Of several late dots one may need what another gives, by a register operand or
    through a stream, as in a backward pass: what that one needs goes first, then the
    next block's scores and it are issued, and softmax runs under it. Its role's other
    sums are waited for behind softmax. Other roles' dots stay where they are, with what
    is done with them; what is read for the late dots alone is read beside them.

    Of dots that the plan says are `carried` only the issue moves, with the copies that
    bring their operands: behind the last of their role's other dots, ahead of the wait
    for it. The loop carries them in flight, and the round that they are of waits for
    them. Other dots of the role that need nothing of their round but what is copied are
    issued right behind that wait: what the carried ones give is computed under them. Of
    others that stand behind each other the next one is issued before what comes of one
    is done.

    Loops that may run zero times are left alone, and so are those where
    everything depends on the product, or the dot ahead on one that would come
    later. So are kernels without roles, and units whose products are made at
    once. The plan then has no dot ahead any more.

    Dots in memory form (`warp.dot_into`) are waited for where somebody reads the
    memory, so only their issue moves, with the copies that bring their operands and
    the verbs around: the first round's before the loop, the next round's behind the
    last op that uses what they overwrite, under a branch that the last round does
    not take. All else stays, so nothing is there twice.

    Numbers of 16 bits that are needed wide behind a wait (weights, for what a
    backward pass makes of them) are widened right behind it, of what the wait
    holds. Wide numbers would take twice the registers while products are made.

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
      %sum = warp.dot async "o" %p, %v, %acc : ...  // the last block's
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
  let summary = "Let a sum's next product be issued before the last one is done";
  let body = [{
    For dots of which the plan says `in_flight`, each of which adds to what its
    loop carries. The loop carries the product that is not delivered
    (`warp.begin_sum`, `!warp.pending`); the next round adds to it without a wait,
    and the wait for it stands behind the loop. What the stages need, that they are
    released only when they were read, is `warp.await_reads` a round later, behind
    the issue of the next product: upstream's loop pipeliner moves it and the
    releases, so the last round's stand behind the loop.

    Requires a loop that runs at least once (a bound that is a constant or
    `max(n, 1)`) and rings of at least two stages; else that is an error, since
    somebody asked for it. Without roles nothing changes.

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
    %first = warp.dot async "dk" %ds0, %q0, %start : ...   // the first round's
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
    Statistic<"numDots", "dots", "Number of dots kept in flight">
  ];
}

def WarpSinkMmaWaits
    : KernelPass<"warp-sink-mma-waits", [DotsReadMemory, IsOneProgram],
                 []> {
  let summary = "Wait for a product where it is needed";
  let body = [{
    For dots of which the plan says `wait_late`: what the program does between a dot
    and the first use of its result is done while the product is made. The wait,
    `warp.dot_wait`, stands in front of that use; what gives back a stage that the
    dot reads moves behind the wait. Where such a stage is asked for again, or
    other memory that the dot reads is overwritten ahead of that use, the wait
    stands in front of that. Nothing else moves, so the plan and whoever
    makes the program agree on what stands between the two.

    An operand in registers is an error: its registers may be written before the
    wait. Without roles nothing changes but the plan's entry.

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
    Statistic<"numDots", "dots", "Number of dots that are waited for late">
  ];
}

def WarpDelayAtomicAdds
    : KernelPass<"warp-delay-atomic-adds", [DotsReadMemory, IsOneProgram],
                 []> {
  let summary = "Add to memory under the next round's product";
  let body = [{
    For stores of which the plan says `late`, each of which adds a tile to memory in
    a loop. The loop carries the tile and where it goes, and the next round adds it
    behind the issue of the first product of the store's owner; the last one is
    added behind the loop. The first round adds zeros, where its own tile goes. Who
    adds waits until its memory queue has taken the tile: the matrix unit works
    meanwhile. The first products of all these owners are issued together.

    Requires a loop that runs at least once (a bound that is a constant or
    `max(n, 1)`), in which no tile waits for its turn and nothing else is done with
    that memory than to add to it, and a product of each owner ahead of the stores,
    of operands that are in shared memory where the first owner's is issued. Where that does not hold, and without roles, nothing changes
    but the plan's entry.

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
    Statistic<"numStores", "stores", "Number of stores that add a round later">
  ];
}

#endif // FOVEA_DIALECT_WARP_TRANSFORMS_DOTPASSES_TD
