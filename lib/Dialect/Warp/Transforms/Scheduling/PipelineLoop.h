//===- PipelineLoop.h - Loops in two stages ---------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_PIPELINELOOP_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_PIPELINELOOP_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"

namespace fovea::warp {

/// A constant that `value`, an integer, is at least, signed: what the ops that
/// compute it infer of their ranges.
std::optional<int64_t> getLeastValue(mlir::Value value);

/// Whether the loop surely runs at least once.
bool runsOnce(mlir::scf::ForOp loop);

/// The ops of a body, but for its terminator, in their new order, each with its
/// stage: 0, or 1 for what is done an iteration later.
using StagedOrder = std::vector<std::pair<mlir::Operation *, unsigned>>;

/// Runs a loop that runs at least once in two stages, with upstream's
/// pipeliner: stage 0 of the first iteration stands before the loop, stage 1 of
/// the last one behind it. The loop counts as its first stage does. `onFirst`
/// is called with each op of the loop's body that has a copy before the loop,
/// which still stands, and that copy. Fails, without a change, if the pipeliner
/// does.
mlir::FailureOr<mlir::scf::ForOp> pipelineInTwoStages(
    mlir::scf::ForOp loop, const StagedOrder &order,
    llvm::function_ref<void(mlir::Operation *, mlir::Operation *)> onFirst =
        {});

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_PIPELINELOOP_H
