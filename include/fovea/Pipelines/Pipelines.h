//===- Pipelines.h - Pass pipelines -----------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The pass pipelines between the levels of the compiler, and their options.
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
  Option<std::string> target{*this, "target",
                             llvm::cl::desc("Target GPU (default sm_90a)"),
                             llvm::cl::init(kDefaultTarget)};
  Option<std::string> schedule{
      *this, "schedule",
      llvm::cl::desc("'auto', or fields to override, for example "
                     "\"tile_n=32,stages=3\", or plans by kernel name as in "
                     "launch metadata"),
      llvm::cl::init("auto")};
  Option<std::string> scheduleTable{
      *this, "schedule-table",
      llvm::cl::desc("File of measured schedules, as written by fovea-run "
                     "--tune; fields of 'schedule' take precedence")};
  Option<bool> explainSchedule{
      *this, "explain-schedule",
      llvm::cl::desc("Emit a remark on each op with its schedule and problem"),
      llvm::cl::init(false)};
  Option<bool> accurateTanh{
      *this, "accurate-tanh",
      llvm::cl::desc("Compute tanh within 1e-6 instead of with tanh.approx, "
                     "whose measured relative error is up to 2^-16.5"),
      llvm::cl::init(false)};
  Option<std::string> lineInfo{
      *this, "line-info",
      llvm::cl::desc("File to write the warp-level program to; PTX line "
                     "information then refers to it")};
  Option<bool> sourceLines{
      *this, "source-lines",
      llvm::cl::desc("Emit PTX line information for the input program, and "
                     "print MLIR with locations"),
      llvm::cl::init(false)};
  Option<tile::RecurrenceKind> recurrence{
      *this, "recurrence", llvm::cl::desc("Algorithm of the softmax loop"),
      llvm::cl::init(tile::kScheduleRecurrence), tile::recurrenceValues()};
  /// Names of `getMaskOptimizations` (fovea/Target/PTX.h) to disable. They run
  /// on LLVM IR, after the pipelines.
  std::vector<std::string> withoutMaskOptimizations;
  /// The host's code launches the kernels itself, so calls of functions that
  /// become kernels are `launch.call`. Set by pipelines; not an option.
  bool launchCalls = false;
};

/// Options of fovea-to-host.
struct HostOptions : public CompileOptions {
  HostOptions() { launchCalls = true; }

  Option<bool> bufferize{
      *this, "bufferize",
      llvm::cl::desc(
          "Bufferize the host's code and lower launches to calls of the "
          "runtime library; otherwise it keeps tensors and launch ops"),
      llvm::cl::init(true)};
};

/// Prepares a function of attn ops for direct execution, as the pipelines below
/// do: adds derivatives of score_mods. Fails with a diagnostic at an op that
/// cannot be differentiated.
llvm::LogicalResult prepareForExecution(mlir::func::FuncOp function);

/// Lowers attn to tile programs with fused softmax loops.
void buildToTilePipeline(mlir::OpPassManager &pm,
                         const CompileOptions &options);
/// Lowers attn to warp programs with assigned layouts and shared memory.
void buildToWarpPipeline(mlir::OpPassManager &pm,
                         const CompileOptions &options);
/// Lowers warp programs with assigned layouts and shared memory to the NVVM
/// dialect.
void buildWarpToNVVMPipeline(mlir::OpPassManager &pm);

/// Lowers attn to the NVVM dialect.
void buildToNVVMPipeline(mlir::OpPassManager &pm,
                         const CompileOptions &options);

/// Lowers attn ops in host code to kernels, stored as constants of the module,
/// and calls that launch them.
void buildToHostPipeline(mlir::OpPassManager &pm, const HostOptions &options);

/// Registers fovea-to-tile, fovea-to-warp, fovea-to-nvvm, fovea-to-host and
/// fovea-compile.
void registerPipelines();

} // namespace fovea

#endif // FOVEA_PIPELINES_PIPELINES_H
