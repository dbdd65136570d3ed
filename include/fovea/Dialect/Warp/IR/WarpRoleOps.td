//===- WarpRoleOps.td - Roles and how they meet ------------*- tablegen -*-===//
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
  let summary = "gives each group of warps a program of its own";
  let description = [{
    The CTA's warps are dealt to the roles in order: the first role has the
    first `warps` of them. Each role runs its region; the op is done when all
    are. Roles get the captured values as arguments: scalars that are the same
    in all threads, memrefs, pipelines, mailboxes and turns, never tiles.

    `regs` is the number of registers a thread of the role may use. Warps change
    their budget four at a time, so roles that share an aligned group of four
    warps have one budget; all budgets must fit what the launch allocated.

    With `cluster(C)`, the program is that of C CTAs. Each has the warps of all
    roles; the warp groups of a role are numbered through the CTAs, and all of
    them meet at its pipelines.

    A role whose only effects are copies, commits and work ids is carried out by
    one of its warps, for which an elected lane acts.

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
    Arg<Variadic<AnyType>, "values that all roles get as arguments">:$captures,
    Arg<StrArrayAttr, "the names of the roles">:$names,
    Arg<DenseI64ArrayAttr, "warps of each role, in one CTA">:$warps,
    Arg<DenseI64ArrayAttr, "registers that a thread of each role may use">:$registers,
    Arg<DefaultValuedOptionalAttr<I64Attr, "1">, "CTAs that run the program together">:$cluster);
  let regions = (region DescribedRegions<SizedRegion<1>, "the program of each role">:$roles);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Warps of a CTA before the first of role `index`.
    int64_t getFirstWarp(unsigned index);
    /// Warps of all roles, in one CTA.
    int64_t getNumWarps();
  }];
}

def Warp_ReturnOp : Warp_Op<"return", [
    Pure, Terminator, ReturnLike, HasParent<"SpecializeOp">]> {
  let summary = "ends a role";
  let description = [{
    Example:

    ```mlir
    warp.return
    ```
  }];
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

def Warp_TurnsOp : Warp_Op<"turns"> {
  let summary = "makes an order of turns";
  let description = [{
    The first turn is the first warp group's.

    Example:

    ```mlir
    %t = warp.turns : !warp.turns<2>
    ```
  }];
  let results = (outs Res<Warp_TurnsType, "the order of the turns", [MemAlloc]>:$turns);
  let assemblyFormat = "attr-dict `:` qualified(type($turns))";
}

class Warp_TurnVerb<string mnemonic, string what>
    : Warp_OpWithEffects<mnemonic> {
  let summary = what;
  let arguments = (ins Arg<Warp_TurnsType, "the order that the turn belongs to">:$turns);
  let assemblyFormat = "$turns attr-dict `:` qualified(type($turns))";
}

def Warp_BeginTurnOp
    : Warp_TurnVerb<"begin_turn", "waits for the warp group's turn"> {
  let description = [{
    Each warp group of the role waits until the one before it ended its turn
    (the first one: until the last one ended its turn of the round before). All
    groups take equally many turns. An order for speed (FlashAttention 3's
    ping-pong); no data may depend on it.

    Example:

    ```mlir
    warp.begin_turn %t : !warp.turns<2>
    ```
  }];
}

def Warp_EndTurnOp : Warp_TurnVerb<"end_turn", "passes the turn on"> {
  let description = [{
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
  let summary = "the number of the CTA's next work item";
  let description = [{
    Fetches a number that no CTA had yet; the first ones, one for each CTA, are
    given out already. `count` numbers the calls, from 0. `warp-specialize` makes
    one role fetch it and send it to the others.

    Example:

    ```mlir
    %w = warp.next_work %count : index
    ```
  }];
  let arguments = (ins Arg<I32, "the number of the call, from 0">:$count);
  let results = (outs Res<Index, "the number of the work item">:$work);
  let assemblyFormat = "$count attr-dict `:` type($work)";
}

def Warp_FetchWorkOp : Warp_OpWithEffects<"fetch_work"> {
  let summary = "takes a number from the counter of work items";
  let description = [{
    Atomic among all CTAs.

    Example:

    ```mlir
    %w = warp.fetch_work : index
    ```
  }];
  let results = (outs Res<Index, "the number of the work item">:$work);
  let assemblyFormat = "attr-dict `:` type($work)";
}

def Warp_FinishWorkOp : Warp_OpWithEffects<"finish_work"> {
  let summary = "says that the CTA fetches no more";
  let description = [{
    The last CTA to say so resets the counter for the next launch.

    Example:

    ```mlir
    warp.finish_work
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Warp_MailboxOp : Warp_Op<"mailbox"> {
  let summary = "makes slots for integers in shared memory";
  let description = [{
    `offset`, in bytes, is chosen by `warp-allocate-shared-memory`. A pipeline of
    as many stages says when a slot may be written and read.

    Example:

    ```mlir
    %m = warp.mailbox : !warp.mailbox<2>
    ```
  }];
  let arguments = (ins
    Arg<OptionalAttr<I64Attr>, "bytes from the start of dynamic shared memory; none: not placed yet">:$offset);
  let results = (outs Res<Warp_MailboxType, "the slots, empty", [MemAlloc]>:$mailbox);
  let assemblyFormat = [{
    (`offset` `(` $offset^ `)`)? attr-dict `:` qualified(type($mailbox))
  }];
}

def Warp_SendOp : Warp_OpWithEffects<"send"> {
  let summary = "writes an integer to a slot";
  let description = [{
    The value must lie within 32 bits. Belongs to the stage of the slot's
    pipeline that the role acquired.

    Example:

    ```mlir
    warp.send %w to %m[%stage] : !warp.mailbox<2>
    ```
  }];
  let arguments = (ins
    Arg<Index, "the integer, within 32 bits">:$value,
    Arg<Warp_MailboxType, "the slots">:$mailbox,
    Arg<I32, "which slot, from 0">:$stage);
  let assemblyFormat = [{
    $value `to` $mailbox `[` $stage `]` attr-dict `:` qualified(type($mailbox))
  }];
}

def Warp_ReceiveOp : Warp_OpWithEffects<"receive"> {
  let summary = "reads an integer from a slot";
  let description = [{
    The same in all threads of the role.

    Example:

    ```mlir
    %w = warp.receive %m[%stage] : !warp.mailbox<2>
    ```
  }];
  let arguments = (ins
    Arg<Warp_MailboxType, "the slots">:$mailbox,
    Arg<I32, "which slot, from 0">:$stage);
  let results = (outs Res<Index, "the integer that was sent">:$value);
  let assemblyFormat = [{
    $mailbox `[` $stage `]` attr-dict `:` qualified(type($mailbox))
  }];
}

#endif // FOVEA_DIALECT_WARP_IR_WARPROLEOPS_TD
