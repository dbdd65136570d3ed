//===- ConvertLayout.cpp - Layout conversions by shuffles -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers `warp.convert_layout` within a warp. The layouts determine, for each
// register, the lane and register that each lane reads. If lanes read different
// registers, each of these is shuffled and a select keeps the right one.
// Adjacent elements that stay adjacent are shuffled as one word.
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "fovea/Dialect/Warp/IR/WarpPlaces.h"
#include "fovea/Support/Warps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace fovea;
using warp::WarpPlaces;

// Bits per shuffle.
static constexpr int64_t kWordBits = 32;

namespace {
/// The source of each lane's element, by lane index.
using LaneSources = std::array<WarpPlaces::Place, kLanes>;

/// The shuffles of one conversion.
class LayoutExchange {
public:
  LayoutExchange(OpBuilder &b, warp::ConvertLayoutOp op, Value source);

  LogicalResult emit(SmallVectorImpl<Value> &elements);

private:
  LaneSources findSources(int64_t number) const;
  /// True if words of `width` elements stay together for all lanes.
  bool areWords(int64_t width) const;
  /// The source lane of each lane, as a constant and the bits of the lane index
  /// that are xored into it.
  FailureOr<Value> emitLane(const LaneSources &sources);
  /// i1, true if the lane's bit is set in `lanes`.
  Value emitIsOneOf(uint32_t lanes);
  FailureOr<Value> emitWord(const LaneSources &sources);
  /// Packs the elements from `number` on into a word, and unpacks a word.
  Value pack(int64_t number);
  void unpack(Value word, SmallVectorImpl<Value> &elements);

  OpBuilder &b;
  warp::ConvertLayoutOp op;
  Location loc;
  WarpPlaces before, after;
  /// The order of columns, if it changes.
  SmallVector<int64_t> order;
  std::vector<LaneSources> sources;
  SmallVector<Value> held;
  Value lane;
  int64_t width = 1;
  /// Source lanes by the effect of each bit of the lane index, and conditions
  /// by lane masks.
  std::map<std::array<int64_t, 5>, Value> sourceLanes;
  std::map<uint32_t, Value> conditions;
};

struct ConvertLayoutLowering : OpConversionPattern<warp::ConvertLayoutOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(warp::ConvertLayoutOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> elements;
    if (failed(
            LayoutExchange(rewriter, op, adaptor.getSource()).emit(elements)))
      return failure();
    auto type = cast<VectorType>(getTypeConverter()->convertType(op.getType()));
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, type, elements);
    return success();
  }
};
} // namespace

LayoutExchange::LayoutExchange(OpBuilder &b, warp::ConvertLayoutOp op,
                               Value source)
    : b(b), op(op), loc(op.getLoc()), before(op.getSource().getType()),
      after(op.getType()) {
  if (op.getPermuted())
    order = warp::getFreePermutation(op.getSource().getType(), op.getType());
  auto elements = vector::ToElementsOp::create(b, loc, source);
  llvm::append_range(held, elements.getResults());
  lane = arith::RemUIOp::create(b, loc, emitThread(b, loc),
                                emitI32(b, loc, kLanes));
  for (int64_t number = 0; number < after.getNumElements(); ++number)
    sources.push_back(findSources(number));
}

LaneSources LayoutExchange::findSources(int64_t number) const {
  LaneSources result;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    WarpPlaces::Element element = after.getElement({lane, number});
    if (!order.empty())
      element.second = order[element.second];
    WarpPlaces::Place place = before.getPlace(element);
    // Several lanes may hold the element, including this one.
    if (before.getElement({lane, place.number}) == element)
      place.lane = lane;
    result[lane] = place;
  }
  return result;
}

bool LayoutExchange::areWords(int64_t width) const {
  if (int64_t(sources.size()) % width != 0 || int64_t(held.size()) % width != 0)
    return false;
  for (size_t number = 0; number < sources.size(); ++number)
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      size_t first = number / width * width;
      WarpPlaces::Place one = sources[number][lane],
                        begin = sources[first][lane];
      if (begin.number % width != 0 || one.lane != begin.lane ||
          one.number != begin.number + int64_t(number - first))
        return false;
    }
  return true;
}

FailureOr<Value> LayoutExchange::emitLane(const LaneSources &sources) {
  std::array<int64_t, 5> changes;
  for (auto [bit, change] : llvm::enumerate(changes))
    change = sources[0].lane ^ sources[int64_t(1) << bit].lane;
  for (int64_t lane = 0; lane < kLanes; ++lane) {
    int64_t from = sources[0].lane;
    for (auto [bit, change] : llvm::enumerate(changes))
      from ^= (lane >> bit & 1) ? change : 0;
    if (from != sources[lane].lane)
      return op.emitError("source lanes are not a linear function of the lane "
                          "index, found ")
             << op.getSource().getType() << " and " << op.getType();
  }
  Value &moved = sourceLanes[changes];
  if (!moved) {
    // Masks of the lane index's bits, by the distance of their shift.
    std::map<int64_t, int64_t> distances;
    for (auto [bit, change] : llvm::enumerate(changes))
      for (int64_t to = 0; to < 5; ++to)
        if (change >> to & 1)
          distances[to - int64_t(bit)] |= int64_t(1) << bit;
    moved = emitI32(b, loc, 0);
    for (auto [distance, mask] : distances) {
      Value part = arith::AndIOp::create(b, loc, lane, emitI32(b, loc, mask));
      if (distance > 0)
        part = arith::ShLIOp::create(b, loc, part, emitI32(b, loc, distance));
      else if (distance < 0)
        part = arith::ShRUIOp::create(b, loc, part, emitI32(b, loc, -distance));
      moved = arith::XOrIOp::create(b, loc, moved, part);
    }
  }
  return Value(
      arith::XOrIOp::create(b, loc, moved, emitI32(b, loc, sources[0].lane)));
}

Value LayoutExchange::emitIsOneOf(uint32_t lanes) {
  Value &condition = conditions[lanes];
  if (!condition) {
    Value bit = arith::ShRUIOp::create(
        b, loc, emitI32(b, loc, static_cast<int32_t>(lanes)), lane);
    condition = arith::TruncIOp::create(b, loc, b.getI1Type(), bit);
  }
  return condition;
}

Value LayoutExchange::pack(int64_t number) {
  if (width == 1)
    return held[number];
  auto type = VectorType::get(width, held[number].getType());
  Value elements = vector::FromElementsOp::create(
      b, loc, type, ArrayRef(held).slice(number, width));
  unsigned bits = width * held[number].getType().getIntOrFloatBitWidth();
  return LLVM::BitcastOp::create(b, loc, b.getIntegerType(bits), elements);
}

void LayoutExchange::unpack(Value word, SmallVectorImpl<Value> &elements) {
  if (width == 1) {
    elements.push_back(word);
    return;
  }
  auto type = VectorType::get(width, held.front().getType());
  Value vector = LLVM::BitcastOp::create(b, loc, type, word);
  auto parts = vector::ToElementsOp::create(b, loc, vector);
  llvm::append_range(elements, parts.getResults());
}

FailureOr<Value> LayoutExchange::emitWord(const LaneSources &sources) {
  // Lane masks by the register that the lanes read.
  std::map<int64_t, uint32_t> readers;
  bool isMoved = false;
  for (auto [lane, place] : llvm::enumerate(sources)) {
    readers[place.number] |= uint32_t(1) << lane;
    isMoved |= place.lane != int64_t(lane);
  }
  Value from;
  if (isMoved) {
    FailureOr<Value> lane = emitLane(sources);
    if (failed(lane))
      return failure();
    from = *lane;
  }
  Value result;
  for (auto [number, lanes] : readers) {
    Value word = pack(number);
    if (isMoved)
      word = emitShuffle(b, loc, word, NVVM::ShflKind::idx, from);
    result = result ? arith::SelectOp::create(b, loc, emitIsOneOf(lanes), word,
                                              result)
                          .getResult()
                    : word;
  }
  return result;
}

LogicalResult LayoutExchange::emit(SmallVectorImpl<Value> &elements) {
  int64_t bits = op.getType().getElementTypeBitWidth();
  for (int64_t next = 2; next * bits <= kWordBits && areWords(next); next *= 2)
    width = next;
  for (size_t number = 0; number < sources.size(); number += width) {
    FailureOr<Value> word = emitWord(sources[number]);
    if (failed(word))
      return failure();
    unpack(*word, elements);
  }
  return success();
}

void fovea::populateLayoutPatterns(RewritePatternSet &patterns,
                                   const TypeConverter &converter) {
  patterns.add<ConvertLayoutLowering>(converter, patterns.getContext());
}
