//===- ForwardScores.h - Scores of a forward kernel -------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Emits the scores of a block: Q times K^T, score_mod and mask_mod, with
// dropout and sinks. Common terms of a row are factored out of the scores.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDSCORES_H
#define FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDSCORES_H

#include "Forward/ForwardKernel.h"
#include "KeyBlocks/KeyBlocks.h"

namespace fovea {

/// The terms that are factored out of the emitted scores (LeftOut), as values
/// of the kernel: a score is `scale` times the emitted one, plus the row's
/// index within the tile times `rowStep`, if that is not null.
struct ScoreRest {
  double scale = 1.0;
  /// An f32 that multiplies `scale`, or null for 1.
  mlir::Value runtimeScale;
  mlir::Value rowStep;

  /// The term that is factored out of all scores of a row, or null.
  mlir::Value emitCommon(const ForwardKernel &kernel) const;
};

/// Fills the `scores` region of the softmax sum, for `queries` and a key block.
/// Values that are the same for all blocks are emitted at the builder's
/// position.
mlir::FailureOr<ScoreRest> emitScores(const ForwardKernel &kernel,
                                      const KeyBlocks &blocks,
                                      mlir::Value queries,
                                      mlir::Region &scores);

/// Fills the `weights` region of the softmax sum with P after dropout. The
/// scale for dropped pairs is applied to the output.
void emitDropout(const ForwardKernel &kernel, mlir::Region &weights);

/// Each row's sink, minus the factored-out term of its scores; or null.
mlir::Value emitSink(const ForwardKernel &kernel, const ScoreRest &rest);

} // namespace fovea

#endif // FOVEA_LIB_CONVERSION_ATTNTOTILE_FORWARD_FORWARDSCORES_H
