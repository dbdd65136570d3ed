//===- ClassifiedBlocks.cpp - Blocks found at run time ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ClassifiedBlocks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

static constexpr int64_t kWordBits = tile::BallotOp::kColumns;

ClassifiedBlocks::ClassifiedBlocks(KernelBuilder &kb,
                                   attn::AttentionOpInterface op,
                                   const RegionContext &tile,
                                   unsigned firstCapture)
    : kb(kb), op(op), summaries(kb, op.getKvClassify(), firstCapture,
                                tile.countQueries(), tile.countKeys()),
      context(tile) {
  context.summaries = &summaries;
  Operation *yield = op.getKvClassify().front().getTerminator();
  hasFull = !matchPattern(yield->getOperand(1), m_Zero());
}

Value ClassifiedBlocks::getLength() {
  return context.rowsAreKeys ? context.queryLength : context.keyLength;
}

Value ClassifiedBlocks::integer(int64_t value) {
  return make<arith::ConstantIntOp>(value, 32);
}

Value ClassifiedBlocks::toInteger(Value index) {
  return make<arith::IndexCastOp>(kb.builder.getI32Type(), index);
}

FailureOr<ClassifiedBlocks::Bits> ClassifiedBlocks::emitWord(Value number) {
  OpBuilder &b = kb.builder;
  RankedTensorType type = kb.tileType(1, kWordBits, b.getI32Type()),
                   flags = kb.tileType(1, kWordBits, b.getI1Type());
  auto widen = [&](Value value) -> Value {
    return make<tile::BroadcastOp>(kb.tileType(1, kWordBits, value.getType()),
                                   value);
  };
  Value start = make<arith::AddIOp>(
      firstBlock, make<arith::MulIOp>(number, integer(kWordBits)));
  Value candidates =
      make<arith::AddIOp>(make<tile::IotaOp>(type, 1), widen(start));
  Value exists = make<arith::CmpIOp>(arith::CmpIPredicate::slt, candidates,
                                     widen(endBlock));
  // Candidates that don't exist are asked about the last column.
  Value columns = toInteger(getLength());
  Value lastColumn = make<arith::MaxSIOp>(
      make<arith::SubIOp>(columns, integer(1)), integer(0));
  Value lastOfAll = widen(lastColumn);
  Value first =
      make<arith::MulIOp>(candidates, widen(integer(context.columns)));
  Value end = make<arith::AddIOp>(first, widen(integer(context.columns - 1)));
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
    return Bits{visible, integer(0)};
  Value all = make<arith::AndIOp>(toTile(answer->second), any);
  if (context.rowsAreKeys) {
    Value isWhole =
        make<arith::CmpIOp>(arith::CmpIPredicate::slt, end, widen(columns));
    all = make<arith::AndIOp>(all,
                              make<arith::AndIOp>(isWhole, widen(tileIsWhole)));
  }
  Value full = make<tile::BallotOp>(all);
  return Bits{make<arith::XOrIOp>(visible, full), full};
}

Value ClassifiedBlocks::emitWordCount(Value lower, Value upper) {
  Value size = kb.constant(context.columns), zero = kb.constant(0);
  firstBlock = toInteger(make<arith::DivUIOp>(lower, size));
  Value end = make<arith::CeilDivUIOp>(upper, size);
  endBlock = toInteger(end);
  Value span = make<arith::MaxSIOp>(
      make<arith::SubIOp>(end, make<arith::DivUIOp>(lower, size)), zero);
  Value wordCount = make<arith::CeilDivUIOp>(span, kb.constant(kWordBits));
  words = toInteger(wordCount);
  return wordCount;
}

FailureOr<ClassifiedBlocks::Bits> ClassifiedBlocks::countBits(Value wordCount) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  SmallVector<Value> sums = {make<math::CtPopOp>(firstWord.partial),
                             make<math::CtPopOp>(firstWord.full)};
  Value one = kb.constant(1);
  auto loop = scf::ForOp::create(b, loc, one, wordCount, one, sums);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  FailureOr<Bits> bits = emitWord(toInteger(loop.getInductionVar()));
  if (failed(bits))
    return failure();
  auto add = [&](unsigned index, Value word) -> Value {
    return make<arith::AddIOp>(loop.getRegionIterArg(index),
                               make<math::CtPopOp>(word));
  };
  sums = {add(0, bits->partial), add(1, bits->full)};
  scf::YieldOp::create(b, loc, sums);
  return Bits{loop.getResult(0), loop.getResult(1)};
}

void ClassifiedBlocks::visitAtLeastOne(Value found) {
  Value one = kb.constant(1);
  count = make<arith::MaxSIOp>(found, one);
  Value isEmpty =
      make<arith::CmpIOp>(arith::CmpIPredicate::eq, found, kb.constant(0));
  Value blocks =
      make<arith::CeilDivUIOp>(getLength(), kb.constant(context.columns));
  if (!context.rowsAreKeys) {
    least = make<arith::SelectOp>(isEmpty, toInteger(blocks), integer(0));
    return;
  }
  most = toInteger(make<arith::SubIOp>(make<arith::MaxSIOp>(blocks, one), one));
  masked = make<arith::SelectOp>(isEmpty, one, masked);
}

LogicalResult ClassifiedBlocks::emitCounts(Value lower, Value upper, Value last,
                                           bool runsOnce) {
  Type index = kb.builder.getIndexType();
  this->last = last;
  if (context.rowsAreKeys) {
    Value wholeLast =
        make<arith::AddIOp>(context.key, kb.constant(context.rows - 1));
    tileIsWhole =
        make<arith::CmpIOp>(arith::CmpIPredicate::eq, last, wholeLast);
  }
  Value wordCount = emitWordCount(lower, upper);
  // The first word stays: it is looked at again twice, and often the only one.
  FailureOr<Bits> first = emitWord(integer(0));
  if (failed(first))
    return failure();
  firstWord = *first;
  FailureOr<Bits> sums = countBits(wordCount);
  if (failed(sums))
    return failure();
  partial = masked = make<arith::IndexCastOp>(index, sums->partial);
  count = make<arith::IndexCastOp>(
      index, make<arith::AddIOp>(sums->partial, sums->full));
  if (runsOnce)
    visitAtLeastOne(count);
  inits = {integer(0), firstWord.partial};
  return success();
}

FailureOr<ValueRange> ClassifiedBlocks::emitSearch(Value number,
                                                   Value isPartial) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  SmallVector<Type> types(2, b.getI32Type());
  SmallVector<Location> locs(2, loc);
  auto loop =
      scf::WhileOp::create(b, loc, types, ValueRange{number, integer(0)});
  OpBuilder::InsertionGuard guard(b);
  Block *before = b.createBlock(&loop.getBefore(), {}, types, locs);
  Value next = make<arith::AddIOp>(before->getArgument(0), integer(1));
  FailureOr<Bits> bits = emitWord(next);
  if (failed(bits))
    return failure();
  Value wanted = bits->partial;
  if (hasFull)
    wanted = make<arith::SelectOp>(isPartial, wanted, bits->full);
  Value isEmpty =
      make<arith::CmpIOp>(arith::CmpIPredicate::eq, wanted, integer(0));
  Value isLast = make<arith::CmpIOp>(
      arith::CmpIPredicate::slt, make<arith::AddIOp>(next, integer(1)), words);
  scf::ConditionOp::create(b, loc, make<arith::AndIOp>(isEmpty, isLast),
                           ValueRange{next, wanted});
  Block *after = b.createBlock(&loop.getAfter(), {}, types, locs);
  scf::YieldOp::create(b, loc, after->getArguments());
  return ValueRange(loop.getResults());
}

LogicalResult ClassifiedBlocks::emitVisit(Block &block) {
  OpBuilder &b = kb.builder;
  Location loc = kb.getLoc();
  b.setInsertionPointToEnd(&block);
  Value n = block.getArgument(0), number = block.getArgument(1),
        bits = block.getArgument(2), isPartial;
  if (hasFull) {
    isPartial = make<tile::IsPartialOp>(n, partial, /*end=*/Value());
    // The full ones are looked for from the first word on.
    Value restarts = make<arith::CmpIOp>(arith::CmpIPredicate::eq, n, partial);
    number = make<arith::SelectOp>(restarts, integer(0), number);
    bits = make<arith::SelectOp>(restarts, firstWord.full, bits);
  }
  Value isEmpty =
      make<arith::CmpIOp>(arith::CmpIPredicate::eq, bits, integer(0));
  SmallVector<Type> types(2, b.getI32Type());
  auto branch = scf::IfOp::create(b, loc, types, isEmpty,
                                  /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  b.setInsertionPointToEnd(branch.thenBlock());
  FailureOr<ValueRange> found = emitSearch(number, isPartial);
  if (failed(found))
    return failure();
  scf::YieldOp::create(b, loc, *found);
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, loc, ValueRange{number, bits});
  b.setInsertionPointToEnd(&block);
  number = branch.getResult(0);
  bits = branch.getResult(1);

  Value start = make<arith::AddIOp>(
      firstBlock, make<arith::MulIOp>(number, integer(kWordBits)));
  Value candidate =
      make<arith::AddIOp>(start, make<math::CountTrailingZerosOp>(bits));
  if (least)
    candidate = make<arith::MaxSIOp>(candidate, least);
  if (most)
    candidate = make<arith::MinSIOp>(candidate, most);
  Value key = make<arith::IndexCastOp>(
      b.getIndexType(),
      make<arith::MulIOp>(candidate, integer(context.columns)));
  // Without its lowest bit.
  Value rest = make<arith::AndIOp>(bits, make<arith::SubIOp>(bits, integer(1)));
  tile::YieldOp::create(b, loc, ValueRange{key, number, rest});
  return success();
}
