//===- Dropout.cpp - Dropout masks ----------------------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Regions/Dropout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;

DropoutStream fovea::emitDropoutStream(KernelBuilder &kb,
                                       attn::AttentionOpInterface op,
                                       Value batch, Value head) {
  OpBuilder &b = kb.builder;
  Location loc = op->getLoc();
  Type i64 = b.getI64Type();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, loc, value, 64);
  };
  // Seed and offset are the last operands before block-sparse lists.
  unsigned end = op->getNumOperands() - op.getBlockLists().size() -
                 op.getQueryBlockLists().size();
  Value seed = kb.operandArgument(end - 2),
        offset = kb.operandArgument(end - 1);
  // One half of the offset is in the counter, the other in the key.
  Value high = arith::AndIOp::create(b, loc, offset, constant(~0xFFFFFFFFll));
  Value key = arith::XOrIOp::create(b, loc, seed, high);
  auto widen = [&](Value index) -> Value {
    return arith::IndexCastOp::create(b, loc, i64, index);
  };
  Value number = arith::AddIOp::create(
      b, loc,
      arith::MulIOp::create(b, loc, widen(batch),
                            widen(kb.size(kb.operandArgument(0), 1))),
      widen(head));
  Value stream = arith::OrIOp::create(
      b, loc, number, arith::ShLIOp::create(b, loc, offset, constant(32)));
  return {key, stream};
}

Value fovea::emitIsKept(KernelBuilder &kb, attn::AttentionOpInterface op,
                        DropoutStream numbers, Value row, Value column,
                        int64_t rows, int64_t columns, int64_t keyDim) {
  OpBuilder &b = kb.builder;
  Location loc = op->getLoc();
  RankedTensorType type = kb.tileType(rows, columns, b.getI32Type());
  Value drawn =
      tile::RandomOp::create(b, loc, type, numbers.key, numbers.stream, row,
                             column, keyDim, op.getDropoutGenerator());
  kb.generator = b.getI64IntegerAttr(op.getDropoutGenerator());
  Value dropped = arith::ConstantOp::create(
      b, loc, DenseElementsAttr::get(type, int32_t(op.getDroppedShare())));
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, drawn,
                               dropped);
}
