//===- StreamRelativePositions.cpp - Diagonals by a role of their own -----===//
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

/// Whether another role can make a tile: a row, computed or read from what the
/// kernel was given to read.
static bool isMadeAlone(RankedTensorType tile, Operation *op) {
  return tile.getDimSize(0) == 1 && op && op->getNumRegions() == 0 &&
         (isMemoryEffectFree(op) || readsUnwrittenTensor(op)) &&
         !isa<StreamOp>(op);
}

/// What the value is made of, in its round and, if a loop carries it, in those
/// before.
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

/// Whether all tiles that the value is made of are rows, made of scalars, of
/// constants, and of what the kernel was given to read. None of the scalars may
/// say which rows the threads hold, or what came of a tile that only they have.
static bool isMadeOfScalars(Value value) {
  llvm::SetVector<Value> parts;
  parts.insert(value);
  for (size_t index = 0; index < parts.size(); ++index) {
    Value part = parts[index];
    Operation *op = part.getDefiningOp();
    auto tile = dyn_cast<RankedTensorType>(part.getType());
    if ((tile && !isMadeAlone(tile, op)) || isa_and_nonnull<HeldRowsOp>(op))
      return false;
    parts.insert_range(getParts(part));
  }
  return true;
}

/// Places of sums by distance are tiles made of diagonals, too, but of indices.
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
