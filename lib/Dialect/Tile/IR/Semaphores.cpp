//===- Semaphores.cpp - Ordered accumulation by CTAs ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Tile/IR/Semaphores.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea::tile;

using Effects = SmallVectorImpl<MemoryEffects::EffectInstance>;

/// Both ops read and write the semaphore, so that passes keep their order.
static void addEffects(Effects &effects, OpOperand &semaphores) {
  for (MemoryEffects::Effect *effect :
       {static_cast<MemoryEffects::Effect *>(MemoryEffects::Read::get()),
        static_cast<MemoryEffects::Effect *>(MemoryEffects::Write::get())})
    effects.emplace_back(effect, &semaphores,
                         SideEffects::DefaultResource::get());
}

template <typename OpTy>
static LogicalResult verifyPlace(OpTy op) {
  int64_t rank = op.getSemaphores().getType().getRank(),
          indices = op.getIndices().size();
  if (rank == 0)
    return op.emitOpError("semaphores must have at least one dimension, found ")
           << op.getSemaphores().getType();
  if (rank != indices)
    return op.emitOpError("needs an index for each of the memref's ")
           << rank << " dimensions, found " << indices;
  return success();
}

void SemaphoreWaitOp::getEffects(Effects &effects) {
  addEffects(effects, getSemaphoresMutable());
}

LogicalResult SemaphoreWaitOp::verify() {
  APInt turn;
  if (matchPattern(getTurn(), m_ConstantInt(&turn)) && turn.isNegative())
    return emitOpError("expected a semaphore count of at least 0, found ")
           << turn.getSExtValue();
  return verifyPlace(*this);
}

void SemaphoreReleaseOp::getEffects(Effects &effects) {
  addEffects(effects, getSemaphoresMutable());
}

LogicalResult SemaphoreReleaseOp::verify() { return verifyPlace(*this); }

#define GET_OP_CLASSES
#include "fovea/Dialect/Tile/IR/TileSemaphoreOps.cpp.inc"
