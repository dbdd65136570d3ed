//===- AffineScore.h - Scores as affine sums --------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Represents the result of score_mod as a sum of terms by the dimensions that
// they vary along, and emits it with the fewest operations per score.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_AFFINESCORE_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_AFFINESCORE_H

#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"

#include <optional>

namespace fovea {

/// A factor that is uniform in a block: a constant times an f32, if any.
struct Factor {
  double constant = 1.0;
  mlir::Value scalar;
  /// Location of the score_mod op that the term comes from, or null.
  mlir::LocationAttr loc = {};
};

/// A tile or a scalar, times a factor.
struct Term {
  mlir::Value value;
  Factor factor;
  /// True for a scalar that depends on the block's position.
  bool isOfBlock = false;
};

/// A value of score_mod as a sum. Additions and products with uniform factors
/// only change the sum, so the cost of a score does not depend on how its
/// definition is written: a bias linear in the key position is one ramp per
/// block, and terms that depend on the query alone cancel in the softmax.
struct AffineScore {
  /// MxN, 1xN and Mx1 tiles, and scalars.
  llvm::SmallVector<Term, 2> full, columns, rows, uniform;
  /// 1x(M+N) tiles: one value per relative position of an MxN tile.
  llvm::SmallVector<Term, 2> diagonals;
  /// Factors of an element's column and row index within the block.
  llvm::SmallVector<Factor, 2> columnSteps, rowSteps;

  static AffineScore of(mlir::Value value);
  static AffineScore ofDiagonals(mlir::Value value);
  void add(const AffineScore &other, double sign = 1.0);
  /// Sets the location of terms that have none.
  void setLoc(mlir::Location loc);
  /// Removes and returns all terms that do not depend on the key, to be added
  /// separately: queries are rows, or columns. A term with the block's position
  /// stays with the key steps, if there are any: a relative position is smaller
  /// than its two absolute positions, so less of it is rounded away.
  AffineScore takeOfQueries(bool areRows);
  /// True if all terms except full ones are linear in the key, including the
  /// block's start: two scalars per block bound their size.
  bool isProgression() const {
    return columns.empty() && rows.empty() && rowSteps.empty() &&
           diagonals.empty() && !columnSteps.empty() &&
           llvm::all_of(uniform,
                        [](const Term &term) { return term.isOfBlock; });
  }
  unsigned size() const {
    return full.size() + columns.size() + rows.size() + uniform.size() +
           diagonals.size() + columnSteps.size() + rowSteps.size();
  }
};

/// The terms that are factored out of emitted scores: a score is `scale` times
/// the emitted one, plus, for each row, its index within the block times
/// `rowSteps`, which is the same for all keys. Chosen before any score is
/// emitted, since all versions of a block, and all blocks, must factor out the
/// same terms.
///
/// A summand of any size must not be divided by the scale: the quotient could
/// overflow, and scores that are equal in f32 could become different. So the
/// scale is factored out only if a score is a product times the scale, or that
/// plus a linear term that initializes the accumulator (`startsDot`).
struct LeftOut {
  double scale = 1.0;
  llvm::SmallVector<Factor, 2> rowSteps;
  /// The accumulator starts from all terms but the leading one.
  bool startsDot = false;

  /// The terms that can be factored out of scores that are one of `forms`.
  /// Accumulators may start from terms if `mayStartDot`.
  static LeftOut of(llvm::ArrayRef<AffineScore> forms, bool mayStartDot);
};

/// Emits sums as tiles.
class AffineScoreEmitter {
public:
  /// Block-invariant values are emitted at `invariant`.
  AffineScoreEmitter(mlir::OpBuilder &builder, mlir::OpBuilder &invariant,
                     mlir::Location loc, int64_t rows, int64_t columns)
      : b(builder), invariant(invariant), loc(loc), numRows(rows),
        numColumns(columns) {}

  /// `form` times a factor.
  AffineScore scale(const AffineScore &form, Factor by);
  /// Emits a tile that is as small as the terms allow. If `sidesFirst`, terms
  /// of rows and columns are added before full ones, as most of them may
  /// cancel, and the row ramp, if there is one, starts with the uniform terms.
  mlir::Value emit(const AffineScore &form, bool sidesFirst = false);
  /// Emits a full tile of scores, without the terms in `leftOut`.
  mlir::Value emitScore(AffineScore form, const LeftOut &leftOut);
  /// Emits a full tile of scores whose accumulator starts from the other terms,
  /// by `leftOut`, and sets the start of `dot`. A block whose linear term is
  /// too large for an accumulator adds it after the dot.
  mlir::Value emitScoreByDot(AffineScore form, const LeftOut &leftOut,
                             tile::DotOp dot);
  /// Starts the accumulator of `dot` from the relative-position terms, which
  /// are removed from `form`, if `dot` times a constant is its only full term.
  void startFromDiagonals(AffineScore &form, tile::DotOp dot);
  /// The sum of factors, an f32.
  mlir::Value emitSum(llvm::ArrayRef<Factor> factors);

private:
  mlir::Location getLoc(const Factor &factor) {
    return factor.loc ? mlir::Location(factor.loc) : loc;
  }
  mlir::Type f32() { return b.getF32Type(); }
  mlir::RankedTensorType tileType(int64_t rows, int64_t columns) {
    return mlir::RankedTensorType::get({rows, columns}, f32(),
                                       tile::RegAttr::get(b.getContext()));
  }
  mlir::Value constant(double value);
  mlir::Value emit(Factor factor);
  mlir::Value widen(mlir::Value value, mlir::RankedTensorType type);
  /// `total + value * factor`; a null total is zero. All of `type`.
  mlir::Value accumulate(mlir::Value total, mlir::Value value, Factor factor,
                         mlir::RankedTensorType type);
  /// `form` divided by `leftOut.scale`, without its row steps if they are
  /// factored out; the leading term, if there is one, becomes the first full
  /// one.
  AffineScore reduce(AffineScore form, const LeftOut &leftOut,
                     bool &hasLeading);
  /// True if no element of the linear term is larger than `most`.
  mlir::Value emitIsWithin(const AffineScore &progression, double most);
  /// Sum of the uniform terms; null without any.
  mlir::Value emitUniform(const AffineScore &form);
  /// Sum of the column terms and `start`, which may be null.
  mlir::Value emitColumns(const AffineScore &form, mlir::Value start);
  /// Full tile of the relative-position terms and `start`, which may be null.
  mlir::Value emitDiagonals(const AffineScore &form, mlir::Value start);
  /// Sum of the row terms; the ramp starts with `start`, which may be null.
  mlir::Value emitRows(const AffineScore &form, mlir::Value start);

  mlir::OpBuilder &b, &invariant;
  mlir::Location loc;
  int64_t numRows, numColumns;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_AFFINESCORE_H
