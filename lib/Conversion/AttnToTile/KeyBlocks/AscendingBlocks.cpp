//===- AscendingBlocks.cpp - Runtime-selected blocks, in order ------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyBlocks/AscendingBlocks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fovea;

SmallVector<Value> AscendingBlocks::carriedOf(const BlockBitmap::Word &word) {
  if (!words->hasFullBlocks())
    return {word.visible};
  return {word.visible, word.full};
}

LogicalResult AscendingBlocks::emitCounts() {
  FailureOr<BlockBitmap::Word> first = words->emitWord(kb.integer(0));
  if (failed(first))
    return failure();
  FailureOr<SmallVector<Value>> sums =
      words->countBits(first->visible, [](const BlockBitmap::Word &word) {
        return SmallVector<Value>{word.visible};
      });
  if (failed(sums))
    return failure();
  Value one = kb.constant(1);
  Value found =
      kb.make<arith::IndexCastOp>(kb.builder.getIndexType(), sums->front());
  count = kb.make<arith::MaxSIOp>(found, one);
  Value blocks = kb.make<arith::CeilDivUIOp>(words->getLength(),
                                             kb.constant(words->getColumns()));
  most = kb.make<arith::IndexCastOp>(
      kb.builder.getI32Type(),
      kb.make<arith::SubIOp>(kb.make<arith::MaxSIOp>(blocks, one), one));
  isSeen =
      kb.make<arith::CmpIOp>(arith::CmpIPredicate::ne, found, kb.constant(0));
  inits = {kb.integer(0)};
  llvm::append_range(inits, carriedOf(*first));
  return success();
}

FailureOr<AscendingBlocks::Visit>
AscendingBlocks::emitVisit(ValueRange carried) {
  Visit visit;
  FailureOr<SmallVector<Value>> found = words->emitRefilled(
      carried.front(), carried.drop_front(),
      [&](const BlockBitmap::Word &word) { return carriedOf(word); });
  if (failed(found))
    return failure();
  Value number = found->front(), left = (*found)[1];
  // Prefetching iterations run past the last block, where no bit is set.
  Value block = kb.make<arith::MinSIOp>(
      kb.make<arith::AddIOp>(words->emitStart(number),
                             kb.make<math::CountTrailingZerosOp>(left)),
      most);
  visit.first = kb.make<arith::IndexCastOp>(
      kb.builder.getIndexType(),
      kb.make<arith::MulIOp>(block, kb.integer(words->getColumns())));
  Value rest =
      kb.make<arith::AndIOp>(left, kb.make<arith::SubIOp>(left, kb.integer(1)));
  visit.partial = kb.make<arith::ConstantIntOp>(1, 1);
  if (words->hasFullBlocks()) {
    Value lowest = kb.make<arith::XOrIOp>(left, rest);
    visit.partial = kb.make<arith::CmpIOp>(
        arith::CmpIPredicate::eq, kb.make<arith::AndIOp>(found->back(), lowest),
        kb.integer(0));
  }
  visit.next = std::move(*found);
  visit.next[1] = rest;
  return visit;
}
