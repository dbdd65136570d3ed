//===- RegionDependences.h - What values of a region depend on --*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_REGIONDEPENDENCES_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_REGIONDEPENDENCES_H

#include "mlir/IR/Region.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace fovea {

/// What the rows of a block are: queries of a head; heads, one query of each;
/// or several queries of several heads.
enum class BlockRows { Queries, Heads, QueriesOfHeads };

/// How the values of score_mod or mask_mod differ within a block of scores: the
/// join of what their operands do.
class RegionDependences {
public:
  enum Kind : unsigned {
    Uniform = 0,
    /// By what rows are.
    OnQuery = 1,
    OnKey = 2,
    OnScore = 4,
    /// Made by an op that takes different values to the same one.
    Narrowed = 8
  };

  /// The last `captures` arguments are captured values.
  RegionDependences(mlir::Region &region, unsigned captures,
                    BlockRows rows = BlockRows::Queries);

  /// The kinds that hold, or'ed.
  unsigned of(mlir::Value value) const { return kinds.lookup(value); }
  bool isUniform(mlir::Value value) const { return of(value) == Uniform; }
  /// Whether `value` is the coordinate `kind` plus what is uniform.
  bool isShifted(mlir::Value value, Kind kind) const {
    auto found = shifted.find(value);
    return found != shifted.end() && found->second == kind;
  }
  /// Whether it depends on nothing but the distance of query and key, and what
  /// is uniform.
  bool isByDistance(mlir::Value value) const {
    return byDistance.contains(value);
  }
  /// Whether it differs along both sides of a block.
  bool isByScore(mlir::Value value) const {
    unsigned kind = of(value);
    return (kind & OnScore) || ((kind & OnQuery) && (kind & OnKey));
  }
  /// Whether it is a sum of the score, perhaps times what is uniform, and of
  /// parts that differ along one side of a block only, or are one of `others`.
  bool isSumOfSides(mlir::Value value,
                    llvm::ArrayRef<mlir::Value> others = {}) const;

private:
  /// How a sum of coordinates grows with each of them.
  struct Steps {
    int64_t query, key;
  };

  /// Makes `argument` a coordinate of which neighbours differ by one.
  void addCoordinate(mlir::Value argument, Kind kind);
  void add(mlir::Operation &op);
  void addSteps(mlir::Operation &op);
  std::optional<Steps> getSteps(mlir::Value value) const;
  /// Whether the result of `op`, which differs along both sides, can be such a
  /// sum if all operands are.
  bool keepsSum(mlir::Operation *op) const;

  llvm::DenseMap<mlir::Value, unsigned> kinds;
  llvm::DenseMap<mlir::Value, Kind> shifted;
  llvm::DenseMap<mlir::Value, Steps> steps;
  llvm::DenseSet<mlir::Value> byDistance;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_REGIONDEPENDENCES_H
