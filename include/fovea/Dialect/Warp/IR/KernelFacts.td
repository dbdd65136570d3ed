//===- KernelFacts.td - What holds of warp programs --------*- tablegen -*-===//
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
    "dots read their second operands from memory on chip">;
def VotesAreBranches : KernelFact<"::fovea::warp::kVotesAreBranches",
    "what is seldom needed stands behind a vote and a branch">;
def IsOneProgram : KernelFact<"::fovea::warp::kIsOneProgram",
    "the kernel is one program, not roles yet">;
def RolesAreCut : KernelFact<"::fovea::warp::kRolesAreCut",
    "a kernel whose plan has roles is roles">;
def HasThreadLayouts : KernelFact<"::fovea::warp::kHasThreadLayouts",
    "tiles in registers say which thread holds which element">;
def BuffersHavePlaces : KernelFact<"::fovea::warp::kBuffersHavePlaces",
    "buffers have their offsets in shared memory, as have the barriers and mailboxes of roles">;

#endif // FOVEA_DIALECT_WARP_IR_KERNELFACTS_TD
