//===- KernelFacts.td - What holds of tile programs --------*- tablegen -*-===//
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
    "softmax sums are loops">;
def BlocksAreLoops : KernelFact<"::fovea::tile::kBlocksAreLoops",
    "loops over blocks are `scf.for`">;
def WorkIsDealt : KernelFact<"::fovea::tile::kWorkIsDealt",
    "loops over work are the CTA's own">;

#endif // FOVEA_DIALECT_TILE_IR_KERNELFACTS_TD
