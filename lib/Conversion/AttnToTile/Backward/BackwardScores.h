//===- BackwardScores.h - P, dP and dS of a score block ---------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes S, P, dP and dS of one score block, for kernels over query tiles and
// over key tiles. It does not depend on the gradients that use them or on the
// choice of blocks.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDSCORES_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDSCORES_H

#include "Backward/BackwardLoads.h"

namespace fovea {

/// P of a block and its by-products:
/// - `weight`: P before dropout; `factor`: the dropout multiplier, or null.
/// - `rounded`: their product in the MMA's input type, or null until dS is
///   known (`delaysDv`).
/// - `products`: Q times K^T.
/// - `slope`: P times the derivative of score_mod, or null; then dS needs
///   nothing else of the score.
struct Probabilities {
  mlir::Value weight, factor, rounded, products, slope;
  /// Contributions (TakenShares) computed with P in place of the derivative,
  /// which they are multiples of; null if they do not read the score.
  llvm::SmallVector<mlir::Value> shares;
};

/// True if the plan orders dV's dot after dS. Registers then hold P in f32
/// until dS is known, and its rounded form after that, never both.
bool delaysDv(const BackwardKernel &kernel);

/// P of the block's pairs.
mlir::FailureOr<Probabilities> emitProbabilities(const BackwardKernel &kernel,
                                                 const ScoreBlock &block);

/// P after dropout, rounded to the MMA's input type.
mlir::Value roundProbabilities(const BackwardKernel &kernel,
                               const Probabilities &weights);

/// dP = dO times V^T, the gradient with respect to P after dropout, and -delta
/// of the queries, which is null if dP's accumulator started from it.
struct DpTerms {
  mlir::Value product, minusDelta;
};

/// dP, with -delta loaded before or after the MMA is issued, as planned.
DpTerms emitDp(const BackwardKernel &kernel, const ScoreBlock &block);
/// dP without -delta, unless its accumulator starts from -delta.
DpTerms emitDpProduct(const BackwardKernel &kernel, const ScoreBlock &block);

/// Rounded dS with respect to the score before score_mod. In a keys kernel that
/// computes gradients of captured tensors also: per key share (getKeyShares) a
/// column tile with the sum for each key; per share that is reduced by query or
/// relative position, its rounded value as the reducing role receives it.
struct ScoreGradients {
  mlir::Value rounded;
  llvm::SmallVector<mlir::Value> ofKeys, ofPairs;
};

/// Computes dS from P and dP. A queries kernel that computes gradients of
/// captured tensors and of the scale adds its contributions to memory here.
mlir::FailureOr<ScoreGradients> emitScoreGradients(const BackwardKernel &kernel,
                                                   const ScoreBlock &block,
                                                   const Probabilities &weights,
                                                   const DpTerms &dp);

/// Extends a rounded score tile to f32, and rounds an f32 one.
mlir::Value extendScores(const BackwardKernel &kernel, mlir::Value rounded);
mlir::Value roundScores(const BackwardKernel &kernel, mlir::Value scores);

/// `sum` plus the product of a score tile and the rows along its columns.
mlir::Value addProduct(const BackwardKernel &kernel, llvm::StringRef name,
                       mlir::Value scores, mlir::Value rows, mlir::Value sum);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_BACKWARD_BACKWARDSCORES_H
