//===- SerializeKernels.cpp - Serialize kernels ---------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Launch/Transforms/Passes.h"

#include "fovea/Dialect/Launch/IR/LaunchCall.h"
#include "fovea/Target/Metadata.h"
#include "fovea/Target/PTX.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace fovea::launch {
#define GEN_PASS_DEF_LAUNCHSERIALIZEKERNELS
#include "fovea/Dialect/Launch/Transforms/Passes.h.inc"
} // namespace fovea::launch

using namespace mlir;
using namespace fovea;
using namespace fovea::launch;

namespace {
/// The binaries that replace kernels in calls.
using Binaries = DenseMap<SymbolRefAttr, BinaryOp>;

struct SerializeKernelsPass
    : fovea::launch::impl::LaunchSerializeKernelsBase<SerializeKernelsPass> {
  using LaunchSerializeKernelsBase::LaunchSerializeKernelsBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LaunchDialect>();
    registerTranslations(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    Binaries binaries;
    for (auto kernels :
         llvm::make_early_inc_range(module.getOps<gpu::GPUModuleOp>()))
      if (failed(serialize(kernels, symbols, binaries)))
        return signalPassFailure();
    module.walk([&](CallOp call) { redirect(call, binaries); });
  }

  LogicalResult serialize(gpu::GPUModuleOp kernels, SymbolTable &symbols,
                          Binaries &binaries);
  void redirect(CallOp call, const Binaries &binaries);
};
} // namespace

/// Emits the PTX of all kernels of a module, which have one target.
static FailureOr<std::string> writeCode(gpu::GPUModuleOp kernels,
                                        StringRef targetName) {
  auto emitError = [&] { return kernels.emitError(); };
  const TargetInfo *target = lookupTarget(targetName, emitError);
  if (!target)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> translated =
      translateToLLVMIR(kernels, *target, context);
  if (!translated)
    return failure();
  optimizeLLVMIR(*translated, *target);
  return emitPTX(*translated, *target, kernels.getLoc());
}

/// Checks that only calls refer to the kernels of a module that is erased.
static LogicalResult checkUses(gpu::GPUModuleOp kernels, ModuleOp module) {
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(kernels, module);
  for (SymbolTable::SymbolUse use : *uses)
    if (!isa<CallOp>(use.getUser()) &&
        !kernels->isProperAncestor(use.getUser())) {
      InFlightDiagnostic diag =
          kernels.emitError("only 'launch.call' may refer to a serialized "
                            "kernel, found '");
      diag << use.getUser()->getName() << "'";
      diag.attachNote(use.getUser()->getLoc()) << "here";
      return diag;
    }
  return success();
}

LogicalResult SerializeKernelsPass::serialize(gpu::GPUModuleOp kernels,
                                              SymbolTable &symbols,
                                              Binaries &binaries) {
  SmallVector<AbiOp> entries = getEntryKernels(kernels);
  if (entries.empty())
    return success();
  for (AbiOp abi : entries)
    if (abi.getTarget() != entries.front().getTarget())
      return abi.emitError(
                 "kernels of a module must have the same target, found '")
             << entries.front().getTarget() << "' and '" << abi.getTarget()
             << "'";
  if (failed(checkUses(kernels, getOperation())))
    return failure();
  // Before the code, because its diagnostic for unlowered kernels is clearer.
  SmallVector<std::string> texts;
  for (AbiOp abi : entries) {
    llvm::raw_string_ostream stream(texts.emplace_back());
    if (failed(writeMetadata(abi, stream)))
      return failure();
  }
  FailureOr<std::string> code = writeCode(kernels, entries.front().getTarget());
  if (failed(code))
    return failure();
  OpBuilder builder(kernels);
  for (auto [abi, metadata] : llvm::zip(entries, texts)) {
    SmallVector<Attribute> scalars;
    llvm::append_range(scalars, getScalars(abi));
    auto binary = BinaryOp::create(
        builder, abi.getLoc(), abi.getKernel(), abi.getTarget(),
        abi.getTensors(), builder.getArrayAttr(scalars), *code, metadata);
    symbols.insert(binary, Block::iterator(kernels));
    binaries[SymbolRefAttr::get(kernels.getNameAttr(), abi.getKernelAttr())] =
        binary;
    ++numBinaries;
  }
  symbols.erase(kernels);
  return success();
}

void SerializeKernelsPass::redirect(CallOp call, const Binaries &binaries) {
  BinaryOp binary = binaries.lookup(call.getKernel());
  if (!binary)
    return;
  call.setKernelAttr(FlatSymbolRefAttr::get(binary.getSymNameAttr()));
  std::optional<Signature> signature = getSignature(binary);
  auto isRead = [&](StringAttr name) {
    return lookupTensor(signature->tensors, name) ||
           llvm::any_of(signature->scalars, [&](ScalarParameterAttr scalar) {
             return scalar.getName() == name.getValue();
           });
  };
  SmallVector<Attribute> names;
  SmallVector<Value> inputs;
  for (auto [name, value] : llvm::zip(
           call.getInputNames().getAsRange<StringAttr>(), call.getInputs()))
    if (isRead(name)) {
      names.push_back(name);
      inputs.push_back(value);
    }
  call.setInputNamesAttr(ArrayAttr::get(call.getContext(), names));
  call.getInputsMutable().assign(inputs);
}
