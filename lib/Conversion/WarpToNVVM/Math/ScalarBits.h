//===- ScalarBits.h - Known bits of a thread's integers ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Known-bits analysis of a thread's integers, for the scalar code of tile
// elements.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_WARPTONVVM_MATH_SCALARBITS_H
#define FOVEA_LIB_CONVERSION_WARPTONVVM_MATH_SCALARBITS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/KnownBits.h"

#include <functional>

namespace fovea {

/// Known bits of integers, inferred from their defining ops. Indices count as
/// 64 bits.
class ScalarBits {
public:
  /// `getThreads` returns the number of thread indices at an op.
  explicit ScalarBits(std::function<int64_t(mlir::Operation *)> getThreads)
      : getThreads(std::move(getThreads)) {}

  llvm::KnownBits get(mlir::Value value) { return get(value, 0); }
  /// Declares that `copy` equals `value`, which its defining op does not show.
  void setCopy(mlir::Value copy, mlir::Value value) {
    known.insert_or_assign(copy, get(value));
  }

private:
  llvm::KnownBits get(mlir::Value value, unsigned depth);
  llvm::KnownBits infer(mlir::Operation *op, unsigned depth);

  std::function<int64_t(mlir::Operation *)> getThreads;
  llvm::DenseMap<mlir::Value, llvm::KnownBits> known;
};

/// Returns true if the integer is provably a multiple of `divisor`, a power of
/// two: sums and products of constants and induction variables.
bool isMultipleOf(mlir::Value value, int64_t divisor);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_WARPTONVVM_MATH_SCALARBITS_H
