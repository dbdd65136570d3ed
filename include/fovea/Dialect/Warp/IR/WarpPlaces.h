//===- WarpPlaces.h - Lane and register of a tile element -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layout maps threads and registers to elements. This is the inverse map
// within one warp: the lane and the register that hold an element. It supports
// layouts that divide rows among warps (`getRowWarps`).
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_WARP_IR_WARPPLACES_H
#define FOVEA_DIALECT_WARP_IR_WARPPLACES_H

#include "fovea/Dialect/Warp/IR/Warp.h"

#include <map>

namespace fovea::warp {

class WarpPlaces {
public:
  /// Row, relative to the warp's first row, and column.
  using Element = std::pair<int64_t, int64_t>;
  struct Place {
    int64_t lane, number;
  };

  /// `isFor(tile)` must be true.
  explicit WarpPlaces(mlir::RankedTensorType tile);
  /// Returns true if the tile has a layout that divides rows among warps.
  static bool isFor(mlir::RankedTensorType tile);

  /// Number of elements per lane.
  int64_t getNumElements() const { return offsets.size(); }
  Element getElement(Place place) const;
  /// Returns the first lane if several lanes hold the element.
  Place getPlace(Element element) const;

private:
  /// How lanes divide the period of a dimension: pairs of a lane-index bit and
  /// the distance that it adds to the lane's base.
  using Steps = llvm::SmallVector<std::pair<int64_t, int64_t>>;

  static Steps getSteps(mlir::RankedTensorType tile, int64_t dim);

  Steps rowSteps, columnSteps;
  llvm::SmallVector<Element> offsets;
  std::map<Element, int64_t> numbers;
};

/// Returns, for each column of `to`, the column of `from` in the same
/// registers. With this permutation of columns no data moves. Both tiles have
/// the same shape and keep rows in the same lanes.
llvm::SmallVector<int64_t> getFreePermutation(mlir::RankedTensorType from,
                                              mlir::RankedTensorType to);

} // namespace fovea::warp

#endif // FOVEA_DIALECT_WARP_IR_WARPPLACES_H
