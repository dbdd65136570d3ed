//===- BackwardKeySums.cpp - Sums over a tile of keys' pairs ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BackwardKeySums.h"

#include "RegionToTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;

KeySums::KeySums(const BackwardKernel &kernel) : kernel(kernel) {
  if (kernel.part.sums)
    contributions = getContributions(kernel.op, PairPlaces::Keys);
}

SmallVector<Value> KeySums::emitZeros() const {
  Value zero;
  if (!contributions.empty())
    zero = kernel.kb.splat(kernel.part.getRows(), 1, 0.0);
  return SmallVector<Value>(contributions.size(), zero);
}

SmallVector<Value> KeySums::add(ValueRange carried,
                                ArrayRef<Value> shares) const {
  return llvm::map_to_vector(
      llvm::zip_equal(carried.take_back(contributions.size()), shares),
      [&](auto pair) -> Value {
        auto [sum, share] = pair;
        return kernel.kb.make<arith::AddFOp>(sum, share);
      });
}

LogicalResult KeySums::addToMemory(Value head, ValueRange carried) const {
  if (contributions.empty())
    return success();
  KernelBuilder &kb = kernel.kb;
  attn::BackwardOp op = kernel.op;
  // No place depends on a query.
  RegionContext context =
      kernel.makeContext(head, kb.constant(0), kernel.tile.work.row);
  auto places =
      RegionToTile(kb.builder, context)
          .cloneContributionPlaces(op.getScoreGradient(), contributions);
  if (failed(places))
    return failure();
  SmallVector<Value> memory = kernel.memory.sums.getCaptureMemory(kb);
  for (auto [contribution, indices, sum] : llvm::zip_equal(
           contributions, *places, carried.take_back(contributions.size()))) {
    attn::ContributeOp add = contribution;
    unsigned number = cast<BlockArgument>(add.getTarget()).getArgNumber();
    addToSums(kb.builder, add.getLoc(), sum,
              memory[number - attn::BackwardOp::kScoreGradientArguments],
              indices, /*counts=*/Value());
  }
  return success();
}
