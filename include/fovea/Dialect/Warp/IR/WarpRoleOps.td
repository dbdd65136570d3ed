//===- WarpRoleOps.td - Roles and how they synchronise -----*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_WARP_IR_WARPROLEOPS_TD
#define FOVEA_DIALECT_WARP_IR_WARPROLEOPS_TD

include "fovea/Dialect/Warp/IR/WarpOps.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Warp_SpecializeOp : Warp_Op<"specialize", [
    IsolatedFromAbove, RecursiveMemoryEffects, SingleBlock]> {
  let summary = "runs a different program on each group of warps";
  let description = [{
    Warp specialisation. The CTA's warps are assigned to the roles in order: the
    first role gets the first `warps` warps, and so on. Each role runs its
    region, and the op completes when all roles have completed. The captured
    values are block arguments of each region: scalars that are uniform in the
    CTA, memrefs, pipelines, mailboxes and ping-pong orders (`!warp.turns`), but
    no tiles.

    `regs` is the register budget of each thread of the role (setmaxnreg). The
    hardware changes budgets for four warps at a time, so roles that share an
    aligned group of four warps must have the same budget. The sum of all
    budgets must fit the registers allocated at launch.

    With `cluster(C)`, C CTAs run the program together, and each CTA has the
    warps of all roles. The warp groups of a role are numbered across the CTAs,
    and all of them participate in the role's pipelines.

    If the only effects of a role are copies, commits and work-item fetches, one
    of its warps runs it, and an elected lane issues these operations.

    Example:

    ```mlir
    warp.specialize captures(%p, %s : !warp.pipeline<2>, i32)
      role @load warps(4) regs(24) {
      ^bb0(%p0: !warp.pipeline<2>, %s0: i32):
        warp.producer_acquire %p0[%s0, %s0] : !warp.pipeline<2>
        warp.producer_commit %p0[%s0, %s0] : !warp.pipeline<2>
        warp.return
      }
      role @compute warps(8) regs(240) {
      ^bb0(%p1: !warp.pipeline<2>, %s1: i32):
        warp.consumer_wait %p1[%s1, %s1] : !warp.pipeline<2>
        warp.consumer_release %p1[%s1, %s1] : !warp.pipeline<2>
        warp.return
      }
    ```
  }];
  let arguments = (ins
    Arg<Variadic<AnyType>, "values passed to all roles as arguments">:$captures,
    Arg<StrArrayAttr, "the names of the roles">:$names,
    Arg<DenseI64ArrayAttr, "number of warps of each role in one CTA">:$warps,
    Arg<DenseI64ArrayAttr, "register budget of a thread of each role">:$registers,
    Arg<DefaultValuedOptionalAttr<I64Attr, "1">, "number of CTAs that run the program together">:$cluster);
  let regions = (region DescribedRegions<SizedRegion<1>, "the program of each role">:$roles);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Number of warps of a CTA before the first warp of role `index`.
    int64_t getFirstWarp(unsigned index);
    /// Number of warps of all roles in one CTA.
    int64_t getNumWarps();
  }];
}

def Warp_ReturnOp : Warp_Op<"return", [
    Pure, Terminator, ReturnLike, HasParent<"SpecializeOp">]> {
  let summary = "ends a role";
  let description = [{
    Terminates the region of a role in `warp.specialize`.

    Example:

    ```mlir
    warp.return
    ```
  }];
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Ping-pong order
//===----------------------------------------------------------------------===//

def Warp_TurnsOp : Warp_Op<"turns"> {
  let summary = "creates a ping-pong order";
  let description = [{
    Creates an ordered sequence of ping-pong sections for the warp groups of one
    role (CUTLASS's OrderedSequenceBarrier). The first warp group enters its
    section first.

    Example:

    ```mlir
    %t = warp.turns : !warp.turns<2>
    ```
  }];
  let results = (outs Res<Warp_TurnsType, "the order of the sections", [MemAlloc]>:$turns);
  let assemblyFormat = "attr-dict `:` qualified(type($turns))";
}

class Warp_PingPongOp<string mnemonic, string what, list<Trait> traits = []>
    : Warp_OpWithEffects<mnemonic, traits> {
  let summary = what;
  let arguments = (ins Arg<Warp_TurnsType, "the order that the section belongs to">:$turns);
  let assemblyFormat = "$turns attr-dict `:` qualified(type($turns))";
}

def Warp_BeginTurnOp
    : Warp_PingPongOp<"begin_turn", "enters a ping-pong section", [LaneSyncOpInterface]> {
  let description = [{
    Waits until the preceding warp group of the role has left its section. The
    first warp group waits until the last one has left its section of the
    previous iteration. All warp groups must enter the same number of sections.
    The order serves performance only (FlashAttention-3's ping-pong scheduling);
    correctness must not depend on it.

    Example:

    ```mlir
    warp.begin_turn %t : !warp.turns<2>
    ```
  }];
}

def Warp_EndTurnOp : Warp_PingPongOp<"end_turn", "leaves a ping-pong section"> {
  let description = [{
    Ends the section that `warp.begin_turn` started and lets the next warp group enter.

    Example:

    ```mlir
    warp.end_turn %t : !warp.turns<2>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

def Warp_NextWorkOp : Warp_OpWithEffects<"next_work"> {
  let summary = "returns the CTA's next work item";
  let description = [{
    Returns the index of a work item that no CTA has taken. If no item is left,
    the result is at least the number of items, which ends the loop over work.
    The first item of each CTA is assigned without a fetch. `count` is the index
    of the call, from 0. `warp-specialize` makes one role fetch the item and
    broadcast it to the others.

    Example:

    ```mlir
    %w = warp.next_work %count : index
    ```
  }];
  let arguments = (ins Arg<I32, "the index of the call, from 0">:$count);
  let results = (outs Res<Index, "the index of the work item">:$work);
  let assemblyFormat = "$count attr-dict `:` type($work)";
}

def Warp_FetchWorkOp : Warp_OpWithEffects<"fetch_work"> {
  let summary = "fetches a work item from the global counter";
  let description = [{
    Atomically increments the work-item counter of the launch and returns the
    next work item.

    Example:

    ```mlir
    %w = warp.fetch_work : index
    ```
  }];
  let results = (outs Res<Index, "the index of the work item">:$work);
  let assemblyFormat = "attr-dict `:` type($work)";
}

def Warp_FinishWorkOp : Warp_OpWithEffects<"finish_work"> {
  let summary = "signals that the CTA fetches no more work items";
  let description = [{
    The last CTA to execute this op resets the counter for the next launch.

    Example:

    ```mlir
    warp.finish_work
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Warp_MailboxOp : Warp_Op<"mailbox"> {
  let summary = "creates shared-memory slots for broadcasting integers";
  let description = [{
    Creates slots through which one role sends integers to the others. `offset`,
    in bytes from the start of dynamic shared memory, is set by
    `warp-allocate-shared-memory`. A pipeline with the same number of stages
    synchronises writes and reads of the slots.

    Example:

    ```mlir
    %m = warp.mailbox : !warp.mailbox<2>
    ```
  }];
  let arguments = (ins
    Arg<OptionalAttr<I64Attr>, "offset in bytes from the start of dynamic shared memory; absent before allocation">:$offset);
  let results = (outs Res<Warp_MailboxType, "the empty slots", [MemAlloc]>:$mailbox);
  let assemblyFormat = [{
    (`offset` `(` $offset^ `)`)? attr-dict `:` qualified(type($mailbox))
  }];
}

def Warp_SendOp : Warp_OpWithEffects<"send"> {
  let summary = "writes an integer to a mailbox slot";
  let description = [{
    Writes `value`, which must fit 32 bits, to slot `stage` of a mailbox. The
    role must have acquired the stage of the same index in the mailbox's
    pipeline.

    Example:

    ```mlir
    warp.send %w to %m[%stage] : !warp.mailbox<2>
    ```
  }];
  let arguments = (ins
    Arg<Index, "the integer to send, which must fit 32 bits">:$value,
    Arg<Warp_MailboxType, "the slots">:$mailbox,
    Arg<I32, "index of the slot, from 0">:$stage);
  let assemblyFormat = [{
    $value `to` $mailbox `[` $stage `]` attr-dict `:` qualified(type($mailbox))
  }];
}

def Warp_ReceiveOp : Warp_OpWithEffects<"receive"> {
  let summary = "reads an integer from a mailbox slot";
  let description = [{
    Reads slot `stage` of a mailbox. The result is uniform in the role.

    Example:

    ```mlir
    %w = warp.receive %m[%stage] : !warp.mailbox<2>
    ```
  }];
  let arguments = (ins
    Arg<Warp_MailboxType, "the slots">:$mailbox,
    Arg<I32, "index of the slot, from 0">:$stage);
  let results = (outs Res<Index, "the integer that was sent">:$value);
  let assemblyFormat = [{
    $mailbox `[` $stage `]` attr-dict `:` qualified(type($mailbox))
  }];
}

#endif // FOVEA_DIALECT_WARP_IR_WARPROLEOPS_TD
