//===- KernelFacts.td - Facts about warp programs ----------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_WARP_IR_KERNELFACTS_TD
#define FOVEA_DIALECT_WARP_IR_KERNELFACTS_TD

include "fovea/Dialect/Tile/IR/KernelFacts.td"

def DotsReadMemory : KernelFact<"::fovea::warp::kDotsReadMemory",
    "dots are warp-level ops, which read their second operand from shared memory">;
def BallotsAreLowered : KernelFact<"::fovea::warp::kBallotsAreLowered",
    "conditional code (`tile.if_any`) is lowered to a warp ballot and a branch">;
def IsOneProgram : KernelFact<"::fovea::warp::kIsOneProgram",
    "the kernel is one program that is not yet partitioned into roles">;
def IsPartitioned : KernelFact<"::fovea::warp::kIsPartitioned",
    "a kernel whose plan lists roles is partitioned into them">;
def HasThreadLayouts : KernelFact<"::fovea::warp::kHasThreadLayouts",
    "register tiles have a thread layout">;
def BuffersHaveOffsets : KernelFact<"::fovea::warp::kBuffersHaveOffsets",
    "buffers, barriers of roles and mailboxes have shared-memory offsets">;
def LanesAreSynchronized : KernelFact<"::fovea::warp::kLanesAreSynchronized",
    "lanes synchronise before each arrival that needs it (`warp.sync_lanes`)">;

#endif // FOVEA_DIALECT_WARP_IR_KERNELFACTS_TD
