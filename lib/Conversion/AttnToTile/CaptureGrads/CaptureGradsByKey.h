//===- CaptureGradsByKey.h - Sums over a tile of keys' pairs ----*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients by captured values whose places differ by key, head and batch entry
// at most: a tile of keys sums up what its pairs with a head's queries
// contribute, a number for each key, in registers. It adds them to memory once.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_CAPTUREGRADSBYKEY_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_CAPTUREGRADSBYKEY_H

#include "Backward/BackwardKernel.h"
#include "CaptureGrads/ContributionShares.h"

namespace fovea {

/// Those of each share of score_gradient's contributions; none where another
/// kernel finds them. A loop over blocks carries them behind its other values.
class KeySums {
public:
  explicit KeySums(const BackwardKernel &kernel);

  /// The sums before any query.
  llvm::SmallVector<mlir::Value> emitZeros() const;
  /// Those that end `carried`, with a block's shares.
  llvm::SmallVector<mlir::Value> add(mlir::ValueRange carried,
                                     llvm::ArrayRef<mlir::Value> found) const;
  /// Adds those that end `carried` to memory, of the head whose queries were
  /// met.
  llvm::LogicalResult addToMemory(mlir::Value head,
                                  mlir::ValueRange carried) const;

private:
  const BackwardKernel &kernel;
  llvm::SmallVector<Share> shares;
};

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_CAPTUREGRADS_CAPTUREGRADSBYKEY_H
