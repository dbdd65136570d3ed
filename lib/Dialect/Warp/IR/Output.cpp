//===- Output.cpp - Stores through shared memory ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifiers and memory effects of the ops that write results:
// `warp.local_store`, `warp.fence_stores`, `warp.copy_out` and
// `warp.copy_out_wait`.
//
//===----------------------------------------------------------------------===//

#include "CopyVerifier.h"

#include "fovea/Dialect/Warp/IR/Warp.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

/// Fragment order needs complete f32 fragments.
static LogicalResult verifyFragmentShape(Operation *op, MemRefType buffer) {
  if (buffer.getElementType().isF32() && buffer.getRank() == 2 &&
      buffer.getDimSize(0) % tile::BoxDims::kFragmentRows == 0 &&
      buffer.getDimSize(1) % tile::BoxDims::kFragmentColumns == 0)
    return success();
  return op->emitOpError("'fragments' needs f32 elements and multiples of ")
         << tile::BoxDims::kFragmentRows << " rows and "
         << tile::BoxDims::kFragmentColumns << " columns, found " << buffer;
}

LogicalResult LocalStoreOp::verify() {
  MemRefType buffer = getTarget().getType();
  RankedTensorType tile = getValue().getType();
  if (getFragments() && failed(verifyFragmentShape(*this, buffer)))
    return failure();
  if (std::optional<int64_t> first = getColumn()) {
    if (!getFragments() && tile.getElementType() == buffer.getElementType() &&
        buffer.getRank() == 2 && tile.getDimSize(0) == buffer.getDimSize(0) &&
        *first >= 0 && *first <= buffer.getDimSize(1) - tile.getDimSize(1))
      return success();
    return emitOpError(
               "'column' needs a tile with the rows and element type of "
               "the buffer and columns within it, found ")
           << tile << " at column " << *first << " of " << buffer;
  }
  if (buffer.getShape() == tile.getShape() &&
      buffer.getElementType() == tile.getElementType())
    return success();
  return emitOpError(
             "buffer and tile must have the same shape and element type, "
             "found ")
         << buffer << " and " << tile;
}

LogicalResult CopyOutOp::verify() {
  MemRefType source = getSource().getType();
  if (getAdd() && !isa<FloatType>(source.getElementType()))
    return emitOpError("'add' needs float elements, found ") << source;
  if (getFragments()) {
    auto target = cast<MemRefType>(getTarget().getType());
    int64_t last = target.getRank() - 1;
    if (!getAdd() || getFold() || !target.getLayout().isIdentity() ||
        target.isDynamicDim(last) || getDims()[0] != last - 1 ||
        getDims()[1] != last)
      return emitOpError("'fragments' needs 'add', no 'fold', and contiguous "
                         "memory with 'dims' as its last dimensions, found ")
             << target;
    if (failed(verifyFragmentShape(*this, source)))
      return failure();
  }
  if (failed(verifyCopy(
          *this, {"target", cast<MemRefType>(getTarget().getType())},
          {"source", source}, getIndices().size(), getDims(), getFold())))
    return failure();
  if (getBoxDims().hasGaps())
    return emitOpError("copies all rows of a fold, found ")
           << getBoxDims().foldCount << " of " << getBoxDims().foldExtent;
  return success();
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

// No access to the buffer may move across these ops.
void FenceStoresOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getBufferMutable());
  effects.emplace_back(MemoryEffects::Write::get(), &getBufferMutable());
}

void CopyOutWaitOp::getEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), &getBufferMutable());
  effects.emplace_back(MemoryEffects::Write::get(), &getBufferMutable());
}
