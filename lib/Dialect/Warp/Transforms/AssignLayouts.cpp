//===- AssignLayouts.cpp - Say which thread holds which element -*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopiesWithLayout.h"
#include "RoleAssignment.h"
#include "TileClasses.h"

#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

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
  /// A layout of the kernel's matrix unit that so many warps share, those of a
  /// role if it is named; null after a diagnostic.
  Attribute makeLayout(launch::AbiOp abi, int64_t warps, StringRef role = {});
  /// Where roles have different numbers of warps, a layout for each class of
  /// tiles: that of the role which owns what is done with them.
  LogicalResult assignByRole(launch::AbiOp abi, ArrayRef<plan::RoleAttr> roles);
  Attribute getLayout(Value value) const {
    return classes ? layouts[classes->lookup(value)] : layout;
  }
  bool convert(Value value);
  /// At a tile, or the kernel if it is from nowhere.
  InFlightDiagnostic emitErrorAt(Value value);
  /// Computed first operands of dots into the layout that the unit reads.
  LogicalResult convertOperands(plan::MatrixUnitAttrInterface unit);

  /// Of all tiles, or of those that no role does anything with.
  Attribute layout;
  std::optional<warp::TileClasses> classes;
  SmallVector<Attribute> layouts;
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
        << ", and each of these parts is shared by all of its warps";
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

LogicalResult
AssignLayoutsPass::convertOperands(plan::MatrixUnitAttrInterface unit) {
  WalkResult walk = getOperation().walk([&](warp::DotOp dot) -> WalkResult {
    auto operand = dyn_cast<RankedTensorType>(dot.getA().getType());
    if (!operand)
      return WalkResult::advance();
    Attribute layout = unit.getOperandLayout(dot.getTileType().getEncoding(),
                                             operand.getElementTypeBitWidth());
    if (!layout)
      return dot.emitOpError("takes no first operand of ")
             << operand.getElementType() << " from registers in "
             << dot.getTileType().getEncoding()
             << ": it must cross through a stream ('tile.stream')";
    auto wanted = RankedTensorType::getChecked(
        [&] { return dot.emitOpError(); }, operand.getShape(),
        operand.getElementType(), layout);
    if (!wanted)
      return WalkResult::interrupt();
    if (wanted == operand)
      return WalkResult::advance();
    OpBuilder builder(dot);
    dot.getAMutable().assign(
        warp::ConvertLayoutOp::create(builder, dot.getLoc(), wanted, dot.getA(),
                                      /*permuted=*/UnitAttr()));
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
           << " warps, which the matrix unit has no layout for: ";
    return diag;
  };
  plan::KernelAttr plan = abi.getPlan();
  return plan.getUnit().getLayout(emitError, warps * plan->cluster,
                                  plan->columnWarps);
}

/// A tile of the class that the op, which has a name, makes or stores.
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

/// Gives each scatter row and column indices of its own: other roles may need
/// the same values in another layout.
static void separatePlaces(gpu::GPUFuncOp kernel) {
  kernel.walk([](tile::ScatterOp scatter) {
    if (!scatter.getName())
      return;
    OpBuilder b(scatter);
    IRMapping mapping;
    for (OpOperand &index : scatter.getIndicesMutable()) {
      auto type = dyn_cast<RankedTensorType>(index.get().getType());
      if (type && llvm::is_contained(type.getShape(), 1))
        index.set(warp::cloneTile(b, index.get(), mapping, [](Operation *op) {
          return !isa<tile::StreamOp>(op);
        }));
    }
    // An op without other users would have no layout.
    SmallVector<Operation *> made;
    for (auto [op, clone] : mapping.getOperationMap())
      made.push_back(op);
    for (bool erased = true; erased;) {
      erased = false;
      for (Operation *&op : made)
        if (op && op->use_empty()) {
          op->erase();
          op = nullptr;
          erased = true;
        }
    }
  });
}

LogicalResult AssignLayoutsPass::assignByRole(launch::AbiOp abi,
                                              ArrayRef<plan::RoleAttr> roles) {
  separatePlaces(getOperation());
  classes.emplace(getOperation());
  layouts.assign(classes->size(), layout);
  SmallVector<plan::RoleAttr> owners(classes->size());
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
             << " warps, but this tile is one of role '" << owner.getName()
             << "', which has " << owner.getWarps()
             << ": it must cross through a stream";
    owner = role;
    layouts[number] =
        isScatter ? warp::MmaSyncAttr::get(
                        &getContext(), role.getWarps() * abi.getPlan()->cluster)
                  : makeLayout(abi, role.getWarps(), role.getName());
    return layouts[number] ? WalkResult::advance() : WalkResult::interrupt();
  };
  // What is added by places of its own, and is part of no product, may have
  // more rows a warp than the unit's accumulators.
  for (bool isScatter : {false, true}) {
    WalkResult walk = getOperation().walk(
        [&](Operation *op) { return assign(op, isScatter); });
    if (walk.wasInterrupted())
      return failure();
  }
  return success();
}

void AssignLayoutsPass::runOnKernel() {
  classes.reset();
  launch::AbiOp abi = launch::requireAbi(getOperation());
  if (!abi)
    return signalPassFailure();
  // Who reads that memory has whole rows; nothing is lowered from there yet.
  if (abi.getPlan().getUnit().accumulatesInMemory())
    return;
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
    if (auto held = dyn_cast<tile::HeldRowsOp>(op)) {
      if (RankedTensorType type = warp::getUnassignedTile(held.getTile()))
        held.setTile(RankedTensorType::get(type.getShape(),
                                           type.getElementType(), layout));
    }
    auto constant = dyn_cast<arith::ConstantOp>(op);
    if (!constant || !tile::isRegisterTile(constant.getType()))
      return WalkResult::advance();
    // The tile dialect verifies that.
    auto splat = cast<SplatElementsAttr>(constant.getValue());
    constant.setValueAttr(
        splat.resizeSplat(cast<ShapedType>(constant.getType())));
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return signalPassFailure();
  if (failed(convertOperands(abi.getPlan().getUnit())))
    return signalPassFailure();
}
