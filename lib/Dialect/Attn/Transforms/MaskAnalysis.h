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

namespace fovea::attn {

/// What is known about the keys for which a condition holds, for a block of
/// queries: `may` contains every key for which it holds for some query, in
/// `must` it holds for every query.
struct Cover {
  KeyRange may = KeyRange::all();
  KeyRange must = KeyRange::empty();
};

/// Evaluates the conditions of a mask_mod region over a block of queries. Emits
/// the ends of the ranges into the block that `builder` stands in, whose first
/// arguments are b, h, i0, i1, then the captured values.
class MaskAnalysis {
public:
  MaskAnalysis(IntervalBuilder &builder, mlir::Block &mask,
               mlir::Block &bounds);

  /// The cover of an i1 of the region, or of its negation.
  Cover analyze(mlir::Value condition, bool negated = false);
  /// The interval of an integer or i1 that does not depend on the key.
  mlir::FailureOr<Interval> getInterval(mlir::Value value);
  KeyRangeBuilder &getKeyRanges() { return keys; }
  /// Number of conditions about which nothing is known.
  unsigned getNumUnknown() const { return numUnknown; }

private:
  /// A value as factors times key-dependent terms, plus factors times
  /// others, plus a constant.
  struct Linear {
    llvm::SmallVector<std::pair<mlir::Value, int64_t>> keyTerms, queryTerms;
    int64_t constant = 0;
  };
  enum Dependence : unsigned { None = 0, OnQuery = 1, OnKey = 2 };

  unsigned getDependence(mlir::Value value) { return dependence.lookup(value); }
  bool isUniform(mlir::Value value) { return getDependence(value) == None; }
  mlir::Value cloneUniform(mlir::Value value);
  mlir::FailureOr<Interval> inferInterval(mlir::Value value);

  mlir::LogicalResult decompose(mlir::Value value, int64_t factor,
                                Linear &linear);
  /// The interval of `scale` times the terms of `linear` that do not depend on
  /// the key, minus `scale` times `bound`.
  mlir::FailureOr<Interval> sumTerms(const Linear &linear, int64_t scale,
                                     Interval bound);

  Cover unknown();
  Cover analyzeCompare(mlir::arith::CmpIOp op, bool negated);
  Cover analyzeSelect(mlir::arith::SelectOp op, bool negated);
  /// `linear <= bound` if `upper`, else `linear >= bound`.
  Cover analyzeBound(const Linear &linear, bool upper, Interval bound);
  Cover analyzeTermBound(mlir::Value term, bool upper, Interval bound);
  Cover conjunction(Cover x, Cover y);
  Cover disjunction(Cover x, Cover y);

  IntervalBuilder &b;
  KeyRangeBuilder keys;
  mlir::Block &mask;
  mlir::IRMapping mapping;
  llvm::DenseMap<mlir::Value, unsigned> dependence;
  llvm::DenseMap<mlir::Value, mlir::FailureOr<Interval>> intervals;
  unsigned numUnknown = 0;
};

} // namespace fovea::attn

#endif // FOVEA_LIB_DIALECT_ATTN_TRANSFORMS_MASKANALYSIS_H
