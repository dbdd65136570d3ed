//===- AffineScore.h - Scores as sums ------------------------------*- C++
//-*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_AFFINESCORE_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_AFFINESCORE_H

#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/IR/Builders.h"

#include <optional>

namespace fovea {

/// A factor that is one for the whole block: a constant times an f32, if any.
struct Factor {
  double constant = 1.0;
  mlir::Value scalar;
  /// The op of score_mod that the term stems from; null if none.
  mlir::LocationAttr loc = {};
};

/// A tile, or a scalar, times a factor.
struct Term {
  mlir::Value value;
  Factor factor;
  /// A scalar that depends on where the block begins.
  bool isOfBlock = false;
};

/// A value of score_mod as a sum. Additions and products with uniform factors
/// only change the sum, so that what a score costs is not what its definition
/// looks like: a bias linear in the key's position is one progression a block,
/// and what depends on the query alone cancels in the softmax.
struct AffineScore {
  /// MxN, 1xN and Mx1 tiles, and scalars.
  llvm::SmallVector<Term, 2> full, columns, rows, uniform;
  /// 1x(M+N) tiles, the diagonals of an MxN tile.
  llvm::SmallVector<Term, 2> diagonals;
  /// Factors of an element's column and of its row within the block.
  llvm::SmallVector<Factor, 2> columnSteps, rowSteps;

  static AffineScore of(mlir::Value value);
  static AffineScore ofDiagonals(mlir::Value value);
  void add(const AffineScore &other, double sign = 1.0);
  /// Terms that stem from no op yet stem from the one at `loc`.
  void setLoc(mlir::Location loc);
  /// Takes out all that a query has whatever the key is, to be added apart from
  /// the rest: queries are rows, or columns. Where the block begins stays with
  /// the steps of keys, if there are any: a distance is smaller than the two
  /// places that it is between, so that less of it is rounded away.
  AffineScore takeOfQueries(bool areRows);
  /// Whether all terms but full ones are progressions of keys, the block's own
  /// start included: numbers whose size two scalars of the block bound.
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

/// What scores are emitted without: a score is `scale` times what is emitted,
/// plus, for each row, its number within the block times `rowSteps`, which is
/// the same for all keys. It is chosen before any score is emitted, since all
/// ways to compute a block, and all blocks, must be without the same.
///
/// A summand of any size must not be divided by the scale: the quotient could
/// overflow, and scores that are one number in f32 could become two. So the
/// scale is left out only of a score that is a product times the scale, or that
/// plus a progression for a dot to start from (`startsDot`).
struct LeftOut {
  double scale = 1.0;
  llvm::SmallVector<Factor, 2> rowSteps;
  /// The dot starts from all terms but the leading one.
  bool startsDot = false;

  /// What can be left out of scores that are one of `forms`. Dots may start
  /// from summands if `mayStartDot`.
  static LeftOut of(llvm::ArrayRef<AffineScore> forms, bool mayStartDot);
};

/// Emits forms.
class AffineScoreEmitter {
public:
  /// What depends on nothing in the block goes to where `invariant` stands.
  AffineScoreEmitter(mlir::OpBuilder &builder, mlir::OpBuilder &invariant,
                   mlir::Location loc, int64_t rows, int64_t columns)
      : b(builder), invariant(invariant), loc(loc), numRows(rows),
        numColumns(columns) {}

  /// `form` times a factor.
  AffineScore scale(const AffineScore &form, Factor by);
  /// A tile as small as what it depends on. If `sidesFirst`, what rows and
  /// columns have is added up before what elements have, as most of it may
  /// cancel, and rows' steps, if there are any, begin with what is uniform.
  mlir::Value emit(const AffineScore &form, bool sidesFirst = false);
  /// A full tile of scores, without `leftOut`.
  mlir::Value emitScore(AffineScore form, const LeftOut &leftOut);
  /// The same where `leftOut` says that `dot` starts from the other terms: sets
  /// its start. Blocks whose progression is too long for an accumulator add it
  /// after the dot.
  mlir::Value emitScoreByDot(AffineScore form, const LeftOut &leftOut,
                             tile::DotOp dot);
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
  /// `total + value * factor`; no total is zero. All of `type`.
  mlir::Value accumulate(mlir::Value total, mlir::Value value, Factor factor,
                         mlir::RankedTensorType type);
  /// `form` divided by what is left out, without rows' steps that are; its
  /// leading term, if there is one, is the first full one.
  AffineScore reduce(AffineScore form, const LeftOut &leftOut, bool &hasLeading);
  /// Whether no element of the progression is larger than `most`.
  mlir::Value emitIsWithin(const AffineScore &progression, double most);
  /// Sum of the uniform terms; null without any.
  mlir::Value emitUniform(const AffineScore &form);
  /// `start`, or null, included.
  mlir::Value emitColumns(const AffineScore &form, mlir::Value start);
  /// The full tile of the diagonals' sum, with `start`, too.
  mlir::Value emitDiagonals(const AffineScore &form, mlir::Value start);
  /// `start`, or null, is what steps begin with.
  mlir::Value emitRows(const AffineScore &form, mlir::Value start);

  mlir::OpBuilder &b, &invariant;
  mlir::Location loc;
  int64_t numRows, numColumns;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_REGIONANALYSIS_AFFINESCORE_H
