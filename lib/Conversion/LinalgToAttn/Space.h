//===- Space.h - Common axes of two contractions ----------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs reshape and transpose tensors between the two contractions. To trace
// an element through all of these ops, positions are expressed in axes:
// dimensions so fine that no reshape splits one. A dimension that is the
// collapse of two axes has both, and a dimension of extent 1 has none.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_LINALGTOATTN_SPACE_H
#define FOVEA_LIB_CONVERSION_LINALGTOATTN_SPACE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace fovea::raising {

/// The extent of an axis: a number, or if that is unknown, a dimension of a
/// tensor.
struct Extent {
  int64_t size = mlir::ShapedType::kDynamic;
  mlir::Value tensor;
  unsigned dim = 0;

  bool isDynamic() const { return mlir::ShapedType::isDynamic(size); }
  static Extent get(mlir::Value tensor, unsigned dim) {
    auto type = mlir::cast<mlir::RankedTensorType>(tensor.getType());
    return {type.getDimSize(dim), tensor, dim};
  }
};

/// Traces a dynamic dimension to its origin, for example a dimension of an
/// argument or a computed size. In the latter case `tensor` is that index.
Extent resolve(Extent extent);

/// The extent of a loop, preferably from an operand with a static type.
Extent getLoopExtent(mlir::linalg::LinalgOp op, unsigned loop);

/// Axes, outermost first. An empty list is position 0 of extent 1.
using AxisList = llvm::SmallVector<unsigned, 4>;

/// The position of an element in one dimension of a tensor: a list of axes, or
/// a computed index, which is a value of an `Expression`.
struct Position {
  AxisList axes;
  mlir::Value computed;

  bool operator==(const Position &other) const {
    return axes == other.axes && computed == other.computed;
  }
};
using Positions = llvm::SmallVector<Position, 4>;

/// The axes of the loops of the second contraction, and of one more reduction.
class Space {
public:
  /// One axis per loop, except loops of extent 1.
  explicit Space(mlir::linalg::LinalgOp output);

  /// Adds a loop after the existing ones.
  void addLoop(Extent extent);

  unsigned getNumAxes() const { return axes.size(); }
  const Extent &operator[](unsigned axis) const { return axes[axis]; }
  AxisList getAxes(unsigned loop) const;
  Position getPosition(unsigned loop) const { return {getAxes(loop), {}}; }
  /// The product of extents; dynamic if one of them is.
  int64_t getSize(llvm::ArrayRef<unsigned> list) const;

  /// Distributes the axes of a collapsed dimension to the original dimensions.
  /// nullopt if they do not match; an axis may have to be split first.
  std::optional<Positions> distribute(llvm::ArrayRef<unsigned> list,
                                      llvm::ArrayRef<Extent> dims);
  bool hasCut() const { return cut.has_value(); }
  void dropCut() { cut.reset(); }
  /// Splits the axis that `distribute` found to be too long, and renumbers all
  /// axes.
  void applyCut();

private:
  struct Cut {
    unsigned axis;
    llvm::SmallVector<Extent, 2> parts;
  };
  void renumber();

  llvm::SmallVector<llvm::SmallVector<Extent, 2>> loops;
  llvm::SmallVector<Extent> axes;
  std::optional<Cut> cut;
};

/// A tensor and the positions of an element in it.
struct Place {
  mlir::Value tensor;
  Positions positions;
};

/// True if the tensor has an encoding, for example sparse. Such tensors are not
/// changed.
bool hasEncoding(mlir::Value tensor);

/// Steps back through an op that only moves elements: shape casts, reshapes,
/// transpositions, broadcasts. nullopt if `place` is not the result of such an
/// op.
std::optional<Place> stepBack(Space &space, const Place &place);

/// Clears positions in dimensions of extent 1.
Positions normalize(mlir::Value tensor, llvm::ArrayRef<Position> positions);

/// The positions of an operand's element in an iteration; nullopt if an index
/// is not a loop.
std::optional<Positions> getOperandPositions(mlir::linalg::LinalgOp op,
                                             mlir::OpOperand &operand,
                                             llvm::ArrayRef<Position> loops);

/// The iteration that computes an element of a result; nullopt if loops are
/// missing. Reduction loops have no position.
std::optional<Positions> getLoopPositions(mlir::linalg::LinalgOp op,
                                          mlir::OpResult result,
                                          llvm::ArrayRef<Position> positions);

} // namespace fovea::raising

#endif // FOVEA_LIB_CONVERSION_LINALGTOATTN_SPACE_H
