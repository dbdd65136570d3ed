//===- PipelineLoop.h - Pipeline loops in two stages ------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs an `scf.for` in two stages with the upstream loop pipeliner. The dot
// scheduling passes choose the order and the stage of each op.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_PIPELINELOOP_H
#define FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_PIPELINELOOP_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"

namespace fovea::warp {

/// A signed lower bound of the integer `value`, inferred from the ops that
/// compute it; none if the bound is unknown.
std::optional<int64_t> getLeastValue(mlir::Value value);

/// True if the loop provably runs at least once.
bool runsOnce(mlir::scf::ForOp loop);

/// The ops of a loop body except its terminator, in their new order, each with
/// its stage. Stage 1 runs one iteration after stage 0.
using StagedOrder = std::vector<std::pair<mlir::Operation *, unsigned>>;

/// Pipelines a loop that runs at least once. Stage 0 of the first iteration
/// precedes the loop, stage 1 of the last iteration follows it. The induction
/// variable is that of stage 0. `onFirst` is called with each original op that
/// is cloned into the prologue, and the clone. Fails without changes if the
/// pipeliner fails.
mlir::FailureOr<mlir::scf::ForOp> pipelineInTwoStages(
    mlir::scf::ForOp loop, const StagedOrder &order,
    llvm::function_ref<void(mlir::Operation *, mlir::Operation *)> onFirst =
        {});

} // namespace fovea::warp

#endif // FOVEA_LIB_DIALECT_WARP_TRANSFORMS_SCHEDULING_PIPELINELOOP_H
