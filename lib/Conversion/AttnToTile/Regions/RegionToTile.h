//===- RegionToTile.h - Evaluates a region on tiles -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_REGIONTOTILE_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_REGIONTOTILE_H

#include "KeyBlocks/BlockTiles.h"
#include "RegionAnalysis/AffineScore.h"

namespace fovea {

/// Blocks of a tile's columns that may be visited: the first one's number
/// (index), and the first and the last element of each, column tiles of i32.
struct BlockCandidates {
  mlir::Value number, first, last;
};

/// Indices of reads that are the same for all scores of a block.
using ExtractPlaces =
    llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>>;

/// What a contribution adds to memory, and where.
struct SharedSum {
  mlir::Value value;
  llvm::SmallVector<mlir::Value> indices;
};

/// Clones a region of an attention op so that it computes a whole tile of
/// scores at once. Each op is emitted at the join of what its operands depend
/// on: a scalar if they are the same for the whole block, a row tile if they
/// depend on the query only, a column tile if on the key only, a full tile
/// otherwise (RegionEmitter).
class RegionToTile {
public:
  RegionToTile(mlir::OpBuilder &builder, const RegionContext &context,
               const ExtractPlaces *places = nullptr)
      : builder(builder), context(context), places(places) {}

  /// Clones score_mod on the score `score`, whose terms are full tiles, but for
  /// the sum that its result is. What is the same for all blocks goes to where
  /// `invariant` stands.
  mlir::FailureOr<AffineScore> cloneScoreMod(mlir::Region &region,
                                           AffineScore score,
                                           mlir::OpBuilder &invariant);
  /// Clones score_gradient on the score as a sum, so that what it shares with
  /// score_mod is emitted alike, and on the derivative behind it, a full tile.
  /// What it yields, as full tiles.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  cloneScoreGradient(mlir::Region &region, AffineScore score,
                     mlir::Value gradient, mlir::OpBuilder &invariant);
  /// Clones what the places of some of score_gradient's contributions are
  /// computed from: for each attn.contribute its indices, scalars, tiles of one
  /// row or column, or tiles made of diagonals.
  mlir::FailureOr<llvm::SmallVector<llvm::SmallVector<mlir::Value>>>
  cloneContributionPlaces(mlir::Region &region,
                          llvm::ArrayRef<attn::ContributeOp> contributions);
  /// Clones what contributions by key do with the sums of their shares over
  /// queries, tiles of one column: for each what is added to memory, and the
  /// indices of the place.
  mlir::FailureOr<llvm::SmallVector<SharedSum>>
  cloneSharedSums(mlir::Region &region,
                  llvm::ArrayRef<attn::ContributeOp> contributions,
                  llvm::ArrayRef<Share> shares, mlir::ValueRange sums);
  /// Clones mask_mod; the result is a full tile of i1.
  mlir::FailureOr<mlir::Value> cloneMaskMod(mlir::Region &region);
  /// Clones a region of scalars, such as kv_bounds; `arguments` are its
  /// coordinates.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  cloneScalars(mlir::Region &region, llvm::ArrayRef<mlir::Value> arguments);

  /// Clones kv_classify for the tile's rows, from the context's first one to
  /// `last`, and blocks of its columns; any and all are scalars or column tiles
  /// of i1.
  mlir::FailureOr<std::pair<mlir::Value, mlir::Value>>
  cloneClassify(mlir::Region &region, mlir::Value last,
                const BlockCandidates &candidates);

private:
  mlir::OpBuilder &builder;
  const RegionContext &context;
  /// Of reads that are uniform here, though not everywhere; or null.
  const ExtractPlaces *places;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_REGIONTOTILE_H
