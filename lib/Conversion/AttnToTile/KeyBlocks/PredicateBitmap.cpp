//===- PredicateBitmap.cpp - Bitmap from kv_classify ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyBlocks/PredicateBitmap.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea;

PredicateBitmap::PredicateBitmap(KernelBuilder &kb,
                                 attn::AttentionOpInterface op,
                                 const RegionContext &tile,
                                 unsigned firstCapture)
    : BlockBitmap(kb, tile.columns,
                  tile.rowsAreKeys ? tile.queryLength : tile.keyLength),
      op(op), minMaxBuffers(kb, op.getKvClassify(), firstCapture,
                            tile.countQueries(), tile.countKeys()),
      context(tile) {
  Operation *yield = op.getKvClassify().front().getTerminator();
  hasFull = !matchPattern(yield->getOperand(1), m_Zero());
}

void PredicateBitmap::setLastRow(Value row) {
  last = row;
  if (!context.rowsAreKeys)
    return;
  Value wholeLast =
      kb.make<arith::AddIOp>(context.key, kb.constant(context.rows - 1));
  tileIsWhole =
      kb.make<arith::CmpIOp>(arith::CmpIPredicate::eq, last, wholeLast);
}

FailureOr<BlockBitmap::Word> PredicateBitmap::emitBlocks(Value start) {
  OpBuilder &b = kb.builder;
  RankedTensorType flags = kb.tileType(1, kBlocks, b.getI1Type());
  Value candidates = emitCandidates(start);
  Value exists = emitExist(candidates);
  // Candidates past the end are evaluated at the last column.
  Value columns = kb.toInteger(length);
  Value lastColumn = kb.make<arith::MaxSIOp>(
      kb.make<arith::SubIOp>(columns, kb.integer(1)), kb.integer(0));
  Value lastOfAll = widen(lastColumn);
  Value first =
      kb.make<arith::MulIOp>(candidates, widen(kb.integer(context.columns)));
  Value end =
      kb.make<arith::AddIOp>(first, widen(kb.integer(context.columns - 1)));
  context.minMaxBuffers = &minMaxBuffers;
  FailureOr<std::pair<Value, Value>> answer =
      RegionToTile(b, context)
          .cloneClassify(op.getKvClassify(), last,
                         {kb.make<arith::IndexCastOp>(b.getIndexType(), start),
                          kb.make<arith::MinSIOp>(first, lastOfAll),
                          kb.make<arith::MinSIOp>(end, lastOfAll)});
  if (failed(answer))
    return failure();
  auto toTile = [&](Value flag) {
    return flag.getType() == flags ? flag : widen(flag);
  };
  Value any = kb.make<arith::AndIOp>(toTile(answer->first), exists);
  Value visible = kb.make<tile::BallotOp>(any);
  if (!hasFull)
    return Word{visible, kb.integer(0)};
  Value all = kb.make<arith::AndIOp>(toTile(answer->second), any);
  if (context.rowsAreKeys) {
    Value isWhole =
        kb.make<arith::CmpIOp>(arith::CmpIPredicate::slt, end, widen(columns));
    all = kb.make<arith::AndIOp>(
        all, kb.make<arith::AndIOp>(isWhole, widen(tileIsWhole)));
  }
  return Word{visible, kb.make<tile::BallotOp>(all)};
}
