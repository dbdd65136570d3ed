//===- BackwardKeyTiles.cpp - A tile of keys and its blocks -----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardEmitter.h"

#include "VisitedBlocks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

/// A part of dQ's share of a block, of all strips of keys. Of strips, each has
/// a part whose products begin with its own derivatives.
Value BackwardEmitter::emitQueryPart(const ScoreBlock &block,
                                     ValueRange gradients, int64_t index,
                                     int64_t across) {
  OpBuilder &b = kb.builder;
  const ScoreBlock::KeyPart &columns = block.keyParts[index % across];
  IntegerAttr firstRow;
  if (getColumns() != kQueryPartRows)
    firstRow = b.getI64IntegerAttr(index / across * kQueryPartRows);
  Value sum = kb.splat(kQueryPartRows, columns.count, 0.0);
  for (int64_t turn = 0; turn < getStrips(); ++turn) {
    int64_t strip = (index + turn) % getStrips();
    sum = tile::DotOp::create(b, loc, gradients[strip],
                              block.strips[strip].keys, sum,
                              /*transposeA=*/true, /*transposeB=*/false,
                              b.getStringAttr("dq." + std::to_string(index)),
                              firstRow, columns.first);
  }
  return sum;
}

void BackwardEmitter::addQueryGradient(const ScoreBlock &block,
                                       ValueRange gradients) {
  OpBuilder &b = kb.builder;
  SmallVector<Value> found;
  int64_t across = block.keyParts.size();
  int64_t count = getColumns() / kQueryPartRows * across;
  SmallVector<Value, 3> semaphore;
  if (part.ordersSums)
    semaphore = emitSemaphore(block);
  auto store = [&](int64_t index) {
    if (part.ordersSums && index == 0)
      emitStartOfTurn(block, semaphore, found.front());
    int64_t row = index / across * kQueryPartRows,
            column = index % across * part.partColumns;
    Value query = block.scratchRow;
    if (row != 0)
      query = arith::AddIOp::create(b, loc, query, kb.constant(row));
    tile::StoreOp::create(
        b, loc, found[index], scratchArgument(scratch.querySums),
        ValueRange{memoryBatch, block.head, query, kb.constant(column)},
        /*limit=*/Value(), b.getDenseI64ArrayAttr({2, 3}),
        /*fold=*/DenseI64ArrayAttr(), /*fragments=*/b.getUnitAttr(),
        /*add=*/b.getUnitAttr(),
        b.getStringAttr("dq_sum." + std::to_string(index)));
    if (part.ordersSums && index == count - 1)
      emitEndOfTurn(block, semaphore, found.back());
  };
  for (int64_t index = 0; index < count; ++index) {
    found.push_back(emitQueryPart(block, gradients, index, across));
    // Where registers hold two parts, one is added while the next one is found.
    if (!part.addsAhead)
      store(index);
    else if (index > 0)
      store(index - 1);
  }
  if (part.addsAhead)
    store(count - 1);
}

/// Weights of a strip's pairs; where others need them, they leave.
FailureOr<BackwardEmitter::Weights>
BackwardEmitter::emitSharedWeights(const ScoreBlock &block) {
  OpBuilder &b = kb.builder;
  FailureOr<Weights> weights = emitWeights(block);
  if (failed(weights) ||
      (part.keyRoles != KeyRoles::Scores && part.keyRoles != KeyRoles::Pairs))
    return weights;
  Value sent =
      tile::StreamOp::create(b, loc, weights->rounded, b.getStringAttr("p"));
  // Derivatives by them are found meanwhile, or elsewhere.
  if (part.keyRoles == KeyRoles::Scores)
    weights->rounded = sent;
  else
    weights->weight =
        arith::ExtFOp::create(b, loc, scoreType(b.getF32Type()), sent);
  return weights;
}

/// What a block of queries adds to the sums of a tile of keys: of each strip
/// dV, then dK.
FailureOr<SmallVector<Value>>
BackwardEmitter::emitBlockOfKeyTile(const ScoreBlock &whole,
                                    ValueRange carried) {
  OpBuilder &b = kb.builder;
  ScoreBlock shared = whole;
  int64_t strips = getStrips();
  // What queries have of their own is read once.
  if (strips > 1)
    shared.exponents = loadScratchValue(scratch.exponents, shared.head,
                                        shared.scratchRow, "exponents");
  SmallVector<Weights> weights;
  for (int64_t strip = 0; strip < strips; ++strip) {
    FailureOr<Weights> found = emitSharedWeights(ofStrip(shared, strip));
    if (failed(found))
      return failure();
    weights.push_back(*found);
  }
  bool needsGradients = part.key || part.addsQuery;
  SmallVector<Value> byWeight, next;
  auto addValues = [&] {
    for (int64_t strip = 0; part.value && strip < strips; ++strip)
      next.push_back(product(getStripName("dv", strip), weights[strip].rounded,
                             shared.outputGradients, carried[strip],
                             /*transposeB=*/false));
  };
  auto getDot = [&](int64_t strip) {
    return PairOperands{"dp", shared.outputGradients,
                        shared.strips[strip].values};
  };
  if (strips > 1) {
    // Registers are short: behind dV's product there are rounded weights and no
    // others, and D is read behind derivatives by weights.
    addValues();
    for (int64_t strip = 0; strip < strips; ++strip) {
      weights[strip].weight = arith::ExtFOp::create(
          b, loc, scoreType(b.getF32Type()), weights[strip].rounded);
      byWeight.push_back(multiplyPairs(ofStrip(shared, strip), getDot(strip)));
    }
    shared.delta = loadScratchValue(scratch.delta, shared.head,
                                    shared.scratchRow, "delta");
  } else {
    if (needsGradients)
      std::tie(byWeight.emplace_back(), shared.delta) = emitPairProduct(
          shared, getDot(0),
          {"delta", scratch.delta, shared.delta, part.deltaFirst});
    addValues();
  }
  if (!needsGradients)
    return next;
  SmallVector<Value> gradients, streamed;
  for (int64_t strip = 0; strip < strips; ++strip) {
    FailureOr<Value> found = emitGradients(
        ofStrip(shared, strip), weights[strip], shared.delta, byWeight[strip]);
    if (failed(found))
      return failure();
    gradients.push_back(*found);
    // Another role's product reads them transposed; dK's, where registers are
    // short, reads them there, too.
    if (part.addsQuery)
      streamed.push_back(tile::StreamOp::create(
          b, loc, *found, b.getStringAttr(getStripName("ds", strip))));
  }
  bool keepsGradients = !part.addsQuery || part.keepsGradients;
  for (int64_t strip = 0; part.key && strip < strips; ++strip)
    next.push_back(product(getStripName("dk", strip),
                           (keepsGradients ? gradients : streamed)[strip],
                           shared.queries,
                           carried[carried.size() - strips + strip],
                           /*transposeB=*/false));
  if (part.addsQuery)
    addQueryGradient(shared, streamed);
  return next;
}

/// The sums over the queries of one head, or of all heads of the group that
/// begins with it.
FailureOr<SmallVector<Value>>
BackwardEmitter::emitVisits(ScoreBlock block, bool ofGroup, ValueRange sums) {
  FailureOr<Blocks> blocks = emitQueryBlocks(block);
  if (failed(blocks))
    return failure();
  if (blocks->ordered)
    block.hasTurn = blocks->ordered->getIsSeen();
  GroupVisits visits;
  if (ofGroup) {
    visits = emitGroupVisits(blocks->bounds);
    blocks->bounds = visits.bounds;
  }
  FailureOr<ValueRange> results =
      emitLoop(*blocks, /*upwards=*/ofGroup || followsDiagonal(), sums,
               [&](Value query, Value partial,
                   ValueRange carried) -> FailureOr<SmallVector<Value>> {
                 ScoreBlock visited = block;
                 visited.query = query;
                 if (ofGroup)
                   placeInGroup(visited, visits);
                 visited.scratchRow = toScratchRow(visited.query);
                 visited.partial = partial;
                 loadQueries(visited, /*needsOutputGradients=*/true);
                 if (part.key && !part.addsQuery)
                   visited.delta = loadDelta(visited);
                 return emitBlockOfKeyTile(visited, carried);
               });
  if (failed(results))
    return failure();
  return llvm::to_vector_of<Value>(*results);
}

/// The sums over the queries of the heads that share the tile's keys.
FailureOr<SmallVector<Value>> BackwardEmitter::emitHeads(ScoreBlock block,
                                                         ValueRange sums) {
  OpBuilder &b = kb.builder;
  int64_t heads = op.getQueryType().getDimSize(op.getHeadDim()),
          keyHeads = op.getKeyType().getDimSize(op.getHeadDim());
  if (heads == keyHeads && ShapedType::isStatic(heads)) {
    block.head = work.head;
    return emitVisits(block, /*ofGroup=*/false, sums);
  }
  // There may be no head at all, even where a block is visited in any case.
  bool ofGroup = visitsGroupByBlocks(op, plan);
  Value first = arith::MulIOp::create(b, loc, keyHead, group);
  Value times =
      ofGroup ? arith::MinUIOp::create(b, loc, group, kb.constant(1)) : group;
  auto loop =
      scf::ForOp::create(b, loc, kb.constant(0), times, kb.constant(1), sums);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  block.head = arith::AddIOp::create(b, loc, first, loop.getInductionVar());
  FailureOr<SmallVector<Value>> results =
      emitVisits(block, ofGroup, loop.getRegionIterArgs());
  if (failed(results))
    return failure();
  scf::YieldOp::create(b, loc, *results);
  return llvm::to_vector_of<Value>(loop.getResults());
}

LogicalResult BackwardEmitter::emitKeyTile() {
  ScoreBlock block;
  block.key = work.row;
  loadKeys(block);
  SmallVector<Value> sums;
  int64_t strips = getStrips();
  if (part.value)
    sums.append(strips, kb.splat(getRows(), valueHeadDim, 0.0));
  if (part.key)
    sums.append(strips, kb.splat(getRows(), headDim, 0.0));
  FailureOr<SmallVector<Value>> found = emitHeads(block, sums);
  if (failed(found))
    return failure();
  for (int64_t strip = 0; strip < strips; ++strip) {
    Value key = block.strips[strip].key;
    if (part.value)
      store((*found)[strip], resultArgument(op.getValueGradient()), work.head,
            key, /*scale=*/Value(), getStripName("dv_out", strip));
    if (part.key)
      store((*found)[found->size() - strips + strip],
            resultArgument(op.getKeyGradient()), work.head, key,
            emitScale(headDim), getStripName("dk_out", strip));
  }
  return success();
}
