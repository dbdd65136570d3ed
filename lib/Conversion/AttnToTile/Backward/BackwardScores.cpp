//===- BackwardScores.cpp - P, dP and dS of a score block -----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backward/BackwardScores.h"

#include "Backward/BackwardMask.h"
#include "Backward/PreprocessTerms.h"
#include "CaptureGrads/ContributionShares.h"
#include "RegionAnalysis/BoundedDerivatives.h"
#include "Regions/Dropout.h"
#include "Regions/RegionToTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Dominance.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fovea;

namespace {
/// The operands of an MMA over pairs: one per query, one per key.
struct PairOperands {
  StringRef name;
  Value queries, keys;
};

/// One value per query: in scratch memory, or already known. `isFirst`: it is
/// loaded before the MMA is issued.
struct QueryValues {
  StringRef name;
  std::optional<unsigned> scratch;
  Value values;
  bool isFirst;
};

/// The contributions that a key tile accumulates: shares by key first, then the
/// distinct shares that are streamed to another role.
struct TakenShares {
  TakenShares() = default;
  explicit TakenShares(attn::BackwardOp op)
      : shares(getKeyShares(op)), byKey(shares.size()) {
    llvm::append_range(shares, getLeavingShares(op));
  }

  SmallVector<Share> shares;
  unsigned byKey = 0;
};

/// Emits the computation of one block.
class BackwardScoreEmitter {
public:
  BackwardScoreEmitter(const BackwardKernel &kernel, const ScoreBlock &block)
      : kernel(kernel), kb(kernel.kb), op(kernel.op), part(kernel.part),
        loc(kb.getLoc()), block(block), place(block.queries.place) {}

  /// The product, accumulated to `start`, or to zeros if that is null.
  Value multiplyPairs(const PairOperands &of, Value start = {});
  DpTerms emitDp();
  /// The product and the per-query values, in the planned order.
  std::pair<Value, Value> emitPairProduct(const PairOperands &of,
                                          const QueryValues &beside);
  /// The operands of dP.
  PairOperands getDpOperands() const {
    return {"dp", block.queries.outputGradients, block.keys.values};
  }
  FailureOr<Probabilities> emitProbabilities();
  FailureOr<ScoreGradients> emitGradients(const Probabilities &weights,
                                          const DpTerms &dp);
  QueryValues getMinusDelta() const {
    return {"delta", kernel.memory.scratch.delta, block.queries.minusDelta,
            part.plan.isBefore("delta", "dp")};
  }

private:
  RegionContext makeContext() const {
    return kernel.makeContext(place.head, place.first, block.keys.first);
  }
  /// Broadcasts one value per query to a score tile.
  Value broadcastRows(Value rows);
  /// The exponent of P = exp2(x): the score times log2(e) plus the row
  /// constant.
  FailureOr<Value> emitExponent(Value products, Value exponents);
  /// True if derivatives read the products, which must then start from zero.
  bool readsProducts();
  /// True for pairs whose contributions count: those with nonzero P, in query
  /// tiles also with an existing query.
  Value emitCounts(Value weight);
  /// The sum of each row of a score tile.
  Value sumRows(Value tile);
  /// Streams the share to the role that computes dQ, if that is another one.
  Value leaveShare(Value share, int64_t number);
  /// The dropout multiplier of P, or null.
  Value emitDropout();
  LogicalResult emitSlopes(Probabilities &weights);
  /// The derivative with respect to the score before score_mod, given the one
  /// after score_mod; 0 where P is 0.
  FailureOr<Value> emitModified(const Probabilities &weights, Value gradient,
                                const Contributions &contributions);

  const BackwardKernel &kernel;
  KernelBuilder &kb;
  attn::BackwardOp op;
  const BackwardKernelPlan &part;
  Location loc;
  const ScoreBlock &block;
  const QueryPlace &place;
};
} // namespace

bool fovea::delaysDv(const BackwardKernel &kernel) {
  return kernel.part.plan.isBefore("ds", "dv");
}

Value fovea::extendScores(const BackwardKernel &kernel, Value rounded) {
  KernelBuilder &kb = kernel.kb;
  RankedTensorType type = kernel.getScoreType(kb.builder.getF32Type());
  return rounded.getType() == type ? rounded
                                   : kb.make<arith::ExtFOp>(type, rounded);
}

Value fovea::roundScores(const BackwardKernel &kernel, Value scores) {
  RankedTensorType type = kernel.getScoreType(
      attn::BackwardOp(kernel.op).getQueryType().getElementType());
  return scores.getType() == type
             ? scores
             : kernel.kb.make<arith::TruncFOp>(type, scores);
}

Value fovea::addProduct(const BackwardKernel &kernel, StringRef name,
                        Value scores, Value rows, Value sum) {
  KernelBuilder &kb = kernel.kb;
  return kb.make<tile::DotOp>(scores, rows, sum, /*transposeA=*/false,
                              /*transposeB=*/false,
                              kb.builder.getStringAttr(name));
}

Value BackwardScoreEmitter::broadcastRows(Value rows) {
  return kb.make<tile::BroadcastOp>(
      kernel.getScoreType(kb.builder.getF32Type()), rows);
}

Value BackwardScoreEmitter::multiplyPairs(const PairOperands &of, Value start) {
  bool areRows = part.hasQueryTiles();
  if (!start)
    start = kernel.splatScore(0.0);
  return kb.make<tile::DotOp>(
      areRows ? of.queries : of.keys, areRows ? of.keys : of.queries, start,
      /*transposeA=*/false, /*transposeB=*/true,
      kb.builder.getStringAttr(part.getStripName(of.name, block.keys.strip)));
}

std::pair<Value, Value>
BackwardScoreEmitter::emitPairProduct(const PairOperands &of,
                                      const QueryValues &beside) {
  auto load = [&] {
    return loadScratch(kernel, beside.scratch, place, beside.name);
  };
  if (beside.values)
    return {multiplyPairs(of), beside.values};
  if (beside.isFirst) {
    Value values = load();
    return {multiplyPairs(of), values};
  }
  Value products = multiplyPairs(of);
  return {products, load()};
}

DpTerms BackwardScoreEmitter::emitDp() {
  if (!part.plan.getDot("dp").addsToSummand) {
    auto [product, minusDelta] =
        emitPairProduct(getDpOperands(), getMinusDelta());
    return {product, minusDelta};
  }
  Value minusDelta = block.queries.minusDelta;
  if (!minusDelta)
    minusDelta =
        loadScratch(kernel, kernel.memory.scratch.delta, place, "delta");
  return {multiplyPairs(getDpOperands(), broadcastRows(minusDelta)), Value()};
}

//===----------------------------------------------------------------------===//
// Probabilities
//===----------------------------------------------------------------------===//

bool BackwardScoreEmitter::readsProducts() {
  Region &derivative = op.getScoreGradient();
  return needsScaleFromPairs(op) ||
         (!derivative.empty() && !derivative.getArgument(0).use_empty());
}

/// Terms that depend on the query or the key alone are added once per query or
/// key, unless they are part of `exponents` already.
FailureOr<Value> BackwardScoreEmitter::emitExponent(Value products,
                                                    Value exponents) {
  OpBuilder &b = kb.builder;
  Region &scoreMod = op.getScoreMod();
  std::optional<double> scale = op.getConstantScale();
  if (scoreMod.empty() && scale)
    return math::FmaOp::create(b, loc, products,
                               kernel.splatScore(*scale * llvm::numbers::log2e),
                               broadcastRows(exponents))
        .getResult();
  AffineScore score = scaleProducts(kb, op, products);
  OpBuilder invariant = b;
  RegionContext context = makeContext();
  if (!scoreMod.empty()) {
    FailureOr<AffineScore> modified =
        RegionToTile(b, context).cloneScoreMod(scoreMod, score, invariant);
    if (failed(modified))
      return failure();
    score = *modified;
  }
  bool areApart = areQueryTermsApart(kernel);
  if (areApart)
    score.takeOfQueries(/*areRows=*/false);
  AffineScoreEmitter emitter(b, invariant, loc, part.getRows(),
                             part.getColumns());
  AffineScore exponent = emitter.scale(score, {llvm::numbers::log2e, {}});
  exponent.add(AffineScore::of(exponents));
  auto dot = products.getDefiningOp<tile::DotOp>();
  if (part.plan.getDot(dot.getNameAttr()).addsToSummand && !readsProducts())
    emitter.startFromDiagonals(exponent, dot);
  Value sum = emitter.emit(exponent, /*sidesFirst=*/areApart);
  return BlockTiles(b, context).toFullTile(loc, sum);
}

Value BackwardScoreEmitter::emitDropout() {
  if (!op.getDropoutAttr())
    return {};
  bool areRows = part.hasQueryTiles();
  Value isKept = emitIsKept(
      kb, op, emitDropoutStream(kb, op, kernel.tile.work.batch, place.head),
      areRows ? place.first : block.keys.first,
      areRows ? block.keys.first : place.first, part.getRows(),
      part.getColumns(), /*keyDim=*/areRows ? 1 : 0);
  constexpr double kSteps = attn::AttentionOpInterface::kDropoutSteps;
  return arith::SelectOp::create(
      kb.builder, loc, isKept,
      kernel.splatScore(kSteps / (kSteps - op.getDroppedShare())),
      kernel.splatScore(0.0));
}

/// Moves loads and small-tile ops after `product` before it, if their operands
/// are available there: a load after an asynchronous MMA would wait for it.
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

/// Computes the values that derivatives need of the score. If registers are
/// short, they are kept in the rounded type.
LogicalResult BackwardScoreEmitter::emitSlopes(Probabilities &weights) {
  auto carry = [&](Value slope) {
    return part.plan.getStream("slope").isRounded
               ? extendScores(kernel, roundScores(kernel, slope))
               : slope;
  };
  TakenShares taken;
  if (part.sums)
    taken = TakenShares(op);
  weights.shares.resize(taken.shares.size());
  SmallVector<Share> early;
  SmallVector<unsigned> numbers;
  for (auto [number, share] : llvm::enumerate(taken.shares))
    if (readsScore(share.value)) {
      early.push_back(share);
      numbers.push_back(number);
    }
  Operation *yield = op.getScoreGradient().front().getTerminator();
  bool hasSlope = weights.factor || readsScore(yield->getOperand(0));
  if (!hasSlope && early.empty())
    return success();
  Contributions contributions;
  contributions.taken = early;
  auto take = [&](unsigned number, Value share) {
    weights.shares[numbers[number]] = carry(share);
  };
  contributions.take = take;
  if (!early.empty())
    contributions.counts = emitCounts(weights.weight);
  FailureOr<Value> slope = emitModified(weights, weights.weight, contributions);
  if (failed(slope))
    return failure();
  if (hasSlope)
    weights.slope = carry(*slope);
  return success();
}

FailureOr<Probabilities> BackwardScoreEmitter::emitProbabilities() {
  bool loadsFirst = part.plan.isBefore("exponents", "s");
  auto [products, exponents] =
      emitPairProduct({"s", block.queries.queries, block.keys.keys},
                      {"exponents", kernel.memory.scratch.exponents,
                       block.queries.exponents, loadsFirst});
  FailureOr<Value> exponent = emitExponent(products, exponents);
  if (failed(exponent))
    return failure();
  if (loadsFirst)
    moveAbove(products.getDefiningOp());
  // The exponent of a hidden pair is replaced, whatever its value is.
  FailureOr<Value> visible = emitVisible(kernel, block, *exponent);
  if (failed(visible))
    return failure();
  Probabilities weights;
  weights.products = products;
  weights.weight = kb.make<math::Exp2Op>(*visible);
  weights.factor = emitDropout();
  if (!delaysDv(kernel))
    weights.rounded = fovea::roundProbabilities(kernel, weights);
  if (part.plan.isBefore("slope", "dp") && !op.getScoreMod().empty() &&
      failed(emitSlopes(weights)))
    return failure();
  if (part.plan.getStream("p").isRounded && !weights.factor)
    weights.weight = extendScores(kernel, weights.rounded);
  return weights;
}

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

FailureOr<Value>
BackwardScoreEmitter::emitModified(const Probabilities &weights, Value gradient,
                                   const Contributions &contributions) {
  OpBuilder &b = kb.builder;
  RegionContext context = makeContext();
  context.contributions = &contributions;
  OpBuilder invariant = b;
  FailureOr<SmallVector<Value>> passed =
      RegionToTile(b, context)
          .cloneScoreGradient(op.getScoreGradient(),
                              scaleProducts(kb, op, weights.products), gradient,
                              invariant);
  if (failed(passed))
    return failure();
  // A pair with P = 0 contributes nothing, even if its derivative is infinite.
  Region &region = op.getScoreGradient();
  if (isFiniteMultiple(region.front().getTerminator()->getOperand(0),
                       region.getArgument(1)))
    return passed->front();
  Value counts = kb.make<arith::CmpFOp>(arith::CmpFPredicate::UNE,
                                        weights.weight, kernel.splatScore(0.0));
  return kb.make<arith::SelectOp>(counts, passed->front(),
                                  kernel.splatScore(0.0));
}

Value BackwardScoreEmitter::emitCounts(Value weight) {
  if (part.hasQueryTiles())
    return emitCounted(kernel, block, weight);
  return kb.make<arith::CmpFOp>(arith::CmpFPredicate::UNE, weight,
                                kernel.splatScore(0.0));
}

Value BackwardScoreEmitter::sumRows(Value tile) {
  return kb.make<tile::ReduceOp>(
      kb.tileType(part.getRows(), 1, kb.builder.getF32Type()),
      tile::ReduceKind::Add, /*dim=*/1, tile);
}

Value BackwardScoreEmitter::leaveShare(Value share, int64_t number) {
  if (part.computesDqFromDs())
    return share;
  return kb.make<tile::StreamOp>(
      share, kb.builder.getStringAttr("share." + Twine(number)));
}

FailureOr<ScoreGradients>
BackwardScoreEmitter::emitGradients(const Probabilities &weights,
                                    const DpTerms &dp) {
  Value difference = dp.product;
  if (weights.factor)
    difference = kb.make<arith::MulFOp>(difference, weights.factor);
  if (dp.minusDelta)
    difference =
        kb.make<arith::AddFOp>(difference, broadcastRows(dp.minusDelta));
  auto multiply = [&](Value weight) {
    return kb.make<arith::MulFOp>(weight, difference);
  };
  const CaptureGrads &sums = kernel.memory.sums;
  ScoreGradients found;
  Contributions contributions;
  TakenShares taken;
  if (part.sums)
    contributions.counts = emitCounts(weights.weight);
  if (part.sums && part.hasQueryTiles())
    contributions.targets = sums.getCaptureMemory(kb);
  else if (part.sums)
    taken = TakenShares(op);
  found.ofKeys.resize(taken.byKey);
  found.ofPairs.resize(taken.shares.size() - taken.byKey);
  auto keep = [&](unsigned number, Value share) {
    if (number < taken.byKey)
      found.ofKeys[number] = sumRows(share);
    else
      found.ofPairs[number - taken.byKey] =
          leaveShare(roundScores(kernel, share), number - taken.byKey);
  };
  SmallVector<unsigned> late;
  for (unsigned number = 0; number < taken.shares.size(); ++number) {
    Value early =
        number < weights.shares.size() ? weights.shares[number] : Value();
    if (early)
      keep(number, multiply(early));
    else
      late.push_back(number);
  }
  SmallVector<Share> lateShares = llvm::map_to_vector(
      late, [&](unsigned number) { return taken.shares[number]; });
  contributions.taken = lateShares;
  auto take = [&](unsigned number, Value share) { keep(late[number], share); };
  contributions.take = take;
  Value gradient;
  // Contributions may need values that dS does not.
  bool hasLate = part.sums && (part.hasQueryTiles() || !late.empty());
  if (!weights.slope || hasLate) {
    gradient = multiply(weights.weight);
    if (!op.getScoreMod().empty()) {
      FailureOr<Value> modified =
          emitModified(weights, gradient, contributions);
      if (failed(modified))
        return failure();
      gradient = *modified;
    }
  }
  if (weights.slope)
    gradient = multiply(weights.slope);
  if (part.sums && needsScaleFromPairs(op))
    addToSums(kb.builder, loc,
              kb.make<arith::MulFOp>(gradient, weights.products),
              sums.getMemory(kb, op.getScaleGradient()), kb.constant(0),
              contributions.counts);
  found.rounded = roundScores(kernel, gradient);
  return found;
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

FailureOr<Probabilities> fovea::emitProbabilities(const BackwardKernel &kernel,
                                                  const ScoreBlock &block) {
  return BackwardScoreEmitter(kernel, block).emitProbabilities();
}

Value fovea::roundProbabilities(const BackwardKernel &kernel,
                                const Probabilities &weights) {
  Value kept = weights.weight;
  if (weights.factor)
    kept = kernel.kb.make<arith::MulFOp>(kept, weights.factor);
  return roundScores(kernel, kept);
}

DpTerms fovea::emitDp(const BackwardKernel &kernel, const ScoreBlock &block) {
  return BackwardScoreEmitter(kernel, block).emitDp();
}

DpTerms fovea::emitDpProduct(const BackwardKernel &kernel,
                             const ScoreBlock &block) {
  BackwardScoreEmitter emitter(kernel, block);
  if (kernel.part.plan.getDot("dp").addsToSummand)
    return emitter.emitDp();
  return {emitter.multiplyPairs(emitter.getDpOperands()), Value()};
}

FailureOr<ScoreGradients>
fovea::emitScoreGradients(const BackwardKernel &kernel, const ScoreBlock &block,
                          const Probabilities &weights, const DpTerms &dp) {
  return BackwardScoreEmitter(kernel, block).emitGradients(weights, dp);
}
