//===- Output.cpp - The way out of shared memory ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopyVerifier.h"

#include "fovea/Dialect/Warp/IR/Warp.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

LogicalResult LocalStoreOp::verify() {
  MemRefType buffer = getTarget().getType();
  RankedTensorType tile = getValue().getType();
  if (buffer.getShape() == tile.getShape() &&
      buffer.getElementType() == tile.getElementType())
    return success();
  return emitOpError("buffer and tile must have one shape and element type, "
                     "found ")
         << buffer << " and " << tile;
}

LogicalResult CopyOutOp::verify() {
  MemRefType source = getSource().getType();
  if (getAdd() && !isa<FloatType>(source.getElementType()))
    return emitOpError("adds floats, found ") << source;
  return verifyCopy(*this, {"target", cast<MemRefType>(getTarget().getType())},
                    {"source", source}, getIndices().size(), getDims(),
                    getFold());
}

//===----------------------------------------------------------------------===//
// Effects
//===----------------------------------------------------------------------===//

using Effects =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

void LocalStoreOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Write::get(), &getTargetMutable());
}

void CopyOutOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getSourceMutable());
  if (getAdd())
    effects.emplace_back(MemoryEffects::Read::get(), &getTargetMutable());
  effects.emplace_back(MemoryEffects::Write::get(), &getTargetMutable());
}

// Nothing that touches the buffer may pass these.
void FenceStoresOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getBufferMutable());
  effects.emplace_back(MemoryEffects::Write::get(), &getBufferMutable());
}

void CopyOutWaitOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getBufferMutable());
  effects.emplace_back(MemoryEffects::Write::get(), &getBufferMutable());
}
