//===- LaunchedKernels.cpp - Launches of several kernels --------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Verifies and lists the kernels that a launch runs before and after the main
// kernel. They share scratch memory, whose size is an expression in the sizes
// of tensors.
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Launch/IR/Launch.h"

#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ShapedOpInterfaces.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace fovea::launch;

//===----------------------------------------------------------------------===//
// Expressions in sizes
//===----------------------------------------------------------------------===//

llvm::json::Value fovea::launch::toJSON(AffineExpr expr, ArrayAttr sizes) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return cast<StringAttr>(sizes[symbol.getPosition()]).getValue();
  auto operation = cast<AffineBinaryOpExpr>(expr);
  StringRef name;
  switch (operation.getKind()) {
  case AffineExprKind::Add:
    name = "+";
    break;
  case AffineExprKind::Mul:
    name = "*";
    break;
  case AffineExprKind::FloorDiv:
    name = "floordiv";
    break;
  case AffineExprKind::CeilDiv:
    name = "ceildiv";
    break;
  case AffineExprKind::Mod:
    name = "mod";
    break;
  default:
    llvm_unreachable("no operation on two expressions");
  }
  return llvm::json::Array{name, toJSON(operation.getLHS(), sizes),
                           toJSON(operation.getRHS(), sizes)};
}

/// Checks that the map has one symbol for each of `sizes`, which are names.
static LogicalResult
verifyExpressions(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                  ArrayAttr sizes, AffineMapAttr attr) {
  AffineMap map = attr.getValue();
  if (!llvm::all_of(sizes,
                    [](Attribute size) { return isa<StringAttr>(size); }))
    return emitError() << "sizes of scratch memory '" << name
                       << "' must be strings, found " << sizes;
  if (map.getNumDims() != 0 || map.getNumSymbols() != sizes.size() ||
      map.getNumResults() == 0)
    return emitError() << "scratch memory '" << name
                       << "' needs expressions in one symbol for each of the "
                       << sizes.size() << " sizes, found " << attr;
  return success();
}

/// Checks that each of `sizes` is the name of a dimension, or `ctas`.
static LogicalResult
verifySizeNames(function_ref<InFlightDiagnostic()> emitError, ArrayAttr sizes,
                ArrayAttr tensors) {
  for (StringRef size : sizes.getAsValueRange<StringAttr>())
    if (size != kCtasSize &&
        llvm::none_of(tensors.getAsRange<TensorAttr>(), [&](TensorAttr tensor) {
          return llvm::is_contained(
              tensor.getDims().getAsValueRange<StringAttr>(), size);
        }))
      return emitError() << "no dimension is named '" << size << "'";
  return success();
}

//===----------------------------------------------------------------------===//
// Scratch memory
//===----------------------------------------------------------------------===//

LogicalResult
ScratchMemRefParameterAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   StringRef name, ArrayAttr sizes,
                                   AffineMapAttr extents, bool) {
  return verifyExpressions(emitError, name, sizes, extents);
}

LogicalResult ScratchMemRefParameterAttr::verifyParameter(
    function_ref<InFlightDiagnostic()> emitError, Type type,
    ArrayAttr tensors) const {
  if (failed(verifySizeNames(emitError, getSizes(), tensors)))
    return failure();
  auto memref = dyn_cast<MemRefType>(type);
  auto mismatch = [&] {
    return emitError() << "argument for scratch memory '" << getName()
                       << "' must be a contiguous memref of integers or floats "
                          "with the extents "
                       << getExtents() << ", found " << type;
  };
  if (!memref || !memref.getLayout().isIdentity() ||
      !memref.getElementType().isIntOrFloat() ||
      memref.getRank() != int64_t(getExtents().getValue().getNumResults()))
    return mismatch();
  for (auto [extent, expr] :
       llvm::zip(memref.getShape(), getExtents().getValue().getResults())) {
    auto constant = dyn_cast<AffineConstantExpr>(expr);
    if (extent != (constant ? constant.getValue() : ShapedType::kDynamic))
      return mismatch();
  }
  return success();
}

void ScratchMemRefParameterAttr::writeJSON(llvm::json::OStream &json) const {
  json.attribute("kind", "scratch_memref");
  json.attribute("name", getName());
}

ScratchParameterAttr ScratchMemRefParameterAttr::getBytes(Type element) const {
  AffineExpr bytes = getAffineConstantExpr(
      llvm::divideCeil(element.getIntOrFloatBitWidth(), 8), getContext());
  AffineMap extents = getExtents().getValue();
  for (AffineExpr extent : extents.getResults())
    bytes = bytes * extent;
  return ScratchParameterAttr::get(
      getContext(), getName(), getSizes(),
      AffineMapAttr::get(AffineMap::get(0, extents.getNumSymbols(), bytes)),
      getZeroed());
}

LogicalResult
ScratchParameterAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                             StringRef name, ArrayAttr sizes,
                             AffineMapAttr bytes, bool) {
  if (failed(verifyExpressions(emitError, name, sizes, bytes)))
    return failure();
  if (bytes.getValue().getNumResults() != 1)
    return emitError() << "scratch memory '" << name
                       << "' needs one number of bytes, found " << bytes;
  return success();
}

LogicalResult ScratchParameterAttr::verifyParameter(
    function_ref<InFlightDiagnostic()> emitError, Type type,
    ArrayAttr tensors) const {
  if (failed(verifySizeNames(emitError, getSizes(), tensors)))
    return failure();
  constexpr unsigned kGlobalMemory = 1;
  auto pointer = dyn_cast<LLVM::LLVMPointerType>(type);
  if (pointer && (pointer.getAddressSpace() == 0 ||
                  pointer.getAddressSpace() == kGlobalMemory))
    return success();
  return emitError() << "scratch parameter must be a pointer to global memory, "
                        "found "
                     << type;
}

void ScratchParameterAttr::writeJSON(llvm::json::OStream &json) const {
  json.attribute("kind", "scratch");
  json.attribute("name", getName());
  json.attribute("bytes",
                 toJSON(getBytes().getValue().getResult(0), getSizes()));
  if (getZeroed())
    json.attribute("zeroed", 1);
}

//===----------------------------------------------------------------------===//
// Kernels of a launch
//===----------------------------------------------------------------------===//

/// The kernels `names` in the module of `abi`; none if it is null.
static SmallVector<AbiOp> lookupKernels(AbiOp abi, ArrayAttr names) {
  SmallVector<AbiOp> kernels;
  if (!names)
    return kernels;
  for (auto name : names.getAsRange<FlatSymbolRefAttr>())
    for (AbiOp other : abi->getBlock()->getOps<AbiOp>())
      if (other.getKernelAttr() == name)
        kernels.push_back(other);
  return kernels;
}

SmallVector<AbiOp> fovea::launch::getPrologueKernels(AbiOp abi) {
  return lookupKernels(abi, abi.getPrologueAttr());
}

SmallVector<AbiOp> fovea::launch::getEpilogueKernels(AbiOp abi) {
  return lookupKernels(abi, abi.getEpilogueAttr());
}

SmallVector<AbiOp> fovea::launch::getLaunchedKernels(AbiOp abi) {
  SmallVector<AbiOp> kernels = getPrologueKernels(abi);
  kernels.push_back(abi);
  llvm::append_range(kernels, getEpilogueKernels(abi));
  return kernels;
}

SmallVector<AbiOp> fovea::launch::getKernelsBefore(AbiOp abi) {
  for (AbiOp main : abi->getBlock()->getOps<AbiOp>()) {
    SmallVector<AbiOp> kernels = getLaunchedKernels(main);
    auto *self = llvm::find(kernels, abi);
    // Skip the trivial launch that consists of a helper kernel itself.
    if (self == kernels.end() || (main == abi && kernels.size() == 1))
      continue;
    kernels.erase(self, kernels.end());
    return kernels;
  }
  return {};
}

/// The name of a scratch parameter; nullopt for other parameters.
static std::optional<StringRef> getScratchName(Attribute parameter) {
  if (auto memref = dyn_cast<ScratchMemRefParameterAttr>(parameter))
    return memref.getName();
  if (auto pointer = dyn_cast<ScratchParameterAttr>(parameter))
    return pointer.getName();
  return std::nullopt;
}

/// True if the memory has uses other than size queries. During lowering, a cast
/// combines a pointer with its sizes.
static bool isTouched(Value memory) {
  return llvm::any_of(memory.getUsers(), [](Operation *user) {
    return isa<UnrealizedConversionCastOp>(user)
               ? llvm::any_of(user->getResults(), isTouched)
               : !isa<ShapedDimOpInterface>(user);
  });
}

bool fovea::launch::isTouchedIn(AbiOp abi, StringRef scratch) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(
      abi, abi.getKernelAttr());
  // Be conservative if the kernel does not exist.
  if (!kernel)
    return true;
  return llvm::any_of(
      llvm::zip(kernel.getArguments(), abi.getParameters()), [&](auto pair) {
        auto [argument, parameter] = pair;
        return getScratchName(parameter) == scratch && isTouched(argument);
      });
}

bool fovea::launch::isTouchedBefore(AbiOp abi, StringRef scratch) {
  return llvm::any_of(getKernelsBefore(abi), [&](AbiOp before) {
    return isTouchedIn(before, scratch);
  });
}

SmallVector<AbiOp> fovea::launch::getEntryKernels(Operation *root) {
  SmallVector<AbiOp> all;
  llvm::DenseSet<Operation *> helpers;
  root->walk([&](AbiOp abi) {
    all.push_back(abi);
    for (AbiOp kernel : getLaunchedKernels(abi))
      if (kernel != abi)
        helpers.insert(kernel);
  });
  llvm::erase_if(all, [&](AbiOp abi) { return helpers.contains(abi); });
  return all;
}

/// Scratch parameters by name, from the first kernel of a launch that has them.
using ScratchByName = llvm::StringMap<Attribute>;

/// Checks that the kernels of a launch agree on their shared scratch memory.
static LogicalResult
verifyScratch(AbiOp abi, ScratchByName &known,
              function_ref<InFlightDiagnostic()> emitError) {
  for (Attribute parameter : abi.getParameters()) {
    std::optional<StringRef> name = getScratchName(parameter);
    if (!name)
      continue;
    Attribute first = known.try_emplace(*name, parameter).first->second;
    // Kernels may be at different stages of lowering.
    if (first.getTypeID() == parameter.getTypeID() && first != parameter)
      return emitError()
             << "kernels of the launch must agree on scratch memory '" << *name
             << "', found " << first << " and " << parameter;
  }
  return success();
}

/// Checks a prologue or epilogue kernel of `main`.
static LogicalResult verifyHelper(AbiOp main, AbiOp kernel, StringRef where) {
  auto fail = [&] {
    return main.emitOpError()
           << "kernel '" << kernel.getKernel() << "' of the " << where << " ";
  };
  if (kernel == main || kernel.getPrologue() || kernel.getEpilogue())
    return fail() << "must have no prologue and no epilogue itself";
  if (kernel.getTarget() != main.getTarget())
    return fail() << "must be for '" << main.getTarget() << "', found '"
                  << kernel.getTarget() << "'";
  if (kernel.getPersistent() || kernel.getCluster() != 1)
    return fail() << "must be neither persistent nor in a cluster";
  for (Attribute tensor : kernel.getTensors())
    if (!llvm::is_contained(main.getTensors(), tensor))
      return fail() << "uses a tensor that is not an operand of the launch: "
                    << tensor;
  for (Attribute parameter : kernel.getParameters())
    if (isa<WorkspaceParameterAttr, WorkspaceMemRefParameterAttr>(parameter))
      return fail() << "must have no workspace, found " << parameter;
  return success();
}

LogicalResult AbiOp::verifyLaunch() {
  auto emitError = [&] { return emitOpError(); };
  if (getOverlapped() && getKernelsBefore(*this).empty())
    return emitError() << "'overlapped' needs a kernel before this one";
  ScratchByName scratch;
  if (failed(verifyScratch(*this, scratch, emitError)))
    return failure();
  auto verify = [&](ArrayAttr names, StringRef where) -> LogicalResult {
    SmallVector<AbiOp> kernels = lookupKernels(*this, names);
    if (names && kernels.size() != names.size())
      return emitError() << where
                         << " must name kernels with a 'launch.abi', found "
                         << names;
    for (AbiOp kernel : kernels)
      if (failed(verifyHelper(*this, kernel, where)) ||
          failed(verifyScratch(kernel, scratch, emitError)))
        return failure();
    return success();
  };
  return success(succeeded(verify(getPrologueAttr(), "prologue")) &&
                 succeeded(verify(getEpilogueAttr(), "epilogue")));
}

//===----------------------------------------------------------------------===//
// Overlap
//===----------------------------------------------------------------------===//

using Effects =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

// Memory accesses must not be moved across these ops.
static void orderMemory(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get());
  effects.emplace_back(MemoryEffects::Write::get());
}
void AllowOverlapOp::getEffects(Effects &effects) { orderMemory(effects); }
void AwaitPreviousOp::getEffects(Effects &effects) { orderMemory(effects); }
