//===- BackwardResults.cpp - Stores of gradients --------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backward/BackwardResults.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;

void fovea::storeGradient(const BackwardKernel &kernel, Value sums,
                          const GradientRows &rows) {
  KernelBuilder &kb = kernel.kb;
  const BackwardTile &tile = kernel.tile;
  Value result =
      kb.resultArgument(cast<OpResult>(rows.result).getResultNumber());
  Type target = cast<MemRefType>(result.getType()).getElementType();
  if (!target.isF32())
    sums = kb.make<arith::TruncFOp>(
        cast<RankedTensorType>(sums.getType()).clone(target), sums);
  bool ofQueries = kernel.part.hasQueryTiles();
  Value row =
      ofQueries ? kernel.toQueryRow(rows.row) : kernel.toKeyRow(rows.row);
  auto store = tile::StoreOp::create(
      kb.builder, kb.getLoc(), sums, result,
      ValueRange{tile.memoryBatch, tile.work.head, row, kb.constant(0)},
      ArrayRef<int64_t>{2, 3}, kb.builder.getStringAttr(rows.name));
  // Rows past the end belong to the next sequence.
  if (tile.queryLimit)
    store.getLimitMutable().assign(ofQueries ? tile.queryLimit : tile.keyLimit);
}

void fovea::storeScaledGradient(const BackwardKernel &kernel, Value sums,
                                const GradientRows &rows) {
  KernelBuilder &kb = kernel.kb;
  attn::BackwardOp op = kernel.op;
  auto type = cast<RankedTensorType>(sums.getType());
  Value scale;
  if (std::optional<double> constant = op.getConstantScale())
    scale = kb.splat(type.getDimSize(0), type.getDimSize(1), *constant);
  else
    scale = kb.make<tile::BroadcastOp>(
        type, kb.operandArgument(op.getFirstVariantOperand()));
  storeGradient(kernel, kb.make<arith::MulFOp>(sums, scale), rows);
}
