//===- WarpPlaces.h - Where a warp holds a tile's elements ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layout says of each thread which elements it holds. This is the same the
// other way round, within one warp: which lane holds an element, and in which
// register. It is for layouts that part rows among warps (`getRowWarps`).
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_WARP_IR_WARPPLACES_H
#define FOVEA_DIALECT_WARP_IR_WARPPLACES_H

#include "fovea/Dialect/Warp/IR/Warp.h"

#include <map>

namespace fovea::warp {

class WarpPlaces {
public:
  /// Row, counted from the warp's first, and column.
  using Element = std::pair<int64_t, int64_t>;
  struct Place {
    int64_t lane, number;
  };

  /// The tile must have such a layout.
  explicit WarpPlaces(mlir::RankedTensorType tile);
  /// Whether the tile has a layout that parts rows among warps.
  static bool isFor(mlir::RankedTensorType tile);

  /// Elements that a lane holds.
  int64_t getNumElements() const { return offsets.size(); }
  Element getElement(Place place) const;
  /// The first lane, if several hold it.
  Place getPlace(Element element) const;

private:
  /// How lanes part the period of a dimension: masks, and what a lane's base
  /// grows by where it has the bit.
  using Steps = llvm::SmallVector<std::pair<int64_t, int64_t>>;

  static Steps getSteps(mlir::RankedTensorType tile, int64_t dim);

  Steps rowSteps, columnSteps;
  llvm::SmallVector<Element> offsets;
  std::map<Element, int64_t> numbers;
};

/// For each column of `to`, the column of `from` that lies in the same
/// registers: with that order of columns nothing moves. Both tiles have one
/// shape, and rows in the same lanes.
llvm::SmallVector<int64_t> getFreePermutation(mlir::RankedTensorType from,
                                              mlir::RankedTensorType to);

} // namespace fovea::warp

#endif // FOVEA_DIALECT_WARP_IR_WARPPLACES_H
