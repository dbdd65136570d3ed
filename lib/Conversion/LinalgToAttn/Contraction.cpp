//===- Contraction.cpp - Contractions of two tensors ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea::raising;

Value fovea::raising::skipFloatCasts(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(def))
      break;
    value = def->getOperand(0);
  }
  return value;
}

Value fovea::raising::getSummand(linalg::LinalgOp op, unsigned result) {
  Value yielded = op.getBlock()->getTerminator()->getOperand(result);
  auto add = skipFloatCasts(yielded).getDefiningOp<arith::AddFOp>();
  if (!add || add->getBlock() != op.getBlock())
    return {};
  Value sum = op.getMatchingBlockArgument(op.getDpsInitOperand(result));
  for (unsigned side : {0, 1})
    if (skipFloatCasts(add->getOperand(side)) == sum)
      return add->getOperand(1 - side);
  return {};
}

/// True if the body adds the product of the two inputs. The linalg interface
/// accepts any unary op before the product; only conversions are allowed here.
static bool multipliesInputs(linalg::LinalgOp op) {
  Value summand = getSummand(op, 0);
  if (!summand)
    return false;
  auto product = skipFloatCasts(summand).getDefiningOp<arith::MulFOp>();
  if (!product)
    return false;
  Value a = skipFloatCasts(product.getLhs()),
        b = skipFloatCasts(product.getRhs());
  Value x = op.getBlock()->getArgument(0), y = op.getBlock()->getArgument(1);
  return (a == x && b == y) || (a == y && b == x);
}

std::optional<Contraction> Contraction::get(Operation *operation) {
  auto op = dyn_cast_or_null<linalg::LinalgOp>(operation);
  if (!op || !op.hasPureTensorSemantics() || op.getNumDpsInputs() != 2 ||
      op.getNumDpsInits() != 1 || !linalg::isaContractionOpInterface(op) ||
      !multipliesInputs(op))
    return std::nullopt;
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  if (reductions.size() != 1)
    return std::nullopt;
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type || type.getEncoding())
      return std::nullopt;
  }
  // The result must have all parallel loops and not the reduction loop.
  AffineMap map = op.getIndexingMapMatchingResult(op->getResult(0));
  if (map.getNumResults() != op.getNumParallelLoops() ||
      map.isFunctionOfDim(reductions.front()))
    return std::nullopt;
  return Contraction{op, reductions.front()};
}
