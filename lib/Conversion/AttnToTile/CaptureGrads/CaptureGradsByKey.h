//===- CaptureGradsByKey.h - Capture gradients per key ----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients with respect to captured tensors whose index depends on key, head
// and batch entry at most. A key tile accumulates the contributions of its
// pairs with one head's queries in registers, one value per key, and adds them
// to memory once.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_CAPTUREGRADSBYKEY_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_CAPTUREGRADSBYKEY_H

#include "Backward/BackwardKernel.h"
#include "CaptureGrads/ContributionShares.h"

namespace fovea {

/// One accumulator per key share of score_gradient; none if another kernel
/// computes them. A loop over blocks carries them after its other values.
class KeySums {
public:
  explicit KeySums(const BackwardKernel &kernel);

  /// The initial accumulators.
  llvm::SmallVector<mlir::Value> emitZeros() const;
  /// The accumulators at the end of `carried`, plus a block's shares.
  llvm::SmallVector<mlir::Value> add(mlir::ValueRange carried,
                                     llvm::ArrayRef<mlir::Value> found) const;
  /// Adds the accumulators at the end of `carried` to memory, for the head
  /// whose queries were processed.
  llvm::LogicalResult addToMemory(mlir::Value head,
                                  mlir::ValueRange carried) const;

private:
  const BackwardKernel &kernel;
  llvm::SmallVector<Share> shares;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_CAPTUREGRADSBYKEY_H
