//===- ListedWords.cpp - Listed blocks, by bits -----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ListedWords.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace fovea;

ListedWords::ListedWords(KernelBuilder &kb, const BlockBits &bits,
                         const KernelBuilder::Work &work, int64_t columns,
                         Value length)
    : BlockWords(kb, columns, length), bits(bits), work(work),
      tilesPerBlock(bits.columns / columns) {
  hasFull = bool(bits.full);
}

Value ListedWords::emitLoad(Value list, Value number) {
  constexpr int64_t kWordDim = 3;
  auto type = cast<MemRefType>(list.getType());
  Value zero = kb.constant(0);
  Value last = make<arith::SubIOp>(kb.size(list, kWordDim), kb.constant(1));
  Value word = make<arith::MinSIOp>(
      make<arith::IndexCastOp>(kb.builder.getIndexType(), number), last);
  // An extent of 1 stands for all.
  return make<memref::LoadOp>(
      list,
      ValueRange{type.getDimSize(0) == 1 ? zero : work.batch,
                 type.getDimSize(1) == 1 ? zero : work.head,
                 make<arith::DivUIOp>(work.row, kb.constant(bits.rows)), word});
}

Value ListedWords::emitListed(Value list, Value number, Value places) {
  Value words = widen(emitLoad(list, number));
  // Blocks of some lengths go on in the next word.
  if (kBlocks % tilesPerBlock != 0) {
    Value next = widen(emitLoad(list, make<arith::AddIOp>(number, integer(1))));
    Value isNext = make<arith::CmpIOp>(arith::CmpIPredicate::sge, places,
                                       widen(integer(kBlocks)));
    words = make<arith::SelectOp>(isNext, next, words);
    places = make<arith::RemUIOp>(places, widen(integer(kBlocks)));
  }
  Value bit = make<arith::AndIOp>(make<arith::ShRUIOp>(words, places),
                                  widen(integer(1)));
  return make<arith::CmpIOp>(arith::CmpIPredicate::ne, bit, widen(integer(0)));
}

FailureOr<BlockWords::Word> ListedWords::emitBlocks(Value start) {
  Value candidates = emitCandidates(start);
  Value exist = emitExist(candidates);
  Value perBlock = integer(tilesPerBlock);
  Value first = make<arith::DivUIOp>(start, perBlock);
  Value number = make<arith::DivUIOp>(first, integer(kBlocks));
  Value firstOfWord = make<arith::MulIOp>(number, integer(kBlocks));
  Value places = make<arith::SubIOp>(
      make<arith::DivUIOp>(candidates, widen(perBlock)), widen(firstOfWord));
  auto ballot = [&](Value list) -> Value {
    Value listed = emitListed(list, number, places);
    return make<tile::BallotOp>(make<arith::AndIOp>(listed, exist));
  };
  Value partial = ballot(bits.partial);
  if (!bits.full)
    return Word{partial, integer(0)};
  Value visible = make<arith::OrIOp>(partial, ballot(bits.full));
  return Word{visible, make<arith::XOrIOp>(visible, partial)};
}
