//===- Pipelines.h - Whole ways down ----------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FOVEA_PIPELINES_PIPELINES_H
#define FOVEA_PIPELINES_PIPELINES_H

#include "fovea/Dialect/Tile/Transforms/Passes.h"
#include "fovea/Support/DefaultTarget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

#include <string>

namespace fovea {

/// Options that all pipelines share.
struct CompileOptions : public mlir::PassPipelineOptions<CompileOptions> {
  Option<std::string> target{
      *this, "target", llvm::cl::desc("Chip to compile for (default sm_90a)"),
      llvm::cl::init(kDefaultTarget)};
  Option<std::string> schedule{
      *this, "schedule",
      llvm::cl::desc("'auto', or fields to override, for example "
                     "\"tile_n=32,stages=3\""),
      llvm::cl::init("auto")};
  Option<std::string> scheduleTable{
      *this, "schedule-table",
      llvm::cl::desc(
          "File of schedules that were measured, as fovea-run --tune "
          "writes it; fields of 'schedule' go first")};
  Option<bool> explainSchedule{
      *this, "explain-schedule",
      llvm::cl::desc("Remark on each op which schedule it got, for which "
                     "problem"),
      llvm::cl::init(false)};
  Option<bool> accurateTanh{
      *this, "accurate-tanh",
      llvm::cl::desc("tanh within 1e-6 instead of the chip's approximation, "
                     "which is off by up to 2^-16.5 of the result"),
      llvm::cl::init(false)};
  Option<std::string> lineInfo{
      *this, "line-info",
      llvm::cl::desc("File to write the warp program to; PTX then says of each "
                     "instruction by which line of it it was made")};
  Option<bool> sourceLines{
      *this, "source-lines",
      llvm::cl::desc("PTX says of each instruction by which line of the "
                     "program it was made, and MLIR is printed with locations"),
      llvm::cl::init(false)};
  Option<tile::RecurrenceKind> recurrence{
      *this, "recurrence", llvm::cl::desc("Algorithm of the softmax loop"),
      llvm::cl::init(tile::kScheduleRecurrence), tile::recurrenceValues()};
  /// Names of `getMaskOptimizations` (fovea/Target/PTX.h) to go without, on the
  /// way from LLVM IR on, which is no pipeline's.
  std::vector<std::string> withoutMaskOptimizations;
  /// The host's code launches the kernels itself: calls of what becomes one are
  /// `launch.call`. Of a pipeline, no option.
  bool launchCalls = false;
};

/// Options of fovea-to-host.
struct HostOptions : public CompileOptions {
  HostOptions() { launchCalls = true; }

  Option<bool> bufferize{
      *this, "bufferize",
      llvm::cl::desc("Give tensors buffers and turn launches into calls of the "
                     "runtime library; else the host's code stays on tensors, "
                     "with launches"),
      llvm::cl::init(true)};
};

/// Adds to a function of attn ops what they need to be executed as they are,
/// and what the pipelines below add for themselves: derivatives of score_mods.
/// Fails with a diagnostic at an op that has none.
llvm::LogicalResult prepareForExecution(mlir::func::FuncOp function);

/// attn to tile programs with their softmax loops fused.
void buildToTilePipeline(mlir::OpPassManager &pm,
                         const CompileOptions &options);
/// attn to warp programs, layouts and shared memory assigned.
void buildToWarpPipeline(mlir::OpPassManager &pm,
                         const CompileOptions &options);
/// From allocated warp programs to the NVVM dialect.
void buildWarpToNVVMPipeline(mlir::OpPassManager &pm);

/// attn to the NVVM dialect.
void buildToNVVMPipeline(mlir::OpPassManager &pm,
                         const CompileOptions &options);

/// attn ops in a host's code to kernels as constants of the module and calls
/// that launch them.
void buildToHostPipeline(mlir::OpPassManager &pm, const HostOptions &options);

/// Registers fovea-to-tile, fovea-to-warp, fovea-to-nvvm, fovea-to-host and
/// fovea-compile.
void registerPipelines();

} // namespace fovea

#endif // FOVEA_PIPELINES_PIPELINES_H
