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

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

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

/// Whether the op reads nothing but a tensor that the kernel was given and
/// does not write.
static bool readsGivenTensor(Operation *op) {
  if (!isa<LoadOp, GatherOp>(op))
    return false;
  auto given = dyn_cast<BlockArgument>(op->getOperand(0));
  return given && isa<gpu::GPUFuncOp>(given.getOwner()->getParentOp()) &&
         llvm::all_of(given.getUsers(), [](Operation *user) {
           return isMemoryEffectFree(user) ||
                  hasSingleEffect<MemoryEffects::Read>(user);
         });
}

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
                (isMemoryEffectFree(op) || readsGivenTensor(op)) &&
                !isa<StreamOp>(op) &&
                llvm::all_of(op->getOperands(), [&](Value operand) {
                  return isMadeOfScalars(operand, known);
                });
  return known[value] = isMade;
}

/// Whether the value takes more to find than a sum of coordinates, which as
/// many threads as need it may find: it is read, divided, or a function of
/// `math`.
static bool isDear(Value value) {
  SetVector<Value> tiles;
  tiles.insert(value);
  for (unsigned index = 0; index < tiles.size(); ++index) {
    Operation *op = tiles[index].getDefiningOp();
    if (isa<GatherOp, LoadOp, arith::DivFOp, arith::DivSIOp, arith::DivUIOp,
            arith::RemSIOp, arith::RemUIOp>(op) ||
        (isa<math::MathDialect>(op->getDialect()) &&
         !isa<math::AbsFOp, math::AbsIOp>(op)))
      return true;
    for (Value operand : op->getOperands())
      if (isRegisterTile(operand.getType()))
        tiles.insert(operand);
  }
  return false;
}

/// Numbers, or places of sums by distance that are dear to find, as buckets
/// are.
static bool isWorthStream(Value source) {
  Type element = cast<RankedTensorType>(source.getType()).getElementType();
  return element.isF32() || (element.isInteger(32) && isDear(source));
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
    if (!isMadeOfScalars(source, known) || !isWorthStream(source))
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
