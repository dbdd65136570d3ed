//===- TileDialect.cpp - The tile dialect and its attributes --------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Tile/IR/Semaphores.h"
#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fovea::tile;

#include "fovea/Dialect/Tile/IR/TileDialect.cpp.inc"
#include "fovea/Dialect/Tile/IR/TileEnums.cpp.inc"

#include "fovea/Dialect/Tile/IR/TileAttrInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "fovea/Dialect/Tile/IR/TileAttrs.cpp.inc"

namespace {
/// Verifies tile kernels for the verifier of `launch.abi`.
struct TileKernels : fovea::launch::KernelDialectInterface {
  using KernelDialectInterface::KernelDialectInterface;

  LogicalResult verifyKernel(Operation *kernel) const override;
};
} // namespace

void TileDialect::initialize() {
  addInterfaces<TileKernels>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "fovea/Dialect/Tile/IR/TileAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fovea/Dialect/Tile/IR/TileOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "fovea/Dialect/Tile/IR/TileSemaphoreOps.cpp.inc"
      >();
}

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location loc) {
  bool isSplat = isRegisterTile(type) && isa<SplatElementsAttr>(value);
  if (!isSplat && !isa<IntegerAttr>(value))
    return nullptr;
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

bool fovea::tile::isRegisterTile(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 2 && tensor.hasStaticShape() &&
         isa_and_nonnull<RegisterEncodingAttrInterface>(tensor.getEncoding());
}

/// Checks that all tensors are register tiles and that constant tiles are
/// splats.
LogicalResult TileKernels::verifyKernel(Operation *kernel) const {
  auto isTileOrNoTensor = [](Type type) {
    return !isa<TensorType>(type) || isRegisterTile(type);
  };
  WalkResult result = kernel->walk([&](Operation *op) -> WalkResult {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          if (!isTileOrNoTensor(argument.getType()))
            return emitError(argument.getLoc())
                   << "a kernel's tensors must be register tiles, found "
                   << argument.getType();
    for (Type type : op->getResultTypes())
      if (!isTileOrNoTensor(type))
        return op->emitOpError(
                   "a kernel's tensors must be register tiles, found ")
               << type;
    ElementsAttr value;
    if (matchPattern(op, m_Constant(&value)) &&
        isRegisterTile(value.getType()) && !isa<SplatElementsAttr>(value))
      return op->emitOpError("a constant register tile must be a splat; tiles "
                             "that vary come from tile.iota or from memory");
    return success();
  });
  return failure(result.wasInterrupted());
}

bool fovea::tile::makesTile(Operation *op, function_ref<bool(Type)> isTile) {
  return op->getNumResults() == 1 && op->getNumRegions() == 0 &&
         isTile(op->getResult(0).getType()) && isMemoryEffectFree(op) &&
         llvm::none_of(op->getOperandTypes(), isTile);
}

void fovea::tile::makeTilesForEachUse(Operation *kernel,
                                      function_ref<bool(Type)> isTile) {
  SmallVector<Operation *> made;
  kernel->walk([&](Operation *op) {
    if (makesTile(op, isTile))
      made.push_back(op);
  });
  for (Operation *op : made) {
    OpBuilder b(op);
    SmallVector<OpOperand *> uses(llvm::make_pointer_range(op->getUses()));
    for (OpOperand *use : ArrayRef(uses).drop_front(uses.empty() ? 0 : 1))
      use->set(b.clone(*op)->getResult(0));
  }
}

RankedTensorType fovea::tile::tileLike(RankedTensorType like,
                                       ArrayRef<int64_t> shape,
                                       Type elementType) {
  return RankedTensorType::get(shape, elementType, like.getEncoding());
}

LogicalResult
fovea::tile::verifyRegisterTile(ArrayRef<int64_t> shape,
                                function_ref<InFlightDiagnostic()> emitError) {
  if (shape.size() != 2)
    return emitError() << "a register tile must have rank 2, found rank "
                       << shape.size();
  for (int64_t size : shape)
    if (ShapedType::isDynamic(size) || size <= 0 || size > kMaxTileExtent)
      return emitError() << "a register tile must have static extents in [1, "
                         << kMaxTileExtent << "]";
  return success();
}

LogicalResult
RegAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                        function_ref<InFlightDiagnostic()> emitError) const {
  return verifyRegisterTile(shape, emitError);
}
