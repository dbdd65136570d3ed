//===- KernelFacts.h - Facts about warp programs ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_WARP_IR_KERNELFACTS_H
#define FOVEA_DIALECT_WARP_IR_KERNELFACTS_H

#include "fovea/Dialect/Tile/IR/KernelFacts.h"

namespace fovea::warp {

// KernelFacts.td describes each fact.
extern const KernelFact kDotsReadMemory, kBallotsAreLowered, kIsOneProgram,
    kIsPartitioned, kHasThreadLayouts, kBuffersHaveOffsets,
    kLanesAreSynchronized;

} // namespace fovea::warp

#endif // FOVEA_DIALECT_WARP_IR_KERNELFACTS_H
