//===- BlockBitmap.cpp - Bitmap of the blocks of a tile -------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyBlocks/BlockBitmap.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fovea;

Value BlockBitmap::widen(Value value) {
  return kb.make<tile::BroadcastOp>(kb.tileType(1, kBlocks, value.getType()),
                                    value);
}

void BlockBitmap::setRange(Value lower, Value upper) {
  Value size = kb.constant(columns), zero = kb.constant(0);
  Value first = kb.make<arith::DivUIOp>(lower, size);
  firstBlock = kb.toInteger(first);
  Value end = kb.make<arith::CeilDivUIOp>(upper, size);
  endBlock = kb.toInteger(end);
  Value span =
      kb.make<arith::MaxSIOp>(kb.make<arith::SubIOp>(end, first), zero);
  wordCount = kb.make<arith::CeilDivUIOp>(span, kb.constant(kBlocks));
  words = kb.toInteger(wordCount);
}

Value BlockBitmap::emitStart(Value number) {
  return kb.make<arith::AddIOp>(
      firstBlock, kb.make<arith::MulIOp>(number, kb.integer(kBlocks)));
}

Value BlockBitmap::emitCandidates(Value start) {
  RankedTensorType type = kb.tileType(1, kBlocks, kb.builder.getI32Type());
  return kb.make<arith::AddIOp>(kb.make<tile::IotaOp>(type, 1), widen(start));
}

Value BlockBitmap::emitExist(Value candidates) {
  return kb.make<arith::CmpIOp>(arith::CmpIPredicate::slt, candidates,
                                widen(endBlock));
}

FailureOr<SmallVector<Value>> BlockBitmap::countBits(ValueRange first,
                                                     Choice choose) {
  OpBuilder &b = kb.builder;
  SmallVector<Value> sums = llvm::map_to_vector(
      first, [&](Value word) { return kb.make<math::CtPopOp>(word); });
  Value one = kb.constant(1);
  auto loop = scf::ForOp::create(b, kb.getLoc(), one, wordCount, one, sums);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  FailureOr<Word> word = emitWord(kb.toInteger(loop.getInductionVar()));
  if (failed(word))
    return failure();
  SmallVector<Value> next;
  for (auto [sum, bits] : llvm::zip(loop.getRegionIterArgs(), choose(*word)))
    next.push_back(kb.make<arith::AddIOp>(sum, kb.make<math::CtPopOp>(bits)));
  scf::YieldOp::create(b, kb.getLoc(), next);
  return llvm::to_vector_of<Value>(loop.getResults());
}

FailureOr<ValueRange> BlockBitmap::emitSearch(Value number, TypeRange types,
                                              Choice choose) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  SmallVector<Value> inits = {number};
  inits.append(types.size() - 1, kb.integer(0));
  SmallVector<Location> locs(types.size(), loc);
  auto loop = scf::WhileOp::create(b, loc, types, inits);
  OpBuilder::InsertionGuard guard(b);
  Block *before = b.createBlock(&loop.getBefore(), {}, types, locs);
  Value next = kb.make<arith::AddIOp>(before->getArgument(0), kb.integer(1));
  FailureOr<Word> word = emitWord(next);
  if (failed(word))
    return failure();
  SmallVector<Value> found = choose(*word);
  Value isEmpty = kb.make<arith::CmpIOp>(arith::CmpIPredicate::eq,
                                         found.front(), kb.integer(0));
  Value isLast = kb.make<arith::CmpIOp>(
      arith::CmpIPredicate::slt, kb.make<arith::AddIOp>(next, kb.integer(1)),
      words);
  found.insert(found.begin(), next);
  scf::ConditionOp::create(b, loc, kb.make<arith::AndIOp>(isEmpty, isLast),
                           found);
  Block *after = b.createBlock(&loop.getAfter(), {}, types, locs);
  scf::YieldOp::create(b, loc, after->getArguments());
  return ValueRange(loop.getResults());
}

FailureOr<SmallVector<Value>>
BlockBitmap::emitRefilled(Value number, ValueRange left, Choice choose) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  SmallVector<Value> all = {number};
  llvm::append_range(all, left);
  Value isEmpty = kb.make<arith::CmpIOp>(arith::CmpIPredicate::eq, left.front(),
                                         kb.integer(0));
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
