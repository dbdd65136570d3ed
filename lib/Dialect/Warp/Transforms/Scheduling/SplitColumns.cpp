//===- SplitColumns.cpp - Updates of tensor memory in parts ---------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Splits a load from tensor memory, the elementwise ops on it and the stores of
// their results by columns, so that a thread holds a part of its row at a time.
// A role that rescales outputs has registers for a part only.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Warp/IR/Warp.h"
#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPSPLITCOLUMNS
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;
using namespace fovea::warp;

namespace {
/// A load, the elementwise ops that depend on it and the stores of their
/// results. Branches may contain some of the elementwise ops.
class ColumnChain {
public:
  explicit ColumnChain(TmemLoadOp load) : load(load) {}

  /// Collects the chain. Fails if its columns depend on each other, or if the
  /// load cannot move to the last store.
  LogicalResult collect();
  /// Replaces the chain by one for each part of `width` columns.
  void split(int64_t width);

private:
  LogicalResult add(Operation *user);
  bool isPerColumn(Operation *op) const;
  LogicalResult checkMove();
  void emitPart(OpBuilder &b, int64_t first, int64_t count);
  void emit(OpBuilder &b, Operation *op, IRMapping &mapping);
  Value emitOperand(OpBuilder &b, Value operand, IRMapping &mapping);
  RankedTensorType narrow(Type type) const;

  TmemLoadOp load;
  /// Ops of the load's block: branches stand for the ops in them.
  llvm::SetVector<Operation *> ops;
  /// The stores, in order.
  SmallVector<Operation *> stores;
  /// Releases before the last store of stages that were held at the load, one
  /// of which is the stage that is loaded.
  SmallVector<Operation *> releases;
  /// Columns of the part that is emitted, the first of them and the view.
  int64_t first = 0, count = 0;
  Value view;
};

struct SplitColumnsPass : warp::impl::WarpSplitColumnsBase<SplitColumnsPass> {
  using WarpSplitColumnsBase::WarpSplitColumnsBase;

  void runOnKernel() override {
    if (columns <= 0) {
      getOperation().emitError("'columns' must be positive, found ")
          << int64_t(columns);
      return signalPassFailure();
    }
    SmallVector<TmemLoadOp> loads;
    getOperation().walk([&](TmemLoadOp load) { loads.push_back(load); });
    for (TmemLoadOp load : loads) {
      ColumnChain chain(load);
      if (load.getType().getDimSize(1) <= columns || failed(chain.collect()))
        continue;
      chain.split(columns);
      ++numSplit;
    }
  }
};
} // namespace

static bool isSplat(Value value) {
  DenseElementsAttr splat;
  return matchPattern(value, m_Constant(&splat)) && splat.isSplat();
}

/// Returns true if columns of the tile can be made from values outside of the
/// chain: it repeats one column, or is a constant.
static bool repeatsColumn(Value value) {
  if (isSplat(value))
    return true;
  auto broadcast = value.getDefiningOp<tile::BroadcastOp>();
  if (!broadcast)
    return false;
  auto source = dyn_cast<RankedTensorType>(broadcast.getSource().getType());
  return !source || source.getDimSize(1) == 1;
}

/// The ops that end a chain.
static bool isStore(Operation *op) {
  return isa<TmemStoreOp, LocalStoreOp, tile::StoreOp>(op);
}

static bool isElementwise(Operation *op) {
  return OpTrait::hasElementwiseMappableTraits(op) &&
         op->getNumRegions() == 0 && op->getNumResults() == 1 &&
         isMemoryEffectFree(op);
}

/// Returns true if the branch only computes tiles of `columns` columns.
static bool isElementwiseBranch(scf::IfOp branch, int64_t columns) {
  auto isWhole = [&](Operation *op) {
    auto tile = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    return tile && tile.getDimSize(1) == columns;
  };
  WalkResult walk = branch.walk([&](Operation *op) {
    return op == branch || (isElementwise(op) && isWhole(op)) ||
                   isa<scf::YieldOp, tile::BroadcastOp, arith::ConstantOp>(op)
               ? WalkResult::advance()
               : WalkResult::interrupt();
  });
  return !walk.wasInterrupted() && branch.getNumResults() != 0 &&
         llvm::all_of(branch.getResultTypes(), llvm::IsaPred<RankedTensorType>);
}

/// Returns true if the op's operands from outside of the chain repeat a column.
bool ColumnChain::isPerColumn(Operation *op) const {
  WalkResult walk = op->walk([&](Operation *nested) {
    bool isTileOp =
        isElementwise(nested) || isa<scf::YieldOp>(nested) || isStore(nested);
    bool fine =
        !isTileOp || llvm::all_of(nested->getOperands(), [&](Value operand) {
          Operation *source = operand.getDefiningOp();
          return !isa<RankedTensorType>(operand.getType()) ||
                 (source && (source == load || ops.contains(source) ||
                             (op != nested && op->isProperAncestor(source)))) ||
                 repeatsColumn(operand);
        });
    return fine ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !walk.wasInterrupted();
}

LogicalResult ColumnChain::add(Operation *user) {
  if (auto store = dyn_cast<TmemStoreOp>(user)) {
    // Another view of the same columns might overlap a part that is loaded
    // later.
    if (store.getTarget() != load.getSource())
      return failure();
  } else if (auto store = dyn_cast<LocalStoreOp>(user)) {
    if (store.getFragments() || store.getColumn())
      return failure();
  } else if (auto store = dyn_cast<tile::StoreOp>(user)) {
    if (store.getFragments() || store.getDims()[1] < 0)
      return failure();
  } else if (auto branch = dyn_cast<scf::IfOp>(user)) {
    if (!isElementwiseBranch(branch, load.getType().getDimSize(1)))
      return failure();
  } else if (!isElementwise(user)) {
    return failure();
  }
  ops.insert(user);
  return success();
}

/// The loads of all parts move to the last store. A stage that is loaded must
/// be held until then, and no other op may write tensor memory in between.
LogicalResult ColumnChain::checkMove() {
  bool afterStore = false;
  llvm::SmallPtrSet<Value, 4> waited;
  for (Operation *op = load->getNextNode(); op != stores.back();
       op = op->getNextNode()) {
    if (isMemoryEffectFree(op))
      continue;
    if (ops.contains(op)) {
      afterStore = true;
      continue;
    }
    auto release = dyn_cast<ConsumerReleaseOp>(op);
    if (auto wait = dyn_cast<ConsumerWaitOp>(op))
      waited.insert(wait.getPipeline());
    if (release && !waited.contains(release.getPipeline()))
      releases.push_back(op);
    else if (afterStore || op->getNumRegions() != 0 ||
             isa<TmemStoreOp, DotIntoOp>(op))
      return failure();
  }
  return success();
}

LogicalResult ColumnChain::collect() {
  SmallVector<Operation *> pending = {load};
  while (!pending.empty())
    for (Operation *nested : pending.pop_back_val()->getUsers()) {
      Operation *user = load->getBlock()->findAncestorOpInBlock(*nested);
      if (!user)
        return failure();
      if (ops.contains(user))
        continue;
      if (failed(add(user)))
        return failure();
      pending.push_back(user);
    }
  for (Operation &op : *load->getBlock()) {
    if (!ops.contains(&op))
      continue;
    if (!isPerColumn(&op))
      return failure();
    if (isStore(&op))
      stores.push_back(&op);
  }
  return stores.empty() ? failure() : checkMove();
}

RankedTensorType ColumnChain::narrow(Type type) const {
  auto tile = cast<RankedTensorType>(type);
  return RankedTensorType::get({tile.getDimSize(0), count},
                               tile.getElementType(), tile.getEncoding());
}

Value ColumnChain::emitOperand(OpBuilder &b, Value operand,
                               IRMapping &mapping) {
  if (mapping.contains(operand) || !isa<RankedTensorType>(operand.getType()))
    return mapping.lookupOrDefault(operand);
  RankedTensorType type = narrow(operand.getType());
  if (DenseElementsAttr splat; matchPattern(operand, m_Constant(&splat)))
    return arith::ConstantOp::create(b, operand.getLoc(),
                                     splat.resizeSplat(type));
  return tile::BroadcastOp::create(
      b, operand.getLoc(), type,
      operand.getDefiningOp<tile::BroadcastOp>().getSource());
}

/// Emits an op of the chain, or of a branch in it, for the columns of the part.
void ColumnChain::emit(OpBuilder &b, Operation *op, IRMapping &mapping) {
  Location loc = op->getLoc();
  if (auto store = dyn_cast<TmemStoreOp>(op)) {
    TmemStoreOp::create(b, loc, mapping.lookup(store.getValue()), view,
                        store.getNameAttr());
  } else if (auto store = dyn_cast<LocalStoreOp>(op)) {
    LocalStoreOp::create(b, loc, mapping.lookup(store.getValue()),
                         store.getTarget(), /*fragments=*/UnitAttr(),
                         b.getI64IntegerAttr(first), store.getNameAttr());
  } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
    OpOperand &start = store.getIndicesMutable()[store.getDims()[1]];
    Value moved = arith::AddIOp::create(
        b, loc, start.get(), arith::ConstantIndexOp::create(b, loc, first));
    auto part = cast<tile::StoreOp>(b.clone(*op, mapping));
    part.getIndicesMutable()[store.getDims()[1]].assign(moved);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    auto types =
        llvm::map_to_vector(branch.getResultTypes(),
                            [&](Type type) -> Type { return narrow(type); });
    auto part = scf::IfOp::create(b, loc, types, branch.getCondition(),
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
    for (auto [from, to] :
         llvm::zip_equal(branch->getRegions(), part->getRegions())) {
      OpBuilder inside = OpBuilder::atBlockEnd(&to.front());
      for (Operation &nested : from.front())
        emit(inside, &nested, mapping);
    }
    mapping.map(branch.getResults(), part.getResults());
  } else if (isElementwise(op) || isa<scf::YieldOp>(op)) {
    SmallVector<Value> operands =
        llvm::map_to_vector(op->getOperands(), [&](Value operand) {
          return emitOperand(b, operand, mapping);
        });
    SmallVector<Type> types = llvm::map_to_vector(
        op->getResultTypes(), [&](Type type) -> Type { return narrow(type); });
    OperationState state(loc, op->getName(), operands, types, op->getAttrs());
    mapping.map(op->getResults(), b.create(state)->getResults());
  }
  // Broadcasts and constants are emitted where they are used.
}

void ColumnChain::emitPart(OpBuilder &b, int64_t from, int64_t columns) {
  first = from;
  count = columns;
  MemRefType source = load.getSource().getType();
  auto type =
      MemRefType::get({source.getDimSize(0), count}, source.getElementType(),
                      source.getLayout(), source.getMemorySpace());
  view = TmemViewOp::create(b, load.getLoc(), type, load.getSource(),
                            first * source.getElementTypeBitWidth() / 32);
  IRMapping mapping;
  mapping.map(load.getResult(),
              TmemLoadOp::create(b, load.getLoc(), narrow(load.getType()), view)
                  .getResult());
  for (Operation &op : *load->getBlock())
    if (ops.contains(&op))
      emit(b, &op, mapping);
}

void ColumnChain::split(int64_t width) {
  // Parts are emitted after the chain: each walks over the original ops.
  Operation *last = stores.back();
  OpBuilder b(last->getContext());
  b.setInsertionPointAfter(last);
  int64_t columns = load.getType().getDimSize(1);
  for (int64_t from = 0; from < columns; from += width)
    emitPart(b, from, std::min(width, columns - from));
  for (Operation *release : releases)
    release->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
  SmallVector<Operation *> inOrder;
  for (Operation &op : *load->getBlock())
    if (ops.contains(&op))
      inOrder.push_back(&op);
  for (Operation *op : llvm::reverse(inOrder))
    op->erase();
  load->erase();
}
