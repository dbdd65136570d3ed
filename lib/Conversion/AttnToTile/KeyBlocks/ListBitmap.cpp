//===- ListBitmap.cpp - Bitmap from block-sparse lists --------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyBlocks/ListBitmap.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fovea;

ListBitmap::ListBitmap(KernelBuilder &kb, const BlockBits &bits,
                       const KernelBuilder::Work &work, int64_t columns,
                       Value length)
    : BlockBitmap(kb, columns, length), bits(bits), work(work),
      tilesPerBlock(bits.columns / columns) {
  hasFull = bool(bits.full);
}

Value ListBitmap::emitLoad(Value list, Value number) {
  constexpr int64_t kWordDim = 3;
  auto type = cast<MemRefType>(list.getType());
  Value zero = kb.constant(0);
  Value last = kb.make<arith::SubIOp>(kb.size(list, kWordDim), kb.constant(1));
  Value word = kb.make<arith::MinSIOp>(
      kb.make<arith::IndexCastOp>(kb.builder.getIndexType(), number), last);
  // An extent of 1 is broadcast.
  return kb.make<memref::LoadOp>(
      list,
      ValueRange{type.getDimSize(0) == 1 ? zero : work.batch,
                 type.getDimSize(1) == 1 ? zero : work.head,
                 kb.make<arith::DivUIOp>(work.row, kb.constant(bits.rows)),
                 word});
}

Value ListBitmap::emitListed(Value list, Value number, Value places) {
  Value words = widen(emitLoad(list, number));
  // If 32 is not a multiple of the tiles per block, a word of tiles can span
  // two words of blocks.
  if (kBlocks % tilesPerBlock != 0) {
    Value next =
        widen(emitLoad(list, kb.make<arith::AddIOp>(number, kb.integer(1))));
    Value isNext = kb.make<arith::CmpIOp>(arith::CmpIPredicate::sge, places,
                                          widen(kb.integer(kBlocks)));
    words = kb.make<arith::SelectOp>(isNext, next, words);
    places = kb.make<arith::RemUIOp>(places, widen(kb.integer(kBlocks)));
  }
  Value bit = kb.make<arith::AndIOp>(kb.make<arith::ShRUIOp>(words, places),
                                     widen(kb.integer(1)));
  return kb.make<arith::CmpIOp>(arith::CmpIPredicate::ne, bit,
                                widen(kb.integer(0)));
}

FailureOr<BlockBitmap::Word> ListBitmap::emitBlocks(Value start) {
  Value candidates = emitCandidates(start);
  Value exist = emitExist(candidates);
  Value perBlock = kb.integer(tilesPerBlock);
  Value first = kb.make<arith::DivUIOp>(start, perBlock);
  Value number = kb.make<arith::DivUIOp>(first, kb.integer(kBlocks));
  Value firstOfWord = kb.make<arith::MulIOp>(number, kb.integer(kBlocks));
  Value places = kb.make<arith::SubIOp>(
      kb.make<arith::DivUIOp>(candidates, widen(perBlock)), widen(firstOfWord));
  auto ballot = [&](Value list) -> Value {
    Value listed = emitListed(list, number, places);
    return kb.make<tile::BallotOp>(kb.make<arith::AndIOp>(listed, exist));
  };
  Value partial = ballot(bits.partial);
  if (!bits.full)
    return Word{partial, kb.integer(0)};
  Value visible = kb.make<arith::OrIOp>(partial, ballot(bits.full));
  return Word{visible, kb.make<arith::XOrIOp>(visible, partial)};
}
