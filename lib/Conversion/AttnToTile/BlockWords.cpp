//===- BlockWords.cpp - Which blocks see a tile, by bits --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockWords.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

Value BlockWords::integer(int64_t value) {
  return make<arith::ConstantIntOp>(value, 32);
}

Value BlockWords::toInteger(Value index) {
  return make<arith::IndexCastOp>(kb.builder.getI32Type(), index);
}

Value BlockWords::widen(Value value) {
  return make<tile::BroadcastOp>(kb.tileType(1, kBlocks, value.getType()),
                                 value);
}

void BlockWords::setRange(Value lower, Value upper) {
  Value size = kb.constant(columns), zero = kb.constant(0);
  Value first = make<arith::DivUIOp>(lower, size);
  firstBlock = toInteger(first);
  Value end = make<arith::CeilDivUIOp>(upper, size);
  endBlock = toInteger(end);
  Value span = make<arith::MaxSIOp>(make<arith::SubIOp>(end, first), zero);
  wordCount = make<arith::CeilDivUIOp>(span, kb.constant(kBlocks));
  words = toInteger(wordCount);
}

Value BlockWords::emitStart(Value number) {
  return make<arith::AddIOp>(firstBlock,
                             make<arith::MulIOp>(number, integer(kBlocks)));
}

Value BlockWords::emitCandidates(Value start) {
  RankedTensorType type = kb.tileType(1, kBlocks, kb.builder.getI32Type());
  return make<arith::AddIOp>(make<tile::IotaOp>(type, 1), widen(start));
}

Value BlockWords::emitExist(Value candidates) {
  return make<arith::CmpIOp>(arith::CmpIPredicate::slt, candidates,
                             widen(endBlock));
}

FailureOr<SmallVector<Value>> BlockWords::countBits(ValueRange first,
                                                    Choice choose) {
  OpBuilder &b = kb.builder;
  SmallVector<Value> sums = llvm::map_to_vector(
      first, [&](Value word) { return make<math::CtPopOp>(word); });
  Value one = kb.constant(1);
  auto loop = scf::ForOp::create(b, kb.getLoc(), one, wordCount, one, sums);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  FailureOr<Word> word = emitWord(toInteger(loop.getInductionVar()));
  if (failed(word))
    return failure();
  SmallVector<Value> next;
  for (auto [sum, bits] : llvm::zip(loop.getRegionIterArgs(), choose(*word)))
    next.push_back(make<arith::AddIOp>(sum, make<math::CtPopOp>(bits)));
  scf::YieldOp::create(b, kb.getLoc(), next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

FailureOr<ValueRange> BlockWords::emitSearch(Value number, TypeRange types,
                                             Choice choose) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  SmallVector<Value> inits = {number};
  inits.append(types.size() - 1, integer(0));
  SmallVector<Location> locs(types.size(), loc);
  auto loop = scf::WhileOp::create(b, loc, types, inits);
  OpBuilder::InsertionGuard guard(b);
  Block *before = b.createBlock(&loop.getBefore(), {}, types, locs);
  Value next = make<arith::AddIOp>(before->getArgument(0), integer(1));
  FailureOr<Word> word = emitWord(next);
  if (failed(word))
    return failure();
  SmallVector<Value> found = choose(*word);
  Value isEmpty =
      make<arith::CmpIOp>(arith::CmpIPredicate::eq, found.front(), integer(0));
  Value isLast = make<arith::CmpIOp>(
      arith::CmpIPredicate::slt, make<arith::AddIOp>(next, integer(1)), words);
  found.insert(found.begin(), next);
  scf::ConditionOp::create(b, loc, make<arith::AndIOp>(isEmpty, isLast), found);
  Block *after = b.createBlock(&loop.getAfter(), {}, types, locs);
  scf::YieldOp::create(b, loc, after->getArguments());
  return ValueRange(loop.getResults());
}

FailureOr<SmallVector<Value>>
BlockWords::emitRefilled(Value number, ValueRange left, Choice choose) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  SmallVector<Value> all = {number};
  llvm::append_range(all, left);
  Value isEmpty =
      make<arith::CmpIOp>(arith::CmpIPredicate::eq, left.front(), integer(0));
  SmallVector<Type> types(all.size(), b.getI32Type());
  auto branch = scf::IfOp::create(b, loc, types, isEmpty,
                                  /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.thenBlock());
  FailureOr<ValueRange> found = emitSearch(number, types, choose);
  if (failed(found))
    return failure();
  scf::YieldOp::create(b, loc, *found);
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, loc, all);
  return llvm::to_vector_of<Value>(branch.getResults());
}
