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

  /// The converted elements as a vector of `type`.
  FailureOr<Value> emit(VectorType type);

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

  OpBuilder &b;
  warp::ConvertLayoutOp op;
  Location loc;
  WarpPlaces before, after;
  /// The order of columns, if it changes.
  SmallVector<int64_t> order;
  std::vector<LaneSources> sources;
  /// The source's vector, and its words of `width` elements.
  Value source;
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
    auto type = cast<VectorType>(getTypeConverter()->convertType(op.getType()));
    FailureOr<Value> converted =
        LayoutExchange(rewriter, op, adaptor.getSource()).emit(type);
    if (failed(converted))
      return failure();
    rewriter.replaceOp(op, *converted);
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
  this->source = source;
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
  if (int64_t(sources.size()) % width != 0 ||
      before.getNumElements() % width != 0)
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
    Value word = held[number / width];
    if (isMoved)
      word = emitShuffle(b, loc, word, NVVM::ShflKind::idx, from);
    result = result ? arith::SelectOp::create(b, loc, emitIsOneOf(lanes), word,
                                              result)
                          .getResult()
                    : word;
  }
  return result;
}

FailureOr<Value> LayoutExchange::emit(VectorType type) {
  int64_t bits = op.getType().getElementTypeBitWidth();
  for (int64_t next = 2; next * bits <= kWordBits && areWords(next); next *= 2)
    width = next;
  // Whole vectors are cast, so that LLVM sees no elements narrower than words.
  auto wordsOf = [&](int64_t elements) {
    Type word = width == 1 ? type.getElementType()
                           : Type(b.getIntegerType(width * bits));
    return VectorType::get(elements / width, word);
  };
  if (width != 1)
    source = LLVM::BitcastOp::create(b, loc, wordsOf(before.getNumElements()),
                                     source);
  llvm::append_range(held,
                     vector::ToElementsOp::create(b, loc, source).getResults());
  SmallVector<Value> words;
  for (size_t number = 0; number < sources.size(); number += width) {
    FailureOr<Value> word = emitWord(sources[number]);
    if (failed(word))
      return failure();
    words.push_back(*word);
  }
  Value result =
      vector::FromElementsOp::create(b, loc, wordsOf(sources.size()), words);
  return width == 1 ? result
                    : Value(LLVM::BitcastOp::create(b, loc, type, result));
}

void fovea::populateLayoutPatterns(RewritePatternSet &patterns,
                                   const TypeConverter &converter) {
  patterns.add<ConvertLayoutLowering>(converter, patterns.getContext());
}
