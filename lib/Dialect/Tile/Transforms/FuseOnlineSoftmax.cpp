//===- FuseOnlineSoftmax.cpp - Softmax sums as loops ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Notation: c = scale * log2(e). Weights are exp2(s * c - reference), and
// SoftmaxReference says what references are. `lazy` compares scores with them,
// so it keeps them in units of the score.
//
//===----------------------------------------------------------------------===//

#include "ScoreBounds.h"
#include "SoftmaxReference.h"

#include "fovea/Dialect/Tile/Transforms/Passes.h"
#include "fovea/Schedule/Schedule.h"
#include "fovea/Support/ValueNames.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace fovea::tile {
#define GEN_PASS_DEF_FUSEONLINESOFTMAX
#include "fovea/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fovea::tile

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

/// Columns of the narrowest product.
static constexpr int64_t kDotColumns = 8;

/// What the output so far is multiplied with, a number a row.
static constexpr StringLiteral kFactorName = "factor";

namespace {

/// What the loops leave behind, with the reference in natural units.
struct State {
  Value l, acc, reference;
};

/// Writes the loops of one softmax_sum before it.
class LoopWriter {
public:
  LoopWriter(SoftmaxSumOp op, plan::KernelAttr plan, int64_t partialSumWidth,
             bool sumByDot)
      : op(op), plan(plan), b(op.getLoc(), OpBuilder(op)),
        accType(op.getAcc().getType()), rowType(op.getM().getType()),
        scoresType(tileLike(accType,
                            {accType.getDimSize(0), int64_t(op.getStep())},
                            rowType.getElementType())),
        references(b, rowType, op.getScale().convertToDouble(),
                   mayBeLarge(getScores(op), op.getScale().convertToDouble())),
        sumByDot(sumByDot) {
    int64_t width = op.getStep() % partialSumWidth == 0 ? partialSumWidth : 1;
    if (sumByDot)
      width = kDotColumns;
    sumsType =
        tileLike(accType, {accType.getDimSize(0), width}, b.getF32Type());
  }

  State threePass();
  State normalized();
  /// With `tau` the reference follows as in `conditional`, and whoever gets the
  /// factors rescales only where some aren't 1.
  State deferred(std::optional<double> tau = std::nullopt);
  State conditional(double tau);
  State lazy(double tau);
  /// A reference that serves all scores the op can have, in base 2; none if
  /// that isn't known, or if weights by one reference would not fit the type
  /// that they are rounded to.
  std::optional<double> findFixedReference();
  /// For such a reference; no maximum is computed but that of the first block
  /// that a row sees, which chooses the reference's fraction.
  State fixed(double reference);

  void finish(State state) {
    op.getM().replaceAllUsesWith(state.reference);
    op.getL().replaceAllUsesWith(state.l);
    op.getAcc().replaceAllUsesWith(state.acc);
    op.erase();
  }

private:
  /// A step of the loop: the first key, and whether masks apply.
  struct Step {
    Value j, partial;
  };
  using StepBody = function_ref<SmallVector<Value>(Step, ValueRange)>;

  /// A loop over the blocks; `body` gets a step and the carried values and
  /// returns the next ones, which are called `names`.
  ResultRange forEachBlock(ArrayRef<StringRef> names, ArrayRef<Value> inits,
                           StepBody body);

  /// References, sums and accumulators of rows that have seen nothing.
  SmallVector<Value, 3> startOfRows() {
    return {references.getNone(), b.splat(sumsType, 0.0),
            b.splat(accType, 0.0)};
  }

  /// The body of a new op, with the builder at its end.
  Block *beginBody(IfAnyOp op) {
    SmallVector<Type> types(op.getResultTypes());
    return b.createBlock(&op.getBody(), {}, types,
                         SmallVector<Location>(types.size(), b.getLoc()));
  }

  /// The yielded values of a copy of the region, and the only one.
  SmallVector<Value> inlineAll(Region &region, ValueRange arguments);
  Value inlineRegion(Region &region, ValueRange arguments) {
    return inlineAll(region, arguments).front();
  }
  Value scoresOf(Step step) {
    return named("scores",
                 inlineRegion(op.getScores(), {step.j, step.partial}));
  }
  /// What the op's region gives.
  static Value getScores(SoftmaxSumOp op) {
    return op.getScores().front().getTerminator()->getOperand(0);
  }
  /// acc + weights * values, with the weights as the op's region changes them
  /// and rounded to the type of the values.
  Value accumulate(Value j, Value weights, Value acc);

  bool isStaged(StringRef name) {
    return plan && plan.getStream(name).isStaged;
  }
  /// A tile that another role may need than the one that computes it.
  Value staged(StringRef name, Value value) {
    return makeStaged(b, b.getLoc(), plan, name, value);
  }
  /// The name of sums by a dot: a part of the product's.
  StringAttr getSumName() {
    StringAttr name = op.getNameAttr();
    return name ? b.getStringAttr(name.getValue() + ".sum") : name;
  }
  /// The weights in the type of the values.
  Value roundWeights(Value weights);
  /// The sums that the loop carries, and one block's weights. By a dot, all
  /// columns are whole sums, since a product has no fewer columns.
  Value addToSums(Value sums, Value weights) {
    if (!sumByDot)
      return b.add(sums, partialSumsOf(weights));
    Value rounded = roundWeights(weights);
    RankedTensorType type = TileBuilder::typeOf(rounded);
    Value ones = b.splat(tileLike(type, {type.getDimSize(1), kDotColumns},
                                  type.getElementType()),
                         1.0);
    return DotOp::create(b, rounded, ones, sums,
                         /*transposeA=*/false, /*transposeB=*/false,
                         getSumName());
  }
  /// The sums with a block's weights, and the accumulator with their products.
  /// A sum by dot joins the product, behind the copy of the values.
  std::pair<Value, Value> addBlock(Value j, Value weights, Value sums,
                                   Value acc) {
    if (!sumByDot)
      sums = addToSums(sums, weights);
    acc = accumulate(j, weights, acc);
    if (sumByDot)
      sums = addToSums(sums, weights);
    return {sums, acc};
  }
  /// The row's sum, from what addToSums gave.
  Value finishSums(Value sums) {
    return sumByDot ? b.reduceColumns(ReduceKind::Max, sums, 1) : sumUp(sums);
  }
  Value sumUp(Value partialSums) {
    return b.reduceColumns(ReduceKind::Add, partialSums, 1);
  }
  Value partialSumsOf(Value weights) {
    return b.reduceColumns(ReduceKind::Add, weights, sumsType.getDimSize(1));
  }
  Value scaleRows(Value tile, Value factors) {
    return b.multiply(tile, b.widen(factors, TileBuilder::typeOf(tile)));
  }
  /// The same, but skipped where no row would change.
  Value scaleChangedRows(Value tile, Value factors);

  /// A reference that left the old one in the rows `moved`; null if that may be
  /// any.
  struct Move {
    Value reference;
    SoftmaxReference::Exponents exponents;
    Value moved;
  };
  /// The reference behind `scores`: their maximum so far, or with `tau` only
  /// where that left `m` by more.
  Move followMaximum(Value m, Value scores, std::optional<double> tau);
  /// What was summed up with `m` is multiplied with. Rows that stay get exactly
  /// 1, whatever their state.
  Value factorOf(Value m, const Move &move);

  struct LazyMove {
    SoftmaxReference::Served reference;
    Value sums, factor, moved;
  };
  /// The reference after a look at `scores`, the factor of what was summed up
  /// with the old one, and the rows that moved. Rescales `sums`, if given.
  LazyMove moveReference(const SoftmaxReference::Served &old, Value sums,
                         Value scores, Value isShown, double tau);
  /// Whether rows that are held may see some of the block; null if they all
  /// may.
  Value isShown(Step step);
  /// Whether the step may be the first one that some row sees.
  Value mayBeFirst(Step step);
  /// The references `m` of rows. Where one is open (-inf) and the row sees some
  /// of the block, it becomes `reference` plus the fraction by which the
  /// largest of `scores` is above that.
  Value alignReference(double reference, Value m, Value scores);

  SoftmaxSumOp op;
  plan::KernelAttr plan; ///< null if the kernel has none
  TileBuilder b;
  RankedTensorType accType, rowType, scoresType, sumsType;
  SoftmaxReference references;
  bool sumByDot;
};

} // namespace

/// Names what a loop carries; ops with several results have one name for all.
static void nameCarried(ArrayRef<StringRef> names, ValueRange values) {
  for (auto [name, value] : llvm::zip_equal(names, values))
    if (!value.getDefiningOp() || value.getDefiningOp()->getNumResults() == 1)
      named(name, value);
}

ResultRange LoopWriter::forEachBlock(ArrayRef<StringRef> names,
                                     ArrayRef<Value> inits, StepBody body) {
  auto loop = ForBlocksOp::create(
      b, ValueRange(inits).getTypes(), op.getLower(), op.getUpper(),
      op.getFullLower(), op.getFullUpper(), op.getCount(), op.getMasked(),
      op.getInits(), inits, op.getStep(), op.getDescending());
  // Some recurrences have several loops.
  IRMapping mapping;
  op.getVisit().cloneInto(&loop.getVisit(), mapping);
  SmallVector<Type> types = {b.getIndexType(), b.getI1Type()};
  llvm::append_range(types, loop.getResultTypes());
  OpBuilder::InsertionGuard guard(b);
  Block *block = b.createBlock(&loop.getBody(), {}, types,
                               SmallVector<Location>(types.size(), b.getLoc()));
  Step step = {named("key", block->getArgument(0)),
               named("is_partial", block->getArgument(1))};
  ValueRange carried = block->getArguments().drop_front(2);
  nameCarried(names, carried);
  SmallVector<Value> next = body(step, carried);
  nameCarried(names, next);
  YieldOp::create(b, next);
  return loop.getResults();
}

SmallVector<Value> LoopWriter::inlineAll(Region &region, ValueRange arguments) {
  IRMapping mapping;
  mapping.map(region.getArguments(), arguments);
  for (Operation &inner : region.front().without_terminator())
    b.clone(inner, mapping);
  return llvm::map_to_vector(
      region.front().getTerminator()->getOperands(),
      [&](Value value) { return mapping.lookupOrDefault(value); });
}

Value LoopWriter::roundWeights(Value weights) {
  auto valuesType = cast<RankedTensorType>(
      op.getValues().front().getTerminator()->getOperand(0).getType());
  RankedTensorType roundedType =
      tileLike(scoresType, scoresType.getShape(), valuesType.getElementType());
  if (roundedType == weights.getType())
    return weights;
  return arith::TruncFOp::create(b, roundedType, weights);
}

Value LoopWriter::accumulate(Value j, Value weights, Value acc) {
  if (!op.getWeights().empty())
    weights = inlineRegion(op.getWeights(), {j, weights});
  weights = staged("p", named("p", roundWeights(weights)));
  Value values = inlineRegion(op.getValues(), {j});
  return DotOp::create(b, weights, values, acc,
                       /*transposeA=*/false, /*transposeB=*/false,
                       op.getNameAttr());
}

State LoopWriter::threePass() {
  Value reference = forEachBlock(
      {"row_max"}, {references.getNone()}, [&](Step step, ValueRange carried) {
        return SmallVector<Value>{
            b.maximum(carried[0], references.maximumOf(scoresOf(step)))};
      })[0];
  auto exponents = references.makeExponents(reference);
  Value sums = forEachBlock(
      {"row_sums"}, {b.splat(sumsType, 0.0)},
      [&](Step step, ValueRange carried) {
        Value weights = references.weightsOf(scoresOf(step), exponents);
        return SmallVector<Value>{b.add(carried[0], partialSumsOf(weights))};
      })[0];
  Value acc = forEachBlock(
      {"acc"}, {b.splat(accType, 0.0)}, [&](Step step, ValueRange carried) {
        Value weights = references.weightsOf(scoresOf(step), exponents);
        return SmallVector<Value>{accumulate(step.j, weights, carried[0])};
      })[0];
  return {sumUp(sums), acc, references.toNatural(reference)};
}

State LoopWriter::normalized() {
  ResultRange results = forEachBlock(
      {"row_max", "row_sum", "acc"},
      {references.getNone(), b.splat(rowType, 0.0), b.splat(accType, 0.0)},
      [&](Step step, ValueRange carried) {
        Value m = carried[0], l = carried[1], acc = carried[2];
        Value scores = scoresOf(step);
        Value next = b.maximum(m, references.maximumOf(scores));
        auto exponents = references.makeExponents(next);
        Value weights = references.weightsOf(scores, exponents);
        Value kept = b.multiply(l, references.rescaleFrom(m, exponents));
        Value sum = b.add(kept, sumUp(weights));
        acc = accumulate(step.j, weights, scaleRows(acc, kept));
        Value inverse = b.select(b.isEqual(sum, 0.0), b.splat(rowType, 0.0),
                                 b.divide(b.splat(rowType, 1.0), sum));
        return SmallVector<Value>{next, sum, scaleRows(acc, inverse)};
      });
  return {results[1], scaleRows(results[2], results[1]),
          references.toNatural(results[0])};
}

LoopWriter::Move LoopWriter::followMaximum(Value m, Value scores,
                                           std::optional<double> tau) {
  Value next = b.maximum(m, references.maximumOf(scores)), moved;
  if (tau) {
    moved = references.exceeds(next, m, *tau);
    next = b.select(moved, next, m);
  }
  return {next, references.makeExponents(next), moved};
}

Value LoopWriter::factorOf(Value m, const Move &move) {
  Value factor = references.rescaleFrom(m, move.exponents);
  return move.moved ? b.select(move.moved, factor, b.splat(rowType, 1.0))
                    : factor;
}

Value LoopWriter::scaleChangedRows(Value tile, Value factors) {
  Value changes = b.compare(arith::CmpFPredicate::UNE, factors,
                            b.splat(TileBuilder::typeOf(factors), 1.0));
  auto rescale = IfAnyOp::create(b, changes, ValueRange{tile});
  OpBuilder::InsertionGuard insertion(b);
  Block *body = beginBody(rescale);
  YieldOp::create(b, scaleRows(body->getArgument(0), factors));
  return rescale.getResult(0);
}

State LoopWriter::deferred(std::optional<double> tau) {
  ResultRange results = forEachBlock(
      {"row_max", "row_sums", "acc"}, startOfRows(),
      [&](Step step, ValueRange carried) {
        Value m = carried[0], sums = carried[1], acc = carried[2];
        Value scores = scoresOf(step);
        Move move = followMaximum(m, scores, tau);
        Value factor = named("factor", factorOf(m, move));
        // Who rescales the output can do so while weights are computed.
        Value sent = staged(kFactorName, factor);
        Value weights = references.weightsOf(scores, move.exponents);
        if (sumByDot)
          sums = scaleRows(sums, factor);
        else
          sums = b.multiplyAdd(sums, b.widen(factor, sumsType),
                               partialSumsOf(weights));
        Value scaled = tau ? scaleChangedRows(acc, sent) : scaleRows(acc, sent);
        acc = accumulate(step.j, weights, scaled);
        if (sumByDot) // as in addBlock
          sums = addToSums(sums, weights);
        return SmallVector<Value>{move.reference, sums, acc};
      });
  return {finishSums(results[1]), results[2], references.toNatural(results[0])};
}

State LoopWriter::conditional(double tau) {
  // Another role rescales the output, by the factors that it gets. Rows' own
  // sums are cheaper rescaled than voted on.
  if (isStaged(kFactorName))
    return deferred(tau);
  ResultRange results = forEachBlock(
      {"row_max", "row_sums", "acc"}, startOfRows(),
      [&](Step step, ValueRange carried) {
        Value m = carried[0], sums = carried[1], acc = carried[2];
        Value scores = scoresOf(step);
        Move move = followMaximum(m, scores, tau);
        Value weights = references.weightsOf(scores, move.exponents);
        auto rescale = IfAnyOp::create(b, move.moved, ValueRange{sums, acc});
        {
          OpBuilder::InsertionGuard insertion(b);
          Block *body = beginBody(rescale);
          Value factor = named("factor", factorOf(m, move));
          Value scaledSums = scaleRows(body->getArgument(0), factor);
          Value scaledAcc = scaleRows(body->getArgument(1), factor);
          YieldOp::create(b, ValueRange{scaledSums, scaledAcc});
        }
        std::tie(sums, acc) = addBlock(step.j, weights, rescale.getResult(0),
                                       rescale.getResult(1));
        return SmallVector<Value>{move.reference, sums, acc};
      });
  return {finishSums(results[1]), results[2], references.toNatural(results[0])};
}

//===----------------------------------------------------------------------===//
// Lazy
//===----------------------------------------------------------------------===//

Value LoopWriter::isShown(Step step) {
  if (op.getVisible().empty())
    return {};
  // Only masked blocks may be hidden; in loops without masks this folds.
  auto branch = scf::IfOp::create(b, b.getI1Type(), step.partial,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.thenBlock());
  Value end = arith::AddIOp::create(
      b, step.j, arith::ConstantIndexOp::create(b, op.getStep()));
  Value endsAbove = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, end,
                                          op.getVisible()[0]);
  Value startsBelow = arith::CmpIOp::create(b, arith::CmpIPredicate::slt,
                                            step.j, op.getVisible()[1]);
  Value both = arith::AndIOp::create(b, endsAbove, startsBelow);
  scf::YieldOp::create(b, both);
  b.setInsertionPointToEnd(branch.elseBlock());
  Value yes = arith::ConstantIntOp::create(b, 1, 1);
  scf::YieldOp::create(b, yes);
  return branch.getResult(0);
}

LoopWriter::LazyMove
LoopWriter::moveReference(const SoftmaxReference::Served &old, Value sums,
                          Value scores, Value isShown, double tau) {
  RankedTensorType scoreBitsType =
      tileLike(scoresType, scoresType.getShape(), b.getI32Type());
  Value bits = arith::BitcastOp::create(b, scoreBitsType, scores);
  Value most = b.reduceColumns(ReduceKind::Max, bits, sumsType.getDimSize(1));
  Value grown =
      b.isAtLeast(most, b.widen(old.threshold, TileBuilder::typeOf(most)));
  // Rows without a reference ask for one in each block, also where they see
  // nothing.
  if (isShown)
    grown = arith::AndIOp::create(
        b, grown, BroadcastOp::create(b, grown.getType(), isShown));
  RankedTensorType flagType =
      tileLike(rowType, rowType.getShape(), b.getI1Type());
  SmallVector<Value> inits = old.getValues();
  size_t ofReference = inits.size();
  if (sums)
    inits.push_back(sums);
  inits.append({b.splat(rowType, 1.0), b.splat(flagType, 0)});
  auto move = IfAnyOp::create(b, grown, inits);
  OpBuilder::InsertionGuard insertion(b);
  Block *body = beginBody(move);
  SmallVector<StringRef> names = references.getServedNames();
  if (sums)
    names.push_back("row_sums");
  names.append({"factor", "moved"});
  nameCarried(names, body->getArguments());
  Value m = body->getArgument(0), threshold = body->getArgument(2);
  Value maximum = named("row_max", b.reduceColumns(ReduceKind::Max, scores, 1));
  // Only rows that asked may move, even if `maximum` is kept in a wider type
  // than the one whose bits were compared. NaN stays out of the reference: it
  // makes weights and sums NaN by itself.
  Value asked =
      b.isAtLeast(b.reduceColumns(ReduceKind::Max, most, 1), threshold);
  Value exceeds = b.compare(arith::CmpFPredicate::OGT, maximum,
                            references.mostServed(m, tau));
  Value moved = arith::AndIOp::create(b, exceeds, asked);
  Value reference = b.select(moved, maximum, m);
  SoftmaxReference::Served next =
      references.makeServed(reference, references.mostServed(reference, tau));
  Value factor =
      b.select(moved, references.weightsOf(m, next), b.splat(rowType, 1.0));
  SmallVector<Value> results = next.getValues();
  if (sums)
    results.push_back(scaleRows(body->getArgument(ofReference), factor));
  results.append({factor, moved});
  nameCarried(names, results);
  YieldOp::create(b, results);
  ResultRange now = move.getResults();
  return {SoftmaxReference::Served::from(now.take_front(ofReference)),
          sums ? Value(now[ofReference]) : Value(), now.drop_back().back(),
          now.back()};
}

State LoopWriter::lazy(double tau) {
  SmallVector<Value> inits = references.getNoneServed().getValues();
  size_t ofReference = inits.size();
  inits.append({b.splat(sumsType, 0.0), b.splat(accType, 0.0)});
  SmallVector<StringRef> names = references.getServedNames();
  names.append({"row_sums", "acc"});
  ResultRange results =
      forEachBlock(names, inits, [&](Step step, ValueRange carried) {
        auto old =
            SoftmaxReference::Served::from(carried.take_front(ofReference));
        Value scores = scoresOf(step);
        // Sums by dot are with the matrix units, as the accumulator is.
        Value sums = carried[ofReference], acc = carried[ofReference + 1];
        LazyMove move = moveReference(old, sumByDot ? Value() : sums, scores,
                                      isShown(step), tau);
        Value weights =
            named("weights", references.weightsOf(scores, move.reference));
        if (!sumByDot)
          sums = addToSums(move.sums, weights);
        SmallVector<Value> state = {acc};
        if (sumByDot)
          state.push_back(sums);
        auto rescale = IfAnyOp::create(b, move.moved, state);
        {
          OpBuilder::InsertionGuard insertion(b);
          Block *body = beginBody(rescale);
          SmallVector<Value> scaled;
          for (BlockArgument old : body->getArguments())
            scaled.push_back(scaleRows(old, move.factor));
          YieldOp::create(b, scaled);
        }
        acc = accumulate(step.j, weights, rescale.getResult(0));
        if (sumByDot)
          sums = addToSums(rescale.getResult(1), weights);
        SmallVector<Value> next = move.reference.getValues();
        next.append({sums, acc});
        return next;
      });
  // Two roundings as elsewhere, unless a factor of log2(e) could overflow.
  bool isLarge = references.mayBeLarge();
  Value scaled =
      isLarge ? results[0] : b.multiply(results[0], references.getFactor());
  Value sums = finishSums(results[ofReference]);
  return {sums, results[ofReference + 1],
          isLarge ? references.toNatural(scaled) : b.multiply(scaled, kLn2)};
}

//===----------------------------------------------------------------------===//
// A fixed reference
//===----------------------------------------------------------------------===//

// Powers of two that a row's weights may be below its largest one, and that any
// may be above 1: sums of 2^31 products with values up to 2^48 stay finite.
static constexpr int kWeightRange = 24, kMostWeight = 48;

std::optional<double> LoopWriter::findFixedReference() {
  std::optional<ScoreBounds> bounds = getScoreBounds(getScores(op));
  if (!bounds)
    return std::nullopt;
  auto values = cast<RankedTensorType>(
      op.getValues().front().getTerminator()->getOperand(0).getType());
  const llvm::fltSemantics &type =
      cast<FloatType>(values.getElementType()).getFloatSemantics();
  double factor = references.getFactor(), least = bounds->least * factor,
         most = bounds->most * factor;
  // The largest weight of any row must keep a normal range below it.
  // The reference may be up to 1 larger.
  double above =
             most - std::min(kMostWeight, APFloat::semanticsMaxExponent(type)),
         below = least - APFloat::semanticsMinExponent(type) - kWeightRange - 1;
  if (above > below)
    return std::nullopt;
  // As many powers of two for large values as for small ones.
  return std::clamp((least + most) / 2, above, below);
}

Value LoopWriter::mayBeFirst(Step step) {
  // Upwards, the first block may need no mask.
  if (op.isVisiting() || op.getDescending())
    return step.partial;
  Value isFirst =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, step.j, op.getLower());
  return arith::OrIOp::create(b, isFirst, step.partial);
}

Value LoopWriter::alignReference(double reference, Value m, Value scores) {
  const double none = -std::numeric_limits<double>::infinity();
  Value isOpen = b.isEqual(m, none);
  auto align = IfAnyOp::create(b, isOpen, ValueRange{m});
  OpBuilder::InsertionGuard insertion(b);
  Block *body = beginBody(align);
  Value old = body->getArgument(0);
  Value most = b.reduceColumns(ReduceKind::Max, scores, 1);
  Value above = b.multiplyAdd(most, b.splat(rowType, references.getFactor()),
                              b.splat(rowType, -reference));
  Value fraction = b.subtract(above, math::FloorOp::create(b, above));
  Value aligned = b.add(fraction, b.splat(rowType, reference));
  Value next = b.select(b.isEqual(most, none), old, aligned);
  YieldOp::create(b, ValueRange{b.select(isOpen, next, old)});
  return align.getResult(0);
}

/// A weight that is a power of two is not rounded for the product, and where a
/// row sees few keys, or many that are alike, the largest weight's rounding is
/// the output's error. So the largest weight of the first block that a row sees
/// becomes a power of two.
State LoopWriter::fixed(double reference) {
  // What serves rows that have seen nothing yet, or no block with a mask.
  auto guard = [&](Value m) {
    return b.select(b.isEqual(m, -std::numeric_limits<double>::infinity()),
                    b.splat(rowType, reference), m);
  };
  ResultRange results = forEachBlock(
      {"row_max", "row_sums", "acc"}, startOfRows(),
      [&](Step step, ValueRange carried) {
        Value scores = scoresOf(step);
        auto branch =
            scf::IfOp::create(b, TypeRange{rowType, rowType}, mayBeFirst(step),
                              /*withElseRegion=*/true);
        {
          OpBuilder::InsertionGuard insertion(b);
          b.setInsertionPointToEnd(branch.thenBlock());
          Value aligned = alignReference(reference, carried[0], scores);
          scf::YieldOp::create(b, ValueRange{aligned, guard(aligned)});
          // All rows see all of such a block, and keep the reference that they
          // see it with. In loops without masks this remains.
          b.setInsertionPointToEnd(branch.elseBlock());
          Value kept = guard(carried[0]);
          scf::YieldOp::create(b, ValueRange{kept, kept});
        }
        Value m = branch.getResult(0);
        Value weights = references.weightsOf(
            scores, SoftmaxReference::Exponents{branch.getResult(1), Value()});
        auto [sums, acc] = addBlock(step.j, weights, carried[1], carried[2]);
        return SmallVector<Value>{m, sums, acc};
      });
  Value l = finishSums(results[1]);
  // Rows that saw nothing have no reference.
  Value m =
      b.select(b.isEqual(l, 0.0), b.minusInfinity(rowType), guard(results[0]));
  return {l, results[2], b.multiply(m, kLn2)};
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {

struct FuseOnlineSoftmax
    : fovea::tile::impl::FuseOnlineSoftmaxBase<FuseOnlineSoftmax> {
  using FuseOnlineSoftmaxBase::FuseOnlineSoftmaxBase;

  void runOnKernel() override {
    if (failed(resolveOptions()))
      return signalPassFailure();
    SmallVector<SoftmaxSumOp> sums;
    getOperation().walk([&](SoftmaxSumOp op) { sums.push_back(op); });
    for (SoftmaxSumOp op : sums) {
      if (failed(verifyTauFits(op)))
        return signalPassFailure();
      FailureOr<bool> sumByDot = canSumByDot(op);
      if (failed(sumByDot))
        return signalPassFailure();
      LoopWriter writer(op, plan, partialSumWidth, *sumByDot);
      writer.finish(write(writer));
      ++numFused;
    }
    RewritePatternSet patterns(&getContext());
    populateExpandSoftmaxStatePatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }

private:
  State write(LoopWriter &writer) {
    std::optional<double> reference;
    if (fixedReference && chosen != RecurrenceKind::ThreePass &&
        chosen != RecurrenceKind::Normalized)
      reference = writer.findFixedReference();
    if (reference) {
      ++numFixed;
      return writer.fixed(*reference);
    }
    switch (chosen) {
    case RecurrenceKind::ThreePass:
      return writer.threePass();
    case RecurrenceKind::Normalized:
      return writer.normalized();
    case RecurrenceKind::Deferred:
      return writer.deferred();
    case RecurrenceKind::Conditional:
      return writer.conditional(chosenTau);
    case RecurrenceKind::Lazy:
      return writer.lazy(chosenTau);
    }
    llvm_unreachable("unknown recurrence");
  }

  /// What the options leave open, the kernel's plan says.
  LogicalResult resolveOptions() {
    if (partialSumWidth < 1)
      return getOperation().emitError()
             << "partial-sum-width must be positive, found "
             << partialSumWidth.getValue();
    if (!std::isfinite(tau))
      return getOperation().emitError()
             << "tau must be finite, found " << tau.getValue();
    launch::AbiOp abi = launch::lookupAbi(getOperation());
    plan = abi ? abi.getPlan() : plan::KernelAttr();
    chosen = recurrence;
    if (recurrence == kScheduleRecurrence)
      chosen = abi ? abi.getPlan()->recurrence : RecurrenceKind::Deferred;
    chosenTau = tau;
    if (tau < 0.0)
      chosenTau = abi ? double(abi.getPlan()->tau) : 8.0;
    return success();
  }

  /// Whether a dot adds up the weights. Where the plan says so and it
  /// can't, the plan is changed, or this fails.
  FailureOr<bool> canSumByDot(SoftmaxSumOp op) {
    launch::AbiOp abi = launch::lookupAbi(getOperation());
    if (!abi || !abi.getPlan()->sumByDot)
      return false;
    std::string reason;
    if (chosen == RecurrenceKind::ThreePass ||
        chosen == RecurrenceKind::Normalized)
      reason = ("'" + stringifyRecurrenceKind(chosen) +
                "' adds up weights apart from the product")
                   .str();
    else if (!op.getWeights().empty())
      reason = "the product's weights are not those of the sum";
    else if (op.getStep() % kDotColumns != 0)
      reason = ("blocks must be a multiple of " + Twine(kDotColumns) +
                " keys, found " + Twine(op.getStep()))
                   .str();
    if (reason.empty())
      return true;
    if (failed(fovea::reportMissed(op, abi, "sum_by_dot", reason)))
      return failure();
    abi.setPlanAttr(abi.getPlan().change(
        [](plan::KernelPlan &kernel) { kernel.sumByDot = false; }));
    return false;
  }

  /// Weights reach 2^tau before they are rounded to the values' type.
  LogicalResult verifyTauFits(SoftmaxSumOp op) {
    if (chosen != RecurrenceKind::Conditional && chosen != RecurrenceKind::Lazy)
      return success();
    auto values = cast<RankedTensorType>(
        op.getValues().front().getTerminator()->getOperand(0).getType());
    auto type = cast<FloatType>(values.getElementType());
    APFloat largest = APFloat::getLargest(type.getFloatSemantics());
    bool inexact;
    largest.convert(APFloat::IEEEdouble(), APFloat::rmTowardZero, &inexact);
    if (std::exp2(chosenTau) <= largest.convertToDouble())
      return success();
    return op.emitOpError("tau must keep 2^tau within ")
           << type << ", found " << chosenTau;
  }

  plan::KernelAttr plan;
  RecurrenceKind chosen = RecurrenceKind::Deferred;
  double chosenTau = 0.0;
};

} // namespace
