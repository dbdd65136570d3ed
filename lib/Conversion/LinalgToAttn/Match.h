//===- Match.h - Match attention --------------------------------*- C++ -*-===//
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

/// The reason why an op that looks like attention is not raised.
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
  /// The softmax input, and the leaf of S that it reads.
  mlir::Value x, score;
  /// The loops, as axes.
  Positions outputLoops, scoreLoops;
  /// True if the space contains the reduction loop of the first contraction,
  /// after the loops of the second one.
  bool hasScoreLoop = false;

  AxisList getKeyAxes() const { return outputLoops[output.reduction].axes; }
  Positions getPositions(mlir::OpOperand &operand) {
    bool ofOutput = operand.getOwner() == output.op.getOperation();
    return *getOperandPositions(ofOutput ? output.op : scores.op, operand,
                                ofOutput ? outputLoops : scoreLoops);
  }
};

/// Matches attention whose second contraction is `op`. Returns neither a match
/// nor `missed` if no operand is a softmax.
std::optional<Match> findAttention(mlir::Operation *op,
                                   std::optional<Missed> &missed);

/// Repeats the match after an axis was split. False if there is no match, as
/// above.
bool findAgain(Match &match, std::optional<Missed> &missed);

/// The softmax that computes the probabilities, matched from an element of
/// them.
struct Softmax {
  /// An element of the softmax input; null if there is no softmax.
  mlir::Value x;
};

/// Matches linalg.softmax, and exponentials divided by their sum. Null `x` with
/// a reason in `missed`, or without a reason if there is no sign of a softmax.
Softmax matchSoftmax(Expression &expression, mlir::Value weight,
                     const AxisList &keys, std::optional<Missed> &missed);

} // namespace fovea::raising

#endif // FOVEA_LIB_CONVERSION_LINALGTOATTN_MATCH_H
