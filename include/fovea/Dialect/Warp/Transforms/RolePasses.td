//===- RolePasses.td - Passes on roles and pipelines -------*- tablegen -*-===//
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
  let summary = "Print the role that will run each op";
  let body = [{
    For a kernel that is not yet partitioned, prints the ops with side effects
    in program order, with the roles to which `warp-specialize` will assign
    them.
  }];
  let statistics = [Statistic<"numRoles", "roles", "Number of roles printed">];
}

def WarpSplitSemaphoreRoles
    : KernelPass<"warp-split-semaphore-roles", [WorkIsDealt, IsOneProgram], []> {
  let summary = "Wait for and signal semaphores in separate roles";
  let body = [{
    Stores between a `tile.semaphore_wait` and its `tile.semaphore_release` are
    a section in which CTAs run in a fixed order (ordered accumulation). The
    wait takes a round trip to memory, and the release waits until all stores
    are complete. If the plan assigns the wait or the release to a role that
    does not own the stores, the storing role does not stall for them: the
    waiting role polls semaphores ahead of time, limited by the stages of a
    pipeline, and the releasing role waits for the stores.

    The pass inserts pipelines that carry no data between these roles. The
    waiting role commits a stage, and the storing role releases it after its
    last store. The storing role then commits a stage of a second pipeline, and
    the releasing role waits for that stage. If one role owns all three, nothing
    changes.

    The stores of a section must belong to one role, and the section must not
    read the memory that it writes.

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
    Statistic<"numPipelines", "pipelines", "Number of pipelines created">
  ];
}

def WarpSpecialize
    : KernelPass<"warp-specialize", [WorkIsDealt, DotsReadMemory, BallotsAreLowered, IsOneProgram],
                 [IsPartitioned]> {
  let summary = "Partition the program into roles";
  let body = [{
    Partitions the kernel, which is one program in the order of use, into a
    `warp.specialize` with one region for each of the `roles` of its plan. A
    role that owns `copies` owns the streams that are copied from global memory;
    a role that owns `"*"` owns all names that no other role owns.

    Ownership of all ops follows from the names that roles own:

    - An op with a name belongs to the role that owns the name.
    - The owner of a stream acquires and commits its stages; the roles that read
      the buffers wait and release.
    - A store without a name fills the stage acquired last.
    - Dot waits and ping-pong ops follow their dots.
    - Fences, waits for copies out and `warp.zero_rows` follow the stores,
      copies and readers of the same buffer.
    - Ops that only read or compute are cloned into each role that needs them.
    - All other ops belong to the role that owns `"*"`.

    `warp-print-roles` prints the assignment.

    Each role is a slice of the program: loops and branches around its ops stay,
    and unused loop-carried values are removed. Every role therefore fills
    stages in the order in which other roles wait for them, across loops and
    tiles, and runs ahead as far as the stages allow. Without ping-pong
    sections, roles cannot deadlock if the unpartitioned program, run by a
    single agent, never waits for a later op.

    The pass fails in these cases:

    - Two roles would compute a tile that depends on loaded data; it has to
      pass through a stream.
    - Two roles access the same memory, one of them writes it, and no stream
      orders the accesses.
    - No role runs an op.

    Several roles may write one host tensor that no role reads if their stores
    are members of one family (`out.0`, `out.1`), since members write different
    rows.

    In the first role that copies from global memory, `warp.next_work` becomes
    `warp.fetch_work` and a `warp.send` at the start of the iteration. In the
    other roles it becomes a `warp.receive` in place.

    Some integers are expensive to compute (loads, ballots, divisions by values
    known only at launch) and are needed by the producer of a stage and by its
    consumers. The producer alone computes them and sends them with the next
    stage that it fills; the consumers receive them after their wait for that
    stage (scalar broadcast through shared memory). If an integer is needed
    before the stage is available, or depends on the rows that a warp group
    owns, each role computes it.

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
    Option<"broadcastsScalars", "relays", "bool", "true",
           "Compute expensive scalars in one role and broadcast them through shared memory">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::fovea::warp::WarpDialect"];
  let statistics = [Statistic<"numRoles", "roles", "Number of roles created">];
}

def WarpHoistVectors
    : KernelPass<"warp-hoist-vectors", [BlocksAreLoops],
                 []> {
  let summary = "Hoist loop-invariant vector loads out of loops over blocks";
  let body = [{
    A vector that every iteration loads from the same address, such as the
    document ids of a tile's rows, is loaded once, before the outermost loop in
    which all its operands are invariant. Each thread keeps its elements live,
    so only vectors with up to 4 elements per thread move. Loads in branches and
    in loops that write global memory stay in place. The load also executes if
    the loop runs zero times; out-of-bounds elements are 0.

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
              "Number of vector loads hoisted out of a loop">
  ];
}

def WarpAllocateSharedMemory
    : KernelPass<"warp-allocate-shared-memory", [DotsReadMemory, IsPartitioned],
                 [BuffersHaveOffsets]> {
  let summary = "Allocate shared memory";
  let body = [{
    Sets the offset of each `warp.alloc`, a multiple of 1024 bytes, and writes
    the total size to the kernel's `launch.abi`. In kernels with roles, the
    barriers of pipelines and the slots of mailboxes follow the buffers. Fails
    if the target has less shared memory.

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
  let statistics = [Statistic<"numBuffers", "buffers", "Number of buffers allocated">];
}

def WarpSyncLanes
    : KernelPass<"warp-sync-lanes", [WorkIsDealt, DotsReadMemory, IsPartitioned],
                 [LanesAreSynchronized]> {
  let summary = "Synchronise the lanes of a warp before an arrival";
  let body = [{
    One lane of a warp commits or releases a stage for all lanes. Lanes do not
    run in lockstep: the arrival orders the accesses of other lanes only if the
    lanes synchronise in between. The pass inserts `warp.sync_lanes` before an
    arrival, in roles, by these rules:

    - **Release**: lanes access the stage by themselves
      (`LaneAccessOpInterface`) before it in its block, or in a region there,
      and no op since then synchronises them (`LaneSyncOpInterface`). The
      release moves below the arithmetic that follows it. The loads have
      completed by then, so the lanes do not stall.
    - **Commit**: the role has effects that no elected lane issues, such as
      stores. The lanes execute the fences that the stores to the stage need; in
      a role without tensor memory always `async_proxy`. The commit needs
      nothing if only arithmetic separates it from a synchronisation with these
      fences.
    - **Tensor memory**: the pipeline orders accesses to tensor memory, and the
      role makes some. Commits and releases need the fences of its loads and
      stores. They need nothing if only arithmetic and other arrivals separate
      them from a synchronisation with these fences.

    In addition, the lanes synchronise right after a load of relative positions
    (`#warp.fragment_diagonals`), since its stage may be released in another
    block. Signals after dots need nothing, because one thread issues the dots.
    In kernels without roles, all threads of the CTA synchronise at pipelines.

    `warp-verify-pipelines` checks the result on all simulated paths.

    Before:

    ```mlir
    warp.consumer_wait %numbers[%n, %p] : !warp.pipeline<2>
    %d = warp.local_load %from : !vector to tensor<1x32xf32, #warp.wgmma<groups = 1>>
    warp.consumer_release %numbers[%n, %p] : !warp.pipeline<2>
    %e = arith.addf %d, %x : tensor<1x32xf32, #warp.wgmma<groups = 1>>
    warp.local_store "ds" %ds to %to : ...
    warp.producer_commit %derivatives[%n, %p] : !warp.pipeline<2>
    ```

    After:

    ```mlir
    warp.consumer_wait %numbers[%n, %p] : !warp.pipeline<2>
    %d = warp.local_load %from : !vector to tensor<1x32xf32, #warp.wgmma<groups = 1>>
    %e = arith.addf %d, %x : tensor<1x32xf32, #warp.wgmma<groups = 1>>
    warp.sync_lanes
    warp.consumer_release %numbers[%n, %p] : !warp.pipeline<2>
    warp.local_store "ds" %ds to %to : ...
    warp.sync_lanes async_proxy
    warp.producer_commit %derivatives[%n, %p] : !warp.pipeline<2>
    ```
  }];
  let dependentDialects = ["::fovea::warp::WarpDialect"];
  let statistics = [Statistic<"numSyncs", "syncs", "Number of lane synchronisations inserted">];
}

def WarpVerifyPipelines
    : KernelPass<"warp-verify-pipelines", [WorkIsDealt, DotsReadMemory, IsPartitioned],
                 []> {
  let summary = "Verify the use of pipelines";
  let body = [{
    Changes nothing. First it checks single ops and fails if

    - two roles are producers of one pipeline, a role waits for a pipeline
      without a producer, or a role waits for stages that are filled repeatedly
      and never released;
    - an acquire has no commit in its block, or a commit no acquire; an
      asynchronous copy or a send is outside of both; a buffer has fewer stages
      than its pipeline;
    - a stage is read after its release, or the role never waits for its
      pipeline;
    - an asynchronous dot is never waited for, or the stage that it reads is
      released before its wait;
    - a ping-pong section does not end in its block, or work items are fetched
      without a `warp.finish_work`.

    Two stages are the same if their indices are the same value.

    Then the integer arithmetic and the control flow of all roles are simulated
    against each other, for a number of sizes. The simulation fails if

    - a phase does not match the use of its stage, or a stage index is out of
      range;
    - a role waits for the next use of a stage before it releases the current
      one, or releases a stage without a wait;
    - a stage is read before its wait or after its release, or was not written;
    - a stage, or an operand of an outstanding dot, is overwritten;
    - a stage is committed or released while lanes other than the arriving one
      may still access it: the lanes have not synchronised since;
    - TMA or an MMA unit reads a stage without a proxy fence after its stores;
    - ping-pong sections begin and end in another order, or in other warp
      groups, than declared;
    - roles deadlock, or a copy is never waited for.

    The diagnostic gives the sizes of the failing run: `if this is 3`.
  }];
  let statistics = [Statistic<"numPipelines", "pipelines", "Number of pipelines checked">];
}

#endif // FOVEA_DIALECT_WARP_TRANSFORMS_ROLEPASSES_TD
