//===- IntervalOpInterface.h - Interval models of ops -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_ANALYSIS_INTERVALOPINTERFACE_H
#define FOVEA_ANALYSIS_INTERVALOPINTERFACE_H

#include "fovea/Analysis/IntervalBuilder.h"

#include "mlir/IR/OpDefinition.h"

namespace fovea {

/// A sum of values of an op's operands with constant factors.
struct AffineSum {
  llvm::SmallVector<std::pair<mlir::Value, int64_t>> terms;
  int64_t constant = 0;
};

/// A bound on one operand of an op.
struct OperandBound {
  mlir::Value operand;
  mlir::Value bound;
};

} // namespace fovea

#include "fovea/Analysis/IntervalOpInterface.h.inc"

namespace fovea {

/// Infers the interval of an op's result from those of its operands, given by
/// `getInterval`. Fails if the op has no model, or if an interval is unknown.
llvm::FailureOr<Interval> inferInterval(
    mlir::Value result, IntervalBuilder &builder,
    llvm::function_ref<llvm::FailureOr<Interval>(mlir::Value)> getInterval);

/// Registers the models of FoveaIntervalOpInterface for `arith`.
void registerIntervalModels(mlir::DialectRegistry &registry);

} // namespace fovea

#endif // FOVEA_ANALYSIS_INTERVALOPINTERFACE_H
