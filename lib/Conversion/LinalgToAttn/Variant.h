//===- Variant.h - Create score_mod and mask_mod ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_LINALGTOATTN_VARIANT_H
#define FOVEA_LIB_CONVERSION_LINALGTOATTN_VARIANT_H

#include "Arrangement.h"

#include "mlir/IR/IRMapping.h"

namespace fovea::raising {

/// The softmax input in the form of attn.forward: scale, score_mod and
/// mask_mod.
class Variant {
public:
  /// Constant scores of at most `maskedBelow` are masks.
  Variant(Match &match, const Arrangement &arrangement, double maskedBelow);

  /// False with a reason in `missed` if a region can't use a value.
  bool check(std::optional<Missed> &missed) const;

  double getScale() const { return scale; }
  /// Creates the values to capture.
  llvm::SmallVector<mlir::Value> makeCaptures(mlir::OpBuilder &builder,
                                              mlir::Location loc);
  /// Creates the op's regions with the captures created before.
  void fillRegions(mlir::OpBuilder &builder, attn::ForwardOp op);

private:
  void findMasks(double maskedBelow);
  mlir::Value stripMask(mlir::Value value, double maskedBelow);
  mlir::Value joinTerms(mlir::Operation *op, mlir::Value lhs, mlir::Value rhs);
  void findScale();
  void findCaptures();
  void addCapture(const Leaf &leaf);
  void addExtents(llvm::ArrayRef<unsigned> axes);
  std::optional<unsigned> getCoordinate(const AxisList &axes) const;
  llvm::SmallBitVector
  getSingleAxes(const llvm::DenseSet<mlir::Value> &slice) const;
  unsigned getCapture(const Leaf &leaf) const;
  void fillRegion(mlir::OpBuilder &builder, attn::ForwardOp op,
                  mlir::Region &region, mlir::Value root, bool hasScore);
  void mapAxes(mlir::OpBuilder &builder, mlir::Location loc,
               mlir::ValueRange coordinates, mlir::ValueRange captures,
               const llvm::SmallBitVector &used, mlir::IRMapping &mapping);
  mlir::Value getIndexIn(mlir::OpBuilder &builder, mlir::Location loc,
                         const Position &position, mlir::ValueRange coordinates,
                         mlir::ValueRange captures,
                         const mlir::IRMapping &mapping);
  mlir::Value getExtentIn(mlir::OpBuilder &builder, mlir::Location loc,
                          unsigned axis, mlir::ValueRange captures);

  Match &match;
  Expression &expression;
  /// The axes of b, h, i and j.
  Groups groups;
  /// The captured leaves. For tensors only the source matters.
  llvm::SmallVector<Leaf> captures;
  /// The score after scaling; the softmax input without masks, if it differs
  /// from that score; the mask, if not all keys are visible.
  mlir::Value base, score, mask;
  double scale = 1.0;
};

} // namespace fovea::raising

#endif // FOVEA_LIB_CONVERSION_LINALGTOATTN_VARIANT_H
