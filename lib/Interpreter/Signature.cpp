//===- Signature.cpp - Inputs and outputs of programs -----------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Derives the inputs and outputs of functions and kernels, and checks arguments
// against them.
//
//===----------------------------------------------------------------------===//

#include "fovea/Interpreter/Signature.h"

#include "fovea/Dialect/Attn/IR/Attn.h"

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

/// The name of the log-sum-exp result of attn ops.
static constexpr llvm::StringLiteral kLogSumExp("lse");

static bool isSupported(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return getElementKind(tensor.getElementType()).has_value();
  return getElementKind(type).has_value();
}

/// Dimension names of a tensor without an attn op.
static SmallVector<std::string> numberedDims(StringRef name, Type type) {
  SmallVector<std::string> dims;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    for (int64_t dim = 0; dim < tensor.getRank(); ++dim)
      dims.push_back((name + "." + Twine(dim)).str());
  return dims;
}

FailureOr<Signature> Signature::get(func::FuncOp function) {
  Signature signature;
  auto add = [&](std::vector<Parameter> &list, const Twine &name,
                 Type type) -> LogicalResult {
    if (!isSupported(type))
      return function.emitError("cannot run a function with values of type ")
             << type;
    list.push_back({name.str(), type, numberedDims(name.str(), type), {}});
    return success();
  };
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
    if (failed(add(signature.inputs, "arg" + Twine(index), type)))
      return failure();
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    if (failed(add(signature.outputs, "result" + Twine(index), type)))
      return failure();

  assert(!function.isExternal() && "expected a function with a body");
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [index, operand] : llvm::enumerate(terminator->getOperands()))
    if (auto kernel = operand.getDefiningOp<attn::KernelOpInterface>())
      signature.outputs[index].isLogSumExp =
          kernel.getResultName(cast<OpResult>(operand).getResultNumber()) ==
          kLogSumExp;
  SmallVector<attn::KernelOpInterface> kernels(
      function.getBody().getOps<attn::KernelOpInterface>());
  if (kernels.size() != 1)
    return signature;
  attn::KernelOpInterface kernel = kernels.front();
  llvm::SmallDenseSet<Value> named;
  signature.multiples.assign(kernel.getDimMultiples());
  signature.successors.assign(kernel.getDimSuccessors());
  signature.limits.assign(kernel.getDimLimits());
  signature.covers.assign(kernel.getDimCovers());
  signature.contents.assign(kernel.getContents());
  for (auto [index, operand] : llvm::enumerate(kernel->getOperands())) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!argument)
      continue;
    Parameter &parameter = signature.inputs[argument.getArgNumber()];
    // An argument that is used twice keeps its first name.
    if (!named.insert(argument).second) {
      parameter.aliases.push_back(kernel.getOperandName(index));
      continue;
    }
    parameter.name = kernel.getOperandName(index);
    parameter.dims = kernel.getOperandDimNames(index);
  }
  for (auto [index, operand] : llvm::enumerate(terminator->getOperands())) {
    auto result = dyn_cast<OpResult>(operand);
    if (!result || result.getOwner() != kernel)
      continue;
    Parameter &parameter = signature.outputs[index];
    parameter.name = kernel.getResultName(result.getResultNumber());
    parameter.dims = kernel.getResultDimNames(result.getResultNumber());
    parameter.isUpdated =
        kernel.getUpdatedOperand(result.getResultNumber()).has_value();
  }
  return signature;
}

FailureOr<Signature> Signature::get(launch::AbiOp abi) {
  Signature signature;
  auto addTensor = [&](StringRef name) -> LogicalResult {
    launch::TensorAttr tensor = launch::lookupTensor(abi.getTensors(), name);
    if (!tensor)
      return abi.emitError("no tensor is named '") << name << "'";
    if (!isSupported(tensor.getType()))
      return abi.emitError("cannot run a kernel with tensors of type ")
             << tensor.getType();
    bool isOutput = tensor.getAccess() != launch::Access::Read;
    if ((isOutput ? signature.findOutput(name) : signature.findInput(name)) >=
        0)
      return success();
    SmallVector<std::string> dims;
    for (auto dim : tensor.getDims().getAsRange<StringAttr>())
      dims.push_back(dim.getValue().str());
    bool isUpdated = tensor.getAccess() == launch::Access::Update;
    if (isUpdated)
      signature.inputs.push_back({name.str(), tensor.getType(), dims, {}});
    (isOutput ? signature.outputs : signature.inputs)
        .push_back({name.str(),
                    tensor.getType(),
                    std::move(dims),
                    {},
                    isOutput && name == kLogSumExp,
                    tensor.getAccess() == launch::Access::Accumulate,
                    isUpdated});
    return success();
  };
  ArrayRef<Attribute> constraints;
  if (ArrayAttr attr = abi.getConstraintsAttr())
    constraints = attr.getValue();
  for (Attribute attr : constraints) {
    if (auto multiple = dyn_cast<launch::MultipleAttr>(attr))
      signature.multiples.emplace_back(multiple.getSize(), multiple.getOf());
    else if (auto oneMore = dyn_cast<launch::OneMoreAttr>(attr))
      signature.successors.emplace_back(oneMore.getSize(), oneMore.getThan());
    else if (auto atMost = dyn_cast<launch::AtMostAttr>(attr))
      signature.limits.emplace_back(atMost.getSize(), atMost.getLimit());
    else if (auto covers = dyn_cast<launch::CoversAttr>(attr))
      signature.covers.push_back(
          {covers.getSize().str(), covers.getBlock(), covers.getOf().str()});
    else if (auto atLeast = dyn_cast<launch::AtLeastAttr>(attr);
             atLeast && atLeast.getLimit() <= 1)
      continue; // No size may be 0.
    else
      return abi.emitError("cannot run a kernel with the constraint ") << attr;
  }
  if (ArrayAttr attr = abi.getContentsAttr())
    for (auto contents : attr.getAsRange<launch::ContentsAttr>())
      signature.contents.push_back(
          {contents.getTensor().str(), contents.getOf().str(),
           contents.getAscending(), contents.getBlock(),
           contents.getEntries().str(), contents.getTimes(), contents.getPage(),
           contents.getOffsets().str()});
  // The launch includes the tensors of prologue and epilogue kernels.
  SmallVector<Attribute> parameters(abi.getParameters().getValue());
  for (launch::AbiOp kernel : launch::getLaunchedKernels(abi))
    if (kernel != abi)
      llvm::append_range(parameters, kernel.getParameters());
  for (Attribute attr : parameters) {
    if (auto memref = dyn_cast<launch::MemRefParameterAttr>(attr)) {
      if (failed(addTensor(memref.getTensor())))
        return failure();
    } else if (auto map = dyn_cast<launch::TensorMapParameterAttr>(attr)) {
      if (failed(addTensor(map.getTensor())))
        return failure();
    } else if (auto pointer = dyn_cast<launch::PointerParameterAttr>(attr)) {
      if (failed(addTensor(pointer.getTensor())))
        return failure();
    } else if (auto scalar = dyn_cast<launch::ScalarParameterAttr>(attr)) {
      if (!isSupported(scalar.getType()))
        return abi.emitError("cannot run a kernel with scalars of type ")
               << scalar.getType();
      if (signature.findInput(scalar.getName()) < 0)
        signature.inputs.push_back(
            {scalar.getName().str(), scalar.getType(), {}, {}, false});
    }
  }
  return signature;
}

static int64_t findParameter(const std::vector<Parameter> &list,
                             StringRef name) {
  for (auto [index, parameter] : llvm::enumerate(list))
    if (parameter.name == name || llvm::is_contained(parameter.aliases, name))
      return index;
  return -1;
}
int64_t Signature::findInput(StringRef name) const {
  return findParameter(inputs, name);
}
int64_t Signature::findOutput(StringRef name) const {
  return findParameter(outputs, name);
}

LogicalResult fovea::interp::checkInputs(
    const Signature &signature, ArrayRef<Argument> arguments,
    function_ref<std::string(unsigned)> where, DimSizes &sizes,
    function_ref<void(const Twine &)> emitError) {
  llvm::StringMap<unsigned> firstUse;
  for (auto [index, parameter] : llvm::enumerate(signature.inputs)) {
    if (!parameter.isTensor())
      continue;
    RankedTensorType type = parameter.getTensorType();
    ArrayRef<int64_t> shape = arguments[index].tensor.getShape();
    if (int64_t(shape.size()) != type.getRank()) {
      emitError(where(index) + ": '" + parameter.name + "' must have rank " +
                Twine(type.getRank()) + ", found rank " + Twine(shape.size()));
      return failure();
    }
    for (auto [dim, size] : llvm::enumerate(shape)) {
      const std::string &name = parameter.dims[dim];
      if (!type.isDynamicDim(dim) && type.getDimSize(dim) != size) {
        emitError(where(index) + ": dimension " + Twine(dim) + " (" + name +
                  ") of '" + parameter.name + "' must be " +
                  Twine(type.getDimSize(dim)) + ", found " + Twine(size));
        return failure();
      }
      auto [entry, isNew] = sizes.try_emplace(name, size);
      if (isNew)
        firstUse[name] = index;
      if (entry->second != size) {
        emitError(where(index) + ": dimension " + name + " of '" +
                  parameter.name + "' is " + Twine(size) + ", but " +
                  (firstUse.count(name)
                       ? "'" + signature.inputs[firstUse[name]].name +
                             "' has " + std::to_string(entry->second)
                       : "expected " + std::to_string(entry->second)));
        return failure();
      }
    }
  }
  for (const auto &[name, of] : signature.multiples) {
    auto size = sizes.find(name), divisor = sizes.find(of);
    if (size == sizes.end() || divisor == sizes.end() ||
        (divisor->second ? size->second % divisor->second : size->second) == 0)
      continue;
    emitError("dimension " + Twine(name) + " must be a multiple of " + of +
              ", found " + Twine(size->second) + " and " +
              Twine(divisor->second));
    return failure();
  }
  for (const auto &[name, than] : signature.successors) {
    auto size = sizes.find(name), smaller = sizes.find(than);
    if (size == sizes.end() || smaller == sizes.end() ||
        size->second == smaller->second + 1)
      continue;
    emitError("dimension " + Twine(name) + " must be one more than " + than +
              ", found " + Twine(size->second) + " and " +
              Twine(smaller->second));
    return failure();
  }
  for (const auto &[name, limit] : signature.limits) {
    auto size = sizes.find(name);
    if (size == sizes.end() || size->second <= limit)
      continue;
    emitError("dimension " + Twine(name) + " must be at most " + Twine(limit) +
              ", found " + Twine(size->second));
    return failure();
  }
  for (const attn::DimCover &cover : signature.covers) {
    auto size = sizes.find(cover.dim), of = sizes.find(cover.of);
    if (size == sizes.end() || of == sizes.end())
      continue;
    int64_t least = llvm::divideCeil(of->second, cover.block);
    if (size->second >= least)
      continue;
    std::string what = cover.block == 1
                           ? "which is " + cover.of
                           : "the blocks of " + std::to_string(cover.block) +
                                 " in " + cover.of;
    emitError("dimension " + Twine(cover.dim) + " must be at least " +
              Twine(least) + ", " + what + ", found " + Twine(size->second));
    return failure();
  }
  return success();
}

FailureOr<SmallVector<int64_t, 4>>
fovea::interp::resolveShape(const Parameter &parameter, const DimSizes &sizes,
                            std::string &missing) {
  SmallVector<int64_t, 4> shape;
  RankedTensorType type = parameter.getTensorType();
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    if (!ShapedType::isDynamic(size)) {
      shape.push_back(size);
      continue;
    }
    auto found = sizes.find(parameter.dims[dim]);
    if (found == sizes.end()) {
      missing = parameter.dims[dim];
      return failure();
    }
    shape.push_back(found->second);
  }
  return shape;
}
