//===- KernelFacts.td - Facts about tile programs ----------*- tablegen -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_TILE_IR_KERNELFACTS_TD
#define FOVEA_DIALECT_TILE_IR_KERNELFACTS_TD

include "fovea/Support/KernelPass.td"

def SoftmaxIsLoops : KernelFact<"::fovea::tile::kSoftmaxIsLoops",
    "`tile.softmax_sum` is lowered to loops">;
def BlocksAreLoops : KernelFact<"::fovea::tile::kBlocksAreLoops",
    "loops over blocks are lowered to `scf.for`">;
def JoinsAreStores : KernelFact<"::fovea::tile::kJoinsAreStores",
    "`tile.join` is lowered to stores and arrivals">;
def WorkIsDealt : KernelFact<"::fovea::tile::kWorkIsDealt",
    "work loops are distributed to CTAs">;

#endif // FOVEA_DIALECT_TILE_IR_KERNELFACTS_TD
