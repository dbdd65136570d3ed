//===- OrderedBlocks.cpp - Blocks found at run time, in order ---*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OrderedBlocks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace fovea;

Value OrderedBlocks::integer(int64_t value) {
  return make<arith::ConstantIntOp>(value, 32);
}

SmallVector<Value> OrderedBlocks::carriedOf(const BlockWords::Word &word) {
  if (!words->hasFullBlocks())
    return {word.visible};
  return {word.visible, word.full};
}

LogicalResult OrderedBlocks::emitCounts() {
  FailureOr<BlockWords::Word> first = words->emitWord(integer(0));
  if (failed(first))
    return failure();
  FailureOr<SmallVector<Value>> sums =
      words->countBits(first->visible, [](const BlockWords::Word &word) {
        return SmallVector<Value>{word.visible};
      });
  if (failed(sums))
    return failure();
  Value one = kb.constant(1);
  Value found =
      make<arith::IndexCastOp>(kb.builder.getIndexType(), sums->front());
  count = make<arith::MaxSIOp>(found, one);
  Value blocks = make<arith::CeilDivUIOp>(words->getLength(),
                                          kb.constant(words->getColumns()));
  most = make<arith::IndexCastOp>(
      kb.builder.getI32Type(),
      make<arith::SubIOp>(make<arith::MaxSIOp>(blocks, one), one));
  isSeen = make<arith::CmpIOp>(arith::CmpIPredicate::ne, found, kb.constant(0));
  inits = {integer(0)};
  llvm::append_range(inits, carriedOf(*first));
  return success();
}

FailureOr<OrderedBlocks::Visit> OrderedBlocks::emitVisit(ValueRange carried) {
  Visit visit;
  FailureOr<SmallVector<Value>> found = words->emitRefilled(
      carried.front(), carried.drop_front(),
      [&](const BlockWords::Word &word) { return carriedOf(word); });
  if (failed(found))
    return failure();
  Value number = found->front(), left = (*found)[1];
  // Past the last block, which loops look at that look ahead, there is no bit.
  Value block = make<arith::MinSIOp>(
      make<arith::AddIOp>(words->emitStart(number),
                          make<math::CountTrailingZerosOp>(left)),
      most);
  visit.first = make<arith::IndexCastOp>(
      kb.builder.getIndexType(),
      make<arith::MulIOp>(block, integer(words->getColumns())));
  Value rest = make<arith::AndIOp>(left, make<arith::SubIOp>(left, integer(1)));
  visit.partial = make<arith::ConstantIntOp>(1, 1);
  if (words->hasFullBlocks()) {
    Value lowest = make<arith::XOrIOp>(left, rest);
    visit.partial = make<arith::CmpIOp>(
        arith::CmpIPredicate::eq, make<arith::AndIOp>(found->back(), lowest),
        integer(0));
  }
  visit.next = std::move(*found);
  visit.next[1] = rest;
  return visit;
}
