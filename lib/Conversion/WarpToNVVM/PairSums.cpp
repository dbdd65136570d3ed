//===- PairSums.cpp - Sums of pairs' elements in memory ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairSums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

Value PairSums::emitAreOne(ArrayRef<Pair> pairs) {
  Value areOne = arith::ConstantIntOp::create(b, loc, 1, 1);
  for (unsigned dim = 0; dim < pairs.front().indices.size(); ++dim) {
    Value first = pairs.front().indices[dim];
    if (!first.getType().isInteger(32)) // the same for all
      continue;
    first = emitShuffle(b, loc, first, NVVM::ShflKind::idx, emitI32(b, loc, 0));
    for (const Pair &pair : pairs)
      areOne = arith::AndIOp::create(
          b, loc, areOne,
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                pair.indices[dim], first));
  }
  return emitAll(b, loc, areOne);
}

Place PairSums::locate(const Pair &pair, Value predicate) {
  Place place = locateElement(b, loc, view, pair.indices);
  return predicate ? restrict(b, loc, place, predicate) : place;
}

void PairSums::addTogether(ArrayRef<Pair> pairs) {
  Value zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0)), sum;
  for (const Pair &pair : pairs) {
    Value element = pair.element;
    if (pair.mask)
      element = arith::SelectOp::create(b, loc, pair.mask, element, zero);
    sum =
        sum ? arith::AddFOp::create(b, loc, sum, element).getResult() : element;
  }
  constexpr int64_t kLanes = 32;
  for (int64_t distance = 1; distance < kLanes; distance *= 2)
    sum = arith::AddFOp::create(b, loc, sum,
                                emitShuffle(b, loc, sum, NVVM::ShflKind::bfly,
                                            emitI32(b, loc, distance)));
  Value lane = arith::AndIOp::create(b, loc, emitThread(b, loc),
                                     emitI32(b, loc, kLanes - 1));
  Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lane,
                                        emitI32(b, loc, 0));
  addTo(locate(pairs.front(), isFirst), sum);
}

void PairSums::addEach(ArrayRef<Pair> pairs) {
  for (const Pair &pair : pairs)
    addTo(locate(pair, pair.mask), pair.element);
}

void PairSums::add(ArrayRef<Pair> pairs) {
  auto branch = scf::IfOp::create(b, loc, emitAreOne(pairs),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  addTogether(pairs);
  b.setInsertionPointToStart(branch.elseBlock());
  addEach(pairs);
}
