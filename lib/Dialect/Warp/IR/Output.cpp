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

/// What is added in fragments: whole ones of f32, with rows for a warp group.
static LogicalResult verifySums(Operation *op, MemRefType buffer) {
  if (buffer.getElementType().isF32() && buffer.getRank() == 2 &&
      buffer.getDimSize(0) % tile::BoxDims::kFragmentRows == 0 &&
      buffer.getDimSize(1) % tile::BoxDims::kFragmentColumns == 0)
    return success();
  return op->emitOpError("fragments are f32, ")
         << tile::BoxDims::kFragmentRows << " rows and "
         << tile::BoxDims::kFragmentColumns << " columns each, found "
         << buffer;
}

LogicalResult LocalStoreOp::verify() {
  MemRefType buffer = getTarget().getType();
  RankedTensorType tile = getValue().getType();
  if (getFragments() && failed(verifySums(*this, buffer)))
    return failure();
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
  if (getFragments()) {
    auto target = cast<MemRefType>(getTarget().getType());
    int64_t last = target.getRank() - 1;
    if (!getAdd() || getFold() || !target.getLayout().isIdentity() ||
        target.isDynamicDim(last) || getDims()[0] != last - 1 ||
        getDims()[1] != last)
      return emitOpError("adds fragments to memory in one piece, along its "
                         "last dimensions, found ")
             << target;
    if (failed(verifySums(*this, source)))
      return failure();
  }
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
