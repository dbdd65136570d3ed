//===- Interpret.cpp - Interpreting programs with the C API ---------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements foveaInterpret: reads inputs from the caller's memory, lowers the
// function to the requested level, and runs it.
//
//===----------------------------------------------------------------------===//

#include "Interpret.h"

#include "fovea/Dialect/Attn/IR/Attn.h"
#include "fovea/Interpreter/Npy.h"
#include "fovea/Pipelines/Pipelines.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/JSON.h"

#include <cstring>

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

/// Maximum size of a tensor; larger values are assumed to be mistakes.
static constexpr int64_t kMaxTensorBytes = int64_t(1) << 36;

const InterpreterRegistry &fovea::getHandlers() {
  static const InterpreterRegistry registry = [] {
    InterpreterRegistry result;
    registerAllHandlers(result);
    return result;
  }();
  return registry;
}

static ElementKind getKind(const Parameter &parameter) {
  return *getElementKind(getElementTypeOrSelf(parameter.type));
}

//===----------------------------------------------------------------------===//
// Inputs and outputs
//===----------------------------------------------------------------------===//

/// Reads the contents of a parameter from the caller's memory.
static LogicalResult readGiven(FoveaContext *context,
                               const Parameter &parameter,
                               const FoveaTensor &given, Argument &result) {
  ElementKind kind = getKind(parameter);
  StringRef dtype = given.dtype ? given.dtype : "";
  if (dtype != interp::getName(kind))
    return context->error("'" + parameter.name + "' must be of type " +
                          interp::getName(kind) + ", found '" + dtype + "'");
  if (given.rank && !given.sizes)
    return context->error("sizes of '" + parameter.name + "' are null");
  ArrayRef<int64_t> sizes(given.sizes, given.rank);
  auto bytes = HostTensor::getByteSize(kind, sizes, kMaxTensorBytes);
  if (failed(bytes))
    return context->error("'" + parameter.name +
                          "' has a negative size or more than 64 GiB");
  if (*bytes && !given.data)
    return context->error("data of '" + parameter.name + "' is null");
  if (!parameter.isTensor() &&
      llvm::any_of(sizes, [](int64_t size) { return size != 1; }))
    return context->error("'" + parameter.name + "' is a scalar, found rank " +
                          Twine(given.rank));
  HostTensor tensor(kind, sizes);
  if (*bytes)
    std::memcpy(tensor.data(), given.data, *bytes);
  if (parameter.isTensor()) {
    result.tensor = std::move(tensor);
    return success();
  }
  auto array = tensor.toArray(Precision::Exact);
  result.scalar = array->getStorage() == Storage::Int
                      ? RuntimeValue::integer(*array->data<int64_t>())
                      : RuntimeValue::real(*array->data<double>());
  return success();
}

static const FoveaTensor *find(ArrayRef<FoveaTensor> tensors,
                               const Parameter &parameter) {
  for (const FoveaTensor &tensor : tensors)
    if (tensor.name && (parameter.name == tensor.name ||
                        llvm::is_contained(parameter.aliases, tensor.name)))
      return &tensor;
  return nullptr;
}

static LogicalResult checkNames(FoveaContext *context,
                                const Signature &signature,
                                ArrayRef<FoveaTensor> inputs) {
  for (const FoveaTensor &input : inputs) {
    if (input.name && signature.findInput(input.name) >= 0)
      continue;
    std::string names;
    for (const Parameter &parameter : signature.inputs)
      names += (names.empty() ? "'" : ", '") + parameter.name + "'";
    return context->error("the program has no input '" +
                          Twine(input.name ? input.name : "(null)") +
                          "', expected " + names);
  }
  return success();
}

LogicalResult fovea::readInput(FoveaContext *context,
                               const Parameter &parameter,
                               ArrayRef<FoveaTensor> inputs, Argument &result) {
  if (const FoveaTensor *given = find(inputs, parameter))
    return readGiven(context, parameter, *given, result);
  return context->error("input '" + parameter.name + "' is missing");
}

LogicalResult fovea::checkSizes(FoveaContext *context,
                                const Signature &signature,
                                ArrayRef<Argument> arguments, DimSizes &sizes) {
  return checkInputs(
      signature, arguments, [](unsigned) { return std::string("inputs"); },
      sizes, [&](const Twine &message) { (void)context->error(message); });
}

LogicalResult fovea::readInputs(FoveaContext *context,
                                const Signature &signature,
                                ArrayRef<FoveaTensor> inputs,
                                std::vector<Argument> &arguments,
                                DimSizes &sizes) {
  for (const Parameter &parameter : signature.inputs)
    if (failed(readInput(context, parameter, inputs, arguments.emplace_back())))
      return failure();
  return checkSizes(context, signature, arguments, sizes);
}

LogicalResult fovea::makeOutputs(FoveaContext *context,
                                 const Signature &signature,
                                 const DimSizes &sizes,
                                 std::vector<HostTensor> &outputs) {
  for (const Parameter &output : signature.outputs) {
    std::string missing;
    auto shape = resolveShape(output, sizes, missing);
    if (failed(shape))
      return context->error("no input has the size of dimension " + missing +
                            " of output '" + output.name + "'");
    if (failed(
            HostTensor::getByteSize(getKind(output), *shape, kMaxTensorBytes)))
      return context->error("'" + output.name +
                            "' would take more than 64 "
                            "GiB");
    HostTensor &tensor = outputs.emplace_back(getKind(output), *shape);
    // Outputs that are accumulated into start at zero.
    if (!output.isAccumulated)
      tensor.poison();
  }
  return success();
}

static void addOutput(FoveaTensors &outputs, const Parameter &parameter,
                      HostTensor tensor) {
  SmallVector<int64_t, 4> sizes(tensor.getShape());
  outputs.entries.push_back({parameter.name,
                             interp::getName(tensor.getKind()).str(),
                             std::move(tensor), std::move(sizes)});
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

FailureOr<func::FuncOp> fovea::findFunction(FoveaModule *module,
                                            StringRef name) {
  SmallVector<func::FuncOp> all;
  for (auto function : module->op->getOps<func::FuncOp>())
    if (!function.isExternal() && (name.empty() || function.getName() == name))
      all.push_back(function);
  if (all.size() == 1)
    return all.front();
  if (!name.empty())
    return module->context->error("found no function '" + name + "' to run");
  return module->context->error("found " + Twine(all.size()) +
                                " functions to run, expected one to be chosen "
                                "by name");
}

static LogicalResult runAttn(FoveaContext *context, func::FuncOp function,
                             const Signature &signature,
                             ArrayRef<FoveaTensor> inputs, Precision precision,
                             FoveaTensors &outputs) {
  std::vector<Argument> arguments;
  DimSizes sizes;
  SmallVector<RuntimeValue> results;
  // The caller's module must not be modified.
  OwningOpRef<func::FuncOp> prepared = function.clone();
  if (failed(readInputs(context, signature, inputs, arguments, sizes)) ||
      failed(prepareForExecution(*prepared)) ||
      failed(
          runFunction(*prepared, getHandlers(), arguments, results, precision)))
    return failure();
  for (auto [parameter, result] : llvm::zip(signature.outputs, results)) {
    ElementKind kind = getKind(parameter);
    // Exact results are not rounded.
    if (precision == Precision::Exact && interp::isFloat(kind))
      kind = ElementKind::F64;
    if (result.isArray()) {
      addOutput(outputs, parameter,
                HostTensor::fromArray(result.getArray(), kind));
      continue;
    }
    HostTensor scalar(kind, {});
    int64_t integer = result.isInteger() ? result.getInteger() : 0;
    double real = result.isReal() ? result.getReal() : 0;
    if (result.isInteger())
      writeElements(kind, &integer, 1, scalar.data(), 1);
    else
      writeElements(kind, &real, 1, scalar.data(), 1);
    addOutput(outputs, parameter, std::move(scalar));
  }
  return success();
}

FailureOr<launch::AbiOp> fovea::lowerTo(FoveaContext *context,
                                        func::FuncOp function,
                                        FoveaArtifact level,
                                        const CompileOptions &options,
                                        ModuleOp copy) {
  for (auto other : llvm::make_early_inc_range(copy.getOps<func::FuncOp>()))
    if (other.getName() != function.getName())
      other.erase();
  PassManager passes(context->mlir.get());
  if (level == FOVEA_ARTIFACT_WARP)
    buildToWarpPipeline(passes, options);
  else
    buildToTilePipeline(passes, options);
  if (failed(passes.run(copy)))
    return failure();
  SmallVector<launch::AbiOp> kernels = launch::getEntryKernels(copy);
  if (kernels.size() != 1)
    return context->error("'" + function.getName() + "' was lowered to " +
                          Twine(kernels.size()) + " kernels, expected one");
  return kernels.front();
}

static LogicalResult runLowered(FoveaContext *context, launch::AbiOp abi,
                                const Signature &program,
                                ArrayRef<FoveaTensor> inputs, uint64_t seed,
                                FoveaTensors &outputs) {
  FailureOr<Signature> signature = Signature::get(abi);
  if (failed(signature))
    return failure();
  std::vector<Argument> arguments;
  DimSizes sizes;
  if (failed(readInputs(context, *signature, inputs, arguments, sizes)))
    return failure();
  std::vector<HostTensor> tensors;
  if (failed(makeOutputs(context, *signature, sizes, tensors)))
    return failure();
  if (failed(runKernel(abi, getHandlers(), arguments, tensors, sizes,
                       Precision::Typed, seed)))
    return failure();
  for (const Parameter &output : program.outputs) {
    int64_t index = signature->findOutput(output.name);
    if (index < 0)
      return context->error("the kernel does not write output '" + output.name +
                            "'");
    addOutput(outputs, output, std::move(tensors[index]));
  }
  return success();
}

static LogicalResult interpret(FoveaModule *module, const FoveaOptions *options,
                               const FoveaRunOptions &run,
                               ArrayRef<FoveaTensor> inputs,
                               FoveaTensors &outputs) {
  FoveaContext *context = module->context;
  CompileOptions compileOptions;
  std::string name;
  if (failed(readOptions(context, options, compileOptions, name)))
    return failure();
  if (run.level != FOVEA_ARTIFACT_ATTN && run.level != FOVEA_ARTIFACT_TILE &&
      run.level != FOVEA_ARTIFACT_WARP)
    return context->error("the level of a run must be attn, tile or warp");
  if (run.exact && run.level != FOVEA_ARTIFACT_ATTN)
    return context->error("exact evaluation needs level attn");
  FailureOr<func::FuncOp> function = findFunction(module, name);
  if (failed(function))
    return failure();
  FailureOr<Signature> signature = Signature::get(*function);
  if (failed(signature) || failed(checkNames(context, *signature, inputs)))
    return failure();
  if (run.level == FOVEA_ARTIFACT_ATTN)
    return runAttn(context, *function, *signature, inputs,
                   run.exact ? Precision::Exact : Precision::Typed, outputs);
  OwningOpRef<ModuleOp> copy = module->op->clone();
  auto abi = lowerTo(context, *function, run.level, compileOptions, *copy);
  if (failed(abi))
    return failure();
  return runLowered(context, *abi, *signature, inputs, run.seed, outputs);
}

static llvm::json::Array describe(ArrayRef<Parameter> parameters) {
  llvm::json::Array result;
  for (const Parameter &parameter : parameters) {
    llvm::json::Array shape;
    if (parameter.isTensor())
      for (int64_t size : parameter.getTensorType().getShape())
        shape.push_back(ShapedType::isDynamic(size) ? llvm::json::Value(nullptr)
                                                    : size);
    result.push_back(
        llvm::json::Object{{"name", parameter.name},
                           {"dtype", interp::getName(getKind(parameter))},
                           {"shape", std::move(shape)}});
  }
  return result;
}

FoveaBuffer *foveaModuleSignature(FoveaModule *module,
                                  const FoveaOptions *options) {
  if (!module)
    return nullptr;
  FoveaBuffer *result = nullptr;
  module->context->call([&]() -> LogicalResult {
    CompileOptions compileOptions;
    std::string name;
    if (failed(readOptions(module->context, options, compileOptions, name)))
      return failure();
    FailureOr<func::FuncOp> function = findFunction(module, name);
    if (failed(function))
      return failure();
    FailureOr<Signature> signature = Signature::get(*function);
    if (failed(signature))
      return failure();
    std::string text;
    llvm::raw_string_ostream(text) << llvm::json::Value(
        llvm::json::Object{{"inputs", describe(signature->inputs)},
                           {"outputs", describe(signature->outputs)}});
    result = new FoveaBuffer{std::move(text)};
    return success();
  });
  return result;
}

FoveaTensors *foveaInterpret(FoveaModule *module, const FoveaOptions *options,
                             const FoveaRunOptions *run,
                             const FoveaTensor *inputs, size_t numInputs) {
  if (!module || (numInputs && !inputs))
    return nullptr;
  auto outputs = std::make_unique<FoveaTensors>();
  bool done = module->context->call([&]() -> LogicalResult {
    FoveaRunOptions known;
    if (failed(readVersioned(module->context, run, "FoveaRunOptions", known)))
      return failure();
    return interpret(module, options, known, {inputs, numInputs}, *outputs);
  });
  return done ? outputs.release() : nullptr;
}

size_t foveaTensorsCount(const FoveaTensors *tensors) {
  return tensors ? tensors->entries.size() : 0;
}

FoveaResult foveaTensorsGet(const FoveaTensors *tensors, size_t index,
                            FoveaTensor *tensor) {
  if (!tensor || index >= foveaTensorsCount(tensors))
    return FOVEA_FAILURE;
  const FoveaTensors::Entry &entry = tensors->entries[index];
  *tensor = {entry.name.c_str(), entry.dtype.c_str(), entry.tensor.data(),
             entry.sizes.size(), entry.sizes.data()};
  return FOVEA_SUCCESS;
}

void foveaTensorsDestroy(FoveaTensors *tensors) { delete tensors; }
