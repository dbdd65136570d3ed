//===- InterleaveQueryTiles.cpp - Split a tile's rows ---------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowPartition.h"

#include "fovea/Dialect/Tile/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

namespace fovea::tile {
#define GEN_PASS_DEF_INTERLEAVEQUERYTILES
#include "fovea/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace fovea::tile

using namespace mlir;
using namespace fovea;
using namespace fovea::tile;

namespace {
/// Replaces ops and values that depend on rows by one clone per part.
class Interleaver {
public:
  Interleaver(const RowPartition &rows, int64_t parts)
      : rows(rows), mappings(parts) {}

  void convert(Block &block);
  /// Erases the replaced ops.
  void finish() {
    // They use each other, also through block arguments.
    for (Operation *op : replaced)
      op->dropAllReferences();
    for (Operation *op : replaced)
      op->erase();
  }

private:
  unsigned getNumParts() const { return mappings.size(); }
  Value lookup(Value value, unsigned part) const {
    return mappings[part].lookupOrDefault(value);
  }
  /// The values of all parts, in order, for each partitioned value.
  SmallVector<Value> expand(ValueRange values, ValueRange like);

  void convertLoop(scf::ForOp loop);
  /// Clones the ops between two loops, part by part: the first part in place,
  /// the others before `end`.
  void copy(ArrayRef<Operation *> ops, Operation *end);
  /// Adapts `made`, a clone of `op`, to `part`.
  void adapt(Operation *op, Operation *made, unsigned part);
  void adaptTypes(Operation *op, Operation *made);
  /// Moves an op that depends on row indices to the part's rows.
  void adaptRows(Operation *op, Operation *made, unsigned part);
  /// Uses `value` instead of `made`, the clone of `of`.
  void replace(Value of, OpResult made, Value value, unsigned part);

  const RowPartition &rows;
  SmallVector<IRMapping> mappings;
  SmallVector<Operation *> replaced;
};
} // namespace

//===----------------------------------------------------------------------===//
// One op for one part
//===----------------------------------------------------------------------===//

void Interleaver::replace(Value of, OpResult made, Value value, unsigned part) {
  made.replaceUsesWithIf(value, [&](OpOperand &use) {
    return use.getOwner() != value.getDefiningOp();
  });
  mappings[part].map(of, value);
}

void Interleaver::adaptTypes(Operation *op, Operation *made) {
  auto adaptValue = [&](Value of, Value value) {
    if (!rows.hasRows(of))
      return;
    auto type = cast<RankedTensorType>(of.getType());
    value.setType(tileLike(type, {rows.getPartRows(), type.getDimSize(1)},
                           type.getElementType()));
  };
  for (auto [of, value] : llvm::zip(op->getResults(), made->getResults()))
    adaptValue(of, value);
  for (auto [from, to] : llvm::zip(op->getRegions(), made->getRegions()))
    for (auto [of, value] : llvm::zip(from.getArguments(), to.getArguments()))
      adaptValue(of, value);
  auto constant = dyn_cast<arith::ConstantOp>(made);
  if (!constant || !isRegisterTile(constant.getType()))
    return;
  // The dialect allows splats only.
  auto splat = cast<SplatElementsAttr>(constant.getValue());
  constant.setValueAttr(
      splat.resizeSplat(cast<ShapedType>(constant.getType())));
}

void Interleaver::adaptRows(Operation *op, Operation *made, unsigned part) {
  auto known = dyn_cast<RowsOpInterface>(op);
  if (!known)
    return;
  if (Value tile = known.getRowTile(); tile && !rows.hasRows(tile))
    return;
  OpBuilder b(made);
  SmallVector<Value> values = cast<RowsOpInterface>(made).restrictToRows(
      b, part * rows.getPartRows(), rows.getPartRows());
  bool isReplaced = !values.empty();
  for (auto [of, result, value] :
       llvm::zip_equal(op->getResults(), made->getResults(), values)) {
    if (value == result)
      isReplaced = false;
    else
      replace(of, result, value, part);
  }
  if (isReplaced && made->use_empty())
    made->erase();
}

void Interleaver::adapt(Operation *op, Operation *made, unsigned part) {
  adaptTypes(op, made);
  auto named = dyn_cast<NamedOpInterface>(made);
  if (named && named.getNameAttr())
    named.setNameAttr(StringAttr::get(
        op->getContext(), named.getNameAttr().getValue() + "." + Twine(part)));
  adaptRows(op, made, part);
}

void Interleaver::copy(ArrayRef<Operation *> ops, Operation *end) {
  for (unsigned part = 0; part < getNumParts(); ++part)
    for (Operation *op : ops) {
      OpBuilder b(part == 0 ? op : end);
      Operation *made = b.clone(*op, mappings[part]);
      // Both contain the same ops in the same order.
      SmallVector<Operation *> all, copies;
      op->walk<WalkOrder::PreOrder>(
          [&](Operation *nested) { all.push_back(nested); });
      made->walk<WalkOrder::PreOrder>(
          [&](Operation *nested) { copies.push_back(nested); });
      if (part == 0)
        for (auto [of, value] : llvm::zip(op->getResults(), made->getResults()))
          if (!rows.isPartitioned(of))
            of.replaceAllUsesWith(value);
      for (auto [of, nested] : llvm::zip_equal(all, copies))
        adapt(of, nested, part);
    }
  llvm::append_range(replaced, ops);
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

SmallVector<Value> Interleaver::expand(ValueRange values, ValueRange like) {
  SmallVector<Value> expanded;
  for (auto [value, of] : llvm::zip_equal(values, like))
    for (unsigned part = 0; part < (rows.isPartitioned(of) ? getNumParts() : 1);
         ++part)
      expanded.push_back(lookup(value, part));
  return expanded;
}

void Interleaver::convertLoop(scf::ForOp loop) {
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  ValueRange carried = loop.getRegionIterArgs();
  auto made =
      scf::ForOp::create(b, loc, loop.getLowerBound(), loop.getUpperBound(),
                         loop.getStep(), expand(loop.getInits(), carried));
  made.setUnsignedCmp(loop.getUnsignedCmp());
  if (!made.getBody()->empty())
    made.getBody()->back().erase();
  loop.getInductionVar().replaceAllUsesWith(made.getInductionVar());
  unsigned next = 0;
  for (auto [index, argument] : llvm::enumerate(carried)) {
    Value result = loop.getResult(index);
    if (!rows.isPartitioned(argument)) {
      argument.replaceAllUsesWith(made.getRegionIterArg(next));
      result.replaceAllUsesWith(made.getResult(next++));
      continue;
    }
    for (IRMapping &mapping : mappings) {
      mapping.map(argument, made.getRegionIterArg(next));
      mapping.map(result, made.getResult(next++));
    }
  }
  Block *body = made.getBody();
  body->getOperations().splice(body->end(), loop.getBody()->getOperations());
  convert(*body);
  Operation *yield = body->getTerminator();
  b.setInsertionPoint(yield);
  scf::YieldOp::create(b, loc, expand(yield->getOperands(), carried));
  yield->erase();
  replaced.push_back(loop);
}

/// True for loops that all parts share.
static bool isShared(Operation *op) {
  return isa<scf::ForOp, scf::WhileOp, ForeachWorkOp>(op);
}

void Interleaver::convert(Block &block) {
  SmallVector<Operation *> ops, between;
  for (Operation &op : block.without_terminator())
    if (rows.concerns(&op))
      ops.push_back(&op);
  // The ops of each part are contiguous, so that a role that serves several
  // parts does not wait for a later part before an earlier one is done.
  for (Operation *op : ops) {
    if (!isShared(op)) {
      between.push_back(op);
      continue;
    }
    copy(between, op);
    between.clear();
    if (auto loop = dyn_cast<scf::ForOp>(op))
      convertLoop(loop);
    else
      for (Region &region : op->getRegions())
        for (Block &inner : region)
          convert(inner);
  }
  copy(between, block.getTerminator());
}

namespace {
struct InterleaveQueryTiles
    : fovea::tile::impl::InterleaveQueryTilesBase<InterleaveQueryTiles> {
  using InterleaveQueryTilesBase::InterleaveQueryTilesBase;

  void runOnKernel() override {
    int64_t count = parts;
    if (count < 0) {
      launch::AbiOp abi = launch::requireAbi(getOperation());
      if (!abi)
        return signalPassFailure();
      count = abi.getPlan()->rowTiles;
    }
    if (count < 2)
      return;
    RowPartition rows;
    if (failed(rows.compute(getOperation(), count)))
      return signalPassFailure();
    if (rows.getPartRows() == 0)
      return;
    Interleaver interleaver(rows, count);
    interleaver.convert(getOperation().getBody().front());
    interleaver.finish();
    ++numInterleaved;
  }
};
} // namespace
