//===- Inspect.cpp - Block maps, elements and traces ----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Implements foveaBlockMap, foveaElements and foveaTrace, with the mask
// analysis and the interpreter.
//
//===----------------------------------------------------------------------===//

#include "Interpret.h"

#include "fovea/Dialect/Attn/Transforms/Passes.h"

#include "mlir/IR/TypeUtilities.h"

#include <cstring>

using namespace mlir;
using namespace fovea;
using namespace fovea::interp;

//===----------------------------------------------------------------------===//
// Block maps
//===----------------------------------------------------------------------===//

/// Maximum number of blocks along one side of a map, and of queries or keys;
/// larger values are assumed to be mistakes.
static constexpr int64_t kMaxBlocks = 4096, kMaxExtent = int64_t(1) << 30;

/// Arguments of a mask before the captures: batch entry, head, query, key.
static constexpr unsigned kCoordinates = 4;

/// Maximum product of batch, heads, and queries or keys.
static constexpr int64_t kMaxRows = int64_t(1) << 34;

static LogicalResult checkRows(FoveaContext *context, int64_t batch,
                               int64_t heads, int64_t queries, int64_t keys) {
  // Computed in floating point, which does not overflow.
  if (double(batch) * double(heads) * double(std::max(queries, keys)) <=
      double(kMaxRows))
    return success();
  return context->error(
      "batch, heads and positions have a product of at most " +
      Twine(kMaxRows));
}

static LogicalResult checkMapOptions(FoveaContext *context,
                                     const FoveaBlockMapOptions &map) {
  for (auto [name, value] :
       {std::pair("batch", map.batch), std::pair("heads", map.heads),
        std::pair("queries", map.queries), std::pair("keys", map.keys),
        std::pair("rows", map.rows), std::pair("columns", map.columns)})
    if (value < 1 || value > kMaxExtent)
      return context->error(Twine(name) + " must lie in [1, " +
                            Twine(kMaxExtent) + "], found " + Twine(value));
  if (llvm::divideCeil(map.queries, map.rows) > kMaxBlocks ||
      llvm::divideCeil(map.keys, map.columns) > kMaxBlocks)
    return context->error("a map must have at most " + Twine(kMaxBlocks) +
                          " blocks per side");
  return checkRows(context, map.batch, map.heads, map.queries, map.keys);
}

namespace {
/// The attention op of a function. For an attn.backward, `program` owns the
/// forward op with the same mask and scores.
struct Attention {
  attn::ForwardOp forward;
  attn::BackwardOp backward;
  OwningOpRef<ModuleOp> program;
};
} // namespace

/// Finds the attention op of the function that the options name.
static FailureOr<Attention> findAttention(FoveaModule *module,
                                          const FoveaOptions *options) {
  FoveaContext *context = module->context;
  CompileOptions compileOptions;
  std::string name;
  if (failed(readOptions(context, options, compileOptions, name)))
    return failure();
  FailureOr<func::FuncOp> function = findFunction(module, name);
  if (failed(function))
    return failure();
  SmallVector<attn::AttentionOpInterface> all;
  function->walk([&](attn::AttentionOpInterface op) { all.push_back(op); });
  if (all.size() != 1 ||
      !llvm::all_of(all.front()->getOperands(), llvm::IsaPred<BlockArgument>))
    return context->error("'" + function->getName() +
                          "' must have one 'attn.forward' or 'attn.backward', "
                          "with its arguments as operands");
  Attention found;
  found.forward = dyn_cast<attn::ForwardOp>(all.front().getOperation());
  if (found.forward)
    return found;
  found.backward = cast<attn::BackwardOp>(all.front().getOperation());
  found.program = makeForwardProgram(found.backward);
  found.program->walk([&](attn::ForwardOp op) { found.forward = op; });
  return found;
}

/// True if the operand's contents determine which keys are visible.
static bool hidesKeys(attn::ForwardOp forward, unsigned operand) {
  Value value = forward->getOperand(operand);
  if (llvm::is_contained(forward.getSequenceOperands(), value) ||
      llvm::is_contained(forward.getBlockLists(), value))
    return true;
  for (auto [index, capture] : llvm::enumerate(forward.getCaptures()))
    if (capture == value && !forward.getMaskMod().empty())
      return !forward.getMaskMod()
                  .getArgument(kCoordinates + index)
                  .use_empty();
  return false;
}

/// A placeholder for contents that are not read.
static Argument makeZero(const Parameter &parameter) {
  Argument result;
  ElementKind kind = *getElementKind(getElementTypeOrSelf(parameter.type));
  if (!parameter.isTensor()) {
    result.scalar = interp::isFloat(kind) ? RuntimeValue::real(0)
                                          : RuntimeValue::integer(0);
    return result;
  }
  SmallVector<int64_t> shape(parameter.getTensorType().getShape());
  llvm::replace(shape, ShapedType::kDynamic, int64_t(1));
  result.tensor = HostTensor(kind, shape);
  return result;
}

/// Arguments of the mask program of `forward`: Q, K and V of these sizes, and
/// the elements of `inputs` that the program reads.
static LogicalResult readMaskInputs(FoveaContext *context,
                                    attn::ForwardOp forward, func::FuncOp mask,
                                    const Signature &signature,
                                    ArrayRef<FoveaTensor> inputs,
                                    const AttentionSizes &sizes,
                                    function_ref<bool(unsigned)> isRead,
                                    std::vector<Argument> &arguments) {
  for (auto [index, parameter] : llvm::enumerate(signature.inputs)) {
    Argument &argument = arguments.emplace_back();
    if (index < 3) {
      argument.tensor = makeMaskInput(mask, index, sizes);
      continue;
    }
    if (!isRead(index)) {
      argument = makeZero(parameter);
      continue;
    }
    Parameter named = parameter;
    named.name = forward.getOperandName(index);
    if (failed(readInput(context, named, inputs, argument)))
      return failure();
  }
  return success();
}

static llvm::json::Value toJSON(ArrayRef<BlockMap> maps) {
  llvm::json::Array result;
  for (const BlockMap &map : maps) {
    llvm::json::Array rows;
    int64_t visible = 0;
    for (const BlockMap::Row &row : map.rows) {
      rows.push_back(row.codes);
      visible += row.visiblePairs;
    }
    result.push_back(llvm::json::Object{{"entry", map.entry},
                                        {"head", map.head},
                                        {"queries", map.queries},
                                        {"keys", map.keys},
                                        {"visible_pairs", visible},
                                        {"rows", std::move(rows)}});
  }
  return llvm::json::Object{{"maps", std::move(result)}};
}

static LogicalResult analyzeMasks(ModuleOp module) {
  PassManager passes(module.getContext());
  passes.addNestedPass<func::FuncOp>(attn::createAttnAnalyzeMask());
  return passes.run(module);
}

/// A module with the gradient function, with its mask analysed for tiles of
/// keys.
static FailureOr<OwningOpRef<ModuleOp>> analyzeKeyTiles(attn::BackwardOp op) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(op.getLoc());
  module->push_back(op->getParentOfType<func::FuncOp>().clone());
  if (failed(analyzeMasks(*module)))
    return failure();
  return module;
}

static LogicalResult mapBlocks(FoveaModule *module, const FoveaOptions *options,
                               const FoveaBlockMapOptions &map,
                               ArrayRef<FoveaTensor> inputs,
                               std::string &text) {
  FoveaContext *context = module->context;
  if (failed(checkMapOptions(context, map)))
    return failure();
  FailureOr<Attention> found = findAttention(module, options);
  if (failed(found))
    return failure();
  attn::ForwardOp forward = found->forward;
  std::vector<BlockMap> maps;
  BlockMapRequest request{map.rows, map.columns, map.classify != 0, &maps};
  OwningOpRef<ModuleOp> analyzed;
  if (found->backward && map.has_key_tiles) {
    FailureOr<OwningOpRef<ModuleOp>> result = analyzeKeyTiles(found->backward);
    if (failed(result))
      return failure();
    analyzed = std::move(*result);
    request.hasKeyTiles = true;
    analyzed->walk([&](attn::BackwardOp op) {
      if (!op.getQueryBounds().empty())
        request.queryBounds = &op.getQueryBounds();
    });
  }
  auto program = makeMaskProgram(forward);
  if (failed(analyzeMasks(*program)))
    return failure();
  auto mask = *program->getOps<func::FuncOp>().begin();
  FailureOr<Signature> signature = Signature::get(mask);
  if (failed(signature))
    return failure();
  std::vector<Argument> arguments;
  auto isRead = [&](unsigned index) { return hidesKeys(forward, index); };
  if (failed(readMaskInputs(context, forward, mask, *signature, inputs,
                            {map.batch, map.heads, map.queries, map.keys},
                            isRead, arguments)))
    return failure();
  DimSizes sizes;
  if (failed(checkSizes(context, *signature, arguments, sizes)) ||
      failed(mapFunction(mask, getHandlers(), arguments, request)))
    return failure();
  llvm::raw_string_ostream(text) << toJSON(maps);
  return success();
}

FoveaBuffer *foveaBlockMap(FoveaModule *module, const FoveaOptions *options,
                           const FoveaBlockMapOptions *map,
                           const FoveaTensor *inputs, size_t numInputs) {
  if (!module || !map || (numInputs && !inputs))
    return nullptr;
  std::string text;
  bool done = module->context->call([&]() -> LogicalResult {
    FoveaBlockMapOptions known;
    if (failed(
            readVersioned(module->context, map, "FoveaBlockMapOptions", known)))
      return failure();
    return mapBlocks(module, options, known, {inputs, numInputs}, text);
  });
  return done ? new FoveaBuffer{std::move(text)} : nullptr;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Maximum number of elements that a call returns.
static constexpr int64_t kMaxElements = int64_t(1) << 28;

static LogicalResult checkElementOptions(FoveaContext *context,
                                         const FoveaElementOptions &wanted) {
  for (auto [name, value, least] : {std::tuple("batch", wanted.batch, 1),
                                    {"heads", wanted.heads, 1},
                                    {"queries", wanted.queries, 1},
                                    {"keys", wanted.keys, 1},
                                    {"rows", wanted.rows, 1},
                                    {"entry", wanted.entry, 0},
                                    {"head", wanted.head, 0},
                                    {"first", wanted.first, 0}})
    if (value < least || value > kMaxExtent)
      return context->error(Twine(name) + " must lie in [" + Twine(least) +
                            ", " + Twine(kMaxExtent) + "], found " +
                            Twine(value));
  if (wanted.num_scores > 64 || (wanted.num_scores && !wanted.scores))
    return context->error("expected at most 64 scores, found " +
                          Twine(wanted.num_scores));
  if (double(wanted.rows) * double(wanted.keys) *
          double(wanted.num_scores + 1) >
      double(kMaxElements))
    return context->error("a call returns at most " + Twine(kMaxElements) +
                          " elements: request fewer rows");
  return checkRows(context, wanted.batch, wanted.heads, wanted.queries,
                   wanted.keys);
}

static LogicalResult findElements(FoveaModule *module,
                                  const FoveaOptions *options,
                                  const FoveaElementOptions &wanted,
                                  ArrayRef<FoveaTensor> inputs,
                                  FoveaTensors &outputs) {
  FoveaContext *context = module->context;
  if (failed(checkElementOptions(context, wanted)))
    return failure();
  FailureOr<Attention> found = findAttention(module, options);
  if (failed(found))
    return failure();
  attn::ForwardOp forward = found->forward;
  auto program = makeElementProgram(forward);
  auto elements = *program->getOps<func::FuncOp>().begin();
  FailureOr<Signature> signature = Signature::get(elements);
  if (failed(signature))
    return failure();
  std::vector<Argument> arguments;
  auto isRead = [&](unsigned index) {
    return hidesKeys(forward, index) ||
           llvm::is_contained(forward.getCaptures(),
                              forward->getOperand(index));
  };
  DimSizes sizes;
  HostTensor visible, changed;
  ElementRequest request{wanted.entry,
                         wanted.head,
                         wanted.first,
                         wanted.rows,
                         {wanted.scores, wanted.num_scores},
                         &visible,
                         &changed};
  if (failed(readMaskInputs(
          context, forward, elements, *signature, inputs,
          {wanted.batch, wanted.heads, wanted.queries, wanted.keys}, isRead,
          arguments)) ||
      failed(checkSizes(context, *signature, arguments, sizes)) ||
      failed(evaluateElements(elements, getHandlers(), arguments, request)))
    return failure();
  auto add = [&](StringRef name, StringRef dtype, HostTensor &tensor) {
    if (tensor)
      outputs.entries.push_back({name.str(), dtype.str(), tensor,
                                 SmallVector<int64_t, 4>(tensor.getShape())});
  };
  add("visible", "i1", visible);
  add("scores", "f64", changed);
  return success();
}

FoveaTensors *foveaElements(FoveaModule *module, const FoveaOptions *options,
                            const FoveaElementOptions *elements,
                            const FoveaTensor *inputs, size_t numInputs) {
  if (!module || !elements || (numInputs && !inputs))
    return nullptr;
  auto outputs = std::make_unique<FoveaTensors>();
  bool done = module->context->call([&]() -> LogicalResult {
    FoveaElementOptions known;
    if (failed(readVersioned(module->context, elements, "FoveaElementOptions",
                             known)))
      return failure();
    return findElements(module, options, known, {inputs, numInputs}, *outputs);
  });
  return done ? outputs.release() : nullptr;
}

//===----------------------------------------------------------------------===//
// Traces
//===----------------------------------------------------------------------===//

static LogicalResult trace(FoveaModule *module, const FoveaOptions *options,
                           ArrayRef<FoveaTensor> inputs, size_t maxEvents,
                           std::string &text) {
  FoveaContext *context = module->context;
  CompileOptions compileOptions;
  std::string name;
  if (failed(readOptions(context, options, compileOptions, name)))
    return failure();
  FailureOr<func::FuncOp> function = findFunction(module, name);
  if (failed(function))
    return failure();
  OwningOpRef<ModuleOp> copy = module->op->clone();
  auto abi =
      lowerTo(context, *function, FOVEA_ARTIFACT_WARP, compileOptions, *copy);
  if (failed(abi))
    return failure();
  FailureOr<Signature> signature = Signature::get(*abi);
  std::vector<Argument> arguments;
  std::vector<HostTensor> outputs;
  DimSizes sizes;
  WarpTrace recorded(maxEvents);
  if (failed(signature) ||
      failed(readInputs(context, *signature, inputs, arguments, sizes)) ||
      failed(makeOutputs(context, *signature, sizes, outputs)) ||
      failed(runKernel(*abi, getHandlers(), arguments, outputs, sizes,
                       Precision::Typed, /*seed=*/0, &recorded)))
    return failure();
  llvm::raw_string_ostream(text) << recorded.toJSON(*abi);
  return success();
}

FoveaBuffer *foveaTrace(FoveaModule *module, const FoveaOptions *options,
                        const FoveaTensor *inputs, size_t numInputs,
                        size_t maxEvents) {
  if (!module || (numInputs && !inputs))
    return nullptr;
  std::string text;
  bool done = module->context->call([&] {
    return trace(module, options, {inputs, numInputs}, maxEvents, text);
  });
  return done ? new FoveaBuffer{std::move(text)} : nullptr;
}
