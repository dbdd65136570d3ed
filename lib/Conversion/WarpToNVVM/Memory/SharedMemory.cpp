//===- SharedMemory.cpp - Shared buffers and cp.async copies ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers shared buffers and stages to pointers, copies without TMA to cp.async,
// and loads of vectors from shared memory. All threads of the CTA take part in
// a copy.
//
//===----------------------------------------------------------------------===//

#include "Math/ScalarBits.h"
#include "WarpToNVVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

/// Emits `address + x * y` bytes with unsigned 32-bit factors, as one
/// instruction. LLVM cannot split it and keep its terms in registers across a
/// loop.
static Value emitAddress(OpBuilder &b, Location loc, Value address, Value x,
                         Value y) {
  return LLVM::InlineAsmOp::create(
             b, loc, TypeRange{address.getType()}, ValueRange{x, y, address},
             "mad.wide.u32 $0, $1, $2, $3;", "=l,r,r,l",
             /*has_side_effects=*/false, /*is_align_stack=*/false,
             LLVM::TailCallKind::None, /*asm_dialect=*/nullptr,
             /*operand_attrs=*/nullptr)
      .getResult(0);
}

namespace {
template <typename Op>
struct AllocLowering : OpConversionPattern<Op> {
  using OpConversionPattern<Op>::OpConversionPattern;

  LogicalResult
  matchAndRewrite(Op op, typename Op::Adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    std::optional<uint64_t> offset = op.getOffset();
    if (!offset)
      return op.emitError("shared buffer has no offset; run "
                          "'warp-allocate-shared-memory' first");
    Location loc = op.getLoc();
    Type pointer = LLVM::LLVMPointerType::get(op.getContext(), 3);
    Value base =
        LLVM::AddressOfOp::create(rewriter, loc, pointer, kSharedMemorySymbol);
    rewriter.replaceOpWithNewOp<LLVM::GEPOp>(
        op, pointer, rewriter.getI8Type(), base,
        ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(*offset))});
    return success();
  }
};

struct StageLowering : OpConversionPattern<warp::StageOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(warp::StageOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    int64_t bytes = warp::getStorageBytes(op.getType());
    Value distance =
        arith::MulIOp::create(rewriter, op.getLoc(), adaptor.getStage(),
                              emitI32(rewriter, op.getLoc(), bytes));
    rewriter.replaceOpWithNewOp<LLVM::GEPOp>(
        op, adaptor.getBuffer().getType(), rewriter.getI8Type(),
        adaptor.getBuffer(), ArrayRef<LLVM::GEPArg>{distance});
    return success();
  }
};

/// Copies a tile with 16-byte cp.async; adjacent threads copy adjacent chunks.
struct CopyLowering : OpConversionPattern<warp::CopyOp> {
  CopyLowering(const TypeConverter &converter, MLIRContext *context,
               launch::AbiOp abi, const CopyStarts &starts)
      : OpConversionPattern(converter, context), abi(abi), starts(starts),
        threads(abi.getThreads()) {}

  LogicalResult
  matchAndRewrite(warp::CopyOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

  launch::AbiOp abi;
  const CopyStarts &starts;
  int64_t threads;
};

/// The columns of a copy whose first or last column is dynamic. Chunks begin at
/// multiples of 16 bytes. So a chunk's first column either exists or the whole
/// chunk is out of bounds; the last chunk may exist in part.
struct RaggedColumns {
  /// The thread's first column in the first panel, and the end of the columns;
  /// i32.
  Value first, end;
  int64_t elementBytes = 0;

  /// Bytes to copy of the chunk `column` columns later, in a row that exists.
  Value emitBytes(OpBuilder &b, Location loc, Value rowExists,
                  int64_t column) const;
};
} // namespace

// Bytes that one instruction copies.
static constexpr int64_t kChunkBytes = 16;

/// Returns true if cp.async can copy the op's elements.
static bool hasChunks(warp::CopyOp op) {
  Type element = op.getTarget().getType().getElementType();
  return element.isIntOrFloat() && element.getIntOrFloatBitWidth() % 8 == 0 &&
         element.getIntOrFloatBitWidth() <= 32;
}

/// Columns that one instruction copies.
static int64_t getChunk(warp::CopyOp op) {
  return kChunkBytes / getBytes(op.getTarget().getType().getElementType());
}

Value RaggedColumns::emitBytes(OpBuilder &b, Location loc, Value rowExists,
                               int64_t column) const {
  Value at = arith::AddIOp::create(b, loc, first, emitI32(b, loc, column));
  Value exists = arith::AndIOp::create(
      b, loc, rowExists,
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, at, end));
  Value left =
      arith::MinUIOp::create(b, loc, arith::SubIOp::create(b, loc, end, at),
                             emitI32(b, loc, kChunkBytes / elementBytes));
  Value bytes =
      arith::MulIOp::create(b, loc, left, emitI32(b, loc, elementBytes));
  return arith::SelectOp::create(b, loc, exists, bytes, emitI32(b, loc, 0));
}

CopyStarts::CopyStarts(gpu::GPUFuncOp kernel) {
  kernel.walk([&](warp::CopyOp copy) {
    if (hasChunks(copy) &&
        isMultipleOf(copy.getIndices()[copy.getBoxDims().column],
                     getChunk(copy)))
      aligned.insert(copy);
  });
}

/// Returns true if the columns are a static multiple of chunks from column 0
/// on, so that chunks past the end are known statically.
static bool hasStaticColumns(warp::CopyOp op, const GlobalView &view) {
  int64_t dim = op.getBoxDims().column, size = view.type.getDimSize(dim);
  return !ShapedType::isDynamic(size) && size % getChunk(op) == 0 &&
         matchPattern(op.getIndices()[dim], m_Zero());
}

namespace {
/// A thread's part of a copy. Adjacent threads copy adjacent chunks of a
/// panel's row, then the next row.
class CopyEmitter {
public:
  CopyEmitter(OpBuilder &b, warp::CopyOp op, const GlobalView &view,
              const std::optional<GlobalView> &table, Value target,
              int64_t threads);

  bool isRagged() const { return hasRaggedColumns; }
  void emit();

private:
  void emitStart();
  /// The offset that the addresses of all threads share, in elements.
  Value emitCommonOffset();
  /// The first row that does not exist.
  Value emitLimit();
  /// The address of the thread's chunk in a row at `index` along another
  /// dimension.
  Value emitPlace(Value row, int64_t dim, Value index);
  /// The address of a row folded from two coordinates, and whether it exists.
  std::pair<Value, Value> emitFoldedRow(Value index);
  /// The same for a row of a group.
  std::pair<Value, Value> emitGroupedRow(Value index);
  /// The same for a row whose group is found by a table, and the index of group
  /// `number` in the table.
  std::pair<Value, Value> emitRowOfTable(Value index);
  Value emitGroupOfTable(Value number);
  void emitRow(int64_t start);
  void emitChunk(Value from, Value to, Value rowExists, int64_t column,
                 int64_t start);

  OpBuilder &b;
  warp::CopyOp op;
  Location loc;
  const GlobalView &view;
  const std::optional<GlobalView> &table;
  Value target;
  Type element;
  tile::BoxDims dims;
  int64_t rows, columns, panel, panelRowBytes;
  int64_t elementBytes;
  /// Columns of a chunk, and chunks of a panel's row.
  int64_t chunkColumns, chunks;
  /// Rows that all threads copy in one step.
  int64_t step;
  bool hasRaggedColumns, isRegular;

  /// The thread's chunk, and its first row in the tile; i32.
  Value chunk, row;
  Value firstRow, threadRow, limit;
  Value rowStride, rowBytes;
  /// Address of the thread's first chunk in the tensor's first row, and in the
  /// tile's first row.
  Value origin, block;
  /// For regular copies: the source of the thread's next row, and the
  /// destination of its first one.
  Value source, destination;
  RaggedColumns ragged;
};
} // namespace

CopyEmitter::CopyEmitter(OpBuilder &b, warp::CopyOp op, const GlobalView &view,
                         const std::optional<GlobalView> &table, Value target,
                         int64_t threads)
    : b(b), op(op), loc(op.getLoc()), view(view), table(table), target(target),
      element(view.type.getElementType()), dims(op.getBoxDims()) {
  MemRefType type = op.getTarget().getType();
  rows = type.getDimSize(0);
  columns = type.getDimSize(1);
  panel = warp::getPanelColumns(type);
  panelRowBytes = warp::getRowBytes(type);
  elementBytes = getBytes(element);
  chunkColumns = getChunk(op);
  chunks = panelRowBytes / kChunkBytes;
  step = threads / chunks;
  hasRaggedColumns = !hasStaticColumns(op, view);
  // Rows at multiples of 8 have the same swizzle: their addresses differ by
  // constants.
  isRegular = rows % step == 0 && step % 8 == 0 && !dims.isFolded() &&
              !dims.hasGroups();
}

Value CopyEmitter::emitCommonOffset() {
  Value common = emitI64(b, loc, 0);
  for (int64_t dim = 0; dim < view.type.getRank(); ++dim)
    if (!dims.contains(dim) && dim != dims.group)
      common = arith::AddIOp::create(
          b, loc, common,
          arith::MulIOp::create(b, loc, emitToI64(b, loc, op.getIndices()[dim]),
                                view.strides[dim]));
  return common;
}

Value CopyEmitter::emitLimit() {
  // The limit of groups is that of the rows in all of them.
  Value limit =
      dims.hasGroups() ? emitI64(b, loc, INT32_MAX) : view.sizes[dims.row];
  if (op.getLimit())
    limit =
        arith::MinSIOp::create(b, loc, limit, emitToI64(b, loc, op.getLimit()));
  // If the condition is false no row exists: the stage is zeroed, and not read.
  if (op.getCondition())
    limit = arith::SelectOp::create(b, loc, op.getCondition(), limit,
                                    emitI64(b, loc, 0));
  return emitToI32(b, loc, limit);
}

void CopyEmitter::emitStart() {
  Value thread = emitThread(b, loc);
  chunk = arith::RemUIOp::create(b, loc, thread, emitI32(b, loc, chunks));
  row = arith::DivUIOp::create(b, loc, thread, emitI32(b, loc, chunks));
  Value common = emitCommonOffset();
  Value wideRow = emitToI64(b, loc, op.getIndices()[dims.row]);
  rowStride = view.strides[dims.row];
  limit = emitLimit();
  firstRow = emitToI32(b, loc, wideRow);
  Value chunkStart = arith::MulIOp::create(b, loc, emitToI64(b, loc, chunk),
                                           emitI64(b, loc, chunkColumns));
  // The loop-invariant part comes first, so that one address per thread stays
  // in registers instead of its terms.
  Value fixed = arith::AddIOp::create(b, loc, common, chunkStart);
  if (isRegular)
    fixed = arith::AddIOp::create(
        b, loc, fixed,
        arith::MulIOp::create(b, loc, emitToI64(b, loc, row), rowStride));
  origin = LLVM::GEPOp::create(b, loc, view.pointer.getType(), element,
                               view.pointer, ArrayRef<LLVM::GEPArg>{fixed});
  rowBytes = arith::MulIOp::create(b, loc, emitToI32(b, loc, rowStride),
                                   emitI32(b, loc, elementBytes));
  block = emitAddress(b, loc, origin, firstRow, rowBytes);
  if (isRagged()) {
    Value first = emitToI64(b, loc, op.getIndices()[dims.column]);
    block = LLVM::GEPOp::create(b, loc, block.getType(), element, block,
                                ArrayRef<LLVM::GEPArg>{first});
    ragged.first = arith::AddIOp::create(b, loc, emitToI32(b, loc, first),
                                         emitToI32(b, loc, chunkStart));
    ragged.end = emitToI32(b, loc, view.sizes[dims.column]);
    ragged.elementBytes = elementBytes;
  }
  if (isRegular) {
    source = block;
    destination = LLVM::GEPOp::create(
        b, loc, target.getType(), b.getI8Type(), target,
        ArrayRef<LLVM::GEPArg>{emitSwizzle(b, loc, row, chunk, panelRowBytes)});
  }
  threadRow = arith::AddIOp::create(b, loc, firstRow, row);
}

Value CopyEmitter::emitPlace(Value row, int64_t dim, Value index) {
  Value distance = arith::AddIOp::create(
      b, loc, arith::MulIOp::create(b, loc, emitToI64(b, loc, row), rowStride),
      arith::MulIOp::create(b, loc, emitToI64(b, loc, index),
                            view.strides[dim]));
  return LLVM::GEPOp::create(b, loc, origin.getType(), element, origin,
                             ArrayRef<LLVM::GEPArg>{distance});
}

std::pair<Value, Value> CopyEmitter::emitFoldedRow(Value index) {
  Value extent = emitI32(b, loc, dims.foldExtent);
  Value along = arith::AddIOp::create(
      b, loc, firstRow, arith::DivUIOp::create(b, loc, index, extent));
  Value folded = arith::AddIOp::create(
      b, loc, emitToI32(b, loc, op.getIndices()[dims.fold]),
      arith::RemUIOp::create(b, loc, index, extent));
  Value exists = arith::AndIOp::create(
      b, loc,
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, along, limit),
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, folded,
                            emitToI32(b, loc, view.sizes[dims.fold])));
  return {emitPlace(along, dims.fold, folded), exists};
}

Value CopyEmitter::emitGroupOfTable(Value number) {
  int64_t last = table->type.getRank() - 1;
  Value entry = arith::AddIOp::create(
      b, loc, emitToI64(b, loc, op.getTableIndices().back()),
      emitToI64(b, loc, number));
  Value end =
      arith::SubIOp::create(b, loc, table->sizes[last], emitI64(b, loc, 1));
  entry = arith::MinUIOp::create(b, loc, entry, end);
  Value distance = arith::MulIOp::create(b, loc, entry, table->strides[last]);
  for (int64_t dim = 0; dim < last; ++dim)
    distance = arith::AddIOp::create(
        b, loc, distance,
        arith::MulIOp::create(b, loc,
                              emitToI64(b, loc, op.getTableIndices()[dim]),
                              table->strides[dim]));
  Type integer = table->type.getElementType();
  Value at =
      LLVM::GEPOp::create(b, loc, table->pointer.getType(), integer,
                          table->pointer, ArrayRef<LLVM::GEPArg>{distance});
  // Copies of K and of V share the load: no op of the kernel writes tables.
  auto load = LLVM::LoadOp::create(b, loc, integer, at);
  load.setInvariant(true);
  return load;
}

std::pair<Value, Value> CopyEmitter::emitRowOfTable(Value index) {
  Value rowsOfGroup = emitI32(b, loc, dims.groupRows);
  Value inSequence = arith::AddIOp::create(b, loc, firstRow, index);
  Value group =
      emitGroupOfTable(arith::DivUIOp::create(b, loc, inSequence, rowsOfGroup));
  auto isBelow = [&](Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, x, y);
  };
  Value wide = emitToI64(b, loc, group);
  Value exists =
      arith::AndIOp::create(b, loc, isBelow(wide, view.sizes[dims.group]),
                            isBelow(inSequence, limit));
  Value along = arith::RemUIOp::create(b, loc, inSequence, rowsOfGroup);
  return {emitPlace(along, dims.group, wide), exists};
}

std::pair<Value, Value> CopyEmitter::emitGroupedRow(Value index) {
  if (table)
    return emitRowOfTable(index);
  Value rowsOfGroup = emitI32(b, loc, dims.groupRows);
  Value number = arith::DivUIOp::create(b, loc, index, rowsOfGroup);
  int64_t rank = view.type.getRank();
  auto getIndex = [&](int64_t group) {
    return emitToI32(b, loc, op.getIndices()[dims.getGroupIndex(group, rank)]);
  };
  Value group = getIndex(0);
  for (int64_t other = 1; other < rows / dims.groupRows; ++other)
    group = arith::SelectOp::create(
        b, loc,
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, number,
                              emitI32(b, loc, other)),
        getIndex(other), group);
  Value along = arith::AddIOp::create(
      b, loc, firstRow, arith::RemUIOp::create(b, loc, index, rowsOfGroup));
  Value logical = arith::AddIOp::create(b, loc, firstRow, index);
  auto isBelow = [&](Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, x, y);
  };
  Value inTensor = arith::AndIOp::create(
      b, loc, isBelow(along, emitToI32(b, loc, view.sizes[dims.row])),
      isBelow(group, emitToI32(b, loc, view.sizes[dims.group])));
  Value exists =
      arith::AndIOp::create(b, loc, inTensor, isBelow(logical, limit));
  return {emitPlace(along, dims.group, group), exists};
}

void CopyEmitter::emitChunk(Value from, Value to, Value rowExists,
                            int64_t column, int64_t start) {
  int64_t size = view.type.getDimSize(dims.column);
  Value inside = rowExists, bytes;
  if (isRagged())
    bytes = ragged.emitBytes(b, loc, rowExists, column);
  else if (column + panel > size) {
    // Columns past the head dim are zero.
    Value last = emitI32(b, loc, (size - column) / chunkColumns);
    Value inRow =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, chunk, last);
    inside = arith::AndIOp::create(b, loc, rowExists, inRow);
  }
  if (!bytes)
    bytes = arith::SelectOp::create(
        b, loc, inside, emitI32(b, loc, kChunkBytes), emitI32(b, loc, 0));
  int64_t shared = (column / panel) * rows * panelRowBytes;
  if (isRegular)
    shared += start * panelRowBytes;
  to = LLVM::GEPOp::create(
      b, loc, to.getType(), b.getI8Type(), to,
      ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(shared))});
  from = LLVM::GEPOp::create(
      b, loc, from.getType(), element, from,
      ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(column))});
  NVVM::CpAsyncOp::create(b, loc, to, from, kChunkBytes,
                          NVVM::LoadCacheModifierKind::CG, bytes);
}

void CopyEmitter::emitRow(int64_t start) {
  // Coordinates of regular rows start at the thread's first row, which changes
  // in the loop around the copy: only a constant is added here.
  Value current, coordinate;
  if (isRegular) {
    coordinate =
        arith::AddIOp::create(b, loc, threadRow, emitI32(b, loc, start));
  } else {
    current = arith::AddIOp::create(b, loc, row, emitI32(b, loc, start));
    // Threads past the last row repeat a row that another thread copies.
    if (rows % step != 0)
      current = arith::RemUIOp::create(b, loc, current, emitI32(b, loc, rows));
    coordinate = arith::AddIOp::create(b, loc, firstRow, current);
  }
  Value from = source, to = destination, exists;
  if (dims.isFolded())
    std::tie(from, exists) = emitFoldedRow(current);
  else if (dims.hasGroups())
    std::tie(from, exists) = emitGroupedRow(current);
  else
    exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                   coordinate, limit);
  if (!isRegular) {
    if (!dims.isFolded() && !dims.hasGroups())
      from = emitAddress(b, loc, block, current, rowBytes);
    to = LLVM::GEPOp::create(b, loc, target.getType(), b.getI8Type(), target,
                             ArrayRef<LLVM::GEPArg>{emitSwizzle(
                                 b, loc, current, chunk, panelRowBytes)});
  }
  for (int64_t column = 0; column < columns; column += panel)
    emitChunk(from, to, exists, column, start);
  if (isRegular && start + step < rows)
    source = emitAddress(b, loc, source, rowBytes, emitI32(b, loc, step));
}

void CopyEmitter::emit() {
  // A synchronous copy waits for earlier readers here, and for the data at its
  // end.
  if (!op.getAsync())
    gpu::BarrierOp::create(b, loc);
  emitStart();
  for (int64_t start = 0; start < rows; start += step)
    emitRow(start);
  if (op.getAsync())
    return;
  NVVM::CpAsyncCommitGroupOp::create(b, loc);
  NVVM::CpAsyncWaitGroupOp::create(b, loc, 0);
  gpu::BarrierOp::create(b, loc);
}

LogicalResult
CopyLowering::matchAndRewrite(warp::CopyOp op, OpAdaptor adaptor,
                              ConversionPatternRewriter &rewriter) const {
  if (op.getFragments())
    return op.emitError("fragments are copied by TMA: expected an "
                        "asynchronous copy in a role");
  FailureOr<GlobalView> view =
      getGlobalView(rewriter, op.getLoc(), op.getSource());
  if (failed(view))
    return failure();
  auto [strides, offset] = view->type.getStridesAndOffset();
  if (strides[op.getBoxDims().column] != 1 || !hasChunks(op))
    return op.emitError("copies move 16 bytes at a time: columns must be "
                        "contiguous and elements have 8, 16 or 32 bits");
  std::optional<GlobalView> table;
  if (op.getTable()) {
    FailureOr<GlobalView> found =
        getGlobalView(rewriter, op.getLoc(), op.getTable());
    if (failed(found))
      return failure();
    table = *found;
  }
  CopyEmitter emitter(rewriter, op, *view, table, adaptor.getTarget(), threads);
  if (emitter.isRagged() && !starts.isAligned(op))
    return op.emitError("copies move 16 bytes at a time: expected a first "
                        "column that is provably a multiple of ")
           << getChunk(op);
  if (launch::AbiOp kernel = abi;
      emitter.isRagged() && getAlignment(kernel, *view) % kChunkBytes != 0)
    return op.emitError("copies move 16 bytes at a time: the tensor must be "
                        "16-byte aligned");
  emitter.emit();
  rewriter.eraseOp(op);
  return success();
}

namespace {
/// Loads a vector that was copied in fragments: each thread loads 16 bytes per
/// instruction.
struct VectorLoadLowering : OpConversionPattern<warp::LocalLoadOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(warp::LocalLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;
};
} // namespace

LogicalResult
VectorLoadLowering::matchAndRewrite(warp::LocalLoadOp op, OpAdaptor adaptor,
                                    ConversionPatternRewriter &rewriter) const {
  RankedTensorType tile = op.getType();
  auto layout = cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding());
  auto columns = layout.getOffsets(tile.getShape(), 1);
  if (tile.getDimSize(0) != 1 || !tile.getElementType().isF32() ||
      !warp::hasStoreFragments(tile) || !tile::BoxDims::holdsPairs(columns))
    return failure();
  Location loc = op.getLoc();
  // The thread's first column is an even one of a fragment's first 8.
  const tile::BoxDims box({-1, 0}, std::nullopt, /*inFragments=*/true);
  Value base = layout.emitBase(rewriter, loc, emitThread(rewriter, loc),
                               tile.getShape(), 1);
  Value first =
      arith::MulIOp::create(rewriter, loc, base, emitI32(rewriter, loc, 2));
  Type element = tile.getElementType();
  Value start =
      LLVM::GEPOp::create(rewriter, loc, adaptor.getSource().getType(), element,
                          adaptor.getSource(), ArrayRef<LLVM::GEPArg>{first});
  SmallVector<Value> values(columns.size());
  SmallVector<int64_t> rows(columns.size(), 0);
  for (ArrayRef<unsigned> group : box.groupFragments(rows, columns, 4)) {
    int32_t place = box.getFragmentOffset(columns[group.front()]);
    Value at = LLVM::GEPOp::create(rewriter, loc, start.getType(), element,
                                   start, ArrayRef<LLVM::GEPArg>{place});
    auto type = VectorType::get({int64_t(group.size())}, element);
    Value loaded =
        LLVM::LoadOp::create(rewriter, loc, type, at, group.size() * 4);
    for (auto [part, index] : llvm::enumerate(group))
      values[index] = vector::ExtractOp::create(rewriter, loc, loaded, part);
  }
  rewriter.replaceOpWithNewOp<vector::FromElementsOp>(
      op, cast<VectorType>(getTypeConverter()->convertType(tile)), values);
  return success();
}

SmallVector<Value> fovea::emitVectorAddresses(OpBuilder &b, Location loc,
                                              RankedTensorType tile,
                                              Value buffer) {
  auto layout = cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding());
  Type element = tile.getElementType();
  // The dimension along which the vector runs.
  int64_t dim = tile.getDimSize(0) == 1 ? 1 : 0;
  Value first =
      layout.emitBase(b, loc, emitThread(b, loc), tile.getShape(), dim);
  Value start = LLVM::GEPOp::create(b, loc, buffer.getType(), element, buffer,
                                    ArrayRef<LLVM::GEPArg>{first});
  return llvm::map_to_vector(
      layout.getOffsets(tile.getShape(), dim), [&](int64_t index) -> Value {
        return LLVM::GEPOp::create(
            b, loc, buffer.getType(), element, start,
            ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(index))});
      });
}

namespace {
/// Loads each element of a vector by itself: the relative positions that a lane
/// needs, or one element per row.
struct SeparateLoadLowering : OpConversionPattern<warp::LocalLoadOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(warp::LocalLoadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;
};
} // namespace

LogicalResult SeparateLoadLowering::matchAndRewrite(
    warp::LocalLoadOp op, OpAdaptor adaptor,
    ConversionPatternRewriter &rewriter) const {
  RankedTensorType tile = op.getType();
  bool hasPositions =
      isa_and_nonnull<warp::FragmentDiagonalsAttr>(tile.getEncoding());
  if (!hasPositions && !warp::isRowVector(op.getSource().getType()))
    return failure();
  Location loc = op.getLoc();
  Type element = tile.getElementType();
  SmallVector<Value> values;
  for (Value place :
       emitVectorAddresses(rewriter, loc, tile, adaptor.getSource()))
    values.push_back(
        LLVM::LoadOp::create(rewriter, loc, element, place, getBytes(element)));
  rewriter.replaceOpWithNewOp<vector::FromElementsOp>(
      op, cast<VectorType>(getTypeConverter()->convertType(tile)), values);
  return success();
}

void fovea::populateSharedMemoryPatterns(RewritePatternSet &patterns,
                                         const TypeConverter &converter,
                                         launch::AbiOp abi,
                                         const CopyStarts &starts) {
  patterns.add<AllocLowering<warp::AllocOp>, AllocLowering<warp::OnesOp>,
               StageLowering, VectorLoadLowering, SeparateLoadLowering>(
      converter, patterns.getContext());
  patterns.add<CopyLowering>(converter, patterns.getContext(), abi, starts);
}
