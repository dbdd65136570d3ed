//===- Random.cpp - Random numbers of a tile --------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers `tile.random`, a counter-based generator (Philox), to arithmetic.
// Lanes that need numbers of the same counter compute different counters and
// exchange the results by shuffles.
//
//===----------------------------------------------------------------------===//

#include "WarpToNVVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/SetVector.h"

#include <map>

using namespace mlir;
using namespace fovea;

using generator::kNeighbours, generator::kNumberBits;

/// Words of a counter. The three low bits of a position select one of its eight
/// numbers; the lowest bit selects the half of a word.
static constexpr int64_t kWords = 4;
static constexpr unsigned kPositionBits = 3;

namespace {
using Words = SmallVector<Value, kWords>;

/// Philox for one thread's counters. Counters differ in one word only, so the
/// halves of `generator::kRounds` steps that they share are emitted once.
class Philox {
public:
  Philox(OpBuilder &b, Location loc, Value key);

  /// The four words of a counter.
  Words emit(const Words &counter);

private:
  /// High half of `factor * x`, mixed with `y` and `key`, and the low half.
  std::pair<Value, Value> emitHalf(uint32_t factor, Value x, Value y,
                                   Value key);

  OpBuilder &b;
  Location loc;
  /// Two words per step.
  SmallVector<std::pair<Value, Value>> keys;
  std::map<std::tuple<const void *, const void *, const void *>,
           std::pair<Value, Value>>
      halves;
};

/// The lanes that hold the numbers of one counter. If two lane indices differ
/// in bit `k` of `masks`, the positions of their numbers differ in bit
/// `firstBit + k`.
struct Sharing {
  unsigned firstBit = 0;
  SmallVector<int64_t> masks;

  int64_t getLanes() const { return int64_t(1) << masks.size(); }
};

/// Offsets of a counter's first number, across and along the op's dimension.
using Place = std::pair<int64_t, int64_t>;

/// Positions by their distance from the thread's first one: one distance for
/// each bit of the lane index, and one for all lanes.
using KnownPositions =
    std::map<std::pair<SmallVector<int64_t>, int64_t>, Value>;

/// One counter for each lane that shares; `places` is indexed by the lane's
/// bits.
struct Batch {
  SmallVector<Place> places;
  /// Distance of the counters for each bit.
  SmallVector<Place> steps;
};

/// Emits the random numbers of one thread's elements.
class RandomEmitter {
public:
  RandomEmitter(OpBuilder &b, tile::RandomOp op);

  LogicalResult initialize();
  SmallVector<Value> emit();

private:
  /// Chooses the counters that lanes compute for each other, and those that
  /// each lane computes for itself.
  void plan();
  ArrayRef<Place> takeBatches(ArrayRef<Place> places);
  /// One counter for each lane that shares, if the distances are regular.
  std::optional<Batch> makeBatch(ArrayRef<Place> places) const;

  void emitShared(const Batch &batch);
  void emitAlone(Place place);
  Words emitCounter(Place place, ArrayRef<Place> steps);
  Value emitPosition(Value first, int64_t distance, ArrayRef<int64_t> steps,
                     KnownPositions &known);
  /// Lanes that differ in bit `k` exchange the words that the other one needs.
  void emitExchange(Words &words, unsigned k);
  /// Keeps the numbers for the lane's value of bit `k`.
  void emitChoice(Words &words, unsigned k);
  Value emitSelect(unsigned k, Value set, Value clear) {
    return arith::SelectOp::create(b, loc, laneBits[k], set, clear);
  }

  OpBuilder &b;
  tile::RandomOp op;
  Location loc;
  int64_t dim;
  SmallVector<int64_t> across, along;
  Sharing sharing;
  SmallVector<Batch> batches;
  SmallVector<Place> alone;
  /// The bits of the lane index in `sharing.masks`, i1.
  SmallVector<Value> laneBits;
  /// Position of the thread's first element across the op's dimension, and
  /// index of its first group of eight numbers along it.
  Value firstAcross, firstAlong;
  Value stream[2];
  KnownPositions knownAcross, knownAlong;
  std::unique_ptr<Philox> philox;
  /// For each counter: its words, whose halves are its numbers, and the index
  /// of this lane's first number.
  std::map<Place, std::pair<Words, int64_t>> numbers;
};

struct RandomLowering : OpConversionPattern<tile::RandomOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(tile::RandomOp op, OpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    RandomEmitter emitter(rewriter, op);
    if (failed(emitter.initialize()))
      return failure();
    auto type = cast<VectorType>(getTypeConverter()->convertType(op.getType()));
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, type,
                                                        emitter.emit());
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Philox
//===----------------------------------------------------------------------===//

Philox::Philox(OpBuilder &b, Location loc, Value key) : b(b), loc(loc) {
  Value shifted = arith::ShRUIOp::create(b, loc, key, emitI64(b, loc, 32));
  Value low = emitToI32(b, loc, key), high = emitToI32(b, loc, shifted);
  for (int round = 0; round < generator::kRounds; ++round) {
    keys.emplace_back(low, high);
    low = arith::AddIOp::create(
        b, loc, low, emitI32(b, loc, int32_t(generator::kKeySteps[0])));
    high = arith::AddIOp::create(
        b, loc, high, emitI32(b, loc, int32_t(generator::kKeySteps[1])));
  }
}

std::pair<Value, Value> Philox::emitHalf(uint32_t factor, Value x, Value y,
                                         Value key) {
  auto &known = halves[{x.getAsOpaquePointer(), y.getAsOpaquePointer(),
                        key.getAsOpaquePointer()}];
  if (known.first)
    return known;
  Value product = arith::MulIOp::create(
      b, loc, arith::ExtUIOp::create(b, loc, b.getI64Type(), x),
      emitI64(b, loc, factor));
  Value high = emitToI32(
      b, loc, arith::ShRUIOp::create(b, loc, product, emitI64(b, loc, 32)));
  Value mixed = arith::XOrIOp::create(
      b, loc, arith::XOrIOp::create(b, loc, high, y), key);
  known = {mixed, emitToI32(b, loc, product)};
  return known;
}

Words Philox::emit(const Words &counter) {
  Words words = counter;
  for (auto [low, high] : keys) {
    auto [mixedB, lowB] =
        emitHalf(generator::kFactors[1], words[2], words[1], low);
    auto [mixedA, lowA] =
        emitHalf(generator::kFactors[0], words[0], words[3], high);
    words = {mixedB, lowB, mixedA, lowA};
  }
  return words;
}

//===----------------------------------------------------------------------===//
// Counters of a tile
//===----------------------------------------------------------------------===//

RandomEmitter::RandomEmitter(OpBuilder &b, tile::RandomOp op)
    : b(b), op(op), loc(op.getLoc()), dim(op.getDim()) {}

LogicalResult RandomEmitter::initialize() {
  RankedTensorType tile = op.getType();
  auto layout = cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding());
  FailureOr<SmallVector<int64_t>> lanes = layout.getLanesOfPeriod(dim);
  if (failed(lanes))
    return op.emitError("random numbers along dimension ")
           << dim
           << " need a layout that distributes adjacent elements evenly over "
              "lanes, found "
           << tile;
  across = layout.getOffsets(tile.getShape(), 1 - dim);
  along = layout.getOffsets(tile.getShape(), dim);
  Value thread = emitThread(b, loc);
  auto base = [&](int64_t d) {
    return layout.emitBase(b, loc, thread, tile.getShape(), d);
  };
  auto eighth = [&](Value position) -> Value {
    return arith::DivUIOp::create(b, loc, position,
                                  emitI32(b, loc, kNeighbours));
  };
  Value starts[] = {op.getRow(), op.getColumn()};
  firstAcross = arith::AddIOp::create(
      b, loc, emitToI32(b, loc, starts[1 - dim]), base(1 - dim));
  // The start is a multiple of eight. The division drops the lane's position
  // within the eight numbers.
  firstAlong = arith::AddIOp::create(
      b, loc, eighth(emitToI32(b, loc, starts[dim])), eighth(base(dim)));
  stream[0] = emitToI32(b, loc, op.getStream());
  stream[1] = emitToI32(
      b, loc,
      arith::ShRUIOp::create(b, loc, op.getStream(), emitI64(b, loc, 32)));
  philox = std::make_unique<Philox>(b, loc, op.getKey());

  sharing.firstBit = llvm::Log2_64(layout.getPeriod(dim)) - lanes->size();
  for (int64_t mask : *lanes)
    if (sharing.firstBit + sharing.masks.size() < kPositionBits)
      sharing.masks.push_back(mask);
  for (int64_t mask : sharing.masks) {
    Value bit = arith::AndIOp::create(b, loc, thread, emitI32(b, loc, mask));
    laneBits.push_back(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne,
                                             bit, emitI32(b, loc, 0)));
  }
  plan();
  return success();
}

std::optional<Batch> RandomEmitter::makeBatch(ArrayRef<Place> places) const {
  Batch batch{SmallVector<Place>(places), {}};
  for (size_t k = 0; k < sharing.masks.size(); ++k) {
    auto [i, j] = places[size_t(1) << k];
    batch.steps.emplace_back(i - places[0].first, j - places[0].second);
  }
  for (auto [index, place] : llvm::enumerate(places)) {
    Place expected = places[0];
    for (auto [k, step] : llvm::enumerate(batch.steps))
      if (index >> k & 1) {
        expected.first += step.first;
        expected.second += step.second;
      }
    if (place != expected)
      return std::nullopt;
  }
  return batch;
}

/// Makes batches of adjacent counters; returns the remaining ones.
ArrayRef<Place> RandomEmitter::takeBatches(ArrayRef<Place> places) {
  size_t lanes = sharing.getLanes();
  while (lanes > 1 && places.size() >= lanes) {
    std::optional<Batch> batch = makeBatch(places.take_front(lanes));
    if (!batch)
      break;
    batches.push_back(std::move(*batch));
    places = places.drop_front(lanes);
  }
  return places;
}

void RandomEmitter::plan() {
  std::map<int64_t, llvm::SmallSetVector<Place, 16>> lines;
  for (auto [i, j] : llvm::zip(across, along))
    lines[i].insert({i, j / kNeighbours * kNeighbours});
  // Along a line first: batches of two lines then share half of their first
  // steps.
  SmallVector<Place> rest;
  for (auto &[i, places] : lines)
    llvm::append_range(rest, takeBatches(places.getArrayRef()));
  alone.assign(takeBatches(rest));
}

Value RandomEmitter::emitPosition(Value first, int64_t distance,
                                  ArrayRef<int64_t> steps,
                                  KnownPositions &known) {
  SmallVector<int64_t> key(steps);
  Value &start = known[{key, 0}];
  if (!start) {
    start = first;
    for (auto [k, step] : llvm::enumerate(steps))
      if (step != 0)
        start = arith::AddIOp::create(
            b, loc, start,
            emitSelect(k, emitI32(b, loc, step), emitI32(b, loc, 0)));
  }
  if (distance == 0)
    return start;
  Value &position = known[{key, distance}];
  if (!position)
    position = arith::AddIOp::create(b, loc, known[{key, 0}],
                                     emitI32(b, loc, distance));
  return position;
}

Words RandomEmitter::emitCounter(Place place, ArrayRef<Place> steps) {
  SmallVector<int64_t> stepsAcross, stepsAlong;
  for (Place step : steps) {
    stepsAcross.push_back(step.first);
    stepsAlong.push_back(step.second / kNeighbours);
  }
  return philox->emit(
      {emitPosition(firstAlong, place.second / kNeighbours, stepsAlong,
                    knownAlong),
       emitPosition(firstAcross, place.first, stepsAcross, knownAcross),
       stream[0], stream[1]});
}

//===----------------------------------------------------------------------===//
// Exchange
//===----------------------------------------------------------------------===//

void RandomEmitter::emitExchange(Words &words, unsigned k) {
  unsigned bit = sharing.firstBit + k;
  Value mask = emitI32(b, loc, sharing.masks[k]);
  auto exchange = [&](Value word) {
    return emitShuffle(b, loc, word, NVVM::ShflKind::bfly, mask);
  };
  if (bit == 0) {
    // One number of the pair stays; the number of the other lane replaces the
    // other half.
    Value order =
        emitSelect(k, emitI32(b, loc, 0x3276), emitI32(b, loc, 0x5410));
    for (Value &word : words)
      word =
          NVVM::PermuteOp::create(b, loc, word.getType(), word, exchange(word),
                                  order, NVVM::PermuteMode::DEFAULT);
    return;
  }
  for (int64_t low = 0; low < kWords; ++low) {
    int64_t high = low | int64_t(1) << (bit - 1);
    if (high == low)
      continue;
    Value got = exchange(emitSelect(k, words[low], words[high]));
    Value first = emitSelect(k, got, words[low]);
    words[high] = emitSelect(k, words[high], got);
    words[low] = first;
  }
}

void RandomEmitter::emitChoice(Words &words, unsigned k) {
  unsigned bit = sharing.firstBit + k;
  if (bit == 0) {
    Value shift =
        emitSelect(k, emitI32(b, loc, kNumberBits), emitI32(b, loc, 0));
    for (Value &word : words)
      word = arith::ShRUIOp::create(b, loc, word, shift);
    return;
  }
  for (int64_t low = 0; low < kWords; ++low)
    if (int64_t high = low | int64_t(1) << (bit - 1); high != low)
      words[low] = emitSelect(k, words[high], words[low]);
}

void RandomEmitter::emitShared(const Batch &batch) {
  Words words = emitCounter(batch.places[0], batch.steps);
  for (unsigned k = 0; k < sharing.masks.size(); ++k)
    emitExchange(words, k);
  for (auto [index, place] : llvm::enumerate(batch.places))
    numbers[place] = {words, int64_t(index) << sharing.firstBit};
}

void RandomEmitter::emitAlone(Place place) {
  Words words = emitCounter(place, {});
  for (unsigned k = 0; k < sharing.masks.size(); ++k)
    emitChoice(words, k);
  numbers[place] = {words, 0};
}

SmallVector<Value> RandomEmitter::emit() {
  for (const Batch &batch : batches)
    emitShared(batch);
  for (Place place : alone)
    emitAlone(place);
  SmallVector<Value> elements;
  for (auto [i, j] : llvm::zip(across, along)) {
    auto &[words, lane] = numbers[{i, j / kNeighbours * kNeighbours}];
    int64_t index = j % kNeighbours | lane;
    Value word = words[index / 2];
    elements.push_back(
        index % 2
            ? arith::ShRUIOp::create(b, loc, word, emitI32(b, loc, kNumberBits))
                  .getResult()
            : arith::AndIOp::create(b, loc, word, emitI32(b, loc, 0xFFFF))
                  .getResult());
  }
  return elements;
}

void fovea::populateRandomPatterns(RewritePatternSet &patterns,
                                   const TypeConverter &converter) {
  patterns.add<RandomLowering>(converter, patterns.getContext());
}
