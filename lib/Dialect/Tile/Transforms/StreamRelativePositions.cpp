//===- StreamRelativePositions.cpp - Stream relative-position values ------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Tile/Transforms/Passes.h"

#include "fovea/Dialect/Launch/IR/Launch.h"
#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/SetVector.h"

namespace fovea::tile {
#define GEN_PASS_DEF_STREAMRELATIVEPOSITIONS
#include "fovea/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fovea::tile

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

namespace {
struct StreamRelativePositions
    : fovea::tile::impl::StreamRelativePositionsBase<StreamRelativePositions> {
  void runOnKernel() override;
};
} // namespace

/// True if another role can compute the tile: it is one row, computed or loaded
/// from tensors that the kernel only reads.
static bool isMadeAlone(RankedTensorType tile, Operation *op) {
  return tile.getDimSize(0) == 1 && op && op->getNumRegions() == 0 &&
         (isMemoryEffectFree(op) || readsUnwrittenTensor(op)) &&
         !isa<StreamOp>(op);
}

/// The operands of the value, in this iteration and, for a loop-carried value,
/// in earlier ones.
static SmallVector<Value> getParts(Value value) {
  SmallVector<Value> parts;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop =
        dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
    OpOperand *init = loop ? loop.getTiedLoopInit(argument) : nullptr;
    OpOperand *next = init ? loop.getTiedLoopYieldedValue(argument) : nullptr;
    if (next)
      parts.append({init->get(), next->get()});
    return parts;
  }
  Operation *op = value.getDefiningOp();
  unsigned index = cast<OpResult>(value).getResultNumber();
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return {branch.getCondition(), branch.thenYield().getOperand(index),
            branch.elseYield().getOperand(index)};
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return {loop.getLowerBound(), loop.getUpperBound(), loop.getStep(),
            loop.getInitArgs()[index], loop.getYieldedValues()[index]};
  llvm::append_range(parts, op->getOperands());
  return parts;
}

/// True if `value` depends only on scalars, constants, tensors that the kernel
/// only reads, and single-row tiles of these. It must not depend on the rows
/// owned by a warp group.
static bool isMadeOfScalars(Value value) {
  llvm::SetVector<Value> parts;
  parts.insert(value);
  for (size_t index = 0; index < parts.size(); ++index) {
    Value part = parts[index];
    Operation *op = part.getDefiningOp();
    auto tile = dyn_cast<RankedTensorType>(part.getType());
    if ((tile && !isMadeAlone(tile, op)) || isa_and_nonnull<OwnedRowsOp>(op))
      return false;
    parts.insert_range(getParts(part));
  }
  return true;
}

/// False for the addresses of relative-position gradients, which are integers.
static bool isOfNumbers(DiagonalsOp op) {
  return op.getSource().getType().getElementType().isF32();
}

void StreamRelativePositions::runOnKernel() {
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  DenseMap<Value, Value> streamed;
  int64_t streams = 0;
  getOperation().walk([&](DiagonalsOp op) {
    Value source = op.getSource();
    if (!isOfNumbers(op) || !isMadeOfScalars(source))
      return;
    Value &stream = streamed[source];
    if (!stream) {
      OpBuilder b(op.getContext());
      b.setInsertionPointAfterValue(source);
      std::string name = ("diagonals." + Twine(streams)).str();
      stream = makeStaged(b, source.getLoc(), abi.getPlan(), name, source);
      streams += stream != source;
    }
    op.getSourceMutable().assign(stream);
  });
  numStreams += streams;
}
