//===- StreamDiagonals.cpp - Diagonals by a role of their own --*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Tile/Transforms/Passes.h"

#include "fovea/Dialect/Launch/IR/Launch.h"
#include "fovea/Dialect/Tile/IR/Tile.h"

namespace fovea::tile {
#define GEN_PASS_DEF_STREAMDIAGONALS
#include "fovea/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fovea::tile

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

namespace {
struct StreamDiagonals
    : fovea::tile::impl::StreamDiagonalsBase<StreamDiagonals> {
  void runOnKernel() override;
};
} // namespace

/// Whether all tiles that the value is made of are rows, made of scalars, of
/// constants, and of what the kernel was given to read. `known` has what was
/// asked before: operands may be shared.
static bool isMadeOfScalars(Value value, DenseMap<Value, bool> &known) {
  auto tile = dyn_cast<RankedTensorType>(value.getType());
  if (!tile)
    return true;
  if (tile.getDimSize(0) != 1)
    return false;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  bool isMade = op && op->getNumRegions() == 0 &&
                (isMemoryEffectFree(op) || readsUnwrittenTensor(op)) &&
                !isa<StreamOp>(op) &&
                llvm::all_of(op->getOperands(), [&](Value operand) {
                  return isMadeOfScalars(operand, known);
                });
  return known[value] = isMade;
}

/// Places of sums by distance are tiles made of diagonals, too, but of indices.
static bool isOfNumbers(DiagonalsOp op) {
  return op.getSource().getType().getElementType().isF32();
}

void StreamDiagonals::runOnKernel() {
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  DenseMap<Value, bool> known;
  DenseMap<Value, Value> streamed;
  int64_t streams = 0;
  getOperation().walk([&](DiagonalsOp op) {
    Value source = op.getSource();
    if (!isOfNumbers(op) || !isMadeOfScalars(source, known))
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
