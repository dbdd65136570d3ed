//===- LaneOrder.h - Where lanes must synchronise ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rule by which `warp-sync-lanes` inserts `warp.sync_lanes`. One lane
// arrives at a pipeline's barrier for all lanes of its warp, which must have
// made their accesses before.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_DIALECT_WARP_IR_LANEORDER_H
#define FOVEA_DIALECT_WARP_IR_LANEORDER_H

#include "fovea/Dialect/Warp/IR/Warp.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace fovea::warp {

/// Returns true if one warp can execute the role, whose leader issues all its
/// operations: the role only fills pipelines, issues dots into tensor memory or
/// copies stages out, and each warp computes its tiles by itself.
bool fitsOneWarp(mlir::Region &role);

/// Returns true if the role loads or stores tensor memory, or issues dots.
bool usesTensorMemory(mlir::Block &role);

/// Returns true if the op is a signal after dots, or the start of a use of a
/// stage in which the role loads or stores tensor memory.
bool ordersTensorMemory(PipelineOpInterface op);

/// The lane synchronisation that the arrivals of a kernel need.
class LaneOrder {
public:
  explicit LaneOrder(mlir::gpu::GPUFuncOp kernel);

  /// Returns the fences of the `warp.sync_lanes` that must precede the op; none
  /// if the lanes need not synchronise or have done so.
  std::optional<LaneFence> getMissingSync(PipelineOpInterface op) const;

private:
  struct RoleFacts {
    bool fitsOneWarp, usesTensorMemory, storesTensorMemory;
  };

  std::optional<LaneFence>
  getMissingSyncOfRelease(PipelineOpInterface release) const;

  llvm::DenseMap<mlir::Region *, RoleFacts> roles;
  /// The pipelines that order accesses to tensor memory, or dots after their
  /// operands.
  llvm::DenseSet<mlir::Value> tensorPipelines;
};

} // namespace fovea::warp

#endif // FOVEA_DIALECT_WARP_IR_LANEORDER_H
