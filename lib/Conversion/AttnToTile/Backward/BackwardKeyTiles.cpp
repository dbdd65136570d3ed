//===- BackwardKeyTiles.cpp - A tile of keys and its queries ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CaptureGrads/RelativePositionGrads.h"
#include "Backward/GqaBlockOrder.h"
#include "CaptureGrads/CaptureGradsByKey.h"
#include "Backward/DqAccumulate.h"
#include "Backward/BackwardResults.h"
#include "Backward/BackwardScores.h"
#include "Backward/BackwardTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

namespace {
/// A block of queries that the tile meets; whether some of its pairs may be
/// masked, i1; where the tile's keys end there; and whether it has a turn at
/// dQ's sums, i1 or null (BackwardTurn).
struct MetQueries {
  QueryRows rows;
  Value partial, keyEnd, hasTurn;
};

/// What dS is found from: of each strip P and dP.
struct ScoreFactors {
  SmallVector<Weights, 2> weights;
  SmallVector<ByWeight, 2> byWeight;
};

/// The sums of one tile of keys: dV of each strip, then dK of each. Behind
/// those of a head's visits there are those by captured values (KeySums).
class KeyTileEmitter {
public:
  KeyTileEmitter(const BackwardKernel &kernel, ArrayRef<KeyRows> strips)
      : kernel(kernel), kb(kernel.kb), part(kernel.part), strips(strips),
        keySums(kernel) {}

  /// The sums before any query.
  SmallVector<Value> emitZeros();
  /// Those over the queries of the heads that share the tile's keys.
  FailureOr<SmallVector<Value>> emitHeads(ValueRange sums);
  void storeGradients(ArrayRef<Value> sums);

private:
  /// Those over the queries of one head, or of all heads of the group that
  /// begins with it.
  FailureOr<SmallVector<Value>> emitVisits(Value head, bool ofGroup,
                                           ValueRange sums);
  /// A block of queries, with what is read of it before any product.
  QueryRows loadMet(const QueryPlace &place);
  /// The sums with those of a block of queries.
  FailureOr<SmallVector<Value>> emitBlock(const MetQueries &met,
                                          ValueRange sums);
  FailureOr<SmallVector<Value>> emitBlockOfStrips(const MetQueries &met,
                                                  ValueRange sums);
  /// Weights of each strip's pairs.
  FailureOr<SmallVector<Weights, 2>> emitAllWeights(const MetQueries &met);
  FailureOr<Weights> emitStripWeights(const ScoreBlock &block);
  /// dV with the block.
  SmallVector<Value> addValues(ArrayRef<Weights> weights, const MetQueries &met,
                               ValueRange sums);
  /// dS of each strip.
  FailureOr<SmallVector<ScoreGradients, 2>>
  emitAllGradients(const ScoreFactors &factors, const MetQueries &met);
  /// dK with the block; adds to dQ, too.
  FailureOr<SmallVector<Value>> addKeys(ArrayRef<ScoreGradients> found,
                                        const MetQueries &met, ValueRange sums);

  ScoreBlock getStrip(const MetQueries &met, int64_t strip) const {
    return {met.rows, strips[strip], met.partial, met.keyEnd};
  }
  /// The strip's dK among the sums.
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

/// Where other roles or warps need the weights, they leave.
FailureOr<Weights> KeyTileEmitter::emitStripWeights(const ScoreBlock &block) {
  FailureOr<Weights> weights = emitWeights(kernel, block);
  bool leave = part.keyRoles == KeyRoles::Scores ||
               part.keyRoles == KeyRoles::Pairs || !part.plan.warpsHaveRows();
  if (failed(weights) || !leave)
    return weights;
  Value sent =
      kb.make<tile::StreamOp>(weights->rounded, kb.builder.getStringAttr("p"));
  // Derivatives by them are found meanwhile, or elsewhere.
  if (part.keyRoles == KeyRoles::Pairs)
    weights->weight = extendScores(kernel, sent);
  else
    weights->rounded = sent;
  return weights;
}

FailureOr<SmallVector<Weights, 2>>
KeyTileEmitter::emitAllWeights(const MetQueries &met) {
  SmallVector<Weights, 2> weights;
  for (int64_t strip = 0; strip < part.getStrips(); ++strip) {
    FailureOr<Weights> found = emitStripWeights(getStrip(met, strip));
    if (failed(found))
      return failure();
    weights.push_back(*found);
  }
  return weights;
}

SmallVector<Value> KeyTileEmitter::addValues(ArrayRef<Weights> weights,
                                             const MetQueries &met,
                                             ValueRange sums) {
  SmallVector<Value> next;
  for (int64_t strip = 0; part.value && strip < part.getStrips(); ++strip) {
    Value rounded = weights[strip].rounded;
    if (!rounded)
      rounded = roundWeights(kernel, weights[strip]);
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
                           factors.byWeight[strip]);
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
    // Another role's product reads them transposed; dK's, where registers are
    // short, reads them there, too.
    if (part.addsQuery)
      streamed.push_back(kb.make<tile::StreamOp>(
          found[strip].rounded,
          kb.builder.getStringAttr(part.getStripName("ds", strip))));
  }
  bool keepsGradients = !part.addsQuery || part.keepsGradients;
  for (int64_t strip = 0; part.key && strip < part.getStrips(); ++strip)
    next.push_back(addProduct(kernel, part.getStripName("dk", strip),
                              (keepsGradients ? gradients : streamed)[strip],
                              met.rows.queries, getKeySum(sums, strip)));
  llvm::append_range(next, keySums.add(sums, ofKeys));
  if (!part.addsQuery)
    return next;
  const QueryPlace &place = met.rows.place;
  // Who has derivatives and finds dQ's share, too, does not read them back.
  Value shared =
      part.keyRoles == KeyRoles::Scores ? gradients.front() : streamed.front();
  auto addDistances = [&] {
    return addToDistanceSums(kernel, place, strips.front(), {shared, ofPairs});
  };
  if (failed(addToQuerySums(kernel, place, strips, streamed, met.hasTurn,
                            addDistances)))
    return failure();
  return next;
}

/// Registers are short: behind dV's product there are rounded weights and no
/// others, and D is read behind derivatives by weights.
FailureOr<SmallVector<Value>>
KeyTileEmitter::emitBlockOfStrips(const MetQueries &met, ValueRange sums) {
  FailureOr<SmallVector<Weights, 2>> weights = emitAllWeights(met);
  if (failed(weights))
    return failure();
  SmallVector<Value> next = addValues(*weights, met, sums);
  ScoreFactors factors{std::move(*weights), {}};
  for (auto [strip, found] : llvm::enumerate(factors.weights)) {
    found.weight = extendScores(kernel, found.rounded);
    factors.byWeight.push_back(
        emitProductByWeight(kernel, getStrip(met, strip)));
  }
  Value minusDelta =
      loadScratch(kernel, kernel.memory.scratch.delta, met.rows.place, "delta");
  for (ByWeight &byWeight : factors.byWeight)
    byWeight.minusDelta = minusDelta;
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
  FailureOr<SmallVector<Weights, 2>> weights = emitAllWeights(met);
  if (failed(weights))
    return failure();
  if (!part.key && !part.addsQuery)
    return addValues(*weights, met, sums);
  ByWeight byWeight = emitByWeight(kernel, getStrip(met, 0));
  SmallVector<Value> next;
  if (!part.valuesLate)
    next = addValues(*weights, met, sums);
  FailureOr<SmallVector<ScoreGradients, 2>> gradients =
      emitAllGradients({*weights, {byWeight}}, met);
  if (failed(gradients))
    return failure();
  if (part.valuesLate)
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
  // Strips read it once.
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
  Value hasTurn = blocks->ordered ? blocks->ordered->getIsSeen() : Value();
  GroupVisits visits;
  if (ofGroup) {
    visits = emitGroupVisits(kernel, blocks->range);
    blocks->range = visits.range;
  }
  SmallVector<Value> inits(sums);
  llvm::append_range(inits, keySums.emitZeros());
  FailureOr<ValueRange> results = emitBlockLoop(
      kernel, *blocks, /*upwards=*/ofGroup || part.followsDiagonal, inits,
      [&](Value row, Value partial, ValueRange carried) {
        QueryPlace place = ofGroup ? placeInGroup(kernel, visits, head, row)
                                   : kernel.placeQueries(head, row);
        return emitBlock({loadMet(place), partial, blocks->keyEnd, hasTurn},
                         carried);
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
  // There may be no head at all, even where a block is visited in any case.
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
