//===- CaptureGradsByKey.cpp - Capture gradients per key ------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CaptureGrads/CaptureGradsByKey.h"

#include "Regions/RegionToTile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fovea;

KeySums::KeySums(const BackwardKernel &kernel) : kernel(kernel) {
  if (kernel.part.sums)
    shares = getKeyShares(kernel.op);
}

SmallVector<Value> KeySums::emitZeros() const {
  Value zero;
  if (!shares.empty())
    zero = kernel.kb.splat(kernel.part.getRows(), 1, 0.0);
  return SmallVector<Value>(shares.size(), zero);
}

SmallVector<Value> KeySums::add(ValueRange carried,
                                ArrayRef<Value> found) const {
  return llvm::map_to_vector(
      llvm::zip_equal(carried.take_back(shares.size()), found),
      [&](auto pair) -> Value {
        auto [sum, share] = pair;
        return kernel.kb.make<arith::AddFOp>(sum, share);
      });
}

LogicalResult KeySums::addToMemory(Value head, ValueRange carried) const {
  if (shares.empty())
    return success();
  KernelBuilder &kb = kernel.kb;
  attn::BackwardOp op = kernel.op;
  // No index depends on a query.
  RegionContext context =
      kernel.makeContext(head, kb.constant(0), kernel.tile.work.row);
  SmallVector<attn::ContributeOp> contributions =
      getContributions(op, PairPlaces::Keys);
  auto sums = RegionToTile(kb.builder, context)
                  .cloneSharedSums(op.getScoreGradient(), contributions, shares,
                                   carried.take_back(shares.size()));
  if (failed(sums))
    return failure();
  SmallVector<Value> memory = kernel.memory.sums.getCaptureMemory(kb);
  for (auto [contribution, sum] : llvm::zip_equal(contributions, *sums)) {
    attn::ContributeOp add = contribution;
    unsigned number = cast<BlockArgument>(add.getTarget()).getArgNumber();
    addToSums(kb.builder, add.getLoc(), sum.value,
              memory[number - attn::BackwardOp::kScoreGradientArguments],
              sum.indices, /*counts=*/Value());
  }
  return success();
}
