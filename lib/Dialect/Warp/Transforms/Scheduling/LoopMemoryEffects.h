//===- LoopMemoryEffects.h - Global writes of loops -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes that move global loads across iterations or out of a loop query here
// whether the loop may write to global memory.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_LOOPMEMORYEFFECTS_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_LOOPMEMORYEFFECTS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace fovea::warp {

/// True if the loop may write to global memory. If false, every global load in
/// the loop returns the value from before the loop. Copies into shared memory
/// do not count.
bool writesGlobalMemory(mlir::scf::ForOp loop);

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_LOOPMEMORYEFFECTS_H
