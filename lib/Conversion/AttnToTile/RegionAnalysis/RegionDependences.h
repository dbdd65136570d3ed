//===- RegionDependences.h - Dependences of region values -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dimensions of a score block along which each value of a region varies.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_REGIONDEPENDENCES_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_REGIONDEPENDENCES_H

#include "mlir/IR/Region.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace fovea {

/// The rows of a block: queries of a head; heads, one query of each; or several
/// queries of several heads (PackGQA).
enum class BlockRows { Queries, Heads, QueriesOfHeads };

/// How the values of score_mod or mask_mod vary within a score block: the join
/// of their operands' kinds.
class RegionDependences {
public:
  enum Kind : unsigned {
    Uniform = 0,
    /// Varies along the rows' dimension.
    OnQuery = 1,
    OnKey = 2,
    OnScore = 4,
    /// The result of an op that is not injective.
    Narrowed = 8
  };

  /// The last `captures` arguments are captured values.
  RegionDependences(mlir::Region &region, unsigned captures,
                    BlockRows rows = BlockRows::Queries);

  /// The union of the kinds that apply.
  unsigned of(mlir::Value value) const { return kinds.lookup(value); }
  bool isUniform(mlir::Value value) const { return of(value) == Uniform; }
  /// True if the index `value` is the coordinate `kind` plus a uniform value.
  bool isShifted(mlir::Value value, Kind kind) const;
  /// True if it depends only on the relative position of query and key, and on
  /// uniform values.
  bool isByDistance(mlir::Value value) const {
    return relative.contains(value);
  }
  /// True if it varies along both dimensions of a block.
  bool isByScore(mlir::Value value) const {
    unsigned kind = of(value);
    return (kind & OnScore) || ((kind & OnQuery) && (kind & OnKey));
  }
  /// True if it is a sum of the score, possibly times a uniform value, and of
  /// terms that vary along one dimension of a block or are one of `others`.
  bool isSumOfSides(mlir::Value value,
                    llvm::ArrayRef<mlir::Value> others = {}) const;

private:
  /// How a sum of coordinates changes with each of them.
  struct Steps {
    int64_t query, key;
  };

  /// Registers `argument` as a coordinate that changes by one between
  /// neighbours.
  void addCoordinate(mlir::Value argument, Kind kind);
  void add(mlir::Operation &op);
  void addSteps(mlir::Operation &op);
  std::optional<Steps> getSteps(mlir::Value value) const;
  /// True if the result of `op`, which varies along both dimensions, is such a
  /// sum if all operands are.
  bool keepsSum(mlir::Operation *op) const;

  llvm::DenseMap<mlir::Value, unsigned> kinds;
  llvm::DenseMap<mlir::Value, Steps> steps;
  llvm::DenseSet<mlir::Value> relative;
};

/// The fewest adjacent keys that are worth a load of their own.
constexpr int64_t kLeastKeyChunk = 16;

/// If `index` is the argument `key` divided by a constant: the number of
/// adjacent keys that share its value. None if those are few.
std::optional<int64_t> getKeyChunk(mlir::Value index, mlir::BlockArgument key);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_REGIONDEPENDENCES_H
