//===- LazySoftmax.cpp - The lazy recurrence ------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes a row maximum only if a score exceeds the softmax offset by more
// than tau. An integer comparison of the scores' bits detects this.
//
//===----------------------------------------------------------------------===//

#include "SoftmaxLoops.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

Value SoftmaxLoopWriter::isShown(Step step) {
  if (op.getVisible().empty())
    return {};
  // Only masked blocks can be invisible. In loops without masks this folds.
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

SoftmaxLoopWriter::LazyMove
SoftmaxLoopWriter::moveReference(const SoftmaxReference::Served &old,
                                 Value sums, Value peaks, Value scores,
                                 Value isShown, double tau) {
  RankedTensorType scoreBitsType =
      tileLike(scoresType, scoresType.getShape(), b.getI32Type());
  Value bits = arith::BitcastOp::create(b, scoreBitsType, scores);
  Value most = b.reduceColumns(ReduceKind::Max, bits, sumsType.getDimSize(1));
  // The offset already covers the scores of earlier blocks, so `peaks` does not
  // trigger a new offset.
  if (peaks)
    most = arith::MaxSIOp::create(b, peaks, most);
  Value grown =
      b.isAtLeast(most, b.widen(old.threshold, TileBuilder::typeOf(most)));
  // Rows without an offset request one in each block, even if they see no key.
  if (isShown)
    grown = arith::AndIOp::create(
        b, grown, BroadcastOp::create(b, grown.getType(), isShown));
  RankedTensorType flagType =
      tileLike(rowType, rowType.getShape(), b.getI1Type());
  SmallVector<Value> inits = old.getValues();
  size_t ofReference = inits.size();
  if (sums)
    inits.push_back(sums);
  size_t ofPeaks = inits.size();
  if (peaks)
    inits.push_back(most);
  inits.append({b.splat(rowType, 1.0), b.splat(flagType, 0)});
  auto move = IfAnyOp::create(b, grown, inits);
  OpBuilder::InsertionGuard insertion(b);
  Block *body = beginBody(move);
  SmallVector<StringRef> names = references.getServedNames();
  if (sums)
    names.push_back("row_sums");
  if (peaks)
    names.push_back("peaks");
  names.append({"factor", "moved"});
  nameCarried(names, body->getArguments());
  auto before = SoftmaxReference::Served::from(
      body->getArguments().take_front(ofReference));
  Value m = before.m, threshold = before.threshold;
  Value maximum = named("row_max", b.reduceColumns(ReduceKind::Max, scores, 1));
  // Only rows that requested a new offset may change it, even if `maximum` has
  // a wider type than the compared bits. NaN does not enter the offset: it
  // already makes the probabilities and sums NaN.
  Value asked =
      b.isAtLeast(b.reduceColumns(ReduceKind::Max, most, 1), threshold);
  Value exceeds = b.compare(arith::CmpFPredicate::OGT, maximum,
                            references.mostServed(m, tau));
  Value moved = arith::AndIOp::create(b, exceeds, asked);
  Value reference = b.select(moved, references.below(maximum), m);
  SoftmaxReference::Served next =
      references.makeServed(reference, references.mostServed(reference, tau));
  Value factor = b.select(moved, references.rescaleFrom(before, next),
                          b.splat(rowType, 1.0));
  SmallVector<Value> results = next.getValues();
  if (sums)
    results.push_back(scaleRows(body->getArgument(ofReference), factor));
  if (peaks) {
    // Based on the maximum: the first block of a row needs no other value.
    RankedTensorType bitsType = TileBuilder::typeOf(peaks);
    Value bits =
        arith::BitcastOp::create(b, TileBuilder::typeOf(threshold), maximum);
    Value largest = arith::MaxSIOp::create(b, peaks, b.widen(bits, bitsType));
    results.push_back(b.select(b.widen(asked, bitsType), largest,
                               body->getArgument(ofPeaks)));
  }
  results.append({factor, moved});
  nameCarried(names, results);
  YieldOp::create(b, results);
  ResultRange now = move.getResults();
  return {SoftmaxReference::Served::from(now.take_front(ofReference)),
          sums ? Value(now[ofReference]) : Value(),
          peaks ? Value(now[ofPeaks]) : Value(), now.drop_back().back(),
          now.back()};
}

SoftmaxState SoftmaxLoopWriter::lazy(double tau) {
  SmallVector<Value> inits = references.getNoneServed().getValues();
  size_t ofReference = inits.size(), parts = op.getAccs().size();
  inits.push_back(b.splat(sumsType, 0.0));
  inits.append(zeroAccs());
  SmallVector<StringRef> names = references.getServedNames();
  names.push_back("row_sums");
  names = withAccNames(names);
  bool corrects = correctsPeak();
  if (corrects) {
    RankedTensorType bitsType =
        tileLike(sumsType, sumsType.getShape(), b.getI32Type());
    inits.push_back(b.splat(bitsType, std::numeric_limits<int32_t>::min()));
    names.push_back("peaks");
  }
  ResultRange results =
      forEachBlock(names, inits, [&](Step step, ValueRange carried) {
        auto old =
            SoftmaxReference::Served::from(carried.take_front(ofReference));
        Value scores = scoresOf(step);
        // Row sums by dot are accumulators of the MMA unit, like the output.
        Value sums = carried[ofReference];
        LazyMove move = moveReference(old, sumByDot ? Value() : sums,
                                      corrects ? carried.back() : Value(),
                                      scores, isShown(step), tau);
        Value weights =
            named("weights", references.weightsOf(scores, move.reference));
        if (!sumByDot)
          sums = addToSums(move.sums, weights);
        SmallVector<Value> state(carried.slice(ofReference + 1, parts));
        if (sumByDot)
          state.push_back(sums);
        auto rescale = IfAnyOp::create(b, move.moved, state);
        {
          OpBuilder::InsertionGuard insertion(b);
          Block *body = beginBody(rescale);
          YieldOp::create(b, scaleAllRows(body->getArguments(), move.factor));
        }
        SmallVector<Value> accs =
            accumulate(step.j, weights, rescale.getResults().take_front(parts));
        if (sumByDot)
          sums = addToSums(rescale.getResults().back(), weights);
        SmallVector<Value> next = move.reference.getValues();
        next.push_back(sums);
        next.append(accs);
        if (corrects)
          next.push_back(move.peaks);
        return next;
      });
  // Two roundings, as in the other recurrences, unless a factor of log2(e)
  // could overflow.
  bool isLarge = references.mayBeLarge();
  Value scaled = isLarge ? results[0] : references.scaled(results[0]);
  SoftmaxState state = {
      finishSums(results[ofReference]),
      llvm::to_vector_of<Value>(results.slice(ofReference + 1, parts)),
      isLarge ? references.toNatural(scaled) : b.multiply(scaled, kLn2)};
  if (!corrects)
    return state;
  // The integer order of negative scores is reversed, but if all scores are
  // negative, the offset is the largest one.
  Value bits = b.reduceColumns(ReduceKind::Max, results.back(), 1);
  Value isPositive = b.isAtLeast(bits, b.splat(TileBuilder::typeOf(bits), 0));
  Value peak = b.select(isPositive, arith::BitcastOp::create(b, rowType, bits),
                        references.above(results[0]));
  return correctPeak(
      state, references.weightsOf(peak, SoftmaxReference::Served::from(
                                            results.take_front(ofReference))));
}
