//===- BackwardScores.h - Scores and derivatives by them --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is computed of the pairs of one block, in a tile of queries and in one
// of keys alike. Nothing here knows which gradients it is for, nor which blocks
// there are.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDSCORES_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDSCORES_H

#include "Backward/BackwardLoads.h"

namespace fovea {

/// What a block's scores give: the weights before dropout, what that multiplies
/// them by (or null), and their product as products take it, or null until dS
/// is known (`valuesLate`); the products that scores are made of; or null, the
/// weights times score_mod's derivative, which is all that derivatives by
/// scores need of a pair.
struct Weights {
  mlir::Value weight, factor, rounded, products, slope;
  /// Shares of contributions (TakenShares) with the weight in place of the
  /// derivative, which they are multiples of; null where they need no score.
  llvm::SmallVector<mlir::Value> shares;
};

/// The weights of a block's pairs.
mlir::FailureOr<Weights> emitWeights(const BackwardKernel &kernel,
                                     const ScoreBlock &block);

/// P as products take it: after dropout, rounded.
mlir::Value roundWeights(const BackwardKernel &kernel, const Weights &weights);

/// dP, the derivatives by weights after dropout: O's gradients times values;
/// and -delta of the queries, or null where dP starts from it.
struct ByWeight {
  mlir::Value product, minusDelta;
};

/// -delta is read before or after the product is issued.
ByWeight emitByWeight(const BackwardKernel &kernel, const ScoreBlock &block);
/// Without -delta, unless dP starts from it.
ByWeight emitProductByWeight(const BackwardKernel &kernel,
                             const ScoreBlock &block);

/// Derivatives by scores before score_mod, rounded; and, in a kernel of keys
/// that finds sums by captured values: what each share by key (getKeyShares)
/// has for each key, a tile of one column; and what contributions by query or
/// distance add (getDistanceShares), rounded, as the role has it that adds it
/// up.
struct ScoreGradients {
  mlir::Value rounded;
  llvm::SmallVector<mlir::Value> ofKeys, ofPairs;
};

/// They are found from derivatives by weights. A kernel of queries that finds
/// sums by captured values and scale adds to those here.
mlir::FailureOr<ScoreGradients> emitScoreGradients(const BackwardKernel &kernel,
                                                   const ScoreBlock &block,
                                                   const Weights &weights,
                                                   const ByWeight &byWeight);

/// A tile of scores as f32 that was rounded, and one of f32 rounded.
mlir::Value extendScores(const BackwardKernel &kernel, mlir::Value rounded);
mlir::Value roundScores(const BackwardKernel &kernel, mlir::Value scores);

/// `sum`, plus the product of a tile of scores and the rows along its columns.
mlir::Value addProduct(const BackwardKernel &kernel, llvm::StringRef name,
                       mlir::Value scores, mlir::Value rows, mlir::Value sum);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDSCORES_H
