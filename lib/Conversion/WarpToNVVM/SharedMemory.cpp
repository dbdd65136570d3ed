//===- SharedMemory.cpp - Shared buffers and copies into them ---*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

/// `address + x * y` bytes, of unsigned 32-bit factors: one instruction, whose
/// result is not a term that LLVM would keep in registers around a loop.
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

/// A box as 16-byte cp.async, the CTA's threads side by side.
struct CopyLowering : OpConversionPattern<warp::CopyOp> {
  CopyLowering(const TypeConverter &converter, MLIRContext *context,
               tile::AbiOp abi, const CopyStarts &starts)
      : OpConversionPattern(converter, context), abi(abi), starts(starts),
        threads(abi.getThreads()) {}

  LogicalResult
  matchAndRewrite(warp::CopyOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;

  tile::AbiOp abi;
  const CopyStarts &starts;
  int64_t threads;
};

/// The columns of a copy whose first or last one only the program knows. Chunks
/// begin at multiples of 16 bytes, so a chunk's first column exists or it lies
/// outside; of the last one a part may exist.
struct RaggedColumns {
  /// The thread's first column, in the first panel, and the end; i32.
  Value first, end;

  /// Bytes of the chunk `column` columns further on, in a row that exists.
  Value emitBytes(OpBuilder &b, Location loc, Value rowExists,
                  int64_t column) const;
};
} // namespace

// Elements of 2 bytes in the 16 that one instruction copies.
static constexpr int64_t kChunk = 8;

Value RaggedColumns::emitBytes(OpBuilder &b, Location loc, Value rowExists,
                               int64_t column) const {
  Value at = arith::AddIOp::create(b, loc, first, emitI32(b, loc, column));
  Value exists = arith::AndIOp::create(
      b, loc, rowExists,
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, at, end));
  Value left = arith::MinUIOp::create(
      b, loc, arith::SubIOp::create(b, loc, end, at), emitI32(b, loc, kChunk));
  Value bytes = arith::MulIOp::create(b, loc, left, emitI32(b, loc, 2));
  return arith::SelectOp::create(b, loc, exists, bytes, emitI32(b, loc, 0));
}

CopyStarts::CopyStarts(gpu::GPUFuncOp kernel) {
  kernel.walk([&](warp::CopyOp copy) {
    if (isMultipleOf(copy.getIndices()[copy.getBoxDims().column], kChunk))
      whole.insert(copy);
  });
}

/// Whether the copy's columns are a static multiple of chunks from the first
/// one on: those past the end are known.
static bool hasStaticColumns(warp::CopyOp op, const GlobalView &view) {
  int64_t dim = op.getBoxDims().column, size = view.type.getDimSize(dim);
  return !ShapedType::isDynamic(size) && size % kChunk == 0 &&
         matchPattern(op.getIndices()[dim], m_Zero());
}

LogicalResult
CopyLowering::matchAndRewrite(warp::CopyOp op, OpAdaptor adaptor,
                              ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  FailureOr<GlobalView> view = getGlobalView(rewriter, loc, op.getSource());
  if (failed(view))
    return failure();
  MemRefType target = op.getTarget().getType();
  int64_t rows = target.getDimSize(0), columns = target.getDimSize(1);
  int64_t panel = cast<warp::SharedAttr>(target.getMemorySpace()).getPanel();
  tile::BoxDims dims = op.getBoxDims();
  int64_t rowDim = dims.row, columnDim = dims.column;
  auto [strides, offset] = view->type.getStridesAndOffset();
  if (strides[columnDim] != 1 || target.getElementTypeBitWidth() != 16)
    return op.emitError("copies move 16 bytes at a time: columns must be "
                        "contiguous and elements have 16 bits");
  int64_t size = view->type.getDimSize(columnDim);
  bool isRagged = !hasStaticColumns(op, *view);
  if (isRagged && !starts.isWhole(op))
    return op.emitError("copies move 16 bytes at a time: their first column "
                        "must be a multiple of ")
           << kChunk << " that can be seen as one";
  if (tile::AbiOp kernel = abi;
      isRagged && getAlignment(kernel, *view) % (2 * kChunk) != 0)
    return op.emitError("copies move 16 bytes at a time: the tensor must be "
                        "aligned to as many");

  // A synchronous copy waits for old readers here and for the data below.
  if (!op.getAsync())
    gpu::BarrierOp::create(rewriter, loc);

  OpBuilder &b = rewriter;
  int64_t chunks = panel / kChunk, step = threads / chunks;
  Value thread = emitThread(b, loc);
  Value chunk = arith::RemUIOp::create(b, loc, thread, emitI32(b, loc, chunks));
  Value row = arith::DivUIOp::create(b, loc, thread, emitI32(b, loc, chunks));

  // What all threads' addresses have in common.
  Value common = emitI64(b, loc, 0);
  for (int64_t dim = 0; dim < view->type.getRank(); ++dim)
    if (!dims.contains(dim))
      common = arith::AddIOp::create(
          b, loc, common,
          arith::MulIOp::create(b, loc, emitToI64(b, loc, op.getIndices()[dim]),
                                view->strides[dim]));
  Value firstRow = emitToI64(b, loc, op.getIndices()[rowDim]);
  Value rowStride = view->strides[rowDim];
  Value limit = view->sizes[rowDim];
  if (op.getLimit())
    limit =
        arith::MinSIOp::create(b, loc, limit, emitToI64(b, loc, op.getLimit()));
  // No row exists where the copy is not wanted; its stage is zeroed, unread.
  if (op.getCondition())
    limit = arith::SelectOp::create(b, loc, op.getCondition(), limit,
                                    emitI64(b, loc, 0));
  Value limit32 = emitToI32(b, loc, limit);
  Value firstRow32 = emitToI32(b, loc, firstRow);
  Type elementType = view->type.getElementType();
  // Threads past the last row repeat a row that somebody copies anyway.
  auto clampRow = [&](Value index) -> Value {
    if (rows % step == 0)
      return index;
    return arith::RemUIOp::create(b, loc, index, emitI32(b, loc, rows));
  };
  Value chunkStart = arith::MulIOp::create(b, loc, emitToI64(b, loc, chunk),
                                           emitI64(b, loc, kChunk));
  bool isRegular = rows % step == 0 && step % 8 == 0 && !dims.isFolded();
  // The loop-invariant part comes first, so that one address of a thread stays
  // in registers, not its terms.
  Value fixed = arith::AddIOp::create(b, loc, common, chunkStart);
  if (isRegular)
    fixed = arith::AddIOp::create(
        b, loc, fixed,
        arith::MulIOp::create(b, loc, emitToI64(b, loc, row), rowStride));
  Value origin =
      LLVM::GEPOp::create(b, loc, view->pointer.getType(), elementType,
                          view->pointer, ArrayRef<LLVM::GEPArg>{fixed});
  Value rowBytes = arith::MulIOp::create(b, loc, emitToI32(b, loc, rowStride),
                                         emitI32(b, loc, 2));
  Value block = emitAddress(b, loc, origin, firstRow32, rowBytes);
  RaggedColumns ragged;
  if (isRagged) {
    Value first = emitToI64(b, loc, op.getIndices()[columnDim]);
    block = LLVM::GEPOp::create(b, loc, block.getType(), elementType, block,
                                ArrayRef<LLVM::GEPArg>{first});
    ragged.first = arith::AddIOp::create(b, loc, emitToI32(b, loc, first),
                                         emitToI32(b, loc, chunkStart));
    ragged.end = emitToI32(b, loc, view->sizes[columnDim]);
  }
  Value source, destination;
  if (isRegular) {
    // Rows a multiple of 8 apart have one swizzle: only constants differ.
    source = block;
    destination = LLVM::GEPOp::create(
        b, loc, adaptor.getTarget().getType(), b.getI8Type(),
        adaptor.getTarget(),
        ArrayRef<LLVM::GEPArg>{emitSwizzle(b, loc, row, chunk, panel)});
  }
  // Where a row of two coordinates lies, and whether it exists.
  auto placeFolded = [&](Value index) -> std::pair<Value, Value> {
    Value extent = emitI32(b, loc, dims.foldExtent);
    Value along = arith::AddIOp::create(
        b, loc, firstRow32, arith::DivUIOp::create(b, loc, index, extent));
    Value folded = arith::AddIOp::create(
        b, loc, emitToI32(b, loc, op.getIndices()[dims.fold]),
        arith::RemUIOp::create(b, loc, index, extent));
    Value exists = arith::AndIOp::create(
        b, loc,
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, along,
                              limit32),
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, folded,
                              emitToI32(b, loc, view->sizes[dims.fold])));
    Value distance = arith::AddIOp::create(
        b, loc,
        arith::MulIOp::create(b, loc, emitToI64(b, loc, along), rowStride),
        arith::MulIOp::create(b, loc, emitToI64(b, loc, folded),
                              view->strides[dims.fold]));
    Value place = LLVM::GEPOp::create(b, loc, origin.getType(), elementType,
                                      origin, ArrayRef<LLVM::GEPArg>{distance});
    return {place, exists};
  };
  Value threadRow = arith::AddIOp::create(b, loc, firstRow32, row);
  for (int64_t start = 0; start < rows; start += step) {
    // Regular rows are numbered from the thread's first one on, which changes
    // with the loop around the copy: nothing but a constant is added here.
    Value current, coordinate;
    if (isRegular) {
      coordinate =
          arith::AddIOp::create(b, loc, threadRow, emitI32(b, loc, start));
    } else {
      current =
          clampRow(arith::AddIOp::create(b, loc, row, emitI32(b, loc, start)));
      coordinate = arith::AddIOp::create(b, loc, firstRow32, current);
    }
    Value rowSource = source, rowDestination = destination, exists;
    if (dims.isFolded())
      std::tie(rowSource, exists) = placeFolded(current);
    else
      exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                     coordinate, limit32);
    if (!isRegular) {
      if (!dims.isFolded())
        rowSource = emitAddress(b, loc, block, current, rowBytes);
      rowDestination = LLVM::GEPOp::create(
          b, loc, adaptor.getTarget().getType(), b.getI8Type(),
          adaptor.getTarget(),
          ArrayRef<LLVM::GEPArg>{emitSwizzle(b, loc, current, chunk, panel)});
    }
    for (int64_t column = 0; column < columns; column += panel) {
      Value inside = exists, bytes;
      if (isRagged)
        bytes = ragged.emitBytes(b, loc, exists, column);
      else if (column + panel > size) {
        // Columns past the head dim are zero.
        Value last = emitI32(b, loc, (size - column) / kChunk);
        Value inRow = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                            chunk, last);
        inside = arith::AndIOp::create(b, loc, exists, inRow);
      }
      if (!bytes)
        bytes = arith::SelectOp::create(b, loc, inside, emitI32(b, loc, 16),
                                        emitI32(b, loc, 0));
      int64_t shared = (column / panel) * rows * panel * 2;
      if (isRegular)
        shared += start * panel * 2;
      Value to = LLVM::GEPOp::create(
          b, loc, rowDestination.getType(), b.getI8Type(), rowDestination,
          ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(shared))});
      Value from = LLVM::GEPOp::create(
          b, loc, rowSource.getType(), elementType, rowSource,
          ArrayRef<LLVM::GEPArg>{LLVM::GEPArg(int32_t(column))});
      NVVM::CpAsyncOp::create(b, loc, to, from, 16,
                              NVVM::LoadCacheModifierKind::CG, bytes);
    }
    if (isRegular && start + step < rows)
      source = emitAddress(b, loc, source, rowBytes, emitI32(b, loc, step));
  }
  if (!op.getAsync()) {
    NVVM::CpAsyncCommitGroupOp::create(b, loc);
    NVVM::CpAsyncWaitGroupOp::create(b, loc, 0);
    gpu::BarrierOp::create(b, loc);
  }
  rewriter.eraseOp(op);
  return success();
}

void fovea::populateSharedMemoryPatterns(RewritePatternSet &patterns,
                                         const TypeConverter &converter,
                                         tile::AbiOp abi,
                                         const CopyStarts &starts) {
  patterns.add<AllocLowering<warp::AllocOp>, AllocLowering<warp::OnesOp>,
               StageLowering>(converter, patterns.getContext());
  patterns.add<CopyLowering>(converter, patterns.getContext(), abi, starts);
}
