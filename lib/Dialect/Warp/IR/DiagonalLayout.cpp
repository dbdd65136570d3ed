//===- DiagonalLayout.cpp - Layouts of relative-position tiles --*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements `#warp.diagonals` and `#warp.fragment_diagonals`, the layouts of
// `1xN` tiles that hold one value per relative position.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/IR/Warp.h"
#include "fovea/Support/Warps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

/// Checks that `rows` is a multiple of `step` for each warp.
static LogicalResult verifyRows(function_ref<InFlightDiagnostic()> emitError,
                                int64_t rows, int64_t warps, int64_t step) {
  if (warps < 1 || warps > kMaxWarps)
    return emitError() << "'warps' must be in [1, " << kMaxWarps << "], found "
                       << warps;
  if (rows < 1 || rows % (step * warps) != 0)
    return emitError() << "'rows' must be a multiple of " << step * warps
                       << " for " << warps << " warps, found " << rows;
  return success();
}

/// Checks the shape of a tile with the relative positions of `rows` rows and of
/// a multiple of `step` columns.
static LogicalResult verifyShape(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, int64_t rows,
                                 int64_t step) {
  if (failed(tile::verifyRegisterTile(shape, emitError)))
    return failure();
  int64_t columns = shape[1] - rows;
  if (shape[0] == 1 && (shape[1] == 1 || (columns > 0 && columns % step == 0)))
    return success();
  return emitError() << "relative positions of " << rows
                     << " rows need a 1x1 tile, or a 1xN tile where N - "
                     << rows << " is a positive multiple of " << step
                     << ", found " << shape[0] << "x" << shape[1];
}

//===----------------------------------------------------------------------===//
// Values of a warp's rows
//===----------------------------------------------------------------------===//

LogicalResult
DiagonalsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      int64_t rows, int64_t warps) {
  return verifyRows(emitError, rows, warps, kStep);
}

LogicalResult DiagonalsAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type,
    function_ref<InFlightDiagnostic()> emitError) const {
  return verifyShape(emitError, shape, getRows(), kStep);
}

/// The last register ends at the last relative position of the warp's rows.
int64_t DiagonalsAttr::getNumElements(ArrayRef<int64_t> shape) const {
  if (shape[1] == 1)
    return 1;
  return (shape[1] - getRows() + getRowsOfWarp()) / kStep - 1;
}

SmallVector<int64_t> DiagonalsAttr::getOffsets(ArrayRef<int64_t> shape,
                                               int64_t dim) const {
  SmallVector<int64_t> offsets;
  for (int64_t index = 0; index < getNumElements(shape); ++index)
    offsets.push_back(dim == 0 ? 0 : index * kStep);
  return offsets;
}

Value DiagonalsAttr::emitBase(OpBuilder &b, Location loc, Value thread,
                              ArrayRef<int64_t> shape, int64_t dim) const {
  auto constant = [&](int64_t value) {
    return arith::ConstantIntOp::create(b, loc, value, 32);
  };
  if (shape[dim] == 1)
    return constant(0);
  Value lane = arith::RemUIOp::create(b, loc, thread, constant(kLanes));
  Value warp = arith::DivUIOp::create(b, loc, thread, constant(kLanes));
  // The relative positions of later rows have lower columns.
  Value before = arith::MulIOp::create(b, loc, warp, constant(getRowsOfWarp()));
  Value first = arith::SubIOp::create(
      b, loc, constant(getRows() - getRowsOfWarp()), before);
  return arith::AddIOp::create(b, loc, first, lane);
}

int64_t DiagonalsAttr::getGroupRows(ArrayRef<int64_t> shape) const {
  return shape[0];
}

int64_t DiagonalsAttr::getPeriod(int64_t dim) const {
  return dim == 0 ? 1 : getRows() + kLanes;
}

FailureOr<SmallVector<int64_t>>
DiagonalsAttr::getLanesOfPeriod(int64_t dim) const {
  return getReductionLanes(dim);
}

/// Not supported along columns: warps hold different columns, and some columns
/// are in two lanes.
FailureOr<SmallVector<int64_t>>
DiagonalsAttr::getReductionLanes(int64_t dim) const {
  if (dim == 0)
    return SmallVector<int64_t>{};
  return failure();
}

//===----------------------------------------------------------------------===//
// Values of a lane's elements
//===----------------------------------------------------------------------===//

// In an 8x8 fragment of an accumulator, a lane holds one row and two columns.
static constexpr int64_t kFragment = 8, kLaneColumns = 2;

LogicalResult
FragmentDiagonalsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                              int64_t rows, int64_t warps) {
  return verifyRows(emitError, rows, warps, kFragment);
}

LogicalResult FragmentDiagonalsAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type,
    function_ref<InFlightDiagnostic()> emitError) const {
  return verifyShape(emitError, shape, getRows(), kFragment);
}

/// An 8x8 fragment has the same relative positions as the fragment one step
/// down and one step to the right, so a warp needs one pair of values for each
/// fragment offset.
int64_t FragmentDiagonalsAttr::getNumElements(ArrayRef<int64_t> shape) const {
  if (shape[1] == 1)
    return 1;
  int64_t fragments = (shape[1] - getRows() + getRowsOfWarp()) / kFragment - 1;
  return fragments * kLaneColumns;
}

/// Offsets are relative to the warp's last 8-row fragment.
SmallVector<int64_t> FragmentDiagonalsAttr::getOffsets(ArrayRef<int64_t> shape,
                                                       int64_t dim) const {
  SmallVector<int64_t> offsets;
  for (int64_t index = 0; index < getNumElements(shape); ++index)
    offsets.push_back(
        dim == 0 ? 0 : index / kLaneColumns * kFragment + index % kLaneColumns);
  return offsets;
}

/// The column for the lane's first element in the warp's last 8-row fragment.
/// Column 0 is the relative position of the tile's last row and first column.
Value FragmentDiagonalsAttr::emitBase(OpBuilder &b, Location loc, Value thread,
                                      ArrayRef<int64_t> shape,
                                      int64_t dim) const {
  auto constant = [&](int64_t value) {
    return arith::ConstantIntOp::create(b, loc, value, 32);
  };
  if (shape[dim] == 1)
    return constant(0);
  constexpr int64_t rowLanes = kFragment / kLaneColumns;
  Value lane = arith::RemUIOp::create(b, loc, thread, constant(kLanes));
  Value warp = arith::DivUIOp::create(b, loc, thread, constant(kLanes));
  Value row = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, warp, constant(getRowsOfWarp())),
      arith::DivUIOp::create(b, loc, lane, constant(rowLanes)));
  Value column = arith::MulIOp::create(
      b, loc, arith::RemUIOp::create(b, loc, lane, constant(rowLanes)),
      constant(kLaneColumns));
  Value last = constant(getRows() - 1 - (getRowsOfWarp() - kFragment));
  return arith::AddIOp::create(b, loc, arith::SubIOp::create(b, loc, last, row),
                               column);
}

int64_t FragmentDiagonalsAttr::getGroupRows(ArrayRef<int64_t> shape) const {
  return shape[0];
}

int64_t FragmentDiagonalsAttr::getPeriod(int64_t dim) const {
  return dim == 0 ? 1 : getRows() + kLanes;
}

FailureOr<SmallVector<int64_t>>
FragmentDiagonalsAttr::getLanesOfPeriod(int64_t dim) const {
  return getReductionLanes(dim);
}

/// Not supported along columns: some columns are in several lanes.
FailureOr<SmallVector<int64_t>>
FragmentDiagonalsAttr::getReductionLanes(int64_t dim) const {
  if (dim == 0)
    return SmallVector<int64_t>{};
  return failure();
}
