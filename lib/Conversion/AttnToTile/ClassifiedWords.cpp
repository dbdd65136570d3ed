//===- ClassifiedWords.cpp - Blocks asked about at run time -----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ClassifiedWords.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

ClassifiedWords::ClassifiedWords(KernelBuilder &kb,
                                 attn::AttentionOpInterface op,
                                 const RegionContext &tile,
                                 unsigned firstCapture)
    : BlockWords(kb, tile.columns,
                 tile.rowsAreKeys ? tile.queryLength : tile.keyLength),
      op(op), summaries(kb, op.getKvClassify(), firstCapture,
                        tile.countQueries(), tile.countKeys()),
      context(tile) {
  Operation *yield = op.getKvClassify().front().getTerminator();
  hasFull = !matchPattern(yield->getOperand(1), m_Zero());
}

void ClassifiedWords::setLastRow(Value row) {
  last = row;
  if (!context.rowsAreKeys)
    return;
  Value wholeLast =
      make<arith::AddIOp>(context.key, kb.constant(context.rows - 1));
  tileIsWhole = make<arith::CmpIOp>(arith::CmpIPredicate::eq, last, wholeLast);
}

FailureOr<BlockWords::Word> ClassifiedWords::emitBlocks(Value start) {
  OpBuilder &b = kb.builder;
  RankedTensorType flags = kb.tileType(1, kBlocks, b.getI1Type());
  Value candidates = emitCandidates(start);
  Value exists = emitExist(candidates);
  // Candidates that don't exist are asked about the last column.
  Value columns = toInteger(length);
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
