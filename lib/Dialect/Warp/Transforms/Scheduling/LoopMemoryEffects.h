//===- LoopMemoryEffects.h - What loops may read elsewhere ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_LOOPMEMORYEFFECTS_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_LOOPMEMORYEFFECTS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fovea::warp {

/// Whether the loop may write to global memory: what it reads there is what was
/// there before it otherwise. Copies into shared memory are no such writes.
bool writesGlobalMemory(mlir::scf::ForOp loop);

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_LOOPMEMORYEFFECTS_H
