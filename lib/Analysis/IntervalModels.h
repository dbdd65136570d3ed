//===- IntervalModels.h - What interval models share ------------*- C++ -*-===//
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

/// Base of the models: `Model` implements what it can.
template <typename Model, typename Op>
using ModelOf = FoveaIntervalOpInterface::ExternalModel<Model, Op>;

inline bool isCondition(mlir::Type type) { return type.isInteger(1); }

/// Whether arithmetic of the type does not overflow, by contract.
inline bool isWide(mlir::Type type) {
  return type.isIndex() || type.isInteger(64);
}

/// True if `a op b`, computed exactly by `exact`, can't wrap in `type`. The
/// operands of types below 64 bits are below 32 bits or refused, so that the
/// exact result is an int64_t.
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

/// The interval of the values read as unsigned numbers, none of which is
/// negative; fails if they might not fit 63 bits.
llvm::FailureOr<Interval> toUnsigned(IntervalBuilder &b, mlir::Type type,
                                     Interval interval);
/// The reverse.
Interval fromUnsigned(IntervalBuilder &b, mlir::Type type, Interval interval);

enum class Rounding { Floor, Ceil, Trunc };

/// The interval of quotients. Fails if the divisor is zero, or nothing is
/// known.
llvm::FailureOr<Interval> divide(IntervalBuilder &b, Rounding rounding,
                                 Interval dividend, Interval divisor);

/// `dividend / divisor <= bound` (`upper`) or `>= bound` as a bound on the
/// dividend, for a divisor of at least 1. Fails if it might overflow.
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
