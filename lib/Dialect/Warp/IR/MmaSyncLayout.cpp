//===- MmaSyncLayout.cpp - Fragments of mma.sync ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/IR/Warp.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

// Rows and columns of one block, and of the fragment that a thread holds of it.
static constexpr int64_t kBlockRows = 16, kBlockColumns = 8;
static constexpr int64_t kRowsApart = 8, kNeighbours = 2, kWarpLanes = 32;

// A CTA has at most 1024 threads.
static constexpr int64_t kMaxWarps = 32;

LogicalResult MmaSyncAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t warps) {
  if (warps >= 1 && warps <= kMaxWarps)
    return success();
  return emitError() << "'warps' must be in [1, " << kMaxWarps << "], found "
                     << warps;
}

LogicalResult MmaSyncAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type,
    function_ref<InFlightDiagnostic()> emitError) const {
  if (failed(tile::verifyRegisterTile(shape, emitError)))
    return failure();
  if (shape[0] != 1 && shape[0] % (kBlockRows * getWarps()) != 0)
    return emitError() << "rows must be 1 or a multiple of "
                       << kBlockRows * getWarps() << " for " << getWarps()
                       << " warps, found " << shape[0];
  if (shape[1] != 1 && shape[1] % kBlockColumns != 0)
    return emitError() << "columns must be 1 or a multiple of " << kBlockColumns
                       << ", found " << shape[1];
  return success();
}

namespace {
/// What one thread's registers of a tile step through.
struct Extents {
  int64_t rowBlocks, columnBlocks, rows, columns;
};
} // namespace

static Extents getExtents(ArrayRef<int64_t> shape, int64_t warps) {
  Extents extents = {1, 1, 1, 1};
  if (shape[0] != 1)
    extents.rowBlocks = shape[0] / (kBlockRows * warps), extents.rows = 2;
  if (shape[1] != 1)
    extents.columnBlocks = shape[1] / kBlockColumns,
    extents.columns = kNeighbours;
  return extents;
}

int64_t MmaSyncAttr::getNumElements(ArrayRef<int64_t> shape) const {
  Extents e = getExtents(shape, getWarps());
  return e.rowBlocks * e.columnBlocks * e.rows * e.columns;
}

SmallVector<int64_t> MmaSyncAttr::getOffsets(ArrayRef<int64_t> shape,
                                             int64_t dim) const {
  Extents e = getExtents(shape, getWarps());
  SmallVector<int64_t> offsets;
  for (int64_t rowBlock = 0; rowBlock < e.rowBlocks; ++rowBlock)
    for (int64_t columnBlock = 0; columnBlock < e.columnBlocks; ++columnBlock)
      for (int64_t row = 0; row < e.rows; ++row)
        for (int64_t column = 0; column < e.columns; ++column)
          offsets.push_back(dim == 0 ? rowBlock * kBlockRows + row * kRowsApart
                                     : columnBlock * kBlockColumns + column);
  return offsets;
}

Value MmaSyncAttr::emitBase(OpBuilder &builder, Location loc, Value thread,
                            ArrayRef<int64_t> shape, int64_t dim) const {
  auto constant = [&](int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  };
  if (shape[dim] == 1)
    return constant(0);
  Value lane =
      arith::RemUIOp::create(builder, loc, thread, constant(kWarpLanes));
  if (dim == 1) {
    Value column = arith::RemUIOp::create(builder, loc, lane, constant(4));
    return arith::MulIOp::create(builder, loc, column, constant(kNeighbours));
  }
  Value row = arith::DivUIOp::create(builder, loc, lane, constant(4));
  Value warp =
      arith::DivUIOp::create(builder, loc, thread, constant(kWarpLanes));
  Value first = arith::MulIOp::create(builder, loc, warp,
                                      constant(shape[0] / getWarps()));
  return arith::AddIOp::create(builder, loc, first, row);
}

int64_t MmaSyncAttr::getPeriod(int64_t dim) const {
  return dim == 0 ? kRowsApart : kBlockColumns;
}

FailureOr<SmallVector<int64_t>>
MmaSyncAttr::getReductionLanes(int64_t dim) const {
  if (dim == 1)
    return SmallVector<int64_t>{1, 2};
  return failure();
}
