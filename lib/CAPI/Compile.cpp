//===- Compile.cpp - Compiling with the C API -----------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements foveaCompile, foveaEmit and foveaAssemble on top of the pipelines
// in lib/Pipelines. Options are converted from C here.
//
//===----------------------------------------------------------------------===//

#include "Internal.h"

#include "fovea/Schedule/SmallerSchedules.h"
#include "fovea/Support/Target.h"
#include "fovea/Target/Assemble.h"

#include <cstring>

using namespace mlir;
using namespace fovea;

struct FoveaKernel {
  CompiledKernel kernel;
};

LogicalResult fovea::readOptions(FoveaContext *context,
                                 const FoveaOptions *options,
                                 CompileOptions &result, std::string &kernel) {
  FoveaOptions known;
  if (failed(readVersioned(context, options, "FoveaOptions", known)))
    return failure();
  if (known.target)
    result.target = known.target;
  if (known.schedule)
    result.schedule = known.schedule;
  if (known.kernel)
    kernel = known.kernel;
  if (known.schedule_table)
    result.scheduleTable = known.schedule_table;
  result.accurateTanh = known.accurate_tanh != 0;
  result.sourceLines = known.line_info != 0;
  std::string recurrence = known.recurrence ? known.recurrence : "auto";
  if (recurrence == "auto")
    return success();
  // Options use a dash where the attribute uses an underscore.
  std::string names = "'auto'";
  for (unsigned i = 0; i <= tile::getMaxEnumValForRecurrenceKind(); ++i) {
    auto kind = tile::symbolizeRecurrenceKind(i);
    if (!kind)
      continue;
    std::string name = tile::stringifyRecurrenceKind(*kind).str();
    llvm::replace(name, '_', '-');
    if (name == recurrence) {
      result.recurrence = *kind;
      return success();
    }
    names += ", '" + name + "'";
  }
  return context->error("unknown recurrence '" + recurrence +
                        "', expected one of " + names);
}

FoveaKernel *foveaCompile(FoveaModule *module, const FoveaOptions *options) {
  if (!module)
    return nullptr;
  FoveaKernel *result = nullptr;
  FoveaContext *context = module->context;
  context->call([&]() -> LogicalResult {
    CompileOptions compileOptions;
    std::string name;
    if (failed(readOptions(context, options, compileOptions, name)))
      return failure();
    OwningOpRef<ModuleOp> copy = module->op->clone();
    auto kernel = compileKernel(*copy, compileOptions, name);
    if (failed(kernel))
      return failure();
    result = new FoveaKernel{std::move(*kernel)};
    return success();
  });
  return result;
}

void foveaKernelDestroy(FoveaKernel *kernel) { delete kernel; }

FoveaString foveaKernelName(const FoveaKernel *kernel) {
  return kernel ? toC(kernel->kernel.name) : FoveaString{"", 0};
}
FoveaString foveaKernelPTX(const FoveaKernel *kernel) {
  return kernel ? toC(kernel->kernel.ptx) : FoveaString{"", 0};
}
FoveaString foveaKernelMetadata(const FoveaKernel *kernel) {
  return kernel ? toC(kernel->kernel.metadata) : FoveaString{"", 0};
}

static std::optional<Artifact> getArtifact(FoveaArtifact artifact) {
  switch (artifact) {
  case FOVEA_ARTIFACT_TILE:
    return Artifact::Tile;
  case FOVEA_ARTIFACT_WARP:
    return Artifact::Warp;
  case FOVEA_ARTIFACT_NVVM:
    return Artifact::NVVM;
  case FOVEA_ARTIFACT_LLVM:
    return Artifact::LLVM;
  case FOVEA_ARTIFACT_PTX:
    return Artifact::PTX;
  case FOVEA_ARTIFACT_METADATA:
    return Artifact::Metadata;
  case FOVEA_ARTIFACT_ATTN:
    break;
  }
  return std::nullopt;
}

FoveaBuffer *foveaEmit(FoveaModule *module, const FoveaOptions *options,
                       FoveaArtifact artifact) {
  if (!module)
    return nullptr;
  FoveaBuffer *result = nullptr;
  FoveaContext *context = module->context;
  context->call([&]() -> LogicalResult {
    CompileOptions compileOptions;
    std::string name;
    std::optional<Artifact> kind = getArtifact(artifact);
    if (!kind && artifact != FOVEA_ARTIFACT_ATTN)
      return context->error("unknown artifact " + Twine(int(artifact)));
    if (failed(readOptions(context, options, compileOptions, name)))
      return failure();
    if (!kind) {
      result = new FoveaBuffer{printModule(*module->op, compileOptions)};
      return success();
    }
    OwningOpRef<ModuleOp> copy = module->op->clone();
    TimingScope timing;
    auto text = emitArtifact(*copy, *kind, compileOptions, name, timing);
    if (failed(text))
      return failure();
    result = new FoveaBuffer{std::move(*text)};
    return success();
  });
  return result;
}

FoveaBuffer *foveaAssemble(FoveaContext *context, const char *ptx, size_t size,
                           const char *target, const char *ptxas) {
  if (!context || !ptx || !target || !ptxas)
    return nullptr;
  FoveaBuffer *result = nullptr;
  context->call([&]() -> LogicalResult {
    if (!lookupTarget(target, [&] {
          return mlir::emitError(UnknownLoc::get(context->mlir.get()));
        }))
      return failure();
    Assembly assembly = assemblePTX(StringRef(ptx, size), target, ptxas);
    if (!assembly.machineCode) {
      context->diagnostics.add(FOVEA_ERROR, assembly.error, assembly.log);
      return failure();
    }
    for (const std::string &fault : assembly.faults)
      context->diagnostics.add(FOVEA_WARNING, fault);
    context->diagnostics.add(FOVEA_REMARK, assembly.log);
    result = new FoveaBuffer{std::move(*assembly.machineCode)};
    return success();
  });
  return result;
}

FoveaBuffer *foveaSmallerSchedules(FoveaContext *context, const char *metadata,
                                   size_t size) {
  if (!context || !metadata)
    return nullptr;
  FoveaBuffer *result = nullptr;
  context->call([&]() -> LogicalResult {
    auto schedules = getSmallerSchedules(StringRef(metadata, size));
    if (!schedules)
      return context->error("expected launch metadata with a schedule");
    std::string lines;
    for (const std::string &schedule : *schedules)
      lines += schedule + "\n";
    result = new FoveaBuffer{std::move(lines)};
    return success();
  });
  return result;
}
