//===- ThreadRowsLayout.cpp - One row per thread ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements `#warp.thread_rows`, the layout of tiles that are loaded from
// tensor memory or stored to it.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/IR/Warp.h"
#include "fovea/Support/Warps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

LogicalResult ThreadRowsAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type,
    function_ref<InFlightDiagnostic()> emitError) const {
  if (failed(tile::verifyRegisterTile(shape, emitError)))
    return failure();
  if (shape[0] == 1 || shape[0] == kTmemRows)
    return success();
  return emitError() << "'#warp.thread_rows' needs 1 row or " << kTmemRows
                     << ", found " << shape[0];
}

int64_t ThreadRowsAttr::getNumElements(ArrayRef<int64_t> shape) const {
  return shape[1];
}

SmallVector<int64_t> ThreadRowsAttr::getOffsets(ArrayRef<int64_t> shape,
                                                int64_t dim) const {
  if (dim == 0)
    return SmallVector<int64_t>(shape[1], 0);
  return llvm::to_vector(llvm::seq(shape[1]));
}

Value ThreadRowsAttr::emitBase(OpBuilder &builder, Location loc, Value thread,
                               ArrayRef<int64_t> shape, int64_t dim) const {
  auto constant = [&](int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  };
  if (dim == 1 || shape[0] == 1)
    return constant(0);
  return arith::RemUIOp::create(builder, loc, thread, constant(kTmemRows));
}

int64_t ThreadRowsAttr::getGroupRows(ArrayRef<int64_t> shape) const {
  return shape[0];
}

int64_t ThreadRowsAttr::getPeriod(int64_t dim) const {
  return dim == 0 ? kLanes : 1;
}

/// Rows of adjacent lanes are adjacent; a lane holds whole rows.
FailureOr<SmallVector<int64_t>>
ThreadRowsAttr::getLanesOfPeriod(int64_t dim) const {
  if (dim == 1)
    return SmallVector<int64_t>{};
  return SmallVector<int64_t>{1, 2, 4, 8, 16};
}

/// Along rows, the four warps hold different parts.
FailureOr<SmallVector<int64_t>>
ThreadRowsAttr::getReductionLanes(int64_t dim) const {
  if (dim == 0)
    return failure();
  return SmallVector<int64_t>{};
}
