//===- AssignLayouts.cpp - Assign thread layouts to register tiles --------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gives each register tile without a layout one of the kernel's MMA unit. In a
// kernel with roles, each class of tiles gets the layout of the role that owns
// its named ops. The pass inserts `warp.convert_layout` before dots whose first
// operand needs another register layout.
//
//===----------------------------------------------------------------------===//

#include "Layouts/LayoutClasses.h"
#include "Roles/RoleAssignment.h"

#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/BitVector.h"

namespace fovea::warp {
#define GEN_PASS_DEF_WARPASSIGNLAYOUTS
#include "fovea/Dialect/Warp/Transforms/Passes.h.inc"
} // namespace fovea::warp

using namespace mlir;
using namespace fovea;

namespace {
struct AssignLayoutsPass
    : warp::impl::WarpAssignLayoutsBase<AssignLayoutsPass> {
  void runOnKernel() override;

private:
  /// The accumulator layout of the kernel's MMA unit for `warps` warps, those
  /// of `role` if it is set. Null after a diagnostic.
  Attribute makeLayout(launch::AbiOp abi, int64_t warps, StringRef role = {});
  /// Chooses a layout for each class of tiles: that of the role that owns the
  /// named ops of the class. Roles may have different numbers of warps.
  LogicalResult assignByRole(launch::AbiOp abi, ArrayRef<plan::RoleAttr> roles);
  Attribute getLayout(Value value) const {
    return classes ? layouts[classes->lookup(value)] : layout;
  }
  /// The classes of tiles that are loaded transposed.
  llvm::BitVector findTransposed();
  /// Spreads tiles with too few rows for all warps along their columns.
  void spreadAlongColumns();
  /// Fails if a dot accumulates in the layout of transposed loads.
  LogicalResult checkAccumulators();
  bool convert(Value value);
  /// Emits an error at the value's location, or at the kernel if the value has
  /// none.
  InFlightDiagnostic emitErrorAt(Value value);
  void permuteTransposed();
  void permuteLoad(warp::LocalLoadOp load);
  /// Converts first operands in registers to the layout that the unit reads.
  LogicalResult convertOperands(plan::MatrixUnitAttrInterface unit);
  LogicalResult convertStored();

  /// The layout of the tiles whose class no role owns; without roles, of all
  /// tiles.
  Attribute layout;
  std::optional<warp::LayoutClasses> classes;
  SmallVector<Attribute> layouts;
  /// Buffers whose columns are permuted, as are the operands of their dots.
  llvm::DenseSet<Value> permuted;
};
} // namespace

InFlightDiagnostic AssignLayoutsPass::emitErrorAt(Value value) {
  gpu::GPUFuncOp kernel = getOperation();
  bool isKnown = !isa<UnknownLoc>(value.getLoc());
  InFlightDiagnostic diag =
      mlir::emitError(isKnown ? value.getLoc() : kernel.getLoc());
  launch::AbiOp abi = launch::requireAbi(kernel);
  if (int64_t parts = abi.getPlan()->rowTiles; parts > 1)
    diag.attachNote(abi.getLoc())
        << "the plan's 'row_tiles' is " << parts
        << ": each row tile is distributed over all warps";
  return diag;
}

bool AssignLayoutsPass::convert(Value value) {
  RankedTensorType tile = warp::getUnassignedTile(value.getType());
  if (!tile)
    return true;
  auto type = RankedTensorType::getChecked(
      [&] { return emitErrorAt(value); }, tile.getShape(),
      tile.getElementType(), getLayout(value));
  if (!type)
    return false;
  value.setType(isa<warp::PendingType>(value.getType())
                    ? Type(warp::PendingType::get(&getContext(), type))
                    : Type(type));
  return true;
}

/// Converts 8-bit tiles that are stored in the layout of accumulators to the
/// layout of operands, of which a lane stores whole words.
LogicalResult AssignLayoutsPass::convertStored() {
  WalkResult walk =
      getOperation().walk([&](warp::LocalStoreOp store) -> WalkResult {
        RankedTensorType tile = store.getValue().getType();
        auto layout = cast<warp::ThreadLayoutAttrInterface>(tile.getEncoding());
        if (tile.getElementTypeBitWidth() != 8 ||
            layout.getFragmentWarps() == 0 ||
            llvm::is_contained(tile.getShape(), 1))
          return WalkResult::advance();
        auto stored = RankedTensorType::getChecked(
            [&] { return store.emitOpError(); }, tile.getShape(),
            tile.getElementType(),
            warp::OperandAttr::get(&getContext(), tile.getEncoding(), 8));
        if (!stored)
          return WalkResult::interrupt();
        OpBuilder builder(store);
        store.getValueMutable().assign(warp::ConvertLayoutOp::create(
            builder, store.getLoc(), stored, store.getValue(),
            /*permuted=*/UnitAttr()));
        ++numConversions;
        return WalkResult::advance();
      });
  return failure(walk.wasInterrupted());
}

/// The allocation of a buffer or of one of its stages.
static Value getAllocation(Value memref) {
  auto stage = memref.getDefiningOp<warp::StageOp>();
  return stage ? stage.getBuffer() : memref;
}

/// The transposed load whose tile `op` stores into `buffer`, if that is its
/// only use; null otherwise.
static warp::LocalLoadOp getStoredLoad(Operation *op, Value buffer) {
  auto store = dyn_cast<warp::LocalStoreOp>(op);
  if (!store || getAllocation(store.getTarget()) != buffer)
    return {};
  auto load = store.getValue().getDefiningOp<warp::LocalLoadOp>();
  return load && load.getTranspose() && load->hasOneUse() ? load
                                                          : warp::LocalLoadOp();
}

/// True if a dot with a computed first operand reads `buffer` as its second,
/// with the summed dimension along columns.
static bool readsWithComputed(Operation *op, Value buffer) {
  auto dot = dyn_cast<warp::DotOp>(op);
  if (!dot || getAllocation(dot.getB()) != buffer || !dot.getTransposeB())
    return false;
  auto computed = dyn_cast<RankedTensorType>(dot.getA().getType());
  return computed && !isa<warp::OperandAttr>(computed.getEncoding()) &&
         !dot.getA().getDefiningOp<warp::LocalLoadOp>();
}

/// The transposed loads whose tiles are stored into `buffer`; none unless all
/// its other users are dots that may be permuted.
static SmallVector<warp::LocalLoadOp> findPermutableLoads(Value buffer) {
  if (!buffer.getDefiningOp<warp::AllocOp>())
    return {};
  SmallVector<Operation *> users;
  for (Operation *user : buffer.getUsers()) {
    if (!isa<warp::StageOp>(user))
      users.push_back(user);
    else
      llvm::append_range(users, user->getUsers());
  }
  SmallVector<warp::LocalLoadOp> loads;
  for (Operation *user : users) {
    if (warp::LocalLoadOp load = getStoredLoad(user, buffer))
      loads.push_back(load);
    else if (!isa<warp::FenceStoresOp>(user) &&
             !readsWithComputed(user, buffer))
      return {};
  }
  return loads;
}

/// Loads pairs of adjacent columns, and reindexes them to the stored layout.
void AssignLayoutsPass::permuteLoad(warp::LocalLoadOp load) {
  constexpr int64_t kNeighbours = 2;
  RankedTensorType stored = load.getType();
  auto layout = cast<warp::RowPairsAttr>(stored.getEncoding());
  auto pairs =
      warp::RowPairsAttr::get(&getContext(), layout.getWarps(), kNeighbours);
  load.getResult().setType(stored.cloneWithEncoding(pairs));
  OpBuilder builder(load);
  builder.setInsertionPointAfter(load);
  auto converted = warp::ConvertLayoutOp::create(
      builder, load.getLoc(), stored, load.getResult(), /*permuted=*/true);
  load.getResult().replaceAllUsesExcept(converted, converted);
  ++numConversions;
}

/// Both operands of a dot may be permuted along the dimension that it sums. If
/// all dots that read a buffer have a computed first operand, and all tiles in
/// the buffer were loaded transposed, then the columns of both are permuted so
/// that neither moves between lanes: an accumulator becomes an operand in
/// place, and the rows that a transposed load reads are in any order.
void AssignLayoutsPass::permuteTransposed() {
  llvm::SetVector<Value> candidates;
  getOperation().walk([&](warp::DotOp dot) {
    auto computed = dyn_cast<RankedTensorType>(dot.getA().getType());
    if (computed && computed.getElementTypeBitWidth() == 8)
      candidates.insert(getAllocation(dot.getB()));
  });
  for (Value buffer : candidates) {
    SmallVector<warp::LocalLoadOp> loads = findPermutableLoads(buffer);
    if (loads.empty())
      continue;
    permuted.insert(buffer);
    for (warp::LocalLoadOp load : loads)
      permuteLoad(load);
  }
}

LogicalResult
AssignLayoutsPass::convertOperands(plan::MatrixUnitAttrInterface unit) {
  WalkResult walk = getOperation().walk([&](warp::DotOp dot) -> WalkResult {
    auto operand = dyn_cast<RankedTensorType>(dot.getA().getType());
    if (!operand)
      return WalkResult::advance();
    Attribute layout = unit.getOperandLayout(dot.getTileType().getEncoding(),
                                             operand.getElementTypeBitWidth());
    if (!layout)
      return dot.emitOpError("cannot read a first operand of ")
             << operand.getElementType() << " from registers in layout "
             << dot.getTileType().getEncoding()
             << ": it must pass through a stream ('tile.stream')";
    auto wanted = RankedTensorType::getChecked(
        [&] { return dot.emitOpError(); }, operand.getShape(),
        operand.getElementType(), layout);
    if (!wanted)
      return WalkResult::interrupt();
    if (wanted == operand)
      return WalkResult::advance();
    // Matrices of 8-bit elements are loaded in the layout of operands.
    auto load = dot.getA().getDefiningOp<warp::LocalLoadOp>();
    if (load && operand.getElementTypeBitWidth() == 8 &&
        !isa<warp::OperandAttr>(operand.getEncoding()) &&
        llvm::all_of(load->getUsers(), llvm::IsaPred<warp::DotOp>)) {
      load.getResult().setType(wanted);
      return WalkResult::advance();
    }
    OpBuilder builder(dot);
    dot.getAMutable().assign(warp::ConvertLayoutOp::create(
        builder, dot.getLoc(), wanted, dot.getA(),
        /*permuted=*/permuted.contains(getAllocation(dot.getB()))));
    ++numConversions;
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

Attribute AssignLayoutsPass::makeLayout(launch::AbiOp abi, int64_t warps,
                                        StringRef role) {
  auto emitError = [&] {
    InFlightDiagnostic diag = abi.emitError();
    if (!role.empty())
      diag << "role '" << role << "' has " << warps
           << " warps, for which the MMA unit has no layout: ";
    return diag;
  };
  plan::KernelAttr plan = abi.getPlan();
  return plan.getUnit().getLayout(emitError, warps * plan->cluster,
                                  plan->columnWarps);
}

/// The tile that a named op computes or stores; it identifies the class.
static Value getNamedTile(Operation *op) {
  if (auto dot = dyn_cast<warp::DotOp>(op))
    return dot.getResult();
  if (auto store = dyn_cast<warp::LocalStoreOp>(op))
    return store.getValue();
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return store.getValue();
  if (auto scatter = dyn_cast<tile::ScatterOp>(op))
    return scatter.getName() ? scatter.getValue() : Value();
  return {};
}

/// Clones the ops that compute a tile. Stops at scalars, at streams and at ops
/// with other effects than reads of unwritten tensors.
static Value cloneTile(OpBuilder &b, Value tile, IRMapping &mapping) {
  Operation *op = tile.getDefiningOp();
  bool isRematerializable =
      op && isa<RankedTensorType>(tile.getType()) && op->getNumRegions() == 0 &&
      (isMemoryEffectFree(op) || tile::readsUnwrittenTensor(op)) &&
      !isa<tile::StreamOp>(op);
  if (mapping.contains(tile) || !isRematerializable)
    return mapping.lookupOrDefault(tile);
  for (Value operand : op->getOperands())
    cloneTile(b, operand, mapping);
  b.clone(*op, mapping);
  return mapping.lookup(tile);
}

/// Clones the row and column indices of each named scatter, because the role
/// that adds to memory may need another layout than the other users.
static void cloneScatterIndices(gpu::GPUFuncOp kernel) {
  kernel.walk([](tile::ScatterOp scatter) {
    if (!scatter.getName())
      return;
    OpBuilder b(scatter);
    IRMapping mapping;
    for (OpOperand &index : scatter.getIndicesMutable()) {
      auto type = dyn_cast<RankedTensorType>(index.get().getType());
      if (type && llvm::is_contained(type.getShape(), 1))
        index.set(cloneTile(b, index.get(), mapping));
    }
    // Erase originals without other users: they would get no layout.
    SmallVector<Operation *> originals;
    for (auto [op, clone] : mapping.getOperationMap())
      originals.push_back(op);
    for (bool erased = true; erased;) {
      erased = false;
      for (Operation *&op : originals)
        if (op && op->use_empty()) {
          op->erase();
          op = nullptr;
          erased = true;
        }
    }
  });
}

llvm::BitVector AssignLayoutsPass::findTransposed() {
  llvm::BitVector transposed(classes->size());
  getOperation().walk([&](warp::LocalLoadOp load) {
    if (load.getTranspose() && warp::getUnassignedTile(load.getType()))
      transposed.set(classes->lookup(load.getResult()));
  });
  return transposed;
}

void AssignLayoutsPass::spreadAlongColumns() {
  constexpr int64_t kBlockRows = 16;
  SmallVector<int64_t> rows(classes->size(), 1);
  auto measure = [&](Value value) {
    if (RankedTensorType tile = warp::getUnassignedTile(value.getType())) {
      int64_t &most = rows[classes->lookup(value)];
      most = std::max(most, tile.getDimSize(0));
    }
  };
  getOperation().walk([&](Operation *op) {
    llvm::for_each(op->getResults(), measure);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), measure);
  });
  // Only tiles from memory; accumulators have the layout of their instruction.
  llvm::BitVector loaded(classes->size()), accumulated(classes->size());
  getOperation().walk([&](Operation *op) {
    auto dot = dyn_cast<warp::DotOp>(op);
    if (isa<tile::LoadOp>(op) &&
        warp::getUnassignedTile(op->getResult(0).getType()))
      loaded.set(classes->lookup(op->getResult(0)));
    else if (dot && warp::getUnassignedTile(dot.getTileType()))
      accumulated.set(classes->lookup(dot.getResult()));
  });
  for (auto [number, count] : llvm::enumerate(rows)) {
    Attribute &layout = layouts[number];
    if (!loaded[number] || accumulated[number])
      continue;
    auto fragments = dyn_cast<warp::ThreadLayoutAttrInterface>(layout);
    int64_t warps = fragments ? fragments.getFragmentWarps() : 0;
    if (warps == 0 || count == 1 || count % (kBlockRows * warps) == 0 ||
        count % kBlockRows != 0 || warps % (count / kBlockRows) != 0)
      continue;
    int64_t rowWarps = count / kBlockRows;
    layout = warp::MmaSyncAttr::get(&getContext(), rowWarps, warps / rowWarps);
  }
}

LogicalResult AssignLayoutsPass::checkAccumulators() {
  WalkResult walk = getOperation().walk([&](warp::DotOp dot) -> WalkResult {
    if (!warp::getUnassignedTile(dot.getTileType()) ||
        !isa<warp::RowPairsAttr>(getLayout(dot.getResult())))
      return WalkResult::advance();
    return dot.emitError("accumulator is combined with a tile that is loaded "
                         "transposed: one of them must pass through a stream "
                         "('tile.stream')");
  });
  return failure(walk.wasInterrupted());
}

LogicalResult AssignLayoutsPass::assignByRole(launch::AbiOp abi,
                                              ArrayRef<plan::RoleAttr> roles) {
  cloneScatterIndices(getOperation());
  classes.emplace(getOperation());
  layouts.assign(classes->size(), layout);
  SmallVector<plan::RoleAttr> owners(classes->size());
  llvm::BitVector transposed = findTransposed();
  auto makeFragments = [&](plan::RoleAttr role,
                           bool areTransposed) -> Attribute {
    int64_t warps = role.getWarps() * abi.getPlan()->cluster;
    if (!areTransposed)
      return warp::MmaSyncAttr::get(&getContext(), warps);
    return warp::RowPairsAttr::getChecked(
        [&] {
          return abi.emitError("role '")
                 << role.getName()
                 << "' has no layout for a tile that is loaded transposed: ";
        },
        &getContext(), warps);
  };
  auto assign = [&](Operation *op, bool isScatter) -> WalkResult {
    Value value = getNamedTile(op);
    if (!value || isa<tile::ScatterOp>(op) != isScatter ||
        !warp::getUnassignedTile(value.getType()))
      return WalkResult::advance();
    plan::RoleAttr role = warp::lookupOwner(
        roles, cast<tile::NamedOpInterface>(op).getNameAttr());
    unsigned number = classes->lookup(value);
    plan::RoleAttr &owner = owners[number];
    if (!role || owner == role)
      return WalkResult::advance();
    if (owner && owner.getWarps() != role.getWarps())
      return op->emitError("role '")
             << role.getName() << "' has " << role.getWarps()
             << " warps, but this tile belongs to role '" << owner.getName()
             << "', which has " << owner.getWarps()
             << ": it must pass through a stream";
    owner = role;
    layouts[number] = isScatter || transposed[number]
                          ? makeFragments(role, transposed[number])
                          : makeLayout(abi, role.getWarps(), role.getName());
    return layouts[number] ? WalkResult::advance() : WalkResult::interrupt();
  };
  // A scattered tile that is not an accumulator may have more rows per warp
  // than the unit's accumulators, so scatters come last.
  for (bool isScatter : {false, true}) {
    WalkResult walk = getOperation().walk(
        [&](Operation *op) { return assign(op, isScatter); });
    if (walk.wasInterrupted())
      return failure();
  }
  spreadAlongColumns();
  return checkAccumulators();
}

void AssignLayoutsPass::runOnKernel() {
  classes.reset();
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  layout = makeLayout(abi, abi.getPlan()->warps);
  if (!layout)
    return signalPassFailure();
  if (abi.getPlan().hasRoles() &&
      failed(assignByRole(abi, warp::getRoles(getOperation(), abi))))
    return signalPassFailure();
  WalkResult walk = getOperation().walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (!convert(result))
        return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          if (!convert(argument))
            return WalkResult::interrupt();
    if (auto held = dyn_cast<tile::OwnedRowsOp>(op)) {
      if (RankedTensorType type = warp::getUnassignedTile(held.getTile()))
        held.setTile(RankedTensorType::get(type.getShape(),
                                           type.getElementType(), layout));
    }
    auto constant = dyn_cast<arith::ConstantOp>(op);
    if (!constant || !tile::isRegisterTile(constant.getType()))
      return WalkResult::advance();
    // The tile dialect verifies that tile constants are splats.
    auto splat = cast<SplatElementsAttr>(constant.getValue());
    constant.setValueAttr(
        splat.resizeSplat(cast<ShapedType>(constant.getType())));
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return signalPassFailure();
  permuteTransposed();
  if (failed(convertOperands(abi.getPlan().getUnit())) ||
      failed(convertStored()))
    return signalPassFailure();
}
