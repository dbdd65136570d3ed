//===- BackwardPlanEntries.h - Entries of backward plans --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the entries of plans for backward kernels over key tiles: streams,
// dots, stores and roles.
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_LIB_SCHEDULE_BACKWARDPLANENTRIES_H
#define FOVEA_LIB_SCHEDULE_BACKWARDPLANENTRIES_H

#include "fovea/Dialect/Plan/IR/Plan.h"
#include "fovea/Schedule/BackwardPlans.h"

#include "mlir/IR/Builders.h"

namespace fovea {

/// Builder for plan entries of a kernel over key tiles.
struct BackwardPlanEntries {
  explicit BackwardPlanEntries(mlir::MLIRContext *context) : b(context) {}

  /// A stream `with` another one is also staged in shared memory.
  plan::StreamAttr stream(llvm::StringRef name, int64_t stages,
                          llvm::StringRef with = "", bool isStaged = false);
  /// A stream whose ring has its own stage index.
  plan::StreamAttr independentStream(llvm::StringRef name, int64_t stages);
  /// Adds one stream per value by relative position. Each has a name of its
  /// own, since shared memory may not have room for all of them.
  void addRelativePositions(llvm::SmallVectorImpl<plan::StreamAttr> &streams,
                            const BackwardProblem &problem);
  /// Adds the streams of dS, which goes to the role that computes dQ, and of
  /// the contributions to sums by relative position. That role also accumulates
  /// these sums.
  void addDsStreams(llvm::SmallVectorImpl<plan::StreamAttr> &streams,
                    int64_t stages, const BackwardProblem &problem);

  /// A dot whose accumulator starts from a summand.
  plan::DotAttr sumDot(llvm::StringRef name);
  plan::DotAttr fullOperandDot(llvm::StringRef name);

  /// A TMA store, through its own buffer or that of a stream.
  plan::StoreAttr tmaStore(llvm::StringRef name, llvm::StringRef over = "");
  /// A store whose add is delayed to the first dot of the next iteration.
  plan::StoreAttr delayedStore(llvm::StringRef name);
  /// Stores for dq_accum, unless threads add to memory directly.
  llvm::SmallVector<plan::StoreAttr> sums(plan::OutputPath output);

  plan::RoleAttr role(llvm::StringRef name, int64_t warps, int64_t registers,
                      llvm::ArrayRef<llvm::StringRef> owns);
  /// Returns the roles of a kernel: a load role in a warp group of its own, and
  /// `others`. Other warps of this warp group become roles if needed. For
  /// deterministic dQ, one waits for semaphores ahead of time and one signals
  /// them when the adds are complete, so that the adding role stalls for
  /// neither. With values by relative position, one computes those values.
  llvm::SmallVector<plan::RoleAttr>
  roles(int64_t loadRegisters, const BackwardProblem &problem,
        llvm::ArrayRef<plan::RoleAttr> others);

  mlir::Builder b;
};

} // namespace fovea

#endif // FOVEA_LIB_SCHEDULE_BACKWARDPLANENTRIES_H
