//===- RegionToTile.h - Evaluates a region on tiles -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONTOTILE_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONTOTILE_H

#include "BlockSummaries.h"
#include "ExactValues.h"
#include "RegionContext.h"
#include "RegionDependences.h"
#include "ScoreForm.h"

#include "fovea/Dialect/Attn/IR/Attn.h"
#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"

namespace fovea {

/// Blocks of a tile's columns that may be visited: the first one's number
/// (index), and the first and the last element of each, column tiles of i32.
struct BlockCandidates {
  mlir::Value number, first, last;
};

/// Indices of reads that are the same for all scores of a block.
using ExtractPlaces =
    llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value>>;

/// Clones a region of an attention op so that it computes a whole tile of
/// scores at once. Each op is emitted at the join of what its operands depend
/// on: a scalar if they are the same for the whole block, a row tile if they
/// depend on the query only, a column tile if on the key only, a full tile
/// otherwise. Values of type `index` become i32 on tiles where their range
/// allows, else i64.
class RegionToTile {
public:
  RegionToTile(mlir::OpBuilder &builder, const RegionContext &context,
               const ExtractPlaces *places = nullptr)
      : builder(builder), context(context), places(places) {}

  /// Clones score_mod on the score `score`, whose terms are full tiles, but for
  /// the sum that its result is. What is the same for all blocks goes to where
  /// `invariant` stands.
  mlir::FailureOr<ScoreForm> cloneScoreMod(mlir::Region &region,
                                           ScoreForm score,
                                           mlir::OpBuilder &invariant);
  /// Clones a region of scores, such as score_gradient: `leading` are the full
  /// tiles that stand before its coordinates. What it yields, as full tiles.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  cloneScores(mlir::Region &region, llvm::ArrayRef<mlir::Value> leading);
  /// The same for score_gradient, on the score as a sum: what it shares with
  /// score_mod is emitted alike.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  cloneScoreGradient(mlir::Region &region, ScoreForm score,
                     mlir::Value gradient, mlir::OpBuilder &invariant);
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

  /// Coordinates of the block's keys, i32: a column tile, or a row tile where
  /// rows are keys.
  mlir::Value getKeyTile(mlir::Location loc);
  /// Those of the block's queries, the other way.
  mlir::Value getQueryTile(mlir::Location loc);
  /// What a vector with an element for each head has for each row, where rows
  /// are heads.
  mlir::Value loadOfHeads(mlir::Location loc, mlir::Value vector);
  /// A scalar or tile as a full tile.
  mlir::Value toFullTile(mlir::Location loc, mlir::Value value);

private:
  /// A coordinate plus a scalar: lets an extract become a box load.
  struct UnitAffine {
    int64_t dim;       // of the tile: 0 along its rows, 1 along its columns
    mlir::Value first; // coordinate of the block's first element, index
  };

  /// A sum of coordinates times constants and a scalar of type index.
  struct CoordinateSum {
    int64_t query, key, constant;
    mlir::Value uniform; // or null
  };

  static mlir::ConstantIntRanges makeRange(int64_t low, int64_t high);
  /// The largest power of two that divides `value`.
  static int64_t getPowerOf2(int64_t value) { return value & -value; }
  /// `first + 0, 1, 2, ...` along `dim`; `first` is a multiple of `alignment`.
  /// Positions are not negative and do not overflow; who compares them is told.
  mlir::Value makeCoordinates(mlir::Location loc, mlir::Value first,
                              int64_t alignment, mlir::RankedTensorType type,
                              int64_t dim);
  /// What `region` gets as b, h, i and j.
  llvm::SmallVector<mlir::Value> getPlaces(mlir::Region &region);
  /// The tile's dimension that queries lie along, and that of keys.
  int64_t getQueryDim() const { return context.rowsAreKeys ? 1 : 0; }
  int64_t getKeyDim() const { return context.rowsAreKeys ? 0 : 1; }
  /// The type of `count` integers along `dim` of a tile.
  mlir::RankedTensorType getLineType(int64_t count, int64_t dim);
  /// Head and query of each row, where rows are several queries of each head.
  std::pair<mlir::Value, mlir::Value> getFoldedRows(mlir::Location loc);
  mlir::LogicalResult cloneBody(mlir::Region &region);
  mlir::LogicalResult cloneOp(mlir::Operation *op);
  mlir::LogicalResult cloneElementwise(mlir::Operation *op);
  mlir::LogicalResult cloneDim(mlir::tensor::DimOp op);
  mlir::LogicalResult cloneExtract(mlir::tensor::ExtractOp op);
  mlir::LogicalResult cloneContribute(attn::ContributeOp op);
  /// Whether `op` takes more than the few instructions that bring a diagonal to
  /// the scores on it.
  bool isDear(mlir::Operation *op);
  /// Whether `op` depends on the distance of query and key alone, and is
  /// computed for diagonals instead of scores.
  bool isForDiagonals(mlir::Operation *op);
  mlir::LogicalResult cloneForDiagonals(mlir::Operation *op);
  /// Clones, in this block of one query, what `op` of `scores` computes from
  /// distances.
  mlir::LogicalResult cloneFrom(RegionToTile &scores, mlir::Operation *op);
  template <typename OpTy>
  void cloneExtreme(OpTy op);
  /// An element of `source`, whose uniform indices are `first`: a scalar, or a
  /// box along `dims`.
  mlir::Value loadBox(mlir::Location loc, mlir::Value source,
                      llvm::ArrayRef<mlir::Value> first,
                      llvm::ArrayRef<int64_t> dims);
  /// One element of `source`, or 0 where dimension `position` has fewer.
  mlir::Value loadInside(mlir::Location loc, mlir::Value source,
                         llvm::ArrayRef<mlir::Value> indices, int64_t position);
  /// What neighbouring keys share is loaded once for `keys` of them: loads what
  /// `loadBox` does, but along keys, where `first` counts them at `position`.
  mlir::Value loadForKeys(mlir::Location loc, mlir::Value source,
                          llvm::SmallVector<mlir::Value> first,
                          llvm::ArrayRef<int64_t> dims, int64_t position,
                          int64_t keys);
  /// The region's key, an argument; null if it sees none.
  mlir::BlockArgument keyArgument;
  void cloneUniform(mlir::Operation *op);
  void inferRanges(mlir::Operation *op);
  void noteAffine(mlir::Operation *op);
  /// Follows integers that are sums of coordinates.
  void noteCoordinates(mlir::Operation *op);
  std::optional<CoordinateSum> getCoordinates(mlir::Value regionValue);
  /// Whether `op` only changes a sum; then that is its result.
  bool noteForm(mlir::Operation *op);
  ScoreForm getForm(mlir::Value regionValue);
  std::optional<Factor> getFactor(mlir::Value regionValue);
  std::optional<ScoreForm> convertCoordinates(mlir::arith::SIToFPOp op);
  ScoreFormEmitter getEmitter(mlir::Location loc);
  /// The clone of `regionValue`; emits it if it is a sum that was only noted,
  /// or was only made for diagonals.
  mlir::Value lookup(mlir::Value regionValue);

  bool isUniform(mlir::Value regionValue);
  /// Allows the chip's approximations for what `clone`, made of `op`, computes,
  /// where the last places don't matter.
  void allowApproximation(mlir::Operation *op, mlir::Operation *clone);
  /// The divisor of `op`, an integer division, but 1 where it is 0.
  mlir::Value makeHarmlessDivisor(mlir::OpBuilder &b, mlir::Operation *op,
                                  mlir::Value divisor);
  /// Clones an op on scalars of type index that might not fit 32 bits, as one
  /// on i64: the kernel's index may have 32.
  void cloneWide(mlir::OpBuilder &b, mlir::Operation *op);
  /// The clone of a scalar, as index if it is one. Says so in the context if it
  /// might not fit 32 bits.
  mlir::Value asIndex(mlir::Value regionValue);
  /// Says so in the context if a scalar index might not fit 32 bits.
  void noteWidth(mlir::Value regionValue);
  /// Whether the value is known not to be negative.
  bool isNonNegative(mlir::Value regionValue);
  bool fitsI32(mlir::Value regionValue);
  /// The clone of `regionValue` as a tile of `shape`, index as `indexWidth`.
  mlir::Value asTile(mlir::Location loc, mlir::Value regionValue,
                     llvm::ArrayRef<int64_t> shape, unsigned indexWidth);
  /// The same for `value`, which stands for it.
  mlir::Value asTile(mlir::Location loc, mlir::Value regionValue,
                     mlir::Value value, llvm::ArrayRef<int64_t> shape,
                     unsigned indexWidth);
  /// A tile of the scalar `index`, as the integers that `type` has.
  mlir::Value splat(mlir::Location loc, mlir::Value index,
                    mlir::RankedTensorType type);
  mlir::RankedTensorType tileType(llvm::ArrayRef<int64_t> shape,
                                  mlir::Type element);

  mlir::OpBuilder &builder;
  /// Where scalars go; without one, to `builder`. Sums are only followed with.
  mlir::OpBuilder *invariant = nullptr;
  const RegionContext &context;
  /// Of reads that are uniform here, though not everywhere; or null.
  const ExtractPlaces *places;
  /// Some scalar of type index was cloned as i64.
  bool hasWideScalar = false;
  /// Column tiles hold neighbouring elements; else neighbouring blocks of them,
  /// from that one on.
  bool seesElements = true;
  mlir::Value firstBlock;
  mlir::IRMapping mapping;
  llvm::DenseMap<mlir::Value, mlir::ConstantIntRanges> ranges;
  llvm::DenseMap<mlir::Value, UnitAffine> affine;
  llvm::DenseMap<mlir::Value, CoordinateSum> coordinates;
  llvm::DenseMap<mlir::Value, ScoreForm> forms;
  llvm::DenseSet<mlir::Value> exact;
  /// What `splat` made last.
  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> splats;

  /// Set where diagonals are told apart.
  std::optional<RegionDependences> dependences;
  /// The region on the block of one query whose keys have the distances of all
  /// diagonals, and what was made there: 1x(M+N) tiles.
  std::optional<RegionContext> diagonalContext;
  std::unique_ptr<RegionToTile> onDiagonals;
  llvm::DenseMap<mlir::Value, mlir::Value> diagonals;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONTOTILE_H
