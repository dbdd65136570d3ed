//===- Expression.h - Tensor elements as scalars ----------------*- C++ -*-===//
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

/// An input of an expression: an element of a tensor, a scalar of the program,
/// an index composed of several axes, or the extent of an axis.
struct Leaf {
  enum class Kind { Element, Scalar, Index, Extent } kind;
  mlir::Value source;
  Positions positions;
  unsigned axis = 0;
};

/// Elements of tensors as scalar arithmetic in a separate block. Elementwise
/// ops are traced to their inputs. The arguments of the block are the positions
/// of the axes, followed by the inputs (leaves). Equal arithmetic is one value.
/// Floats narrower than f32 are computed in f32, without the conversions
/// between them.
class Expression {
public:
  Expression(Space &space, mlir::MLIRContext *context);

  /// The element. Null if an axis must be split first (`Space::hasCut`), or if
  /// the expression is too large.
  mlir::Value getElement(mlir::Value tensor,
                         llvm::ArrayRef<Position> positions);

  /// A value of the op's body in the iteration at `loops`. Null if the body has
  /// ops that are not allowed in regions of attn ops.
  mlir::Value getBodyValue(mlir::linalg::LinalgOp op,
                           llvm::ArrayRef<Position> loops, mlir::Value value);

  /// The leaf of the value, also through an extension to f32; null if the value
  /// is computed.
  const Leaf *getLeaf(mlir::Value value) const;
  /// The axis whose position is the value.
  std::optional<unsigned> getAxis(mlir::Value value) const;

  /// The backward slice of the value, including the value. It does not continue
  /// past `end`.
  llvm::DenseSet<mlir::Value> getSlice(mlir::Value value,
                                       mlir::Value end = {}) const;
  /// The axes that the value depends on.
  llvm::SmallBitVector getAxesOf(mlir::Value value) const;

  /// Adds the op, or returns an existing equal one.
  mlir::Value create(mlir::Operation *op);
  mlir::Value createConstant(mlir::TypedAttr value);
  /// The index value of a position.
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

/// The type in which elements of `type` are computed.
mlir::Type getComputedType(mlir::Type type);

/// The value of a float constant.
std::optional<double> getConstantFloat(mlir::Value value);

} // namespace fovea::raising

#endif // FOVEA_LIB_CONVERSION_LINALGTOATTN_EXPRESSION_H
