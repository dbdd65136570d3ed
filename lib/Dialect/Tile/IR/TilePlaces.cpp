//===- TilePlaces.cpp - Verifiers of gathers, scatters and row copies -----===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Tile/IR/Tile.h"
#include "fovea/Support/ExactSum.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

bool fovea::tile::readsUnwrittenTensor(Operation *op) {
  if (!isa<LoadOp, GatherOp>(op))
    return false;
  auto given = dyn_cast<BlockArgument>(op->getOperand(0));
  return given && isa<gpu::GPUFuncOp>(given.getOwner()->getParentOp()) &&
         llvm::all_of(given.getUsers(), [](Operation *user) {
           return isMemoryEffectFree(user) ||
                  hasSingleEffect<MemoryEffects::Read>(user);
         });
}

/// Checks the indices and the mask of `tile`, which the diagnostic calls
/// `name`.
static LogicalResult verifyPlaces(Operation *op, StringRef name,
                                  RankedTensorType tile, MemRefType memref,
                                  OperandRange indices, Value mask) {
  if (int64_t(indices.size()) != memref.getRank())
    return op->emitOpError("needs ")
           << memref.getRank() << " indices, found " << indices.size();
  if (memref.getElementType() != tile.getElementType())
    return op->emitOpError()
           << name << " and memref must have the same element type, found "
           << tile << " and " << memref;
  auto broadcasts = [&](RankedTensorType operand) {
    return operand.getEncoding() == tile.getEncoding() &&
           llvm::all_of(llvm::zip(operand.getShape(), tile.getShape()),
                        [](auto pair) {
                          return std::get<0>(pair) == 1 ||
                                 std::get<0>(pair) == std::get<1>(pair);
                        });
  };
  for (Value index : indices) {
    Type type = index.getType();
    if (type.isIndex())
      continue;
    auto operand = dyn_cast<RankedTensorType>(type);
    if (!isRegisterTile(type) ||
        !(operand.getElementType().isSignlessInteger(32) ||
          operand.getElementType().isSignlessInteger(64)) ||
        !broadcasts(operand))
      return op->emitOpError("indices must be index or tiles of i32 or i64 "
                             "that broadcast to the ")
             << name << ", found " << type;
  }
  if (mask && !broadcasts(cast<RankedTensorType>(mask.getType())))
    return op->emitOpError("mask must broadcast to the ")
           << name << ", found " << mask.getType();
  return success();
}

LogicalResult GatherOp::verify() {
  return verifyPlaces(*this, "result", getResult().getType(),
                      getSource().getType(), getIndices(), getMask());
}

LogicalResult ScatterOp::verify() {
  if (getExact() && !getAdd())
    return emitOpError("'exact' needs 'add'");
  if (getAdd() && !getValue().getType().getElementType().isF32())
    return emitOpError("'add' needs f32 elements, found ")
           << getValue().getType();
  MemRefType sums = getTarget().getType();
  if (getExact()) {
    ArrayRef<int64_t> shape = sums.getShape();
    if (shape.empty() || shape.front() != exactsum::kBins ||
        !sums.getElementType().isInteger(64))
      return emitOpError("exact sums must be ")
             << exactsum::kBins << " i64 each, along the memref's first "
             << "dimension, found " << sums;
    sums = MemRefType::get(shape.drop_front(), Float32Type::get(getContext()));
  }
  return verifyPlaces(*this, "value", getValue().getType(), sums, getIndices(),
                      getMask());
}

LogicalResult CopyRowsOp::verify() {
  if (getSources().empty() || getSources().size() != getTargets().size())
    return emitOpError("needs one target for each source, found ")
           << getSources().size() << " and " << getTargets().size();
  for (auto [from, to] : llvm::zip(getSources(), getTargets())) {
    auto source = cast<MemRefType>(from.getType()),
         target = cast<MemRefType>(to.getType());
    int64_t copied = source.getRank() - int64_t(getSourceIndices().size());
    if (copied < 1 ||
        target.getRank() - int64_t(getTargetIndices().size()) != copied)
      return emitOpError("must leave the same number of dimensions, at least "
                         "1, without index in source and target, found ")
             << source << " and " << target;
    if (source.getElementType() != target.getElementType() ||
        failed(verifyCompatibleShape(source.getShape().take_back(copied),
                                     target.getShape().take_back(copied))))
      return emitOpError("source and target must have the same element type "
                         "and copied dimensions, found ")
             << source << " and " << target;
  }
  return success();
}
