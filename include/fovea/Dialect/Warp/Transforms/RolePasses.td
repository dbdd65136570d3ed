//===- RolePasses.td - Passes on roles and pipelines --------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_WARP_TRANSFORMS_ROLEPASSES_TD
#define FOVEA_DIALECT_WARP_TRANSFORMS_ROLEPASSES_TD

include "fovea/Dialect/Warp/IR/KernelFacts.td"

include "mlir/Pass/PassBase.td"

def WarpPrintRoles
    : KernelPass<"warp-print-roles", [IsOneProgram],
                 []> {
  let summary = "Print which roles will run what";
  let body = [{
    For a kernel that is still one program: the ops with effects, in their order,
    and the roles that `warp-specialize` will give them to.
  }];
  let statistics = [Statistic<"numRoles", "roles", "Number of roles printed">];
}

def WarpSplitSemaphoreRoles
    : KernelPass<"warp-split-semaphore-roles", [WorkIsDealt, IsOneProgram], []> {
  let summary = "Let a role of its own ask for turns, and end them";
  let body = [{
    Stores between a `tile.semaphore_wait` and its `tile.semaphore_release` are a
    CTA's turn. To ask takes a round trip to memory, and to end it takes until all
    stores are done. Where the plan gives the wait or the release to another role
    than the stores, the role that stores need not stand still for that: the first
    asks for turns ahead of time, by a pipeline's stages, and the last waits in its
    place. The pass puts a pipeline that brings nothing between them: the role that
    waits commits a stage, and the one that stores gives it back behind its last
    store; the one that stores commits a stage of another pipeline then, for which
    the one that releases waits. Where all three are one role's, nothing changes.

    A turn's stores must be one role's, and what they write may not be read in
    the turn.

    Before, with a plan in which `acquire` has `turn_acquire`, `release` has
    `turn_release`, and `reduce` has `dq_sum`:

    ```mlir
    %part = warp.dot "dq" %ds, %keys, %zero : ...
    tile.semaphore_wait "turn_acquire" %turns[%block] for %turn after(%part : ...) : memref<?xi32>
    tile.store add "dq_sum" %part, %sums[%row, %c0] dims [0, 1] : ...
    tile.semaphore_release "turn_release" %turns[%block] after(%part : ...) : memref<?xi32>
    ```

    After:

    ```mlir
    %part = warp.dot "dq" %ds, %keys, %zero : ...
    warp.producer_acquire %acquired[%stage, %phase] : !warp.pipeline<2>
    tile.semaphore_wait "turn_acquire" %turns[%block] for %turn : memref<?xi32>
    warp.producer_commit %acquired[%stage, %phase] : !warp.pipeline<2>
    warp.consumer_wait %acquired[%stage, %phase] : !warp.pipeline<2>
    tile.store add "dq_sum" %part, %sums[%row, %c0] dims [0, 1] : ...
    warp.consumer_release %acquired[%stage, %phase] : !warp.pipeline<2>
    warp.producer_acquire %done[%stage, %phase] : !warp.pipeline<2>
    warp.producer_commit %done[%stage, %phase] : !warp.pipeline<2>
    warp.consumer_wait %done[%stage, %phase] : !warp.pipeline<2>
    tile.semaphore_release "turn_release" %turns[%block] : memref<?xi32>
    warp.consumer_release %done[%stage, %phase] : !warp.pipeline<2>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
  let statistics = [
    Statistic<"numPipelines", "pipelines", "Number of pipelines made">
  ];
}

def WarpSpecialize
    : KernelPass<"warp-specialize", [WorkIsDealt, DotsReadMemory, VotesAreBranches, IsOneProgram],
                 [RolesAreCut]> {
  let summary = "Give each role its part of the program";
  let body = [{
    Turns the kernel's one program, in which everything stands in the order of
    its use, into a `warp.specialize` with a region for each of the `roles` of
    its plan. A role that owns `copies` has the streams that are copied from
    memory; one that owns `"*"` has the rest.

    Roles own names, and all else follows. A role runs what has a name that it
    owns. It acquires and commits the stages of a stream that it owns; the roles
    that read what these bring wait and release. A store without a name fills the
    stage acquired last. Waits for dots and turns follow their dots; fences,
    waits for copies out and rows made zero follow the stores, the copies and the
    readers of the same buffer. What only reads or computes goes to whoever needs
    it; the rest goes to the role that owns `"*"`. `warp-print-roles` shows it.

    Each role is the program without what it does not need: loops and branches
    around its work stay, values that they carry go where nobody reads them. So
    each fills stages in the order in which others wait for them, across loops
    and tiles, and runs ahead as far as the stages allow. Roles without turns
    cannot block each other, if the one program, run by one party, never waits
    for what comes later in it.

    It is an error if a tile that is computed from data would be found by two
    roles (a stream must bring it), if two roles use one memory, one writes it
    and no stream orders them, or if no role runs an op. Several roles may write
    a tensor of the host's that nobody reads, as parts of one family (`out.0`,
    `out.1`), since parts have different rows.

    `warp.next_work` becomes `warp.fetch_work` and a `warp.send` at the start of
    the round in the first role that copies from memory, and a `warp.receive`
    where it stood in the others.

    Integers that are costly to find (read from memory, voted on, divided by what
    only the launch knows), and that the filler of a stage and its readers need,
    the filler finds alone. It sends them with the stage that it fills next; the
    readers receive them behind their wait for that stage. What such a stage
    can't bring, because it is needed earlier or depends on the rows that warp
    groups hold, each role finds.

    Before:

    ```mlir
    %keys = warp.pipeline "k" : !warp.pipeline<2>
    %r:2 = scf.for %j = ... iter_args(%acc = %zero, %stage = %c0_i32) ... {
      warp.producer_acquire %keys[%stage, %phase] : !warp.pipeline<2>
      %to = warp.stage %ring[%stage] : ...
      warp.copy async "k" %K[%j, %c0] dims [0, 1] to %to : ...
      warp.producer_commit %keys[%stage, %phase] : !warp.pipeline<2>
      warp.consumer_wait %keys[%stage, %phase] : !warp.pipeline<2>
      %k = warp.stage %ring[%stage] : ...
      %i = warp.dot async "s" %q, %k, %acc transpose_b : ...
      %s = warp.dot_wait %i : ...
      warp.consumer_release %keys[%stage, %phase] : !warp.pipeline<2>
      ...
      scf.yield %s, %next_stage : ...
    }
    tile.store "out" %r#0, %O[%i, %c0] dims [0, 1] : ...
    ```

    After, with `roles = [<"load", ..., owns = copies>, <"compute", ..., owns = ["*"]>]`:

    ```mlir
    warp.specialize captures(%keys, %ring, %K, ...) {
      role @load warps(4) regs(24) {
        scf.for %j = ... iter_args(%stage = %c0_i32) ... {
          warp.producer_acquire %keys[%stage, %phase] : !warp.pipeline<2>
          %to = warp.stage %ring[%stage] : ...
          warp.copy async "k" %K[%j, %c0] dims [0, 1] to %to : ...
          warp.producer_commit %keys[%stage, %phase] : !warp.pipeline<2>
          ...
        }
      }
      role @compute warps(8) regs(240) {
        %r:2 = scf.for %j = ... iter_args(%acc = %zero, %stage = %c0_i32) ... {
          warp.consumer_wait %keys[%stage, %phase] : !warp.pipeline<2>
          %k = warp.stage %ring[%stage] : ...
          %i = warp.dot async "s" %q, %k, %acc transpose_b : ...
          %s = warp.dot_wait %i : ...
          warp.consumer_release %keys[%stage, %phase] : !warp.pipeline<2>
          ...
        }
        tile.store "out" %r#0, %O[%i, %c0] dims [0, 1] : ...
      }
    }
    ```
  }];
  let options = [
    Option<"sendsRelays", "relays", "bool", "true",
           "What is costly to find, one role finds and sends">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::fovea::warp::WarpDialect"];
  let statistics = [Statistic<"numRoles", "roles", "Number of roles cut">];
}

def WarpHoistSharedLoads
    : KernelPass<"warp-hoist-shared-loads", [WorkIsDealt, DotsReadMemory, RolesAreCut],
                 []> {
  let summary = "Read streams ahead of the fence behind what was stored last";
  let body = [{
    For streams of which the plan says `read_early`. A role that stores a tile for
    others waits for shared memory in the fence behind it; what it reads next, such
    as what a dot starts from, would make it wait once more. So the wait for such a
    stage, the read, and what gives the stage back move ahead of the fence, if
    nothing stands between but what gives or awaits other stages, reads or computes.
    They pass what the role gives to others: who fills the stage must not wait for
    that. `warp-verify-pipelines` finds it if one does.

    There is one read behind the wait, of the stage that the wait is for: what is
    read is filled by that pipeline alone, and given back of the same round. Of a
    stream with no such read the plan says `read_early` no more.

    Before:

    ```mlir
    warp.local_store "ds" %ds to %to : ...
    warp.fence_stores %to : ...
    warp.producer_commit %derivatives[%n, %p] : !warp.pipeline<2>
    warp.consumer_wait %numbers[%n1, %p1] : !warp.pipeline<2>
    %d = warp.local_load %from : ...
    warp.consumer_release %numbers[%n1, %p1] : !warp.pipeline<2>
    %start = tile.diagonals %d : ...
    %s = warp.dot async "s" %k, %q, %start transpose_b : ...
    ```

    After:

    ```mlir
    warp.local_store "ds" %ds to %to : ...
    warp.consumer_wait %numbers[%n1, %p1] : !warp.pipeline<2>
    %d = warp.local_load %from : ...
    warp.consumer_release %numbers[%n1, %p1] : !warp.pipeline<2>
    warp.fence_stores %to : ...
    warp.producer_commit %derivatives[%n, %p] : !warp.pipeline<2>
    %start = tile.diagonals %d : ...
    %s = warp.dot async "s" %k, %q, %start transpose_b : ...
    ```
  }];
  let statistics = [
    Statistic<"numReads", "reads", "Number of reads that were moved">
  ];
}

def WarpHoistVectors
    : KernelPass<"warp-hoist-vectors", [BlocksAreLoops],
                 []> {
  let summary = "Read a tile's own vectors ahead of its loop over blocks";
  let body = [{
    A vector that each iteration reads alike, such as the documents of a tile's
    rows, is read once, ahead of the loops that all its operands are known
    before. Threads hold it meanwhile, so only vectors move of which a thread has
    up to 4 elements. A read in a branch stays there, and a loop that writes
    global memory is left alone. Of a loop that never runs the vector is read all
    the same: places outside of a tensor give 0.

    Before:

    ```mlir
    !scores = tensor<64x32xi32, #warp.wgmma<groups = 1>>
    !rows = tensor<64x1xi32, #warp.wgmma<groups = 1>>
    scf.for %j = %from to %to step %c1 {
      %ids = tile.load %documents[%row] dims [0, -1] : memref<?xi32> to !rows
      %t = tile.broadcast %ids : !rows to !scores
      ...
    }
    ```

    After:

    ```mlir
    !scores = tensor<64x32xi32, #warp.wgmma<groups = 1>>
    !rows = tensor<64x1xi32, #warp.wgmma<groups = 1>>
    %ids = tile.load %documents[%row] dims [0, -1] : memref<?xi32> to !rows
    scf.for %j = %from to %to step %c1 {
      %t = tile.broadcast %ids : !rows to !scores
      ...
    }
    ```
  }];
  let statistics = [
    Statistic<"numHoisted", "hoisted",
              "Number of vectors that are read ahead of a loop">
  ];
}

def WarpAllocateSharedMemory
    : KernelPass<"warp-allocate-shared-memory", [DotsReadMemory, RolesAreCut],
                 [BuffersHavePlaces]> {
  let summary = "Place shared buffers";
  let body = [{
    Gives each `warp.alloc` its offset, a multiple of 1024 bytes, and writes the
    sum to the kernel's `launch.abi`. In kernels with roles the pipelines' barriers
    and the mailboxes' slots come behind the buffers. Fails if the target has
    less.

    Before:

    ```mlir
    %q = warp.alloc : memref<256x32xbf16, #warp.shared<row_bytes = 64>>
    %k = warp.alloc : memref<4x64x32xbf16, #warp.shared<row_bytes = 64>>
    ```

    After:

    ```mlir
    %q = warp.alloc offset(0) : memref<256x32xbf16, #warp.shared<row_bytes = 64>>
    %k = warp.alloc offset(16384) : memref<4x64x32xbf16, #warp.shared<row_bytes = 64>>
    ```
  }];
  let statistics = [Statistic<"numBuffers", "buffers", "Number of buffers placed">];
}

def WarpVerifyPipelines
    : KernelPass<"warp-verify-pipelines", [WorkIsDealt, DotsReadMemory, RolesAreCut],
                 []> {
  let summary = "Check that pipelines are used as they must be";
  let body = [{
    Changes nothing. Fails where the program shows that

    - two roles fill one pipeline, a role waits for what nobody fills, or waits
      in a kernel that fills stages again and never releases them;
    - an acquire has no commit in its block, or a commit no acquire; an
      asynchronous copy or a send stands outside of both; a buffer has fewer
      stages than its pipeline;
    - a stage is read that is released, or whose pipeline the role never waits
      for;
    - an asynchronous dot is never waited for, or the stage that it reads is
      released before its wait;
    - a turn begun is not ended in its block, work is fetched and not finished.

    Stages are the same if they are given by the same value.

    Then the roles, as far as they are integer arithmetic, are run against each
    other, for a number of sizes. Fails where

    - a phase is not the round's, or a stage is none;
    - a stage is waited for in the next round before its release, or released
      without a wait;
    - a stage is read before its wait or after its release, or was not written;
    - a stage or what a dot in flight reads is overwritten;
    - turns are begun and ended in another order, or by other warp groups;
    - roles wait for each other, or for what never comes; a copy is never waited
      for.

    The diagnostic tells the sizes: `if this is 3`.
  }];
  let statistics = [Statistic<"numPipelines", "pipelines", "Number of pipelines checked">];
}

#endif // FOVEA_DIALECT_WARP_TRANSFORMS_ROLEPASSES_TD
