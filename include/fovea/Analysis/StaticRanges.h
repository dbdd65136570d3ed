//===- StaticRanges.h - Ranges of integers ----------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Static ranges of integers outside a data-flow framework: regions that are
// cloned, and values that are being emitted.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_ANALYSIS_STATICRANGES_H
#define FOVEA_ANALYSIS_STATICRANGES_H

#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace fovea {

/// Static ranges of signed integers: set for some values, inferred on demand
/// through InferIntRangeInterface for others.
class StaticRanges {
public:
  /// Sets the range of `value` to [min, max].
  void set(mlir::Value value, int64_t min, int64_t max);
  int64_t getMin(mlir::Value value) const;
  int64_t getMax(mlir::Value value) const;
  bool isNonNegative(mlir::Value value) const;
  bool isNonZero(mlir::Value value) const;
  bool fitsI32(mlir::Value value) const;
  /// False if the value's range excludes the type's smallest value, which
  /// inference includes if a result may have wrapped around.
  bool mayWrap(mlir::Value value) const;
  /// The value, if it is a compile-time constant.
  std::optional<int64_t> getConstant(mlir::Value value) const;

private:
  const mlir::ConstantIntRanges &lookup(mlir::Value value) const;

  mutable llvm::DenseMap<mlir::Value, mlir::ConstantIntRanges> ranges;
};

} // namespace fovea

#endif // FOVEA_ANALYSIS_STATICRANGES_H
