//===- KernelFacts.h - Facts about tile programs ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_TILE_IR_KERNELFACTS_H
#define FOVEA_DIALECT_TILE_IR_KERNELFACTS_H

#include "fovea/Support/KernelPass.h"

namespace fovea::tile {

// Documented in KernelFacts.td.
extern const KernelFact kSoftmaxIsLoops, kBlocksAreLoops, kJoinsAreStores,
    kWorkIsDealt;

} // namespace fovea::tile

#endif // FOVEA_DIALECT_TILE_IR_KERNELFACTS_H
