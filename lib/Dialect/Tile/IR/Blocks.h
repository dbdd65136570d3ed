//===- Blocks.h - Shared parts of loops over blocks -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_TILE_IR_BLOCKS_H
#define FOVEA_LIB_DIALECT_TILE_IR_BLOCKS_H

#include "fovea/Dialect/Tile/IR/Tile.h"

#include <array>

namespace fovea::tile {

/// The iteration order of a range of blocks.
struct BlockOrder {
  bool isDescending = false, isAtLeastOnce = false;

  BlockOrder() = default;
  explicit BlockOrder(ForBlocksOp op)
      : isDescending(op.getDescending()), isAtLeastOnce(op.getAtLeastOnce()) {}
  explicit BlockOrder(SoftmaxSumOp op) : isDescending(op.getDescending()) {}

  bool isStated() const { return isDescending || isAtLeastOnce; }
  llvm::StringRef getText() const {
    return isDescending ? " descending" : isAtLeastOnce ? " at_least_once" : "";
  }
};

/// Verifies the operands and regions of both forms.
template <typename Op>
llvm::LogicalResult verifyBlocks(Op op) {
  int64_t step = op.getStep();
  if (step <= 0)
    return op.emitOpError("step must be positive, found ") << step;
  bool isRange = op.getLower() && op.getUpper() && op.getFullLower() &&
                 op.getFullUpper(),
       hasRange = op.getLower() || op.getUpper() || op.getFullLower() ||
                  op.getFullUpper();
  if (!op.isVisiting()) {
    if (isRange && !op.getCount() && !op.getMasked() && op.getInits().empty())
      return llvm::success();
    return op.emitOpError("without 'visit' must have lower, upper, full_lower "
                          "and full_upper, and no count, masked or init");
  }
  if (hasRange || BlockOrder(op).isStated() || !op.getCount() ||
      !op.getMasked())
    return op.emitOpError("with 'visit' must have count and masked, and no "
                          "bounds and no order");
  for (mlir::Value init : op.getInits())
    if (!init.getType().isIntOrIndex())
      return op.emitOpError("init must be of integers, found ")
             << init.getType();
  return llvm::success();
}

/// `visit` takes the iteration and the carried scalars, and yields the block's
/// first key and the next scalars.
template <typename Op>
llvm::LogicalResult verifyVisit(Op op) {
  if (!op.isVisiting())
    return llvm::success();
  llvm::SmallVector<mlir::Type> types = {mlir::IndexType::get(op.getContext())};
  llvm::append_range(types, op.getInits().getTypes());
  mlir::Region &region = op.getVisit();
  if (!llvm::equal(region.getArgumentTypes(), types))
    return op.emitOpError() << "'visit' must have arguments (" << types
                            << "), found (" << region.getArgumentTypes() << ")";
  mlir::Operation *yield = region.front().getTerminator();
  if (!llvm::isa<YieldOp>(yield) ||
      !llvm::equal(yield->getOperandTypes(), types))
    return yield->emitOpError("in 'visit' must yield (")
           << types << "), found (" << yield->getOperandTypes() << ")";
  mlir::WalkResult walk =
      region.walk([&](mlir::Operation *inner) -> mlir::WalkResult {
        if (mlir::isMemoryEffectFree(inner) ||
            mlir::hasSingleEffect<mlir::MemoryEffects::Read>(inner) ||
            inner->hasTrait<mlir::OpTrait::HasRecursiveMemoryEffects>())
          return mlir::WalkResult::advance();
        return inner->emitOpError(
            "is not allowed in 'visit': expected no memory "
            "effects other than reads");
      });
  return llvm::failure(walk.wasInterrupted());
}

/// Parses `%lower to %upper step 64 descending full(%fb, %fe)` or
/// `blocks %count masked(%masked) init(%a : i32) step 64`.
mlir::ParseResult parseBlocks(
    mlir::OpAsmParser &parser, bool &isVisiting, int64_t &step,
    BlockOrder &order,
    llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &operands,
    llvm::SmallVectorImpl<mlir::Type> &initTypes);

template <typename Op>
void printBlocks(mlir::OpAsmPrinter &p, Op op) {
  if (!op.isVisiting()) {
    p << ' ' << op.getLower() << " to " << op.getUpper() << " step "
      << op.getStep() << BlockOrder(op).getText() << " full("
      << op.getFullLower() << ", " << op.getFullUpper() << ')';
    return;
  }
  p << " blocks " << op.getCount() << " masked(" << op.getMasked() << ')';
  if (!op.getInits().empty())
    p << " init(" << op.getInits() << " : " << op.getInits().getTypes() << ')';
  p << " step " << op.getStep();
}

/// Sizes of the operand segments: four bounds, `count` and `masked`, inits, and
/// one more segment.
std::array<int32_t, 8> getSegments(bool isVisiting, size_t inits, size_t more);

/// Parses `(%j: index, %partial: i1) { ... }`; printing adds `name` before it.
mlir::ParseResult parseWithArguments(mlir::OpAsmParser &parser,
                                     mlir::Region &region);
void printWithArguments(mlir::OpAsmPrinter &p, llvm::StringRef name,
                        mlir::Region &region);

} // namespace fovea::tile

#endif // FOVEA_LIB_DIALECT_TILE_IR_BLOCKS_H
