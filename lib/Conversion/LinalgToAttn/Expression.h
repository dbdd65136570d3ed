//===- Expression.h - Elements of tensors as scalars ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_LINALGTOATTN_EXPRESSION_H
#define FOVEA_LIB_CONVERSION_LINALGTOATTN_EXPRESSION_H

#include "Space.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <memory>

namespace fovea::raising {

/// What an expression reads: an element of a tensor, a scalar of the program,
/// an index that several axes make, or how far an axis goes.
struct Leaf {
  enum class Kind { Element, Scalar, Index, Extent } kind;
  mlir::Value source;
  Positions positions;
  unsigned axis = 0;
};

/// Elements of tensors, written as scalar arithmetic in a block of its own.
/// Elementwise ops are followed to what they are computed from; the block's
/// arguments are the axes' positions first, then what is read (leaves). Equal
/// arithmetic is one value. Floats narrower than f32 are computed in f32, so
/// that conversions between them are not there.
class Expression {
public:
  Expression(Space &space, mlir::MLIRContext *context);

  /// The element; null if an axis has to be cut first (`Space::hasCut`), or if
  /// there is too much to compute.
  mlir::Value getElement(mlir::Value tensor,
                         llvm::ArrayRef<Position> positions);

  /// A value of the op's body in the iteration at `loops`; null if the body has
  /// ops that can't stand in a region of attention.
  mlir::Value getBodyValue(mlir::linalg::LinalgOp op,
                           llvm::ArrayRef<Position> loops, mlir::Value value);

  /// What the value reads, also through an extension to f32; null if it is
  /// computed.
  const Leaf *getLeaf(mlir::Value value) const;
  /// The axis whose position the value is.
  std::optional<unsigned> getAxis(mlir::Value value) const;

  /// All that the value is computed from, itself included, but not what `end`
  /// is computed from.
  llvm::DenseSet<mlir::Value> getSlice(mlir::Value value,
                                       mlir::Value end = {}) const;
  /// Axes that the value depends on.
  llvm::SmallBitVector getAxesOf(mlir::Value value) const;

  /// Adds the op, or takes one that is there and equal.
  mlir::Value create(mlir::Operation *op);
  mlir::Value createConstant(mlir::TypedAttr value);
  /// The index that a position stands for.
  mlir::Value getIndex(const Position &position);

  mlir::Block &getBlock() { return *block; }
  mlir::OpBuilder &getBuilder() { return builder; }

private:
  mlir::Value getBodyValue(mlir::linalg::LinalgOp op,
                           llvm::ArrayRef<Position> loops, mlir::Value value,
                           llvm::DenseMap<mlir::Value, mlir::Value> &made);
  mlir::Value makeBodyValue(mlir::linalg::LinalgOp op,
                            llvm::ArrayRef<Position> loops, mlir::Value value,
                            llvm::DenseMap<mlir::Value, mlir::Value> &made);
  mlir::Value computeElement(const Place &place);
  mlir::Value computeLinalgElement(mlir::linalg::LinalgOp op,
                                   const Place &place);
  mlir::Value computeMappedElement(mlir::Operation *op, const Place &place);
  mlir::Value getArgumentValue(mlir::linalg::LinalgOp op,
                               llvm::ArrayRef<Position> loops,
                               mlir::BlockArgument argument);
  mlir::Value cloneScalarOp(mlir::Operation *op,
                            llvm::ArrayRef<mlir::Value> operands);
  mlir::Value getScalar(mlir::Value value);
  mlir::Value addLeaf(Leaf leaf, mlir::Type type, mlir::Location loc);
  mlir::Value promote(mlir::Value value);

  Space &space;
  std::unique_ptr<mlir::Block> block;
  mlir::OpBuilder builder;
  llvm::SmallVector<Leaf> leaves;
  llvm::SmallVector<std::pair<Place, mlir::Value>> known;
  unsigned steps = 0;
};

/// The type that elements of `type` are computed in.
mlir::Type getComputedType(mlir::Type type);

/// The float that a value of an expression is, if it is a constant.
std::optional<double> getConstantFloat(mlir::Value value);

} // namespace fovea::raising

#endif // FOVEA_LIB_CONVERSION_LINALGTOATTN_EXPRESSION_H
