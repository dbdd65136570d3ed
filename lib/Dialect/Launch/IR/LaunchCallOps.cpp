//===- LaunchCallOps.cpp - Verification of launch.call --------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Launch/IR/LaunchCall.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace fovea::launch;

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

SmallVector<ScalarParameterAttr> fovea::launch::getScalars(AbiOp abi) {
  SmallVector<AbiOp> kernels = {abi};
  llvm::append_range(kernels, getPrologueKernels(abi));
  llvm::append_range(kernels, getEpilogueKernels(abi));
  SmallVector<ScalarParameterAttr> scalars;
  llvm::StringSet<> seen;
  for (AbiOp kernel : kernels)
    for (Attribute parameter : kernel.getParameters())
      if (auto scalar = dyn_cast<ScalarParameterAttr>(parameter))
        if (seen.insert(scalar.getName()).second)
          scalars.push_back(scalar);
  return scalars;
}

std::optional<Signature> fovea::launch::getSignature(Operation *symbol) {
  if (auto binary = dyn_cast_or_null<BinaryOp>(symbol))
    return Signature{
        binary.getTensors(),
        llvm::to_vector(binary.getScalars().getAsRange<ScalarParameterAttr>()),
        /*isFinal=*/true};
  if (!symbol || !isa<gpu::GPUModuleOp>(symbol->getParentOp()))
    return std::nullopt;
  AbiOp abi = lookupAbi(symbol);
  if (!abi)
    return std::nullopt;
  return Signature{abi.getTensors(), getScalars(abi), /*isFinal=*/false};
}

//===----------------------------------------------------------------------===//
// BinaryOp
//===----------------------------------------------------------------------===//

LogicalResult BinaryOp::verify() {
  for (Attribute tensor : getTensors())
    if (!isa<TensorAttr>(tensor))
      return emitOpError("expected #launch.tensor attributes, found ")
             << tensor;
  for (Attribute scalar : getScalars())
    if (!isa<ScalarParameterAttr>(scalar))
      return emitOpError("expected #launch.scalar attributes, found ")
             << scalar;
  if (getCode().empty() || getMetadata().empty())
    return emitOpError("needs the kernel's code and its launch metadata");
  return success();
}

//===----------------------------------------------------------------------===//
// NamedValues
//===----------------------------------------------------------------------===//

/// Parses `"q" = %q : type, ...`.
static ParseResult
parseNamedValues(OpAsmParser &parser, ArrayAttr &names,
                 SmallVectorImpl<OpAsmParser::UnresolvedOperand> &values,
                 SmallVectorImpl<Type> &types) {
  SmallVector<Attribute> found;
  std::string name;
  if (succeeded(parser.parseOptionalString(&name)))
    while (true) {
      found.push_back(parser.getBuilder().getStringAttr(name));
      if (parser.parseEqual() || parser.parseOperand(values.emplace_back()) ||
          parser.parseColonType(types.emplace_back()))
        return failure();
      if (failed(parser.parseOptionalComma()))
        break;
      if (parser.parseString(&name))
        return failure();
    }
  names = parser.getBuilder().getArrayAttr(found);
  return success();
}

static void printNamedValues(OpAsmPrinter &printer, Operation *,
                             ArrayAttr names, OperandRange values,
                             TypeRange types) {
  llvm::interleaveComma(llvm::zip(names, values, types), printer,
                        [&](auto entry) {
                          auto [name, value, type] = entry;
                          printer.printAttribute(name);
                          printer << " = " << value << " : " << type;
                        });
}

//===----------------------------------------------------------------------===//
// CallOp
//===----------------------------------------------------------------------===//

static Value lookup(ArrayAttr names, OperandRange values, StringRef name) {
  for (auto [candidate, value] :
       llvm::zip(names.getAsValueRange<StringAttr>(), values))
    if (candidate == name)
      return value;
  return {};
}

Value CallOp::lookupInput(StringRef name) {
  return lookup(getInputNames(), getInputs(), name);
}
Value CallOp::lookupOutput(StringRef name) {
  return lookup(getOutputNames(), getOutputs(), name);
}

void CallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  for (OpOperand &operand : getInputsMutable())
    if (isa<MemRefType>(operand.get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  // Accumulating kernels read outputs, too.
  for (OpOperand &operand : getOutputsMutable())
    if (isa<MemRefType>(operand.get().getType())) {
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
    }
  // Ordered with the work that is on the stream already and that follows.
  if (getStream()) {
    effects.emplace_back(MemoryEffects::Read::get());
    effects.emplace_back(MemoryEffects::Write::get());
  }
}

static LogicalResult verifyNames(CallOp call, ArrayAttr names,
                                 OperandRange values, StringRef which,
                                 llvm::StringSet<> &seen) {
  if (names.size() != values.size())
    return call.emitOpError("has ") << names.size() << " names of " << which
                                    << ", but " << values.size() << " operands";
  for (StringRef name : names.getAsValueRange<StringAttr>())
    if (!seen.insert(name).second)
      return call.emitOpError("names '") << name << "' twice";
  return success();
}

LogicalResult CallOp::verify() {
  llvm::StringSet<> seen;
  if (failed(
          verifyNames(*this, getInputNames(), getInputs(), "inputs", seen)) ||
      failed(
          verifyNames(*this, getOutputNames(), getOutputs(), "outputs", seen)))
    return failure();
  bool hasTensors = false, hasBuffers = false;
  for (auto [names, values] : {std::pair(getInputNames(), getInputs()),
                               std::pair(getOutputNames(), getOutputs())})
    for (auto [name, value] :
         llvm::zip(names.getAsValueRange<StringAttr>(), values)) {
      Type type = value.getType();
      auto memref = dyn_cast<MemRefType>(type);
      hasTensors |= isa<RankedTensorType>(type);
      hasBuffers |= bool(memref);
      if (!memref && !isa<RankedTensorType>(type) &&
          !type.isIntOrIndexOrFloat())
        return emitOpError("operand '")
               << name
               << "' must be a ranked tensor, a memref or a scalar, found "
               << type;
      if (memref && !memref.isStrided())
        return emitOpError("operand '")
               << name << "' must have strides, found " << memref;
    }
  if (hasTensors && hasBuffers)
    return emitOpError("must have tensors or memrefs, found both");
  if (getStream() && hasTensors)
    return emitOpError("on a stream must have memrefs, found tensors");
  return success();
}

/// Checks one tensor operand against the ABI.
static LogicalResult verifyTensor(CallOp call, TensorAttr tensor,
                                  llvm::StringMap<int64_t> &sizes) {
  bool isRead = tensor.getAccess() == Access::Read;
  StringRef name = tensor.getName();
  Value value = isRead ? call.lookupInput(name) : call.lookupOutput(name);
  if (!value)
    return call.emitOpError("has no ")
           << (isRead ? "input '" : "output '") << name << "', which '"
           << call.getKernel() << "' " << (isRead ? "reads" : "writes");
  auto type = dyn_cast<ShapedType>(value.getType());
  RankedTensorType wanted = tensor.getType();
  auto mismatch = [&] {
    return call.emitOpError("operand '") << name << "' must match " << wanted
                                         << ", found " << value.getType();
  };
  if (!type || type.getElementType() != wanted.getElementType() ||
      type.getRank() != wanted.getRank())
    return mismatch();
  for (auto [dim, found, expected] :
       llvm::zip(tensor.getDims().getAsValueRange<StringAttr>(),
                 type.getShape(), wanted.getShape())) {
    if (ShapedType::isDynamic(found))
      continue;
    if (ShapedType::isStatic(expected) && found != expected)
      return mismatch();
    int64_t known = sizes.try_emplace(dim, found).first->second;
    if (known != found)
      return call.emitOpError("dimension '")
             << dim << "' is " << found << " in operand '" << name << "', and "
             << known << " in an earlier operand";
  }
  return success();
}

/// Checks that each operand is an operand of the kernel. Additional scalars are
/// allowed if the kernel may have stopped reading them.
static LogicalResult verifyKnown(CallOp call, const Signature &signature) {
  auto isScalar = [&](StringRef name) {
    return llvm::any_of(signature.scalars, [&](ScalarParameterAttr scalar) {
      return scalar.getName() == name;
    });
  };
  auto check = [&](StringRef name, Type type, bool isInput) -> LogicalResult {
    TensorAttr tensor = lookupTensor(signature.tensors, name);
    if (tensor && (tensor.getAccess() == Access::Read) == isInput)
      return success();
    bool isShaped = isa<ShapedType>(type);
    if (!tensor && isInput && !isShaped &&
        (isScalar(name) || !signature.isFinal))
      return success();
    return call.emitOpError("kernel '")
           << call.getKernel() << "' has no " << (isInput ? "input" : "output")
           << " '" << name << "'";
  };
  for (auto [name, value] :
       llvm::zip(call.getInputNames().getAsValueRange<StringAttr>(),
                 call.getInputs()))
    if (failed(check(name, value.getType(), /*isInput=*/true)))
      return failure();
  for (auto [name, value] :
       llvm::zip(call.getOutputNames().getAsValueRange<StringAttr>(),
                 call.getOutputs()))
    if (failed(check(name, value.getType(), /*isInput=*/false)))
      return failure();
  return success();
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Operation *symbol = symbols.lookupNearestSymbolFrom(*this, getKernelAttr());
  if (!symbol)
    return emitOpError("no kernel is named '") << getKernel() << "'";
  std::optional<Signature> signature = getSignature(symbol);
  if (!signature)
    return emitOpError("'")
           << getKernel()
           << "' must be a kernel with 'launch.abi' in a 'gpu.module', or a "
              "'launch.binary'";
  llvm::StringMap<int64_t> sizes;
  for (auto tensor : signature->tensors.getAsRange<TensorAttr>())
    if (failed(verifyTensor(*this, tensor, sizes)))
      return failure();
  for (ScalarParameterAttr scalar : signature->scalars) {
    Value value = lookupInput(scalar.getName());
    if (value && value.getType() == scalar.getType())
      continue;
    InFlightDiagnostic diag = emitOpError("needs the scalar '")
                              << scalar.getName() << "' of type "
                              << scalar.getType() << ", found ";
    return value ? diag << value.getType() : diag << "none";
  }
  return verifyKnown(*this, *signature);
}

#define GET_OP_CLASSES
#include "fovea/Dialect/Launch/IR/LaunchCallOps.cpp.inc"
