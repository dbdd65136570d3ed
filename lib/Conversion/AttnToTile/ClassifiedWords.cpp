//===- ClassifiedWords.cpp - Blocks asked about at run time -----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ClassifiedWords.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

ClassifiedWords::ClassifiedWords(KernelBuilder &kb,
                                 attn::AttentionOpInterface op,
                                 const RegionContext &tile,
                                 unsigned firstCapture)
    : kb(kb), op(op), summaries(kb, op.getKvClassify(), firstCapture,
                                tile.countQueries(), tile.countKeys()),
      context(tile) {
  Operation *yield = op.getKvClassify().front().getTerminator();
  hasFull = !matchPattern(yield->getOperand(1), m_Zero());
}

Value ClassifiedWords::integer(int64_t value) {
  return make<arith::ConstantIntOp>(value, 32);
}

Value ClassifiedWords::toInteger(Value index) {
  return make<arith::IndexCastOp>(kb.builder.getI32Type(), index);
}

Value ClassifiedWords::widen(Value value) {
  return make<tile::BroadcastOp>(kb.tileType(1, kBlocks, value.getType()),
                                 value);
}

void ClassifiedWords::setRange(Value lower, Value upper, Value last,
                               int64_t alignment) {
  this->last = last;
  if (context.rowsAreKeys) {
    Value wholeLast =
        make<arith::AddIOp>(context.key, kb.constant(context.rows - 1));
    tileIsWhole =
        make<arith::CmpIOp>(arith::CmpIPredicate::eq, last, wholeLast);
  }
  Value size = kb.constant(context.columns), zero = kb.constant(0);
  Value first = make<arith::DivUIOp>(lower, size);
  if (alignment > 1) {
    lowerBlock = toInteger(first);
    Value unit = kb.constant(alignment);
    first = make<arith::MulIOp>(make<arith::DivUIOp>(first, unit), unit);
  }
  firstBlock = toInteger(first);
  Value end = make<arith::CeilDivUIOp>(upper, size);
  endBlock = toInteger(end);
  Value span = make<arith::MaxSIOp>(make<arith::SubIOp>(end, first), zero);
  wordCount = make<arith::CeilDivUIOp>(span, kb.constant(kBlocks));
  words = toInteger(wordCount);
}

Value ClassifiedWords::emitStart(Value number) {
  return make<arith::AddIOp>(firstBlock,
                             make<arith::MulIOp>(number, integer(kBlocks)));
}

Value ClassifiedWords::emitExist(Value candidates) {
  Value exist = make<arith::CmpIOp>(arith::CmpIPredicate::slt, candidates,
                                    widen(endBlock));
  if (!lowerBlock)
    return exist;
  Value isBehind = make<arith::CmpIOp>(arith::CmpIPredicate::sge, candidates,
                                       widen(lowerBlock));
  return make<arith::AndIOp>(exist, isBehind);
}

FailureOr<ClassifiedWords::Word> ClassifiedWords::emitBlocks(Value start) {
  OpBuilder &b = kb.builder;
  RankedTensorType type = kb.tileType(1, kBlocks, b.getI32Type()),
                   flags = kb.tileType(1, kBlocks, b.getI1Type());
  Value candidates =
      make<arith::AddIOp>(make<tile::IotaOp>(type, 1), widen(start));
  Value exists = emitExist(candidates);
  // Candidates that don't exist are asked about the last column.
  Value columns = toInteger(getLength());
  Value lastColumn = make<arith::MaxSIOp>(
      make<arith::SubIOp>(columns, integer(1)), integer(0));
  Value lastOfAll = widen(lastColumn);
  Value first =
      make<arith::MulIOp>(candidates, widen(integer(context.columns)));
  Value end = make<arith::AddIOp>(first, widen(integer(context.columns - 1)));
  context.summaries = &summaries;
  FailureOr<std::pair<Value, Value>> answer =
      RegionToTile(b, context)
          .cloneClassify(op.getKvClassify(), last,
                         {make<arith::IndexCastOp>(b.getIndexType(), start),
                          make<arith::MinSIOp>(first, lastOfAll),
                          make<arith::MinSIOp>(end, lastOfAll)});
  if (failed(answer))
    return failure();
  auto toTile = [&](Value flag) {
    return flag.getType() == flags ? flag : widen(flag);
  };
  Value any = make<arith::AndIOp>(toTile(answer->first), exists);
  Value visible = make<tile::BallotOp>(any);
  if (!hasFull)
    return Word{visible, integer(0)};
  Value all = make<arith::AndIOp>(toTile(answer->second), any);
  if (context.rowsAreKeys) {
    Value isWhole =
        make<arith::CmpIOp>(arith::CmpIPredicate::slt, end, widen(columns));
    all = make<arith::AndIOp>(all,
                              make<arith::AndIOp>(isWhole, widen(tileIsWhole)));
  }
  return Word{visible, make<tile::BallotOp>(all)};
}

FailureOr<SmallVector<Value>> ClassifiedWords::countBits(ValueRange first,
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

FailureOr<ValueRange> ClassifiedWords::emitSearch(Value number, TypeRange types,
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
ClassifiedWords::emitRefilled(Value number, ValueRange left, Choice choose) {
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
