//===- Match.h - Finds attention around a contraction -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_LINALGTOATTN_MATCH_H
#define FOVEA_LIB_CONVERSION_LINALGTOATTN_MATCH_H

#include "Contraction.h"
#include "Expression.h"

#include <string>

namespace fovea::raising {

/// Why something that looks like attention stays as it is.
struct Missed {
  mlir::Operation *where;
  std::string reason;
};

/// O = softmax(x) V, where x is computed from S = Q K^T.
struct Match {
  Contraction output, scores;
  mlir::OpOperand *weights = nullptr, *value = nullptr, *query = nullptr,
                  *key = nullptr;
  std::unique_ptr<Space> space;
  std::unique_ptr<Expression> expression;
  /// What the softmax is of, and what that reads of S.
  mlir::Value x, score;
  /// Iterations, in axes.
  Positions outputLoops, scoreLoops;
  /// Whether the space has the first contraction's sum, behind the second's
  /// loops.
  bool hasScoreLoop = false;

  AxisList getKeyAxes() const { return outputLoops[output.reduction].axes; }
  Positions getPositions(mlir::OpOperand &operand) {
    bool ofOutput = operand.getOwner() == output.op.getOperation();
    return *getOperandPositions(ofOutput ? output.op : scores.op, operand,
                                ofOutput ? outputLoops : scoreLoops);
  }
};

/// Finds attention whose second contraction is `op`. Neither a match nor
/// `missed` if this is no softmax times something.
std::optional<Match> findAttention(mlir::Operation *op,
                                   std::optional<Missed> &missed);

/// Finds it again after an axis was cut. False if it is not there, as above.
bool findAgain(Match &match, std::optional<Missed> &missed);

/// The softmax that makes weights, seen from an element of them.
struct Softmax {
  /// An element of its input; null if this is no softmax.
  mlir::Value x;
};

/// Matches linalg.softmax, and exponentials divided by their sum. Null `x` with
/// a reason in `missed`, or without if nothing speaks for a softmax.
Softmax matchSoftmax(Expression &expression, mlir::Value weight,
                     const AxisList &keys, std::optional<Missed> &missed);

} // namespace fovea::raising

#endif // FOVEA_LIB_CONVERSION_LINALGTOATTN_MATCH_H
