//===- IntervalModels.h - Common parts of interval models -------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_ANALYSIS_INTERVALMODELS_H
#define FOVEA_LIB_ANALYSIS_INTERVALMODELS_H

#include "fovea/Analysis/IntervalOpInterface.h"

namespace fovea {

/// Base class of the models: `Model` implements the supported methods.
template <typename Model, typename Op>
using ModelOf = FoveaIntervalOpInterface::ExternalModel<Model, Op>;

inline bool isCondition(mlir::Type type) { return type.isInteger(1); }

/// True if arithmetic of the type is assumed not to overflow.
inline bool isWide(mlir::Type type) {
  return type.isIndex() || type.isInteger(64);
}

/// True if `a op b`, computed exactly by `exact`, can't wrap in `type`.
/// Operands of types below 64 bits must be below 32 bits or are rejected, so
/// the exact result is an int64_t.
template <typename Exact>
bool isExact(StaticRanges &ranges, mlir::Type type, mlir::Value a,
             mlir::Value b, Exact exact) {
  if (isWide(type))
    return true;
  if (type.getIntOrFloatBitWidth() > 32)
    return false;
  for (int64_t x : {ranges.getMin(a), ranges.getMax(a)})
    for (int64_t y : {ranges.getMin(b), ranges.getMax(b)})
      if (int64_t result = exact(x, y); !fitsType(type, result, result))
        return false;
  return true;
}

/// The interval of the values read as unsigned, with non-negative ends. Fails
/// if they may not fit 63 bits.
llvm::FailureOr<Interval> toUnsigned(IntervalBuilder &b, mlir::Type type,
                                     Interval interval);
/// The inverse.
Interval fromUnsigned(IntervalBuilder &b, mlir::Type type, Interval interval);

enum class Rounding { Floor, Ceil, Trunc };

/// The interval of quotients. Fails if the divisor may be zero or the interval
/// is unknown.
llvm::FailureOr<Interval> divide(IntervalBuilder &b, Rounding rounding,
                                 Interval dividend, Interval divisor);

/// The bound on the dividend that is equivalent to
/// `dividend / divisor <= bound` (`upper`) or `>= bound`, for a positive
/// divisor. Fails if it may overflow.
llvm::FailureOr<mlir::Value> invertDivision(IntervalBuilder &b,
                                            Rounding rounding, bool upper,
                                            mlir::Value bound,
                                            mlir::Value divisor);

void attachArithmeticModels(mlir::MLIRContext *context);
void attachBitModels(mlir::MLIRContext *context);
void attachBitCountModels(mlir::MLIRContext *context);
void attachLogicModels(mlir::MLIRContext *context);

} // namespace fovea

#endif // FOVEA_LIB_ANALYSIS_INTERVALMODELS_H
