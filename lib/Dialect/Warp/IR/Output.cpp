//===- Output.cpp - The way out of shared memory ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

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
  auto target = cast<MemRefType>(getTarget().getType());
  if (isSharedBuffer(target) || isTmemBuffer(target))
    return emitOpError("target must be global memory, found ") << target;
  if (int64_t(getIndices().size()) != target.getRank())
    return emitOpError("needs ")
           << target.getRank() << " indices, found " << getIndices().size();
  if (source.getElementType() != target.getElementType())
    return emitOpError("source and target must have one element type, found ")
           << source << " and " << target;
  if (source.getRank() != 2)
    return emitOpError("source must have rank 2, found ") << source;
  ArrayRef<int64_t> dims = getDims();
  if (dims.size() != 2 || dims[0] == dims[1] ||
      llvm::any_of(dims, [&](int64_t dim) {
        return dim < 0 || dim >= target.getRank();
      }))
    return emitOpError("dims must be two different dimensions of the target");
  if (getAdd() && !isa<FloatType>(source.getElementType()))
    return emitOpError("adds floats, found ") << source;
  return tile::verifyFold(*this, target, dims, getFold(), source.getDimSize(0));
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
