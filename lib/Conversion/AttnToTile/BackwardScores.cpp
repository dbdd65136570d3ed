//===- BackwardScores.cpp - Scores and derivatives by them ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardEmitter.h"

#include "Dropout.h"
#include "FiniteFactors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fovea;

Value BackwardEmitter::broadcastRows(Value rows) {
  return tile::BroadcastOp::create(kb.builder, loc,
                                   scoreType(kb.builder.getF32Type()), rows);
}

Value BackwardEmitter::round(Value tile) {
  return arith::TruncFOp::create(kb.builder, loc, scoreType(element), tile);
}

Value BackwardEmitter::product(StringRef name, Value a, Value c, Value sum,
                               bool transposeB, bool transposeA) {
  return tile::DotOp::create(kb.builder, loc, a, c, sum, transposeA, transposeB,
                             kb.builder.getStringAttr(name));
}

/// Which pairs of the block count, a tile of i1: mask_mod shows them, and the
/// query and the key exist.
FailureOr<Value> BackwardEmitter::emitKeep(const ScoreBlock &block) {
  OpBuilder &b = kb.builder;
  Value keep = emitExist(block);
  if (op.getMaskMod().empty())
    return keep;
  RegionContext context = makeContext(block);
  FailureOr<Value> shown =
      RegionToTile(b, context).cloneMaskMod(op.getMaskMod());
  if (failed(shown))
    return failure();
  return arith::AndIOp::create(b, loc, keep, *shown).getResult();
}

Value BackwardEmitter::emitExist(const ScoreBlock &block) {
  OpBuilder &b = kb.builder;
  RegionContext context = makeContext(block);
  BlockTiles places(b, context);
  auto exists = [&](Value tile, Value count) {
    Value narrow = arith::IndexCastOp::create(b, loc, b.getI32Type(), count);
    Value counts = tile::BroadcastOp::create(b, loc, tile.getType(), narrow);
    Value is =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, tile, counts);
    return places.toFullTile(loc, is);
  };
  Value keep =
      exists(places.getKeyTile(loc), block.keyEnd ? block.keyEnd : keys);
  if (!part.hasQueryTiles())
    keep = arith::AndIOp::create(b, loc, keep,
                                 exists(places.getQueryTile(loc), queries));
  return keep;
}

Value BackwardEmitter::emitIsRagged(const ScoreBlock &block) {
  OpBuilder &b = kb.builder;
  auto endsBehind = [&](Value first, int64_t count, Value limit) -> Value {
    Value end = arith::AddIOp::create(b, loc, first, kb.constant(count));
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, end, limit);
  };
  if (part.hasQueryTiles())
    return endsBehind(block.key, getColumns(), keys);
  return arith::OrIOp::create(
      b, loc,
      endsBehind(block.key, getRows(), block.keyEnd ? block.keyEnd : keys),
      endsBehind(block.query, getColumns(), queries));
}

/// -inf for what does not count, where the block has such.
FailureOr<Value> BackwardEmitter::emitVisible(const ScoreBlock &block,
                                              Value exponent) {
  if (op.hasBlocks())
    return emitListedVisible(block, exponent);
  return emitHidden(block.partial, exponent, [&] { return emitKeep(block); });
}

/// Of listed blocks the partial ones are masked; what does not exist may lie in
/// others, too, which the mask is not asked about.
FailureOr<Value> BackwardEmitter::emitListedVisible(const ScoreBlock &block,
                                                    Value exponent) {
  FailureOr<Value> shown = exponent;
  if (!op.getMaskMod().empty())
    shown = emitHidden(block.partial, exponent, [&] {
      RegionContext context = makeContext(block);
      return RegionToTile(kb.builder, context).cloneMaskMod(op.getMaskMod());
    });
  if (failed(shown))
    return failure();
  return emitHidden(emitIsRagged(block), *shown,
                    [&] { return FailureOr<Value>(emitExist(block)); });
}

FailureOr<Value>
BackwardEmitter::emitHidden(Value condition, Value exponent,
                            function_ref<FailureOr<Value>()> keep) {
  OpBuilder &b = kb.builder;
  auto branch = scf::IfOp::create(b, loc, exponent.getType(), condition,
                                  /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.thenBlock());
  FailureOr<Value> kept = keep();
  if (failed(kept))
    return failure();
  Value hidden = arith::SelectOp::create(
      b, loc, *kept, exponent,
      splatScore(-std::numeric_limits<double>::infinity()));
  scf::YieldOp::create(b, loc, hidden);
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, loc, exponent);
  return branch.getResult(0);
}

Value BackwardEmitter::emitDropout(const ScoreBlock &block) {
  if (!op.getDropoutAttr())
    return {};
  bool areRows = part.hasQueryTiles();
  Value isKept = emitIsKept(
      kb, op, emitDropoutStream(kb, op, work.batch, block.head),
      areRows ? block.query : block.key, areRows ? block.key : block.query,
      getRows(), getColumns(), /*keyDim=*/areRows ? 1 : 0);
  constexpr double kSteps = attn::AttentionOpInterface::kDropoutSteps;
  return arith::SelectOp::create(
      kb.builder, loc, isKept,
      splatScore(kSteps / (kSteps - op.getDroppedShare())), splatScore(0.0));
}

Value BackwardEmitter::multiplyPairs(const ScoreBlock &block,
                                     const PairOperands &of) {
  bool areRows = part.hasQueryTiles();
  return product(getStripName(of.name, block.strip),
                 areRows ? of.queries : of.keys, areRows ? of.keys : of.queries,
                 splatScore(0.0),
                 /*transposeB=*/true);
}

std::pair<Value, Value>
BackwardEmitter::emitPairProduct(const ScoreBlock &block,
                                 const PairOperands &of,
                                 const QueryValues &beside) {
  auto load = [&] {
    return loadScratchValue(beside.scratch, block.head, block.scratchRow,
                            beside.name);
  };
  if (beside.values)
    return {multiplyPairs(block, of), beside.values};
  if (beside.isFirst) {
    Value values = load();
    return {multiplyPairs(block, of), values};
  }
  Value products = multiplyPairs(block, of);
  return {products, load()};
}

/// What the weight is a power of 2 by: the score, times log2(e), and what the
/// row's pairs share. What depends on the query or on the key alone is added up
/// once for each of those.
FailureOr<Value> BackwardEmitter::emitExponent(const ScoreBlock &block,
                                               Value products,
                                               Value exponents) {
  OpBuilder &b = kb.builder;
  Region &scoreMod = op.getScoreMod();
  std::optional<double> scale = op.getConstantScale();
  if (scoreMod.empty() && scale)
    return math::FmaOp::create(b, loc, products,
                               splatScore(*scale * llvm::numbers::log2e),
                               broadcastRows(exponents))
        .getResult();
  ScoreForm score = scaleProducts(kb, op, products);
  OpBuilder invariant = b;
  RegionContext context = makeContext(block);
  if (!scoreMod.empty()) {
    FailureOr<ScoreForm> modified =
        RegionToTile(b, context).cloneScoreMod(scoreMod, score, invariant);
    if (failed(modified))
      return failure();
    score = *modified;
  }
  ScoreFormEmitter emitter(b, invariant, loc, getRows(), getColumns());
  ScoreForm exponent = emitter.scale(score, {llvm::numbers::log2e, {}});
  exponent.add(ScoreForm::of(exponents));
  return BlockTiles(b, context).toFullTile(loc, emitter.emit(exponent));
}

/// Moves what was emitted behind `product`, is no full tile and needs none
/// above it: what is read behind a product that is on its way waits for that.
static void moveAbove(Operation *product) {
  auto isFull = [](Type type) {
    auto tile = dyn_cast<RankedTensorType>(type);
    return tile && !llvm::is_contained(tile.getShape(), 1);
  };
  DominanceInfo dominance;
  for (Operation &op : llvm::make_early_inc_range(llvm::make_range(
           std::next(product->getIterator()), product->getBlock()->end())))
    if (op.getNumRegions() == 0 &&
        (isMemoryEffectFree(&op) ||
         hasSingleEffect<MemoryEffects::Read>(&op)) &&
        llvm::none_of(op.getResultTypes(), isFull) &&
        llvm::all_of(op.getOperands(), [&](Value operand) {
          return dominance.properlyDominates(operand, product);
        }))
      op.moveBefore(product);
}

FailureOr<BackwardEmitter::Weights>
BackwardEmitter::emitWeights(const ScoreBlock &block) {
  OpBuilder &b = kb.builder;
  Weights result;
  auto [products, exponents] = emitPairProduct(
      block, {"s", block.queries, block.keys},
      {"exponents", scratch.exponents, block.exponents, part.exponentsFirst});
  result.products = products;
  FailureOr<Value> exponent = emitExponent(block, products, exponents);
  if (failed(exponent))
    return failure();
  if (part.exponentsFirst)
    moveAbove(products.getDefiningOp());
  // Of what is hidden the exponent is selected, whatever it is.
  FailureOr<Value> visible = emitVisible(block, *exponent);
  if (failed(visible))
    return failure();
  Value weight = math::Exp2Op::create(b, loc, *visible), kept = weight;
  result.weight = weight;
  result.factor = emitDropout(block);
  if (result.factor)
    kept = arith::MulFOp::create(b, loc, kept, result.factor);
  result.rounded = round(kept);
  // Where registers are short, half of them carry what derivatives need.
  auto extend = [&](Value rounded) -> Value {
    return arith::ExtFOp::create(b, loc, scoreType(b.getF32Type()), rounded);
  };
  if (part.slopesFirst && !op.getScoreMod().empty()) {
    FailureOr<Value> slope = emitModified(block, result, weight, {});
    if (failed(slope))
      return failure();
    result.slope = part.roundsWeights ? extend(round(*slope)) : *slope;
  }
  if (part.roundsWeights && !result.factor)
    result.weight = extend(result.rounded);
  return result;
}

/// The derivative by the score before score_mod, of that by the score behind
/// it; 0 where `weight` is.
FailureOr<Value> BackwardEmitter::emitModified(const ScoreBlock &block,
                                               const Weights &weights,
                                               Value gradient,
                                               Contributions contributions) {
  OpBuilder &b = kb.builder;
  RegionContext context = makeContext(block);
  context.contributions = &contributions;
  OpBuilder invariant = b;
  FailureOr<SmallVector<Value>> passed =
      RegionToTile(b, context)
          .cloneScoreGradient(op.getScoreGradient(),
                              scaleProducts(kb, op, weights.products), gradient,
                              invariant);
  if (failed(passed))
    return failure();
  // What has no weight has no influence, even if its derivative is infinite.
  Region &region = op.getScoreGradient();
  if (isFiniteMultiple(region.front().getTerminator()->getOperand(0),
                       region.getArgument(1)))
    return passed->front();
  Value counts = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE,
                                       weights.weight, splatScore(0.0));
  return arith::SelectOp::create(b, loc, counts, passed->front(),
                                 splatScore(0.0))
      .getResult();
}

FailureOr<Value> BackwardEmitter::emitGradients(const ScoreBlock &block,
                                                const Weights &weights,
                                                Value delta, Value byWeight) {
  OpBuilder &b = kb.builder;
  if (weights.factor)
    byWeight = arith::MulFOp::create(b, loc, byWeight, weights.factor);
  Value gradient = arith::MulFOp::create(
      b, loc, weights.slope ? weights.slope : weights.weight,
      arith::SubFOp::create(b, loc, byWeight, broadcastRows(delta)));
  Contributions contributions;
  if (part.sums)
    contributions = {sums.getCaptureMemory(kb),
                     emitCounted(block, weights.weight)};
  if (!op.getScoreMod().empty() && !weights.slope) {
    FailureOr<Value> modified =
        emitModified(block, weights, gradient, contributions);
    if (failed(modified))
      return failure();
    gradient = *modified;
  }
  if (part.sums && op.getScaleGradient())
    addToSums(b, loc, arith::MulFOp::create(b, loc, gradient, weights.products),
              sums.getMemory(kb, op.getScaleGradient()), kb.constant(0),
              contributions.counts);
  return round(gradient);
}

Value BackwardEmitter::emitCounted(const ScoreBlock &block, Value weight) {
  OpBuilder &b = kb.builder;
  RegionContext context = makeContext(block);
  Value exists = emitQueriesExist(block);
  Value counts = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE,
                                       weight, splatScore(0.0));
  return arith::AndIOp::create(b, loc, counts,
                               BlockTiles(b, context).toFullTile(loc, exists));
}

/// A sink has the weight exp(sink - lse) and no value.
void BackwardEmitter::addSinkGradient(const ScoreBlock &block) {
  OpBuilder &b = kb.builder;
  Value rows = loadRowValue(lse, block.head, toQueryRow(block.query));
  auto type = cast<RankedTensorType>(rows.getType());
  unsigned operand = op.getSinksMutable().begin()->getOperandNumber();
  Value sink =
      memref::LoadOp::create(b, loc, kb.operandArgument(operand), block.head);
  if (!sink.getType().isF32())
    sink = arith::ExtFOp::create(b, loc, b.getF32Type(), sink);
  Value sinks = tile::BroadcastOp::create(b, loc, type, sink);
  Value exponent =
      arith::MulFOp::create(b, loc, arith::SubFOp::create(b, loc, sinks, rows),
                            splatLike(rows, llvm::numbers::log2e));
  // Nothing is known of a row that sees nothing: 0, not what exp2(inf) gives.
  Value weight = arith::SelectOp::create(
      b, loc, emitSeesNothing(rows), splatLike(rows, 0.0),
      math::Exp2Op::create(b, loc, exponent));
  Value share = arith::MulFOp::create(b, loc, weight, block.delta);
  addToSums(b, loc, arith::NegFOp::create(b, loc, share),
            sums.getMemory(kb, op.getSinksGradient()), block.head,
            emitQueriesExist(block));
}
