//===- PredicateBlocks.cpp - Runtime-selected blocks ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyBlocks/PredicateBlocks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fovea;

SmallVector<Value> PredicateBlocks::parted(const PredicateBitmap::Word &word) {
  if (!hasFull)
    return {word.visible, word.full};
  return {kb.make<arith::XOrIOp>(word.visible, word.full), word.full};
}

void PredicateBlocks::visitAtLeastOne(Value found) {
  Value one = kb.constant(1);
  count = kb.make<arith::MaxSIOp>(found, one);
  Value isEmpty =
      kb.make<arith::CmpIOp>(arith::CmpIPredicate::eq, found, kb.constant(0));
  Value blocks = kb.make<arith::CeilDivUIOp>(words.getLength(),
                                             kb.constant(words.getColumns()));
  if (!words.haveRowsOfKeys()) {
    least =
        kb.make<arith::SelectOp>(isEmpty, kb.toInteger(blocks), kb.integer(0));
    return;
  }
  most = kb.toInteger(
      kb.make<arith::SubIOp>(kb.make<arith::MaxSIOp>(blocks, one), one));
  masked = kb.make<arith::SelectOp>(isEmpty, one, masked);
}

LogicalResult PredicateBlocks::emitCounts(Value lower, Value upper, Value last,
                                          bool runsOnce) {
  Type index = kb.builder.getIndexType();
  words.setLastRow(last);
  words.setRange(lower, upper);
  // The first word stays live: it is used twice more, and is often the only
  // one.
  FailureOr<PredicateBitmap::Word> word = words.emitWord(kb.integer(0));
  if (failed(word))
    return failure();
  SmallVector<Value> first = parted(*word);
  firstFull = first.back();
  FailureOr<SmallVector<Value>> sums =
      words.countBits(first, [&](const auto &word) { return parted(word); });
  if (failed(sums))
    return failure();
  partial = masked = kb.make<arith::IndexCastOp>(index, sums->front());
  count = kb.make<arith::IndexCastOp>(
      index, kb.make<arith::AddIOp>(sums->front(), sums->back()));
  if (runsOnce)
    visitAtLeastOne(count);
  inits = {kb.integer(0), first.front()};
  return success();
}

LogicalResult PredicateBlocks::emitVisit(Block &block) {
  OpBuilder &b = kb.builder;
  b.setInsertionPointToEnd(&block);
  Value n = block.getArgument(0), number = block.getArgument(1),
        bits = block.getArgument(2), isPartial;
  if (hasFull) {
    isPartial = kb.make<tile::IsPartialOp>(n, partial, /*end=*/Value());
    // The search for full blocks restarts at the first word.
    Value restarts =
        kb.make<arith::CmpIOp>(arith::CmpIPredicate::eq, n, partial);
    number = kb.make<arith::SelectOp>(restarts, kb.integer(0), number);
    bits = kb.make<arith::SelectOp>(restarts, firstFull, bits);
  }
  auto choose = [&](const PredicateBitmap::Word &word) -> SmallVector<Value> {
    SmallVector<Value> kinds = parted(word);
    if (!hasFull)
      return {kinds.front()};
    return {kb.make<arith::SelectOp>(isPartial, kinds.front(), kinds.back())};
  };
  FailureOr<SmallVector<Value>> found =
      words.emitRefilled(number, bits, choose);
  if (failed(found))
    return failure();
  number = found->front();
  bits = found->back();

  Value candidate = kb.make<arith::AddIOp>(
      words.emitStart(number), kb.make<math::CountTrailingZerosOp>(bits));
  if (least)
    candidate = kb.make<arith::MaxSIOp>(candidate, least);
  if (most)
    candidate = kb.make<arith::MinSIOp>(candidate, most);
  Value key = kb.make<arith::IndexCastOp>(
      b.getIndexType(),
      kb.make<arith::MulIOp>(candidate, kb.integer(words.getColumns())));
  // Clears the lowest bit.
  Value rest =
      kb.make<arith::AndIOp>(bits, kb.make<arith::SubIOp>(bits, kb.integer(1)));
  tile::YieldOp::create(b, kb.getLoc(), ValueRange{key, number, rest});
  return success();
}
