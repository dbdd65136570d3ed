//===- LoopMemoryEffects.cpp - Global writes of loops ---------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements the query whether a loop may write to global memory.
//
//===----------------------------------------------------------------------===//

#include "Scheduling/LoopMemoryEffects.h"

#include "fovea/Dialect/Warp/IR/Warp.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

bool fovea::warp::writesGlobalMemory(scf::ForOp loop) {
  WalkResult walk = loop.getBody()->walk([&](Operation *op) {
    if (op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
      return WalkResult::advance();
    auto effects = getEffectsRecursively(op);
    if (!effects)
      return WalkResult::interrupt();
    for (MemoryEffects::EffectInstance &effect : *effects) {
      Value buffer = effect.getValue();
      if (isa<MemoryEffects::Write>(effect.getEffect()) && buffer &&
          isa<MemRefType>(buffer.getType()) &&
          !isSharedBuffer(buffer.getType()))
        return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return walk.wasInterrupted();
}
