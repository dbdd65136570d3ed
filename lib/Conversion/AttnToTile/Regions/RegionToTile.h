//===- RegionToTile.h - Evaluates regions on tiles --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clones the regions of attention ops into a kernel so that they compute a
// whole score tile.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_REGIONTOTILE_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_REGIONTOTILE_H

#include "KeyBlocks/BlockTiles.h"
#include "RegionAnalysis/AffineScore.h"

namespace fovea {

/// Candidate column blocks of a tile: index of the first one, and the first and
/// the last column of each, column tiles of i32.
struct BlockCandidates {
  mlir::Value number, first, last;
};

/// Indices of loads that are the same for all scores of a block.
using ExtractPlaces =
    llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>>;

/// Tiles that all versions of a block load.
using SharedLoads = llvm::DenseMap<mlir::Operation *, mlir::Value>;

/// The value that a contribution adds to memory, and its indices.
struct SharedSum {
  mlir::Value value;
  llvm::SmallVector<mlir::Value> indices;
};

/// Clones a region of an attention op so that it computes a whole score tile.
/// Each op is emitted with the joined shape of its operands: a scalar if they
/// are uniform in the block, a row tile if they depend on the query only, a
/// column tile if on the key only, a full tile otherwise (RegionEmitter).
class RegionToTile {
public:
  RegionToTile(mlir::OpBuilder &builder, const RegionContext &context,
               const ExtractPlaces *places = nullptr,
               const SharedLoads *loads = nullptr)
      : builder(builder), context(context), places(places), loads(loads) {}

  /// Clones score_mod on `score`, whose terms are full tiles; returns the
  /// result as a sum, which is not emitted yet. Block-invariant values are
  /// emitted at `invariant`.
  mlir::FailureOr<AffineScore> cloneScoreMod(mlir::Region &region,
                                             AffineScore score,
                                             mlir::OpBuilder &invariant);
  /// Emits the loads of tiles whose indices are coordinates, up to a uniform
  /// shift. Out-of-bounds loads are defined, so no condition is needed. Passes
  /// that make copies asynchronous cannot handle loads inside a branch.
  mlir::FailureOr<SharedLoads> emitSharedLoads(mlir::Region &region,
                                               mlir::OpBuilder &invariant);
  /// Clones score_gradient on the score, as a sum so that the part common with
  /// score_mod is emitted identically, and on the derivative with respect to
  /// the score after score_mod, a full tile. Returns the yielded values as full
  /// tiles.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  cloneScoreGradient(mlir::Region &region, AffineScore score,
                     mlir::Value gradient, mlir::OpBuilder &invariant);
  /// Clones the index computations of some of score_gradient's contributions:
  /// returns per attn.contribute its indices, which are scalars, tiles of one
  /// row or column, or tiles computed per relative position.
  mlir::FailureOr<llvm::SmallVector<llvm::SmallVector<mlir::Value>>>
  cloneContributionPlaces(mlir::Region &region,
                          llvm::ArrayRef<attn::ContributeOp> contributions);
  /// Clones the computation that contributions by key apply to the sums of
  /// their shares over queries, tiles of one column: returns per contribution
  /// the value added to memory and its indices.
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

  /// Clones kv_classify for the tile's rows, from the context's first row to
  /// `last`, and blocks of its columns. Returns "any" and "all" as scalars or
  /// column tiles of i1.
  mlir::FailureOr<std::pair<mlir::Value, mlir::Value>>
  cloneClassify(mlir::Region &region, mlir::Value last,
                const BlockCandidates &candidates);

private:
  mlir::OpBuilder &builder;
  const RegionContext &context;
  /// Indices of loads that are uniform in this version of the block; or null.
  const ExtractPlaces *places;
  /// Loads that are emitted already; or null.
  const SharedLoads *loads;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONS_REGIONTOTILE_H
