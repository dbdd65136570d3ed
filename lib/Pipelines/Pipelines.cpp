//===- Pipelines.cpp - Pass pipelines ---------------------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Pipelines/Pipelines.h"

#include "fovea/Conversion/Passes.h"
#include "fovea/Dialect/Attn/Transforms/Passes.h"
#include "fovea/Dialect/Launch/Transforms/Passes.h"
#include "fovea/Dialect/Tile/Transforms/Passes.h"
#include "fovea/Dialect/Warp/Transforms/Passes.h"

#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace fovea;

/// The option `recurrence` sets the schedule field of the same name, so that
/// all users of the schedule see it.
static std::string getScheduleText(const CompileOptions &options) {
  if (options.recurrence == tile::kScheduleRecurrence)
    return options.schedule;
  std::string text = options.schedule == "auto" ? "" : options.schedule + ",";
  return text + "recurrence=" +
         tile::stringifyRecurrenceKind(options.recurrence).str();
}

LogicalResult fovea::prepareForExecution(func::FuncOp function) {
  PassManager passes(function.getContext(), func::FuncOp::getOperationName());
  passes.addPass(attn::createAttnDifferentiate());
  return passes.run(function);
}

void fovea::buildToTilePipeline(OpPassManager &pm,
                                const CompileOptions &options) {
  // Other computations of a host function stay on the host.
  attn::AttnOutlineOptions outline;
  outline.publicFunctions = options.launchCalls;
  pm.addPass(attn::createAttnOutline(outline));
  pm.addPass(createCanonicalizerPass());
  pm.addNestedPass<func::FuncOp>(attn::createAttnAnalyzeMask());
  pm.addNestedPass<func::FuncOp>(attn::createAttnDifferentiate());
  pm.addPass(createCanonicalizerPass());
  AttnToTileOptions attnToTile;
  attnToTile.target = options.target;
  attnToTile.schedule = getScheduleText(options);
  attnToTile.scheduleTable = options.scheduleTable;
  attnToTile.explainSchedule = options.explainSchedule;
  attnToTile.accurateTanh = options.accurateTanh;
  attnToTile.launchCalls = options.launchCalls;
  pm.addPass(createAttnToTile(attnToTile));
  OpPassManager &kernel = pm.nest<gpu::GPUModuleOp>().nest<gpu::GPUFuncOp>();
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  kernel.addPass(tile::createLowerShares());
  kernel.addPass(tile::createFuseOnlineSoftmax());
  kernel.addPass(tile::createLowerBlocks());
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  kernel.addPass(tile::createStreamRelativePositions());
  kernel.addPass(tile::createInterleaveQueryTiles());
}

void fovea::buildToWarpPipeline(OpPassManager &pm,
                                const CompileOptions &options) {
  buildToTilePipeline(pm, options);
  OpPassManager &kernel = pm.nest<gpu::GPUModuleOp>().nest<gpu::GPUFuncOp>();
  kernel.addPass(tile::createLowerWork());
  kernel.addPass(createTileToWarp());
  kernel.addPass(warp::createWarpAssignBallotLayouts());
  kernel.addPass(warp::createWarpAssignRelativePositionLayouts());
  // Each pass applies the corresponding fields of the kernel's schedule.
  kernel.addPass(warp::createWarpDistributeWork());
  kernel.addPass(warp::createWarpInsertAsyncCopies());
  kernel.addPass(warp::createWarpInsertPipelines());
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  kernel.addPass(warp::createWarpScheduleLoops());
  kernel.addPass(warp::createWarpHoldAcrossWaits());
  kernel.addPass(warp::createWarpDelayAtomicAdds());
  kernel.addPass(warp::createWarpChainTiles());
  kernel.addPass(createLoopInvariantCodeMotionPass());
  kernel.addPass(arith::createIntRangeOptimizationsPass());
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  kernel.addPass(tile::createSinkCoordinates());
  kernel.addPass(warp::createWarpAssignLayouts());
  kernel.addPass(warp::createWarpSplitSoftmax());
  kernel.addPass(warp::createWarpApproximateExp2());
  kernel.addPass(warp::createWarpLowerBallots());
  kernel.addPass(warp::createWarpPingPong());
  kernel.addPass(warp::createWarpInsertOutputCopies());
  kernel.addPass(warp::createWarpSplitSemaphoreRoles());
  kernel.addPass(warp::createWarpSpecialize());
  kernel.addPass(warp::createWarpSplitColumns());
  kernel.addPass(warp::createWarpPrefetchScalars());
  // Only compute roles evaluate masks; the load role keeps one loop.
  kernel.addPass(warp::createWarpSplitMaskedLoops());
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  kernel.addPass(warp::createWarpHoistVectors());
  kernel.addPass(tile::createSinkCoordinates());
  kernel.addPass(warp::createWarpAllocateSharedMemory());
  kernel.addPass(warp::createWarpSyncLanes());
  kernel.addPass(warp::createWarpVerifyPipelines());
}

void fovea::buildWarpToNVVMPipeline(OpPassManager &pm) {
  OpPassManager &module = pm.nest<gpu::GPUModuleOp>();
  module.addPass(createWarpToNVVM());
  module.addPass(createCanonicalizerPass());
  module.addPass(createCSEPass());
  module.addPass(createSCFToControlFlowPass());
  module.addPass(createConvertGpuOpsToNVVMOps());
  module.addPass(createReconcileUnrealizedCastsPass());
  module.addPass(createCSEPass());
}

void fovea::buildToNVVMPipeline(OpPassManager &pm,
                                const CompileOptions &options) {
  buildToWarpPipeline(pm, options);
  if (options.lineInfo.empty() && !options.sourceLines)
    return buildWarpToNVVMPipeline(pm);
  if (!options.lineInfo.empty()) {
    LocationSnapshotOptions snapshot;
    snapshot.fileName = options.lineInfo;
    pm.addPass(createLocationSnapshot(snapshot));
  }
  buildWarpToNVVMPipeline(pm);
  LLVM::DIScopeForLLVMFuncOpPassOptions scopes;
  scopes.emissionKind = LLVM::DIEmissionKind::DebugDirectivesOnly;
  pm.addPass(LLVM::createDIScopeForLLVMFuncOpPass(scopes));
}

void fovea::buildToHostPipeline(OpPassManager &pm, const HostOptions &options) {
  buildToNVVMPipeline(pm, options);
  pm.addPass(launch::createLaunchSerializeKernels());
  if (!options.bufferize)
    return;
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  bufferize.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  bufferization::buildBufferDeallocationPipeline(pm);
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createLaunchToLLVM());
}

void fovea::registerPipelines() {
  PassPipelineRegistration<CompileOptions>(
      "fovea-to-tile", "Lower attn ops to fused tile programs",
      buildToTilePipeline);
  PassPipelineRegistration<CompileOptions>(
      "fovea-to-warp",
      "Lower attn ops to warp programs, shared memory allocated",
      buildToWarpPipeline);
  PassPipelineRegistration<CompileOptions>(
      "fovea-to-nvvm", "Lower attn ops to kernels in the NVVM dialect",
      buildToNVVMPipeline);
  PassPipelineRegistration<>("fovea-warp-to-nvvm",
                             "Lower warp programs to the NVVM dialect",
                             buildWarpToNVVMPipeline);
  PassPipelineRegistration<HostOptions>(
      "fovea-to-host", "Compile attention, with host code that launches it",
      buildToHostPipeline);
  PassPipelineRegistration<CompileOptions>(
      "fovea-compile",
      "Alias of fovea-to-nvvm, the pipeline of the tool fovea-compile",
      buildToNVVMPipeline);
}
