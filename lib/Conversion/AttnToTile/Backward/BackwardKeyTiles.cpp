//===- BackwardKeyTiles.cpp - Key tiles of a backward kernel --------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backward/BackwardResults.h"
#include "Backward/BackwardScores.h"
#include "Backward/BackwardTiles.h"
#include "Backward/DqAccumulate.h"
#include "Backward/GqaBlockOrder.h"
#include "CaptureGrads/CaptureGradsByKey.h"
#include "CaptureGrads/RelativePositionGrads.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

namespace {
/// The query block of an iteration. `partial`: some pairs may be masked, i1;
/// `keyEnd`: number of keys, for masking; `hasTurn`: the tile has a semaphore
/// slot at the block, i1 or null (SemaphoreSlot).
struct MetQueries {
  QueryRows rows;
  Value partial, keyEnd, hasSlot;
};

/// The inputs of dS: P and dP of each M-chunk.
struct ScoreFactors {
  SmallVector<Probabilities, 2> weights;
  SmallVector<DpTerms, 2> dp;
};

/// Emits the accumulators of one key tile: dV of each M-chunk, then dK of each.
/// The loop over one head's blocks also carries those of captured tensors
/// (KeySums), after these.
class KeyTileEmitter {
public:
  KeyTileEmitter(const BackwardKernel &kernel, ArrayRef<KeyRows> strips)
      : kernel(kernel), kb(kernel.kb), part(kernel.part), strips(strips),
        keySums(kernel) {}

  /// The initial accumulators.
  SmallVector<Value> emitZeros();
  /// The accumulators over the queries of all heads that share the tile's keys.
  FailureOr<SmallVector<Value>> emitHeads(ValueRange sums);
  void storeGradients(ArrayRef<Value> sums);

private:
  /// The accumulators over the queries of one head, or of all heads of the
  /// group that begins with it.
  FailureOr<SmallVector<Value>> emitVisits(Value head, bool ofGroup,
                                           ValueRange sums);
  /// Loads a query block, with the values that are loaded before the first MMA.
  QueryRows loadMet(const QueryPlace &place);
  /// Processes a query block; returns the new accumulators.
  FailureOr<SmallVector<Value>> emitBlock(const MetQueries &met,
                                          ValueRange sums);
  FailureOr<SmallVector<Value>> emitBlockOfStrips(const MetQueries &met,
                                                  ValueRange sums);
  /// P of each M-chunk.
  FailureOr<SmallVector<Probabilities, 2>>
  emitAllProbabilities(const MetQueries &met);
  FailureOr<Probabilities> emitStripProbabilities(const ScoreBlock &block);
  /// dV including the block.
  SmallVector<Value> addValues(ArrayRef<Probabilities> weights,
                               const MetQueries &met, ValueRange sums);
  /// dS of each M-chunk.
  FailureOr<SmallVector<ScoreGradients, 2>>
  emitAllGradients(const ScoreFactors &factors, const MetQueries &met);
  /// dK including the block; also adds to dQ.
  FailureOr<SmallVector<Value>> addKeys(ArrayRef<ScoreGradients> found,
                                        const MetQueries &met, ValueRange sums);

  ScoreBlock getStrip(const MetQueries &met, int64_t strip) const {
    return {met.rows, strips[strip], met.partial, met.keyEnd};
  }
  /// The M-chunk's dK accumulator.
  template <typename RangeT>
  Value getKeySum(const RangeT &sums, int64_t strip) const {
    int64_t first = part.value ? strips.size() : 0;
    return sums[first + strip];
  }

  const BackwardKernel &kernel;
  KernelBuilder &kb;
  const BackwardKernelPlan &part;
  ArrayRef<KeyRows> strips;
  KeySums keySums;
};
} // namespace

//===----------------------------------------------------------------------===//
// A block of queries
//===----------------------------------------------------------------------===//

/// Streams P if other roles or warps need it.
FailureOr<Probabilities>
KeyTileEmitter::emitStripProbabilities(const ScoreBlock &block) {
  FailureOr<Probabilities> weights = emitProbabilities(kernel, block);
  if (failed(weights) || !part.streamsProbabilities())
    return weights;
  Value sent =
      kb.make<tile::StreamOp>(weights->rounded, kb.builder.getStringAttr("p"));
  // dS is computed meanwhile, or by another role.
  if (part.receivesProbabilities())
    weights->weight = extendScores(kernel, sent);
  else
    weights->rounded = sent;
  return weights;
}

FailureOr<SmallVector<Probabilities, 2>>
KeyTileEmitter::emitAllProbabilities(const MetQueries &met) {
  SmallVector<Probabilities, 2> weights;
  for (int64_t strip = 0; strip < part.getStrips(); ++strip) {
    FailureOr<Probabilities> found =
        emitStripProbabilities(getStrip(met, strip));
    if (failed(found))
      return failure();
    weights.push_back(*found);
  }
  return weights;
}

SmallVector<Value> KeyTileEmitter::addValues(ArrayRef<Probabilities> weights,
                                             const MetQueries &met,
                                             ValueRange sums) {
  SmallVector<Value> next;
  for (int64_t strip = 0; part.value && strip < part.getStrips(); ++strip) {
    Value rounded = weights[strip].rounded;
    if (!rounded)
      rounded = roundProbabilities(kernel, weights[strip]);
    next.push_back(addProduct(kernel, part.getStripName("dv", strip), rounded,
                              met.rows.outputGradients, sums[strip]));
  }
  return next;
}

FailureOr<SmallVector<ScoreGradients, 2>>
KeyTileEmitter::emitAllGradients(const ScoreFactors &factors,
                                 const MetQueries &met) {
  SmallVector<ScoreGradients, 2> gradients;
  for (int64_t strip = 0; strip < part.getStrips(); ++strip) {
    FailureOr<ScoreGradients> found =
        emitScoreGradients(kernel, getStrip(met, strip), factors.weights[strip],
                           factors.dp[strip]);
    if (failed(found))
      return failure();
    gradients.push_back(std::move(*found));
  }
  return gradients;
}

FailureOr<SmallVector<Value>>
KeyTileEmitter::addKeys(ArrayRef<ScoreGradients> found, const MetQueries &met,
                        ValueRange sums) {
  SmallVector<Value> gradients, streamed, next, ofKeys, ofPairs;
  for (int64_t strip = 0; strip < part.getStrips(); ++strip) {
    gradients.push_back(found[strip].rounded);
    llvm::append_range(ofKeys, found[strip].ofKeys);
    llvm::append_range(ofPairs, found[strip].ofPairs);
    // The MMA of another role reads dS transposed; if registers are short, dK's
    // MMA reads the streamed dS, too.
    if (part.addsQuery)
      streamed.push_back(kb.make<tile::StreamOp>(
          found[strip].rounded,
          kb.builder.getStringAttr(part.getStripName("ds", strip))));
  }
  for (int64_t strip = 0; part.key && strip < part.getStrips(); ++strip)
    next.push_back(
        addProduct(kernel, part.getStripName("dk", strip),
                   (part.keepsGradients() ? gradients : streamed)[strip],
                   met.rows.queries, getKeySum(sums, strip)));
  llvm::append_range(next, keySums.add(sums, ofKeys));
  if (!part.addsQuery)
    return next;
  const QueryPlace &place = met.rows.place;
  // A role that holds dS and computes dQ does not reload it.
  Value shared = part.computesDqFromDs() ? gradients.front() : streamed.front();
  auto addDistances = [&] {
    return addRelativePositionGrads(kernel, place, strips.front(),
                                    {shared, ofPairs});
  };
  if (failed(accumulateDq(kernel, place, strips, streamed, met.hasSlot,
                          addDistances)))
    return failure();
  return next;
}

/// To save registers, only rounded P is live after dV's MMA, and delta is
/// loaded after dP's MMA.
FailureOr<SmallVector<Value>>
KeyTileEmitter::emitBlockOfStrips(const MetQueries &met, ValueRange sums) {
  FailureOr<SmallVector<Probabilities, 2>> weights = emitAllProbabilities(met);
  if (failed(weights))
    return failure();
  SmallVector<Value> next = addValues(*weights, met, sums);
  ScoreFactors factors{std::move(*weights), {}};
  for (auto [strip, found] : llvm::enumerate(factors.weights)) {
    found.weight = extendScores(kernel, found.rounded);
    factors.dp.push_back(emitDpProduct(kernel, getStrip(met, strip)));
  }
  Value minusDelta =
      loadScratch(kernel, kernel.memory.scratch.delta, met.rows.place, "delta");
  for (DpTerms &dp : factors.dp)
    dp.minusDelta = minusDelta;
  FailureOr<SmallVector<ScoreGradients, 2>> gradients =
      emitAllGradients(factors, met);
  if (failed(gradients))
    return failure();
  FailureOr<SmallVector<Value>> keySums = addKeys(*gradients, met, sums);
  if (failed(keySums))
    return failure();
  llvm::append_range(next, *keySums);
  return next;
}

FailureOr<SmallVector<Value>> KeyTileEmitter::emitBlock(const MetQueries &met,
                                                        ValueRange sums) {
  if (part.getStrips() > 1)
    return emitBlockOfStrips(met, sums);
  FailureOr<SmallVector<Probabilities, 2>> weights = emitAllProbabilities(met);
  if (failed(weights))
    return failure();
  if (!part.key && !part.addsQuery)
    return addValues(*weights, met, sums);
  DpTerms dp = emitDp(kernel, getStrip(met, 0));
  SmallVector<Value> next;
  if (!delaysDv(kernel))
    next = addValues(*weights, met, sums);
  FailureOr<SmallVector<ScoreGradients, 2>> gradients =
      emitAllGradients({*weights, {dp}}, met);
  if (failed(gradients))
    return failure();
  if (delaysDv(kernel))
    next = addValues(*weights, met, sums);
  FailureOr<SmallVector<Value>> keySums = addKeys(*gradients, met, sums);
  if (failed(keySums))
    return failure();
  llvm::append_range(next, *keySums);
  return next;
}

//===----------------------------------------------------------------------===//
// All queries
//===----------------------------------------------------------------------===//

QueryRows KeyTileEmitter::loadMet(const QueryPlace &place) {
  QueryRows rows = loadQueries(kernel, place);
  // M-chunks share one load.
  if (part.getStrips() > 1)
    rows.exponents = loadScratch(kernel, kernel.memory.scratch.exponents, place,
                                 "exponents");
  if (part.key && !part.addsQuery)
    rows.minusDelta = loadDelta(kernel, place);
  return rows;
}

FailureOr<SmallVector<Value>>
KeyTileEmitter::emitVisits(Value head, bool ofGroup, ValueRange sums) {
  FailureOr<BackwardBlocks> blocks = emitQueryBlocks(kernel, head);
  if (failed(blocks))
    return failure();
  Value hasSlot = blocks->ordered ? blocks->ordered->getIsSeen() : Value();
  GqaLoop visits;
  if (ofGroup) {
    visits = makeGqaLoop(kernel, blocks->range);
    blocks->range = visits.range;
  }
  SmallVector<Value> inits(sums);
  llvm::append_range(inits, keySums.emitZeros());
  FailureOr<ValueRange> results = emitBlockLoop(
      kernel, *blocks, /*upwards=*/ofGroup || part.followsDiagonal, inits,
      [&](Value row, Value partial, ValueRange carried) {
        auto [first, keyEnd] = emitExistingQueries(kb, *blocks, row);
        QueryPlace place = ofGroup ? getGqaPosition(kernel, visits, head, first)
                                   : kernel.placeQueries(head, first);
        return emitBlock({loadMet(place), partial, keyEnd, hasSlot}, carried);
      });
  if (failed(results) || failed(keySums.addToMemory(head, *results)))
    return failure();
  return llvm::to_vector_of<Value>(results->take_front(sums.size()));
}

FailureOr<SmallVector<Value>> KeyTileEmitter::emitHeads(ValueRange sums) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  const BackwardTile &tile = kernel.tile;
  attn::BackwardOp op = kernel.op;
  int64_t heads = op.getQueryType().getDimSize(op.getHeadDim()),
          keyHeads = op.getKeyType().getDimSize(op.getHeadDim());
  if (heads == keyHeads && ShapedType::isStatic(heads))
    return emitVisits(tile.work.head, /*ofGroup=*/false, sums);
  // There may be no head, although a loop over blocks runs at least once.
  Value first = kb.make<arith::MulIOp>(tile.keyHead, tile.group);
  Value times = part.visitsGroups
                    ? kb.make<arith::MinUIOp>(tile.group, kb.constant(1))
                    : tile.group;
  auto loop =
      scf::ForOp::create(b, loc, kb.constant(0), times, kb.constant(1), sums);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value head = kb.make<arith::AddIOp>(first, loop.getInductionVar());
  FailureOr<SmallVector<Value>> results =
      emitVisits(head, part.visitsGroups, loop.getRegionIterArgs());
  if (failed(results))
    return failure();
  scf::YieldOp::create(b, loc, *results);
  return llvm::to_vector_of<Value>(loop.getResults());
}

//===----------------------------------------------------------------------===//
// The tile
//===----------------------------------------------------------------------===//

SmallVector<Value> KeyTileEmitter::emitZeros() {
  SmallVector<Value> sums;
  if (part.value)
    sums.append(strips.size(),
                kb.splat(part.getRows(), part.valueHeadDim, 0.0));
  if (part.key)
    sums.append(strips.size(), kb.splat(part.getRows(), part.headDim, 0.0));
  return sums;
}

void KeyTileEmitter::storeGradients(ArrayRef<Value> sums) {
  attn::BackwardOp op = kernel.op;
  for (const KeyRows &keys : strips) {
    if (part.value)
      storeGradient(kernel, sums[keys.strip],
                    {op.getValueGradient(), keys.first,
                     part.getStripName("dv_out", keys.strip)});
    if (part.key)
      storeScaledGradient(kernel, getKeySum(sums, keys.strip),
                          {op.getKeyGradient(), keys.first,
                           part.getStripName("dk_out", keys.strip)});
  }
}

LogicalResult fovea::emitKeyTile(const BackwardKernel &kernel) {
  SmallVector<KeyRows> strips;
  for (int64_t strip = 0; strip < kernel.part.getStrips(); ++strip)
    strips.push_back(loadKeys(kernel, kernel.tile.work.row, strip));
  KeyTileEmitter emitter(kernel, strips);
  FailureOr<SmallVector<Value>> sums = emitter.emitHeads(emitter.emitZeros());
  if (failed(sums))
    return failure();
  emitter.storeGradients(*sums);
  return success();
}
