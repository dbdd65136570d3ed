//===- MaskAnalysis.h - Interval analysis of masks --------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_ATTN_TRANSFORMS_MASKANALYSIS_H
#define FOVEA_LIB_DIALECT_ATTN_TRANSFORMS_MASKANALYSIS_H

#include "KeyRange.h"

#include "fovea/Analysis/IntervalOpInterface.h"
#include "fovea/Dialect/Attn/IR/Attn.h"

#include "mlir/IR/IRMapping.h"

#include <string>

namespace fovea::attn {

/// The keys for which a condition holds, for a block of queries: `may` contains
/// every key for which it holds for some query; for each key in `must` it holds
/// for every query.
struct Cover {
  KeyRange may = KeyRange::all();
  KeyRange must = KeyRange::empty();
};

/// An op of the mask that prevents a bound or a better bound, the reason, and
/// the condition that contains the op.
struct Obstacle {
  mlir::Operation *op;
  std::string reason;
  mlir::Value condition;
};

/// Interval analysis of the conditions of a mask_mod region over a block. Emits
/// ops at `builder`'s insertion point in `body`. If `body` has the arguments of
/// kv_bounds, the result is a range of keys. If it has those of kv_classify,
/// keys are an interval like queries, and each range is all keys of the block
/// or none.
class MaskAnalysis {
public:
  MaskAnalysis(IntervalBuilder &builder, mlir::Block &mask, mlir::Block &body,
               bool overKeys);

  /// The cover of an i1 of the region, or of its negation.
  Cover analyze(mlir::Value condition, bool negated = false);
  /// The interval of an integer or i1 that does not depend on the key.
  mlir::FailureOr<Interval> getInterval(mlir::Value value);
  KeyRangeBuilder &getKeyRanges() { return keys; }
  /// The obstacles of conditions without bounds.
  llvm::ArrayRef<Obstacle> getUnknown() const { return unknowns; }
  /// Conditions whose keys are not a range and that are replaced by their hull.
  llvm::ArrayRef<mlir::Operation *> getHulls() const { return hulls; }
  /// True if the ranges are exact.
  bool isExact() const { return unknowns.empty() && keys.isExact(); }

private:
  /// A linear form: terms without an interval, which depend on keys, other
  /// terms, and a constant, with factors.
  struct Linear {
    llvm::SmallVector<std::pair<mlir::Value, int64_t>> keyTerms, blockTerms;
    int64_t constant = 0;
    /// The number of decomposed values. Nested sums may share terms, so the
    /// number of paths can be exponential.
    unsigned steps = 0;
  };
  /// A term with a known interval, and its factor.
  struct Term {
    Interval interval;
    int64_t factor;
  };
  /// The dependence of a value besides batch entry and head: on values with an
  /// interval over the block, or on a key without an interval.
  enum Dependence : unsigned { None = 0, OnBlock = 1, OnKey = 2 };

  unsigned getDependence(mlir::Value value) { return dependence.lookup(value); }
  bool isUniform(mlir::Value value) { return getDependence(value) == None; }
  mlir::Value cloneUniform(mlir::Value value);
  mlir::FailureOr<Interval> inferInterval(mlir::Value value);
  mlir::FailureOr<Interval> inferExtract(mlir::tensor::ExtractOp op);

  mlir::LogicalResult decompose(mlir::Value value, int64_t factor,
                                Linear &linear);
  /// True if decomposition must stop at `value`, because it may be so large
  /// that reassociating its terms could overflow.
  bool isLargeUniform(mlir::Value value);
  /// Collects `scale` times the terms of `linear` that have intervals, minus
  /// `scale` times `bound`; adds constants to `constant`. Fails if the sum may
  /// overflow.
  mlir::LogicalResult collectTerms(const Linear &linear, int64_t scale,
                                   Interval bound,
                                   llvm::SmallVectorImpl<Term> &terms,
                                   int64_t &constant);
  mlir::LogicalResult limitTerms(const Linear &linear,
                                 llvm::MutableArrayRef<Term> terms,
                                 int64_t constant);
  /// The sum of the terms with a positive factor, or the negated sum of those
  /// with a negative factor, plus `constant`.
  Interval sumTerms(llvm::ArrayRef<Term> terms, bool positive,
                    int64_t constant);

  /// Records `op` as the obstacle of the current condition.
  Cover unknown(mlir::Operation *op, const llvm::Twine &reason);
  /// The same for a value without an interval: records the first op without one
  /// among its operands.
  Cover unknownInterval(mlir::Value value);
  Cover analyzeCompare(mlir::arith::CmpIOp op, bool negated);
  Cover analyzeCondition(mlir::Value condition, bool negated);
  Cover analyzeComparison(mlir::arith::CmpIOp op, bool negated);
  /// All keys or none, by the interval of a condition.
  Cover analyzeInterval(mlir::Value condition, bool negated);
  Cover analyzeSelect(mlir::arith::SelectOp op, bool negated);
  /// The cover of `linear <= bound` if `upper`, else of `linear >= bound`.
  Cover analyzeBound(const Linear &linear, bool upper, Interval bound);
  Cover analyzeTermBound(mlir::Value term, bool upper, Interval bound);
  Cover conjunction(Cover x, Cover y);
  Cover disjunction(Cover x, Cover y);

  IntervalBuilder &b;
  KeyRangeBuilder keys;
  mlir::Block &mask, &body;
  bool overKeys;
  mlir::IRMapping mapping;
  llvm::DenseMap<mlir::Value, unsigned> dependence;
  KnownIntervals intervals;
  /// Cache of conditions and their negations.
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, Cover> covers;
  /// The condition that is being analysed.
  mlir::Value current;
  llvm::SmallVector<Obstacle> unknowns;
  llvm::SmallVector<mlir::Operation *> hulls;
};

} // namespace fovea::attn

#endif // FOVEA_LIB_DIALECT_ATTN_TRANSFORMS_MASKANALYSIS_H
