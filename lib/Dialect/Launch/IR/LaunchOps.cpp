//===- LaunchOps.cpp - Verification of launch.abi -------------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Launch/IR/Launch.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fovea::launch;

//===----------------------------------------------------------------------===//
// Contents
//===----------------------------------------------------------------------===//

/// Checks that tensor `name` exists and has i32 elements, and rank `rank`
/// unless that is -1.
static LogicalResult verifyIntegers(AbiOp abi, StringRef name, int64_t rank,
                                    StringRef parameter = "entries") {
  TensorAttr tensor = lookupTensor(abi.getTensors(), name);
  if (!tensor)
    return abi.emitOpError("no tensor is named '") << name << "'";
  RankedTensorType type = tensor.getType();
  if (!type.getElementType().isInteger(32) || type.getRank() == 0)
    return abi.emitOpError(
               "#launch.contents needs an i32 tensor with dimensions, found '")
           << name << "' of " << type;
  if (rank != -1 && type.getRank() != rank)
    return abi.emitOpError("'")
           << parameter << "' of #launch.contents must have rank " << rank
           << ", found '" << name << "' of " << type;
  return success();
}

/// Checks a contents attribute; `sizes` contains all dimension names.
static LogicalResult verifyContents(AbiOp abi, ContentsAttr contents,
                                    const llvm::StringMap<int64_t> &sizes) {
  if (!sizes.contains(contents.getOf()))
    return abi.emitOpError("no dimension is named '")
           << contents.getOf() << "', found in " << contents;
  if (failed(verifyIntegers(abi, contents.getTensor(), -1)))
    return failure();
  if (contents.getEntries().empty())
    return success();
  StringRef offsets = contents.getOffsets();
  if (!offsets.empty())
    return failure(
        failed(verifyIntegers(abi, contents.getEntries(), 1)) ||
        failed(verifyIntegers(abi, offsets, 1, "offsets")) ||
        failed(verifyIntegers(abi, contents.getTensor(), 1, "tensor")));
  RankedTensorType lists =
      lookupTensor(abi.getTensors(), contents.getTensor()).getType();
  return verifyIntegers(abi, contents.getEntries(), lists.getRank() - 1);
}

//===----------------------------------------------------------------------===//
// AbiOp
//===----------------------------------------------------------------------===//

TensorAttr fovea::launch::lookupTensor(ArrayAttr tensors, StringRef name) {
  for (Attribute attr : tensors)
    if (auto tensor = dyn_cast<TensorAttr>(attr))
      if (tensor.getName() == name)
        return tensor;
  return {};
}

LogicalResult AbiOp::verify() {
  llvm::StringSet<> names;
  llvm::StringMap<int64_t> sizes;
  for (Attribute attr : getTensors()) {
    auto tensor = dyn_cast<TensorAttr>(attr);
    if (!tensor)
      return emitOpError("expected #launch.tensor attributes, found ") << attr;
    if (!names.insert(tensor.getName()).second)
      return emitOpError("two tensors are named '") << tensor.getName() << "'";
    for (auto [name, size] :
         llvm::zip_equal(tensor.getDims().getAsValueRange<StringAttr>(),
                         tensor.getType().getShape())) {
      auto [known, isNew] = sizes.try_emplace(name, size);
      if (known->second != size)
        return emitOpError("dimension '")
               << name << "' has different sizes in two tensors' types";
    }
  }
  for (Attribute attr : getParameters())
    if (!isa<ParameterAttrInterface>(attr))
      return emitOpError("expected parameter attributes, found ") << attr;
  for (StringRef size : getGridSizes().getAsValueRange<StringAttr>())
    if (!sizes.contains(size))
      return emitOpError("no dimension is named '") << size << "'";
  for (Attribute attr :
       getConstraints().value_or(ArrayAttr::get(getContext(), {}))) {
    auto constraint = dyn_cast<ConstraintAttrInterface>(attr);
    if (!constraint)
      return emitOpError("expected constraint attributes, found ") << attr;
    for (StringRef size : constraint.getSizeNames())
      if (!sizes.contains(size))
        return emitOpError("no dimension is named '")
               << size << "', found in " << attr;
  }
  for (Attribute attr :
       getContents().value_or(ArrayAttr::get(getContext(), {}))) {
    auto contents = dyn_cast<ContentsAttr>(attr);
    if (!contents)
      return emitOpError("expected #launch.contents attributes, found ")
             << attr;
    if (failed(verifyContents(*this, contents, sizes)))
      return failure();
  }
  AffineMap grid = getGrid();
  if (grid.getNumDims() != 0 || grid.getNumSymbols() != getGridSizes().size() ||
      grid.getNumResults() != 1)
    return emitOpError("grid must be one expression in one symbol for each of "
                       "the ")
           << getGridSizes().size() << " sizes, found " << getGridAttr();
  if (auto version = getGenerator())
    if (static_cast<int64_t>(*version) != fovea::generator::kVersion)
      return emitOpError("generator ")
             << static_cast<int64_t>(*version) << " is not known, expected "
             << fovea::generator::kVersion;
  if (static_cast<int64_t>(getThreads()) <= 0 || getThreads() > 1024)
    return emitOpError("threads must be in [1, 1024], found ") << getThreads();
  if (static_cast<int64_t>(getSharedMemory()) < 0)
    return emitOpError("shared_memory must not be negative");
  // Maximum CTAs per SM and per cluster of current GPUs.
  constexpr uint64_t kMaxPersistent = 32, kMaxCluster = 16;
  if (auto persistent = getPersistent())
    if (*persistent < 1 || *persistent > kMaxPersistent)
      return emitOpError("persistent must be in [1, ")
             << kMaxPersistent << "], found "
             << static_cast<int64_t>(*persistent);
  if (getCluster() < 1 || getCluster() > kMaxCluster)
    return emitOpError("cluster must be in [1, ")
           << kMaxCluster << "], found " << static_cast<int64_t>(getCluster());
  return success();
}

/// Checks that the ABI records the version of the kernel's random numbers.
static LogicalResult verifyGenerator(AbiOp abi, FunctionOpInterface kernel) {
  auto disagrees = [&](DrawsNumbersOpInterface random) {
    return random.getGenerator() != abi.getGenerator();
  };
  DrawsNumbersOpInterface found;
  kernel.walk([&](DrawsNumbersOpInterface random) {
    found = random;
    return disagrees(random) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!found || !disagrees(found))
    return success();
  InFlightDiagnostic diag = abi.emitOpError("must have 'generator(")
                            << found.getGenerator() << ")', since '"
                            << abi.getKernel() << "' uses these random numbers";
  diag.attachNote(found.getLoc()) << "here";
  return diag;
}

/// Calls the verifiers of the dialects of the kernel's ops.
static LogicalResult verifyProgram(Operation *kernel) {
  DialectInterfaceCollection<KernelDialectInterface> dialects(
      kernel->getContext());
  for (const KernelDialectInterface &dialect : dialects)
    if (failed(dialect.verifyKernel(kernel)))
      return failure();
  return success();
}

LogicalResult AbiOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(
      *this, getKernelAttr());
  if (!kernel)
    return emitOpError("no kernel is named '") << getKernel() << "'";
  if (lookupAbi(kernel) != *this)
    return emitOpError("is a second 'launch.abi' of kernel '")
           << getKernel() << "'";
  if (kernel.getNumArguments() != getParameters().size())
    return emitOpError("has ")
           << getParameters().size() << " parameters, but '" << getKernel()
           << "' has " << kernel.getNumArguments() << " arguments";
  for (auto [index, attr] : llvm::enumerate(getParameters()))
    if (failed(cast<ParameterAttrInterface>(attr).verifyParameter(
            [&, index = index] {
              return emitOpError() << "parameter #" << index << ": ";
            },
            kernel.getArgumentTypes()[index], getTensors())))
      return failure();
  if (failed(verifyLaunch()) || failed(verifyGenerator(*this, kernel)))
    return failure();
  return verifyProgram(kernel);
}

AbiOp fovea::launch::lookupAbi(Operation *kernel) {
  StringAttr name = SymbolTable::getSymbolName(kernel);
  for (AbiOp abi : kernel->getBlock()->getOps<AbiOp>())
    if (abi.getKernelAttr().getAttr() == name)
      return abi;
  return {};
}

AbiOp fovea::launch::requireAbi(Operation *kernel) {
  AbiOp abi = lookupAbi(kernel);
  if (!abi)
    kernel->emitError("kernel has no 'launch.abi' beside it");
  return abi;
}
