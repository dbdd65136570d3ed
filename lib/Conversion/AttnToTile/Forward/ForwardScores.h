//===- ForwardScores.h - Scores of a forward kernel -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDSCORES_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDSCORES_H

#include "Forward/ForwardKernel.h"
#include "KeyBlocks/KeyBlocks.h"

namespace fovea {

/// What scores are emitted without (LeftOut), in the kernel: a score is `scale`
/// times what is emitted, plus, for each row, its number within the tile times
/// `rowStep`, unless that is null.
struct ScoreRest {
  double scale = 1.0;
  mlir::Value rowStep;
  /// The product starts from what score_mod adds, as the plan says.
  bool startsDot = false;

  /// What all scores of a row have in common and were left without, or null.
  mlir::Value emitCommon(const ForwardKernel &kernel) const;
};

/// Fills the region of the sum's scores, those of `queries` and a block of
/// keys; what is the same for all blocks goes to where the builder stands.
mlir::FailureOr<ScoreRest> emitScores(const ForwardKernel &kernel,
                                      const KeyBlocks &blocks,
                                      mlir::Value queries,
                                      mlir::Region &scores);

/// Fills the region of the sum's weights with those that dropout keeps; they
/// are scaled at the end, with the output.
void emitDropout(const ForwardKernel &kernel, mlir::Region &weights);

/// Each row's sink, less what its scores are without, or null.
mlir::Value emitSink(const ForwardKernel &kernel, const ScoreRest &rest);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDSCORES_H
