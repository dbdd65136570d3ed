//===- Random.cpp - Random numbers of a tile --------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace fovea;

namespace {
/// Philox 4x32-10 of one thread's counters, all at once: vectors of i32.
class Philox {
public:
  Philox(OpBuilder &b, Location loc, VectorType type)
      : b(b), loc(loc), type(type) {}

  /// Four words for each counter; `key` is an i64.
  SmallVector<Value> emit(SmallVector<Value> counter, Value key);

  Value splat(Value scalar) {
    return vector::BroadcastOp::create(b, loc, type, scalar);
  }

private:
  /// High and low half of `factor * x`.
  std::pair<Value, Value> multiply(uint32_t factor, Value x);
  Value mix(Value x, Value y, Value key) {
    Value both = arith::XOrIOp::create(b, loc, x, y);
    return arith::XOrIOp::create(b, loc, both, splat(key));
  }

  OpBuilder &b;
  Location loc;
  VectorType type;
};

struct RandomLowering : OpConversionPattern<tile::RandomOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(tile::RandomOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override;
};
} // namespace

std::pair<Value, Value> Philox::multiply(uint32_t factor, Value x) {
  auto wide = VectorType::get(type.getShape(), b.getI64Type());
  Value product = arith::MulIOp::create(
      b, loc, arith::ExtUIOp::create(b, loc, wide, x),
      arith::ConstantOp::create(
          b, loc, DenseElementsAttr::get(wide, APInt(64, factor))));
  Value shift = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(wide, APInt(64, 32)));
  Value high = arith::ShRUIOp::create(b, loc, product, shift);
  return {arith::TruncIOp::create(b, loc, type, high),
          arith::TruncIOp::create(b, loc, type, product)};
}

SmallVector<Value> Philox::emit(SmallVector<Value> counter, Value key) {
  constexpr int kRounds = 10;
  Value shifted = arith::ShRUIOp::create(b, loc, key, emitI64(b, loc, 32));
  Value low = emitToI32(b, loc, key), high = emitToI32(b, loc, shifted);
  for (int round = 0; round < kRounds; ++round) {
    auto [highA, lowA] = multiply(0xD2511F53, counter[0]);
    auto [highB, lowB] = multiply(0xCD9E8D57, counter[2]);
    counter = {mix(highB, counter[1], low), lowB, mix(highA, counter[3], high),
               lowA};
    low = arith::AddIOp::create(b, loc, low,
                                emitI32(b, loc, int32_t(0x9E3779B9)));
    high = arith::AddIOp::create(b, loc, high,
                                 emitI32(b, loc, int32_t(0xBB67AE85)));
  }
  return counter;
}

/// Bits of an offset that tell elements of one counter apart.
static constexpr int64_t kRowBit = 8, kColumnBits = 9;

/// `base + distance` for each of `distances`, as a vector.
static Value emitCounters(OpBuilder &b, Location loc, Philox &philox,
                          VectorType type, Value base,
                          ArrayRef<int32_t> distances) {
  Value steps = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, distances));
  return arith::AddIOp::create(b, loc, philox.splat(base), steps);
}

LogicalResult
RandomLowering::matchAndRewrite(tile::RandomOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const {
  Location loc = op.getLoc();
  OpBuilder &b = rewriter;
  RankedTensorType tile = op.getType();
  // The layouts of accumulators: a thread's first row lies in the upper half of
  // a 16 x 16, its first column is one of its left half's even ones.
  if (!isa<warp::WgmmaAttr, warp::MmaSyncAttr>(tile.getEncoding()))
    return op.emitOpError("needs the layout of an accumulator, found ") << tile;
  auto layout = cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding());
  SmallVector<int64_t> rows = layout.getOffsets(tile.getShape(), 0),
                       columns = layout.getOffsets(tile.getShape(), 1);
  Value thread = emitThread(b, loc);
  Value row = layout.emitBase(b, loc, thread, tile.getShape(), 0),
        column = layout.emitBase(b, loc, thread, tile.getShape(), 1);

  // Registers of one counter share its words.
  llvm::MapVector<std::pair<int64_t, int64_t>, int32_t> counters;
  for (auto [r, c] : llvm::zip(rows, columns))
    counters.try_emplace({r & ~kRowBit, c & ~kColumnBits}, counters.size());
  SmallVector<int32_t> rowSteps, columnSteps;
  for (auto &[place, index] : counters) {
    rowSteps.push_back(place.first / 2);
    columnSteps.push_back(place.second / 4);
  }
  auto type = VectorType::get({int64_t(counters.size())}, b.getI32Type());
  Philox philox(b, loc, type);
  auto constant = [&](int64_t value) { return emitI32(b, loc, value); };
  // 4 (j div 16) + (j mod 8) div 2 and 8 (i div 16) + i mod 8, where the
  // operands are multiples of 16.
  Value firstColumn = arith::AddIOp::create(
      b, loc,
      arith::DivUIOp::create(b, loc, emitToI32(b, loc, op.getColumn()),
                             constant(4)),
      arith::DivUIOp::create(b, loc, column, constant(2)));
  Value square = arith::DivUIOp::create(b, loc, row, constant(16));
  Value firstRow = arith::AddIOp::create(
      b, loc,
      arith::DivUIOp::create(b, loc, emitToI32(b, loc, op.getRow()),
                             constant(2)),
      arith::AddIOp::create(b, loc,
                            arith::MulIOp::create(b, loc, square, constant(8)),
                            arith::RemUIOp::create(b, loc, row, constant(8))));
  Value stream = op.getStream();
  Value highStream =
      arith::ShRUIOp::create(b, loc, stream, emitI64(b, loc, 32));
  SmallVector<Value> words =
      philox.emit({emitCounters(b, loc, philox, type, firstColumn, columnSteps),
                   emitCounters(b, loc, philox, type, firstRow, rowSteps),
                   philox.splat(emitToI32(b, loc, stream)),
                   philox.splat(emitToI32(b, loc, highStream))},
                  op.getKey());

  SmallVector<Value> elements;
  for (auto [r, c] : llvm::zip(rows, columns)) {
    int64_t index = counters.lookup({r & ~kRowBit, c & ~kColumnBits});
    Value word = vector::ExtractOp::create(
        b, loc, words[(r & kRowBit ? 2 : 0) + (c & 8 ? 1 : 0)], index);
    elements.push_back(
        c % 2 ? arith::ShRUIOp::create(b, loc, word, constant(16)).getResult()
              : arith::AndIOp::create(b, loc, word, constant(0xFFFF))
                    .getResult());
  }
  auto result = cast<VectorType>(getTypeConverter()->convertType(tile));
  rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, result, elements);
  return success();
}

void fovea::populateRandomPatterns(RewritePatternSet &patterns,
                                   const TypeConverter &converter) {
  patterns.add<RandomLowering>(converter, patterns.getContext());
}
