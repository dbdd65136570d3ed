//===- SoftmaxLoops.cpp - Loops of the softmax recurrences ----------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoftmaxLoops.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

/// The stream of the factors that rescale the output, one per row.
static constexpr StringLiteral kFactorName = "factor";

/// Names loop-carried values; the results of one op share one name.
void fovea::tile::nameCarried(ArrayRef<StringRef> names, ValueRange values) {
  for (auto [name, value] : llvm::zip_equal(names, values))
    if (!value.getDefiningOp() || value.getDefiningOp()->getNumResults() == 1)
      named(name, value);
}

ResultRange SoftmaxLoopWriter::forEachBlock(ArrayRef<StringRef> names,
                                            ArrayRef<Value> inits,
                                            StepBody body) {
  auto loop = ForBlocksOp::create(
      b, ValueRange(inits).getTypes(), op.getLower(), op.getUpper(),
      op.getFullLower(), op.getFullUpper(), op.getCount(), op.getMasked(),
      op.getInits(), inits, op.getStep(), op.getDescending());
  // Some recurrences have several loops, so the region is cloned.
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

Value SoftmaxLoopWriter::roundWeights(Value weights) {
  RankedTensorType type = TileBuilder::typeOf(weights);
  FloatType element = op.getValueElementType();
  RankedTensorType roundedType = tileLike(type, type.getShape(), element);
  if (roundedType == type)
    return weights;
  // The headroom keeps them finite, so no check for an overflow is needed.
  arith::FastMathFlagsAttr flags;
  if (element.getWidth() == 8)
    flags = arith::FastMathFlagsAttr::get(b.getContext(),
                                          arith::FastMathFlags::ninf);
  return arith::TruncFOp::create(b, roundedType, weights,
                                 arith::RoundingModeAttr(), flags);
}

SmallVector<Value> SoftmaxLoopWriter::accumulate(Value j, Value weights,
                                                 ValueRange accs) {
  if (!op.getWeights().empty())
    weights = inlineRegion(op.getWeights(), {j, weights});
  weights = staged("p", named("p", roundWeights(weights)));
  SmallVector<Value> values = cloneBody(b, op.getValues(), {j});
  SmallVector<Value> next;
  for (auto [part, acc] : llvm::enumerate(accs)) {
    auto [tile, first, isWhole] = op.getValueColumns(part);
    next.push_back(DotOp::create(
        b, weights, values[tile], acc,
        /*transposeA=*/false, /*transposeB=*/false, op.getDotName(part),
        /*firstRow=*/IntegerAttr(),
        isWhole ? IntegerAttr() : b.getI64IntegerAttr(first)));
  }
  return next;
}

// If the softmax offset is not exactly the row maximum, the largest probability
// of a row is not a power of two: the product uses its rounded value, the sum
// does not. For a row with one dominant key this is the whole error of the
// output, as large as the rounding of the output itself; a gradient then takes
// the difference of the output and that key's value. The sum therefore uses the
// rounded largest probability, too.

bool SoftmaxLoopWriter::correctsPeak() {
  return !sumByDot && op.getWeights().empty() &&
         !op.getValueElementType().isF32();
}

SoftmaxState SoftmaxLoopWriter::correctPeak(SoftmaxState state, Value peak) {
  Value rounded = arith::ExtFOp::create(b, rowType, roundWeights(peak));
  Value added = b.subtract(rounded, peak);
  // The offset changes so that the log-sum-exp stays the same. Rows with an
  // empty sum add nothing.
  constexpr double kLeastSum = 0x1p-100;
  Value share =
      b.divide(added, b.maximum(state.l, b.splat(rowType, kLeastSum)));
  Value growth = b.log2(b.add(share, b.splat(rowType, 1.0)));
  return {b.add(state.l, added), state.accs,
          b.multiplyAdd(growth, b.splat(rowType, -kLn2), state.reference)};
}

SoftmaxState SoftmaxLoopWriter::threePass() {
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
  ResultRange accs = forEachBlock(
      withAccNames({}), zeroAccs(), [&](Step step, ValueRange carried) {
        Value weights = references.weightsOf(scoresOf(step), exponents);
        return accumulate(step.j, weights, carried);
      });
  return {sumUp(sums), llvm::to_vector_of<Value>(accs),
          references.toNatural(reference)};
}

SoftmaxState SoftmaxLoopWriter::normalized() {
  SmallVector<Value> inits = {references.getNone(), b.splat(rowType, 0.0)};
  inits.append(zeroAccs());
  ResultRange results = forEachBlock(
      withAccNames({"row_max", "row_sum"}), inits,
      [&](Step step, ValueRange carried) {
        Value m = carried[0], l = carried[1];
        Value scores = scoresOf(step);
        Value next = b.maximum(m, references.maximumOf(scores));
        auto exponents = references.makeExponents(next);
        Value weights = references.weightsOf(scores, exponents);
        Value kept = b.multiply(l, references.rescaleFrom(m, exponents));
        Value sum = b.add(kept, sumUp(weights));
        SmallVector<Value> accs = accumulate(
            step.j, weights, scaleAllRows(carried.drop_front(2), kept));
        Value inverse = b.select(b.isEqual(sum, 0.0), b.splat(rowType, 0.0),
                                 b.divide(b.splat(rowType, 1.0), sum));
        SmallVector<Value> carry = {next, sum};
        carry.append(scaleAllRows(accs, inverse));
        return carry;
      });
  return {results[1], scaleAllRows(results.drop_front(2), results[1]),
          references.toNatural(results[0])};
}

SoftmaxLoopWriter::Move
SoftmaxLoopWriter::followMaximum(Value m, Value scores,
                                 std::optional<double> tau) {
  Value next = b.maximum(m, references.maximumOf(scores)), moved;
  if (tau) {
    moved = references.exceeds(next, m, *tau);
    next = b.select(moved, next, m);
  }
  return {next, references.makeExponents(next), moved};
}

Value SoftmaxLoopWriter::factorOf(Value m, const Move &move) {
  Value factor = references.rescaleFrom(m, move.exponents);
  return move.moved ? b.select(move.moved, factor, b.splat(rowType, 1.0))
                    : factor;
}

Value SoftmaxLoopWriter::scaleChangedRows(Value tile, Value factors) {
  Value changes = b.compare(arith::CmpFPredicate::UNE, factors,
                            b.splat(TileBuilder::typeOf(factors), 1.0));
  auto rescale = IfAnyOp::create(b, changes, ValueRange{tile});
  OpBuilder::InsertionGuard insertion(b);
  Block *body = beginBody(rescale);
  YieldOp::create(b, scaleRows(body->getArgument(0), factors));
  return rescale.getResult(0);
}

SoftmaxState SoftmaxLoopWriter::deferred(std::optional<double> tau) {
  ResultRange results = forEachBlock(
      withAccNames({"row_max", "row_sums"}), startOfRows(),
      [&](Step step, ValueRange carried) {
        Value m = carried[0], sums = carried[1];
        ValueRange accs = carried.drop_front(2);
        Value scores = scoresOf(step);
        Move move = followMaximum(m, scores, tau);
        Value factor = named("factor", factorOf(m, move));
        // The role that rescales the output runs while probabilities are
        // computed.
        Value sent = staged(kFactorName, factor);
        Value weights = references.weightsOf(scores, move.exponents);
        if (sumByDot)
          sums = scaleRows(sums, factor);
        else
          sums = b.multiplyAdd(sums, b.widen(factor, sumsType),
                               partialSumsOf(weights));
        // One branch for each accumulator, as another role may own it.
        SmallVector<Value> scaled = llvm::map_to_vector(accs, [&](Value acc) {
          return tau ? scaleChangedRows(acc, sent) : scaleRows(acc, sent);
        });
        SmallVector<Value> sum = accumulate(step.j, weights, scaled);
        if (sumByDot) // as in addBlock
          sums = addToSums(sums, weights);
        SmallVector<Value> next = {move.reference, sums};
        next.append(sum);
        return next;
      });
  SoftmaxState state = {finishSums(results[1]),
                        llvm::to_vector_of<Value>(results.drop_front(2)),
                        references.toNatural(results[0])};
  // Offsets in units of the exponent have the rounding that probabilities use.
  if (tau || !references.mayBeLarge() || !correctsPeak())
    return state;
  return correctPeak(
      state, references.weightsOf(references.above(results[0]),
                                  references.makeExponents(results[0])));
}

SoftmaxState SoftmaxLoopWriter::conditional(double tau) {
  // Another role rescales the output by the factors that it receives. The row
  // sums are cheaper to rescale always than under a ballot.
  if (isStaged(kFactorName))
    return deferred(tau);
  ResultRange results = forEachBlock(
      withAccNames({"row_max", "row_sums"}), startOfRows(),
      [&](Step step, ValueRange carried) {
        Value m = carried[0];
        Value scores = scoresOf(step);
        Move move = followMaximum(m, scores, tau);
        Value weights = references.weightsOf(scores, move.exponents);
        auto rescale = IfAnyOp::create(b, move.moved, carried.drop_front());
        {
          OpBuilder::InsertionGuard insertion(b);
          Block *body = beginBody(rescale);
          Value factor = named("factor", factorOf(m, move));
          YieldOp::create(b, scaleAllRows(body->getArguments(), factor));
        }
        SmallVector<Value> next = {move.reference};
        next.append(addBlock(step.j, weights, rescale.getResult(0),
                             rescale.getResults().drop_front()));
        return next;
      });
  return {finishSums(results[1]),
          llvm::to_vector_of<Value>(results.drop_front(2)),
          references.toNatural(results[0])};
}
