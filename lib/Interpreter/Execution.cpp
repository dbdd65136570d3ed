//===- Execution.cpp - Runs kernels and functions ---------------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Binds the arguments of kernels and functions, evaluates grids and scratch
// memory, and starts frames.
//
//===----------------------------------------------------------------------===//

#include "fovea/Interpreter/Execution.h"
#include "Warp/WarpExecution.h"
#include "fovea/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <cstring>

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

void fovea::interp::registerAllHandlers(InterpreterRegistry &registry) {
  registerArithHandlers(registry);
  registerMathHandlers(registry);
  registerSCFHandlers(registry);
  registerMemRefHandlers(registry);
  registerTensorHandlers(registry);
  registerLinalgHandlers(registry);
  registerGPUHandlers(registry);
  registerTileHandlers(registry);
  registerSoftmaxHandlers(registry);
  registerAttnHandlers(registry);
  registerCacheHandlers(registry);
  registerWarpHandlers(registry);
  registerSemaphoreHandlers(registry);
  registerWorkHandlers(registry);
}

/// Maximum number of elements of one value; larger sizes are mistakes.
static constexpr int64_t kMaxElements = int64_t(1) << 32;

/// Checks that the interpreter supports the types of all values of a program,
/// so that handlers need no checks.
static LogicalResult verifyTypes(Operation *program) {
  auto verify = [](Location loc, Type type) -> LogicalResult {
    if (isWarpObject(type))
      return success();
    auto shaped = dyn_cast<ShapedType>(type);
    if (!getElementKind(shaped ? shaped.getElementType() : type) ||
        (shaped && !isa<RankedTensorType, MemRefType>(type)))
      return emitError(loc, "the interpreter has no values of type ") << type;
    int64_t elements = 1;
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      for (int64_t size : tensor.getShape())
        if (!ShapedType::isDynamic(size) &&
            (llvm::MulOverflow(elements, size, elements) ||
             elements > kMaxElements))
          return emitError(loc, "the interpreter has no memory for ") << type;
    return success();
  };
  WalkResult result = program->walk([&](Operation *op) {
    for (Value value : op->getResults())
      if (failed(verify(op->getLoc(), value.getType())))
        return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        if (failed(verify(argument.getLoc(), argument.getType())))
          return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Evaluates expressions in named sizes.
static FailureOr<SmallVector<int64_t>> evaluate(launch::AbiOp abi,
                                                AffineMap map, ArrayAttr names,
                                                const DimSizes &sizes) {
  Builder builder(abi.getContext());
  SmallVector<Attribute> symbols, folded;
  for (auto name : names.getAsRange<StringAttr>()) {
    auto size = sizes.find(name.getValue());
    if (size == sizes.end())
      return abi.emitError("no input has the dimension ") << name;
    symbols.push_back(builder.getIndexAttr(size->second));
  }
  if (failed(map.constantFold(symbols, folded)))
    return abi.emitError("cannot evaluate ") << AffineMapAttr::get(map);
  return llvm::map_to_vector(folded, [](Attribute value) {
    return cast<IntegerAttr>(value).getInt();
  });
}

namespace {
/// State that the kernels of one launch share.
struct Launch {
  const Signature &signature;
  ArrayRef<Argument> inputs;
  ArrayRef<HostTensor> outputs;
  DimSizes sizes;
  llvm::StringMap<HostTensor> scratch;
  /// Memory of the kernel under execution, by parameter.
  llvm::MapVector<unsigned, HostTensor> workspaces;
};
} // namespace

/// Scratch memory, allocated at its first use by a kernel.
static FailureOr<RuntimeValue>
bindScratch(launch::AbiOp abi, launch::ScratchMemRefParameterAttr scratch,
            MemRefType type, Launch &launch) {
  auto extents = evaluate(abi, scratch.getExtents().getValue(),
                          scratch.getSizes(), launch.sizes);
  if (failed(extents))
    return failure();
  int64_t elements = 1;
  for (int64_t extent : *extents)
    if (extent < 0 || llvm::MulOverflow(elements, extent, elements) ||
        elements > kMaxElements)
      return abi.emitError("there is no memory for scratch memory '")
             << scratch.getName() << "'";
  HostTensor &memory = launch.scratch[scratch.getName()];
  if (!memory) {
    memory = HostTensor(*getElementKind(type.getElementType()), *extents);
    if (!scratch.getZeroed())
      memory.poison();
  }
  return RuntimeValue::memref(
      memory.getView(llvm::to_vector(llvm::seq<int64_t>(0, extents->size()))));
}

/// Workspaces are zero at the start and at the end of a kernel.
static RuntimeValue bindWorkspace(unsigned index, MemRefType type,
                                  Launch &launch) {
  HostTensor &memory = launch.workspaces[index];
  memory = HostTensor(*getElementKind(type.getElementType()), type.getShape());
  return RuntimeValue::memref(memory.getView({0}));
}

static LogicalResult checkWorkspaces(launch::AbiOp abi, const Launch &launch) {
  for (auto &[index, memory] : launch.workspaces)
    for (int64_t byte = 0; byte < memory.getNumBytes(); ++byte)
      if (memory.data()[byte] != 0) {
        int64_t element = byte / getByteWidth(memory.getKind());
        return abi.emitError("kernel must leave its workspace zero, but "
                             "element ")
               << element << " of argument #" << index << " is not";
      }
  return success();
}

/// The value of one kernel argument.
static FailureOr<RuntimeValue> bindParameter(launch::AbiOp abi, Attribute attr,
                                             unsigned index, Type type,
                                             Launch &launch) {
  const Signature &signature = launch.signature;
  ArrayRef<Argument> inputs = launch.inputs;
  if (auto memref = dyn_cast<launch::MemRefParameterAttr>(attr)) {
    // An updated tensor is both; its output has the input's contents.
    int64_t output = signature.findOutput(memref.getTensor());
    const HostTensor &tensor =
        output >= 0 ? launch.outputs[output]
                    : inputs[signature.findInput(memref.getTensor())].tensor;
    return RuntimeValue::memref(tensor.getView(memref.getOrder()));
  }
  if (auto scratch = dyn_cast<launch::ScratchMemRefParameterAttr>(attr))
    return bindScratch(abi, scratch, cast<MemRefType>(type), launch);
  if (isa<launch::WorkspaceMemRefParameterAttr>(attr))
    return bindWorkspace(index, cast<MemRefType>(type), launch);
  if (auto scalar = dyn_cast<launch::ScalarParameterAttr>(attr))
    return inputs[signature.findInput(scalar.getName())].scalar;
  return abi.emitError("the interpreter executes tile-level kernels, whose "
                       "parameters are memrefs and scalars, found ")
         << attr;
}

/// Number of SMs. Few, so that each CTA of a persistent kernel processes
/// several work items.
static constexpr int64_t kMultiprocessors = 3;

/// Number of CTAs for `items` work items, by the rule of docs/ABI.md.
static int64_t countBlocks(launch::AbiOp abi, int64_t items) {
  int64_t cluster = abi.getCluster();
  int64_t clusters = llvm::divideCeil(items, cluster);
  if (auto persistent = abi.getPersistent())
    clusters = std::min(clusters,
                        std::max<int64_t>(1, static_cast<int64_t>(*persistent) *
                                                 kMultiprocessors / cluster));
  return clusters * cluster;
}

static FailureOr<int64_t> evaluateGrid(launch::AbiOp abi,
                                       const DimSizes &sizes) {
  auto items = evaluate(abi, abi.getGrid(), abi.getGridSizes(), sizes);
  if (failed(items))
    return failure();
  int64_t blocks = items->front();
  if (blocks < 0 || blocks > std::numeric_limits<int32_t>::max())
    return abi.emitError("grid must have 0 to 2^31 - 1 blocks, found ")
           << blocks;
  return countBlocks(abi, blocks);
}

/// Returns true if all CTAs of a cluster execute the kernel together, as one
/// program: it uses cluster indices, or leaves them to a later lowering.
static bool isOfCluster(FunctionOpInterface kernel) {
  return kernel
      .walk([](Operation *op) {
        return isa<gpu::ClusterIdOp, gpu::ClusterDimOp, tile::ForeachWorkOp>(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Executes one kernel of a launch.
static LogicalResult runOne(launch::AbiOp abi, Launch &launch,
                            const InterpreterRegistry &registry,
                            Precision precision, uint64_t seed,
                            WarpTrace *trace) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(
      abi, abi.getKernelAttr());
  SmallVector<RuntimeValue> arguments;
  launch.workspaces.clear();
  for (auto [index, attr, type] :
       llvm::enumerate(abi.getParameters(), kernel.getArgumentTypes())) {
    FailureOr<RuntimeValue> argument =
        bindParameter(abi, attr, index, type, launch);
    if (failed(argument))
      return failure();
    arguments.push_back(std::move(*argument));
  }
  // After the arguments, whose diagnostics for lowered kernels are better.
  if (failed(verifyTypes(kernel)) || failed(verifyWarpObjects(kernel)))
    return failure();
  FailureOr<int64_t> blocks = evaluateGrid(abi, launch.sizes);
  if (failed(blocks))
    return failure();
  if (isOfCluster(kernel))
    *blocks /= abi.getCluster();

  Frame frame(registry, precision);
  TraceEnvironment traced{trace};
  if (trace)
    frame.setEnvironment(&traced);
  if (succeeded(
          runBlocks(frame, kernel.getFunctionBody(), arguments, *blocks, seed)))
    // A trace ends with the first CTA.
    return trace ? success() : checkWorkspaces(abi, launch);
  frame.emitDiagnostic();
  return failure();
}

LogicalResult
fovea::interp::runKernel(launch::AbiOp abi, const InterpreterRegistry &registry,
                         ArrayRef<Argument> inputs,
                         ArrayRef<HostTensor> outputs, const DimSizes &sizes,
                         Precision precision, uint64_t seed, WarpTrace *trace) {
  FailureOr<Signature> signature = Signature::get(abi);
  if (failed(signature))
    return failure();
  for (auto [parameter, output] : llvm::zip(signature->outputs, outputs))
    if (parameter.isUpdated)
      std::memcpy(output.data(),
                  inputs[signature->findInput(parameter.name)].tensor.data(),
                  output.getNumBytes());
  Launch launch{*signature, inputs, outputs, sizes, {}, {}};
  FailureOr<int64_t> ctas = evaluateGrid(abi, sizes);
  if (failed(ctas))
    return failure();
  launch.sizes[launch::kCtasSize] = *ctas;
  for (launch::AbiOp kernel : launch::getLaunchedKernels(abi))
    if (failed(runOne(kernel, launch, registry, precision, seed,
                      kernel == abi ? trace : nullptr)))
      return failure();
  return success();
}

/// Executes a function in a frame with its environment.
static LogicalResult runIn(Frame &frame, func::FuncOp function,
                           ArrayRef<Argument> inputs,
                           SmallVectorImpl<RuntimeValue> &results) {
  if (failed(verifyTypes(function)))
    return failure();
  SmallVector<RuntimeValue> arguments;
  for (const Argument &input : inputs)
    arguments.push_back(input.tensor ? RuntimeValue::array(input.tensor.toArray(
                                           frame.getPrecision()))
                                     : input.scalar);
  if (succeeded(frame.run(function.getBody(), arguments, results)))
    return success();
  frame.emitDiagnostic();
  return failure();
}

LogicalResult fovea::interp::runFunction(func::FuncOp function,
                                         const InterpreterRegistry &registry,
                                         ArrayRef<Argument> inputs,
                                         SmallVectorImpl<RuntimeValue> &results,
                                         Precision precision,
                                         const AttentionChecks &checks) {
  Frame frame(registry, precision);
  frame.setEnvironment(&checks);
  return runIn(frame, function, inputs, results);
}

LogicalResult fovea::interp::mapFunction(func::FuncOp function,
                                         const InterpreterRegistry &registry,
                                         ArrayRef<Argument> inputs,
                                         const BlockMapRequest &request) {
  Frame frame(registry, Precision::Exact);
  frame.setEnvironment(&request);
  SmallVector<RuntimeValue> results;
  return runIn(frame, function, inputs, results);
}

LogicalResult fovea::interp::evaluateElements(
    func::FuncOp function, const InterpreterRegistry &registry,
    ArrayRef<Argument> inputs, const ElementRequest &request) {
  Frame frame(registry, Precision::Exact);
  frame.setEnvironment(&request);
  SmallVector<RuntimeValue> results;
  return runIn(frame, function, inputs, results);
}
