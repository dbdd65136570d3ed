//===- MaskAnalysis.h - Which keys a block of queries sees ------*- C++ -*-===//
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

/// What is known about the keys for which a condition holds, for a block of
/// queries: `may` contains every key for which it holds for some query, in
/// `must` it holds for every query.
struct Cover {
  KeyRange may = KeyRange::all();
  KeyRange must = KeyRange::empty();
};

/// Where the analysis learns nothing, or less than there is to know: an op of
/// the mask, why, and the condition that it is a part of.
struct Obstacle {
  mlir::Operation *op;
  std::string reason;
  mlir::Value condition;
};

/// Evaluates the conditions of a mask_mod region over a block. Emits into the
/// block that `builder` stands in. Its arguments are those of kv_bounds, and
/// the ranges are ones of keys; or those of kv_classify, and then keys have an
/// interval as queries do, and each range is all keys of the block or none.
class MaskAnalysis {
public:
  MaskAnalysis(IntervalBuilder &builder, mlir::Block &mask, mlir::Block &body,
               bool overKeys);

  /// The cover of an i1 of the region, or of its negation.
  Cover analyze(mlir::Value condition, bool negated = false);
  /// The interval of an integer or i1 that does not depend on the key.
  mlir::FailureOr<Interval> getInterval(mlir::Value value);
  KeyRangeBuilder &getKeyRanges() { return keys; }
  /// What is in the way of conditions about which nothing is known.
  llvm::ArrayRef<Obstacle> getUnknown() const { return unknowns; }
  /// Conditions whose keys are no range: one that holds more stands for them.
  llvm::ArrayRef<mlir::Operation *> getHulls() const { return hulls; }
  /// Whether ranges say all there is to say, as far as conditions are known.
  bool isExact() const { return unknowns.empty() && keys.isExact(); }

private:
  /// A value as factors times terms without an interval, which depend on keys,
  /// plus factors times others, plus a constant.
  struct Linear {
    llvm::SmallVector<std::pair<mlir::Value, int64_t>> keyTerms, blockTerms;
    int64_t constant = 0;
    /// Values that were looked at: sums of sums may share their parts, and then
    /// there are more ways to them than anybody can walk.
    unsigned steps = 0;
  };
  /// A term of known interval, with its factor.
  struct Term {
    Interval interval;
    int64_t factor;
  };
  /// What a value depends on besides batch entry and head: something that has
  /// an interval over the block, a key that has none.
  enum Dependence : unsigned { None = 0, OnBlock = 1, OnKey = 2 };

  unsigned getDependence(mlir::Value value) { return dependence.lookup(value); }
  bool isUniform(mlir::Value value) { return getDependence(value) == None; }
  mlir::Value cloneUniform(mlir::Value value);
  mlir::FailureOr<Interval> inferInterval(mlir::Value value);
  mlir::FailureOr<Interval> inferExtract(mlir::tensor::ExtractOp op);

  mlir::LogicalResult decompose(mlir::Value value, int64_t factor,
                                Linear &linear);
  /// Whether decomposition should stop at `value`: it may be so large that its
  /// parts must not be added in another order.
  bool isLargeUniform(mlir::Value value);
  /// `scale` times the terms of `linear` that have intervals, minus `scale`
  /// times `bound`; the constant ones in `constant`. Fails if the sum may
  /// overflow.
  mlir::LogicalResult collectTerms(const Linear &linear, int64_t scale,
                                   Interval bound,
                                   llvm::SmallVectorImpl<Term> &terms,
                                   int64_t &constant);
  mlir::LogicalResult limitTerms(const Linear &linear,
                                 llvm::MutableArrayRef<Term> terms,
                                 int64_t constant);
  /// The sum of those with a positive factor, or of those with a negative one,
  /// sign changed, plus `constant`.
  Interval sumTerms(llvm::ArrayRef<Term> terms, bool positive,
                    int64_t constant);

  /// Of the condition that is looked at, since `op` is in the way.
  Cover unknown(mlir::Operation *op, const llvm::Twine &reason);
  /// The same for an op whose interval is not known: the first of those that
  /// it comes from.
  Cover unknownInterval(mlir::Value value);
  Cover analyzeCompare(mlir::arith::CmpIOp op, bool negated);
  Cover analyzeCondition(mlir::Value condition, bool negated);
  Cover analyzeComparison(mlir::arith::CmpIOp op, bool negated);
  /// All or nothing, by the interval of a condition.
  Cover analyzeInterval(mlir::Value condition, bool negated);
  Cover analyzeSelect(mlir::arith::SelectOp op, bool negated);
  /// `linear <= bound` if `upper`, else `linear >= bound`.
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
  /// What was found out about conditions and their negations.
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, Cover> covers;
  /// The condition that is looked at.
  mlir::Value current;
  llvm::SmallVector<Obstacle> unknowns;
  llvm::SmallVector<mlir::Operation *> hulls;
};

} // namespace fovea::attn

#endif // FOVEA_LIB_DIALECT_ATTN_TRANSFORMS_MASKANALYSIS_H
