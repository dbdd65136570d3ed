//===- Space.h - The axes that two contractions share -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs reshape and transpose tensors on the way from one contraction to the
// other. So that an element can be followed all the way, positions are counted
// by axes: dimensions so fine that no reshape cuts one. A dimension that two of
// them were collapsed into has both, a dimension of extent 1 none.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_LINALGTOATTN_SPACE_H
#define FOVEA_LIB_CONVERSION_LINALGTOATTN_SPACE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace fovea::raising {

/// How far an axis goes: a number, and where that is not known, the dimension
/// of a tensor that says so.
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

/// Follows a dynamic dimension to what it was made with: a dimension of an
/// argument, say, or a size that was computed. Then `tensor` is that index.
Extent resolve(Extent extent);

/// The extent of a loop: of the operands that have it, one whose type knows.
Extent getLoopExtent(mlir::linalg::LinalgOp op, unsigned loop);

/// Axes, the outermost first. None stand for position 0 of extent 1.
using AxisList = llvm::SmallVector<unsigned, 4>;

/// Where an element lies in one dimension of a tensor: at the axes' positions,
/// or at a computed index, which is a value of an `Expression`.
struct Position {
  AxisList axes;
  mlir::Value computed;

  bool operator==(const Position &other) const {
    return axes == other.axes && computed == other.computed;
  }
};
using Positions = llvm::SmallVector<Position, 4>;

/// The axes of an output contraction's loops, and of one reduction more.
class Space {
public:
  /// One axis a loop, as far as it is not of extent 1.
  explicit Space(mlir::linalg::LinalgOp output);

  /// Adds a loop behind those that are there.
  void addLoop(Extent extent);

  unsigned getNumAxes() const { return axes.size(); }
  const Extent &operator[](unsigned axis) const { return axes[axis]; }
  AxisList getAxes(unsigned loop) const;
  Position getPosition(unsigned loop) const { return {getAxes(loop), {}}; }
  /// The product of extents; dynamic if one is.
  int64_t getSize(llvm::ArrayRef<unsigned> list) const;

  /// Distributes the axes of a dimension to those that were collapsed into it.
  /// None if they don't fit each other; an axis may have to be cut first.
  std::optional<Positions> distribute(llvm::ArrayRef<unsigned> list,
                                      llvm::ArrayRef<Extent> dims);
  bool hasCut() const { return cut.has_value(); }
  void dropCut() { cut.reset(); }
  /// Cuts the axis that `distribute` found to be too long. All axes get new
  /// numbers.
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

/// A tensor and positions in it that hold the same element.
struct Place {
  mlir::Value tensor;
  Positions positions;
};

/// Whether the tensor is sparse, say: such are left alone.
bool hasEncoding(mlir::Value tensor);

/// Goes through an op that only moves elements: casts of shapes, reshapes,
/// transpositions, broadcasts. None if `place` is not the result of one.
std::optional<Place> stepBack(Space &space, const Place &place);

/// Drops positions in dimensions of extent 1.
Positions normalize(mlir::Value tensor, llvm::ArrayRef<Position> positions);

/// Positions of an operand's element in an iteration; none if the operand is
/// indexed by more than loops.
std::optional<Positions> getOperandPositions(mlir::linalg::LinalgOp op,
                                             mlir::OpOperand &operand,
                                             llvm::ArrayRef<Position> loops);

/// The iteration that makes the element of a result; none if loops are missing.
/// Those of reductions stay without position.
std::optional<Positions> getLoopPositions(mlir::linalg::LinalgOp op,
                                          mlir::OpResult result,
                                          llvm::ArrayRef<Position> positions);

} // namespace fovea::raising

#endif // FOVEA_LIB_CONVERSION_LINALGTOATTN_SPACE_H
