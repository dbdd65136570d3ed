//===- MmaLayouts.cpp - Layouts of MMA fragments ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements the layouts of accumulators and first operands in registers:
// `#warp.mma_sync`, `#warp.wgmma` and `#warp.operand`.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/IR/Warp.h"
#include "fovea/Support/Warps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

// Rows of a block; the distance between the rows that a thread holds of it, and
// their number.
static constexpr int64_t kBlockRows = 16, kRowsApart = 8, kThreadRows = 2;
// Lanes that share a row of a block, and the adjacent columns that each of them
// holds of an accumulator or of a 16-bit operand.
static constexpr int64_t kQuad = 4, kNeighbours = 2;
static constexpr int64_t kInterleaveColumns = MmaSyncAttr::kInterleaveColumns;

namespace {
/// Layout of fragments, shared by mma.sync and wgmma. Rows of a tile are
/// divided among `warps` warps in equal consecutive parts. Each part consists
/// of blocks of 16 rows, with `neighbours` columns for each lane of a quad.
/// `columnWarps` warps share a part, with interleaved columns. A thread holds
/// two rows of a block, `rowsApart` rows from each other.
struct Fragments {
  int64_t warps, neighbours = kNeighbours, columnWarps = 1,
                 rowsApart = kRowsApart;

  int64_t getBlockColumns() const { return kQuad * neighbours; }
  /// The columns of a tile are a multiple of this.
  int64_t getColumnStep() const {
    return columnWarps == 1 ? getBlockColumns()
                            : kInterleaveColumns * columnWarps;
  }
  /// The first column of a thread's block `block`, relative to its base.
  int64_t getBlockOffset(int64_t block) const {
    int64_t column = block * getBlockColumns(),
            chunk = column / kInterleaveColumns;
    return columnWarps == 1 ? column
                            : chunk * kInterleaveColumns * columnWarps +
                                  column % kInterleaveColumns;
  }

  LogicalResult verify(ArrayRef<int64_t> shape, int64_t rows,
                       function_ref<InFlightDiagnostic()> emitError) const;
  int64_t getNumElements(ArrayRef<int64_t> shape) const;
  SmallVector<int64_t> getOffsets(ArrayRef<int64_t> shape, int64_t dim) const;
  Value emitBase(OpBuilder &builder, Location loc, Value thread,
                 ArrayRef<int64_t> shape, int64_t dim) const;
};

/// Extents of the loop nest that enumerates one thread's registers of a tile.
struct Extents {
  int64_t rowBlocks, columnBlocks, rows, columns;
};
} // namespace

static Extents getExtents(ArrayRef<int64_t> shape, const Fragments &fragments) {
  Extents extents = {1, 1, 1, 1};
  if (shape[0] != 1)
    extents.rowBlocks = shape[0] / (kBlockRows * fragments.warps),
    extents.rows = kThreadRows;
  if (shape[1] != 1)
    extents.columnBlocks =
        shape[1] / (fragments.getBlockColumns() * fragments.columnWarps),
    extents.columns = fragments.neighbours;
  return extents;
}

LogicalResult
Fragments::verify(ArrayRef<int64_t> shape, int64_t rows,
                  function_ref<InFlightDiagnostic()> emitError) const {
  if (failed(tile::verifyRegisterTile(shape, emitError)))
    return failure();
  if (shape[0] != 1 && shape[0] % rows != 0)
    return emitError() << "rows must be 1 or a multiple of " << rows << " for "
                       << warps << " warps, found " << shape[0];
  if (shape[1] == 1 || shape[1] % getColumnStep() == 0)
    return success();
  InFlightDiagnostic diag = emitError() << "columns must be 1 or a multiple of "
                                        << getColumnStep();
  if (columnWarps != 1)
    diag << " for " << columnWarps << " warps that share them";
  return diag << ", found " << shape[1];
}

int64_t Fragments::getNumElements(ArrayRef<int64_t> shape) const {
  Extents e = getExtents(shape, *this);
  return e.rowBlocks * e.columnBlocks * e.rows * e.columns;
}

SmallVector<int64_t> Fragments::getOffsets(ArrayRef<int64_t> shape,
                                           int64_t dim) const {
  Extents e = getExtents(shape, *this);
  SmallVector<int64_t> offsets;
  for (int64_t rowBlock = 0; rowBlock < e.rowBlocks; ++rowBlock)
    for (int64_t columnBlock = 0; columnBlock < e.columnBlocks; ++columnBlock)
      for (int64_t row = 0; row < e.rows; ++row)
        for (int64_t column = 0; column < e.columns; ++column)
          offsets.push_back(dim == 0 ? rowBlock * kBlockRows + row * rowsApart
                                     : getBlockOffset(columnBlock) + column);
  return offsets;
}

Value Fragments::emitBase(OpBuilder &builder, Location loc, Value thread,
                          ArrayRef<int64_t> shape, int64_t dim) const {
  auto constant = [&](int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  };
  if (shape[dim] == 1)
    return constant(0);
  Value lane = arith::RemUIOp::create(builder, loc, thread, constant(kLanes));
  auto emitWarp = [&] {
    return arith::DivUIOp::create(builder, loc, thread, constant(kLanes));
  };
  if (dim == 1) {
    Value column = arith::RemUIOp::create(builder, loc, lane, constant(kQuad));
    column = arith::MulIOp::create(builder, loc, column, constant(neighbours));
    if (columnWarps == 1)
      return column;
    Value chunk =
        arith::DivUIOp::create(builder, loc, emitWarp(), constant(warps));
    chunk = arith::MulIOp::create(builder, loc, chunk,
                                  constant(kInterleaveColumns));
    return arith::AddIOp::create(builder, loc, chunk, column);
  }
  Value row = arith::DivUIOp::create(builder, loc, lane, constant(kQuad));
  if (rowsApart == 1)
    row = arith::MulIOp::create(builder, loc, row, constant(kThreadRows));
  Value warp = emitWarp();
  if (columnWarps != 1)
    warp = arith::RemUIOp::create(builder, loc, warp, constant(warps));
  Value first =
      arith::MulIOp::create(builder, loc, warp, constant(shape[0] / warps));
  return arith::AddIOp::create(builder, loc, first, row);
}

static int64_t getFragmentPeriod(int64_t dim) {
  return dim == 0 ? kRowsApart : Fragments{1}.getBlockColumns();
}

/// The eight lanes that share a column of a block, or the four that share a
/// row.
static SmallVector<int64_t> getFragmentLanes(int64_t dim) {
  return dim == 0 ? SmallVector<int64_t>{4, 8, 16} : SmallVector<int64_t>{1, 2};
}

/// Fails along rows if several warps divide them.
static FailureOr<SmallVector<int64_t>> getReductionLanes(int64_t dim,
                                                         int64_t warps) {
  if (dim == 0 && warps != 1)
    return failure();
  return getFragmentLanes(dim);
}

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

LogicalResult MmaSyncAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t warps, int64_t columnWarps) {
  if (warps < 1 || warps > kMaxWarps)
    return emitError() << "'warps' must be in [1, " << kMaxWarps << "], found "
                       << warps;
  if (columnWarps < 1 || columnWarps > kMaxWarps / warps ||
      !llvm::isPowerOf2_64(columnWarps))
    return emitError() << "'column_warps' must be a power of two in [1, "
                       << kMaxWarps / warps << "] for " << warps
                       << " warps that divide the rows, found " << columnWarps;
  return success();
}

static Fragments getFragments(MmaSyncAttr layout) {
  return {layout.getWarps(), kNeighbours, layout.getColumnWarps()};
}

LogicalResult MmaSyncAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type,
    function_ref<InFlightDiagnostic()> emitError) const {
  return getFragments(*this).verify(shape, kBlockRows * getWarps(), emitError);
}

int64_t MmaSyncAttr::getNumElements(ArrayRef<int64_t> shape) const {
  return getFragments(*this).getNumElements(shape);
}

SmallVector<int64_t> MmaSyncAttr::getOffsets(ArrayRef<int64_t> shape,
                                             int64_t dim) const {
  return getFragments(*this).getOffsets(shape, dim);
}

Value MmaSyncAttr::emitBase(OpBuilder &builder, Location loc, Value thread,
                            ArrayRef<int64_t> shape, int64_t dim) const {
  return getFragments(*this).emitBase(builder, loc, thread, shape, dim);
}

/// All warps of the CTA run in step, because they synchronise with CTA-wide
/// barriers.
int64_t MmaSyncAttr::getGroupRows(ArrayRef<int64_t> shape) const {
  return shape[0];
}

int64_t MmaSyncAttr::getPeriod(int64_t dim) const {
  return getFragmentPeriod(dim);
}

FailureOr<SmallVector<int64_t>>
MmaSyncAttr::getLanesOfPeriod(int64_t dim) const {
  return getFragmentLanes(dim);
}

FailureOr<SmallVector<int64_t>>
MmaSyncAttr::getReductionLanes(int64_t dim) const {
  if (dim == 1 && getColumnWarps() != 1)
    return failure();
  return ::getReductionLanes(dim, getWarps());
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

LogicalResult WgmmaAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t groups) {
  if (groups >= 1 && groups <= kMaxWarps / kGroupWarps)
    return success();
  return emitError() << "'groups' must be in [1, " << kMaxWarps / kGroupWarps
                     << "], found " << groups;
}

LogicalResult
WgmmaAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                          function_ref<InFlightDiagnostic()> emitError) const {
  int64_t rows = kBlockRows * kGroupWarps * getGroups();
  if (failed(
          Fragments{kGroupWarps * getGroups()}.verify(shape, rows, emitError)))
    return failure();
  if (shape[0] != 1 && shape[0] != rows)
    return emitError() << "rows must be 1 or " << rows << " for " << getGroups()
                       << " warp groups, found " << shape[0];
  return success();
}

int64_t WgmmaAttr::getNumElements(ArrayRef<int64_t> shape) const {
  return Fragments{kGroupWarps * getGroups()}.getNumElements(shape);
}

SmallVector<int64_t> WgmmaAttr::getOffsets(ArrayRef<int64_t> shape,
                                           int64_t dim) const {
  return Fragments{kGroupWarps * getGroups()}.getOffsets(shape, dim);
}

Value WgmmaAttr::emitBase(OpBuilder &builder, Location loc, Value thread,
                          ArrayRef<int64_t> shape, int64_t dim) const {
  return Fragments{kGroupWarps * getGroups()}.emitBase(builder, loc, thread,
                                                       shape, dim);
}

int64_t WgmmaAttr::getGroupRows(ArrayRef<int64_t> shape) const {
  return shape[0] == 1 ? 1 : shape[0] / getGroups();
}

int64_t WgmmaAttr::getPeriod(int64_t dim) const {
  return getFragmentPeriod(dim);
}

FailureOr<SmallVector<int64_t>> WgmmaAttr::getLanesOfPeriod(int64_t dim) const {
  return getFragmentLanes(dim);
}

FailureOr<SmallVector<int64_t>>
WgmmaAttr::getReductionLanes(int64_t dim) const {
  return ::getReductionLanes(dim, kGroupWarps * getGroups());
}

//===----------------------------------------------------------------------===//
// Operands with elements of 8 or 32 bits
//===----------------------------------------------------------------------===//

// Bits of a register; adjacent columns of a lane fill one register.
static constexpr int64_t kWordBits = 32;

static Fragments getFragments(OperandAttr layout) {
  return {layout.getRowsLayout().getRowWarps(),
          kWordBits / layout.getElementBits()};
}

LogicalResult OperandAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                  Attribute of, int64_t elementBits) {
  auto rows = dyn_cast_if_present<ThreadLayoutAttrInterface>(of);
  if (!rows || rows.getFragmentWarps() == 0)
    return emitError() << "'of' must be the layout of an accumulator in "
                          "registers, found "
                       << of;
  if (!isFor(elementBits))
    return emitError() << "'element_bits' must be 8 or 32, found "
                       << elementBits;
  return success();
}

ThreadLayoutAttrInterface OperandAttr::getRowsLayout() const {
  return cast<ThreadLayoutAttrInterface>(getOf());
}

LogicalResult OperandAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type element,
    function_ref<InFlightDiagnostic()> emitError) const {
  if (failed(tile::verifyRegisterTile(shape, emitError)) ||
      failed(cast<VerifiableTensorEncoding>(getOf()).verifyEncoding(
          {shape[0], 1}, element, emitError)))
    return failure();
  Fragments fragments = getFragments(*this);
  return fragments.verify(shape, kBlockRows * fragments.warps, emitError);
}

int64_t OperandAttr::getNumElements(ArrayRef<int64_t> shape) const {
  return getFragments(*this).getNumElements(shape);
}

SmallVector<int64_t> OperandAttr::getOffsets(ArrayRef<int64_t> shape,
                                             int64_t dim) const {
  return getFragments(*this).getOffsets(shape, dim);
}

Value OperandAttr::emitBase(OpBuilder &builder, Location loc, Value thread,
                            ArrayRef<int64_t> shape, int64_t dim) const {
  return getFragments(*this).emitBase(builder, loc, thread, shape, dim);
}

int64_t OperandAttr::getGroupRows(ArrayRef<int64_t> shape) const {
  return getRowsLayout().getGroupRows(shape);
}

int64_t OperandAttr::getRowWarps() const {
  return getRowsLayout().getRowWarps();
}

int64_t OperandAttr::getPeriod(int64_t dim) const {
  return dim == 0 ? kRowsApart : getFragments(*this).getBlockColumns();
}

FailureOr<SmallVector<int64_t>>
OperandAttr::getLanesOfPeriod(int64_t dim) const {
  return getFragmentLanes(dim);
}

FailureOr<SmallVector<int64_t>>
OperandAttr::getReductionLanes(int64_t dim) const {
  return ::getReductionLanes(dim, getRowWarps());
}

//===----------------------------------------------------------------------===//
// Transposed elements of 8 bits
//===----------------------------------------------------------------------===//

static Fragments getFragments(RowPairsAttr layout) {
  return {layout.getWarps(), layout.getNeighbours(), /*columnWarps=*/1,
          /*rowsApart=*/1};
}

LogicalResult RowPairsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t warps, int64_t neighbours) {
  if (neighbours != 2 && neighbours != 4)
    return emitError() << "'neighbours' must be 2 or 4, found " << neighbours;
  if (warps >= 1 && warps <= kMaxWarps)
    return success();
  return emitError() << "'warps' must be in [1, " << kMaxWarps << "], found "
                     << warps;
}

LogicalResult RowPairsAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type,
    function_ref<InFlightDiagnostic()> emitError) const {
  return getFragments(*this).verify(shape, kBlockRows * getWarps(), emitError);
}

int64_t RowPairsAttr::getNumElements(ArrayRef<int64_t> shape) const {
  return getFragments(*this).getNumElements(shape);
}

SmallVector<int64_t> RowPairsAttr::getOffsets(ArrayRef<int64_t> shape,
                                              int64_t dim) const {
  return getFragments(*this).getOffsets(shape, dim);
}

Value RowPairsAttr::emitBase(OpBuilder &builder, Location loc, Value thread,
                             ArrayRef<int64_t> shape, int64_t dim) const {
  return getFragments(*this).emitBase(builder, loc, thread, shape, dim);
}

int64_t RowPairsAttr::getGroupRows(ArrayRef<int64_t> shape) const {
  int64_t groups = std::max<int64_t>(getWarps() / kGroupWarps, 1);
  return shape[0] == 1 ? 1 : shape[0] / groups;
}

int64_t RowPairsAttr::getRowWarps() const { return getWarps(); }

int64_t RowPairsAttr::getPeriod(int64_t dim) const {
  return dim == 0 ? kBlockRows : getFragments(*this).getBlockColumns();
}

FailureOr<SmallVector<int64_t>>
RowPairsAttr::getLanesOfPeriod(int64_t dim) const {
  return getFragmentLanes(dim);
}

FailureOr<SmallVector<int64_t>>
RowPairsAttr::getReductionLanes(int64_t dim) const {
  return ::getReductionLanes(dim, getWarps());
}
