//===- LaneLayout.cpp - One column per lane ---------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements `#warp.lanes`, the layout of values that each warp holds as a
// whole, for example the flags of a ballot.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/IR/Warp.h"
#include "fovea/Support/Warps.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

bool warp::isReplicatedPerWarp(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  if (!tile)
    return true;
  auto layout =
      dyn_cast_if_present<ThreadLayoutAttrInterface>(tile.getEncoding());
  return layout && layout.isOneWarps();
}

bool warp::hasStoreFragments(RankedTensorType tile) {
  auto layout =
      dyn_cast_if_present<ThreadLayoutAttrInterface>(tile.getEncoding());
  return layout && layout.hasStoreFragments();
}

LogicalResult
LanesAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                          function_ref<InFlightDiagnostic()> emitError) const {
  if (failed(tile::verifyRegisterTile(shape, emitError)))
    return failure();
  if (shape[0] == 1 && (shape[1] == 1 || shape[1] % kLanes == 0))
    return success();
  return emitError()
         << "'#warp.lanes' needs a 1x1 tile, or one row with a multiple of "
         << kLanes << " columns, found " << shape[0] << "x" << shape[1];
}

int64_t LanesAttr::getNumElements(ArrayRef<int64_t> shape) const {
  return llvm::divideCeil(shape[1], kLanes);
}

SmallVector<int64_t> LanesAttr::getOffsets(ArrayRef<int64_t> shape,
                                           int64_t dim) const {
  SmallVector<int64_t> offsets;
  for (int64_t index = 0; index < getNumElements(shape); ++index)
    offsets.push_back(dim == 0 ? 0 : index * kLanes);
  return offsets;
}

Value LanesAttr::emitBase(OpBuilder &builder, Location loc, Value thread,
                          ArrayRef<int64_t> shape, int64_t dim) const {
  auto constant = [&](int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  };
  if (shape[dim] == 1)
    return constant(0);
  return arith::RemUIOp::create(builder, loc, thread, constant(kLanes));
}

int64_t LanesAttr::getGroupRows(ArrayRef<int64_t> shape) const {
  return shape[0];
}

int64_t LanesAttr::getPeriod(int64_t dim) const {
  return dim == 0 ? 1 : kLanes;
}

FailureOr<SmallVector<int64_t>> LanesAttr::getLanesOfPeriod(int64_t dim) const {
  return getReductionLanes(dim);
}

FailureOr<SmallVector<int64_t>>
LanesAttr::getReductionLanes(int64_t dim) const {
  if (dim == 0)
    return SmallVector<int64_t>{};
  return SmallVector<int64_t>{1, 2, 4, 8, 16};
}
