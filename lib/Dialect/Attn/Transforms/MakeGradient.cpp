//===- MakeGradient.cpp - Create gradient functions -----------------------===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Attn/Transforms/Passes.h"

#include "fovea/Dialect/Attn/IR/KernelFunction.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/StringSet.h"

namespace fovea::attn {
#define GEN_PASS_DEF_ATTNMAKEGRADIENT
#include "fovea/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace fovea::attn

using namespace mlir;
using namespace fovea::attn;

/// The number of leading operands: query, key and value.
static constexpr unsigned kTensors = 3;

namespace {
/// The requested gradients, in the order of attn.backward's results.
struct Requested {
  bool query = false, key = false, value = false, sinks = false, scale = false;
  SmallVector<int64_t> captures;

  bool any() const {
    return query || key || value || sinks || scale || !captures.empty();
  }
};

} // namespace

/// Reports why a function with attention has no gradient function.
static LogicalResult refuse(Location at, const Twine &found) {
  return emitError(at)
         << "gradients need a function of one attn.forward, constants, and the "
            "return of its results, each at most once; found "
         << found << " (attn-outline moves attn ops to such functions)";
}

/// Returns the attn.forward of a function that can have a gradient function,
/// and null if the function has no attn.forward. Other ops in such a function
/// are an error, because its gradients are not the gradients of its attention.
static FailureOr<ForwardOp> findForward(func::FuncOp func) {
  SmallVector<ForwardOp> all;
  func.walk([&](ForwardOp op) { all.push_back(op); });
  if (all.empty())
    return ForwardOp();
  if (all.size() > 1)
    return refuse(all[1].getLoc(), "another attn.forward");
  ForwardOp forward = all.front();
  if (!func.getBody().hasOneBlock() || forward->getParentOp() != func)
    return refuse(forward.getLoc(), "an attn.forward in control flow");
  if (!forward.getValue())
    return forward.emitError("attention with 'value_columns' has no gradients "
                             "yet: expected a value operand");
  Block &body = func.getBody().front();
  for (Operation &op : body.without_terminator())
    if (&op != forward && !matchPattern(&op, m_Constant()))
      return refuse(op.getLoc(), "'" + op.getName().getStringRef() + "'");
  llvm::SmallPtrSet<Value, 2> returned;
  for (Value value : body.getTerminator()->getOperands()) {
    if (value.getDefiningOp() != forward)
      return refuse(body.getTerminator()->getLoc(),
                    "the return of another value");
    if (!returned.insert(value).second)
      return refuse(body.getTerminator()->getLoc(),
                    "a result that is returned twice");
  }
  return forward;
}

namespace {
struct MakeGradientPass
    : fovea::attn::impl::AttnMakeGradientBase<MakeGradientPass> {
  using AttnMakeGradientBase::AttnMakeGradientBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    SymbolTableCollection collection;
    SymbolUserMap users(collection, module);
    for (auto func :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      FailureOr<ForwardOp> forward = findForward(func);
      if (failed(forward))
        return signalPassFailure();
      if (*forward &&
          failed(makeGradient(func, *forward, !users.useEmpty(func), symbols)))
        return signalPassFailure();
    }
  }

  LogicalResult makeGradient(func::FuncOp func, ForwardOp forward, bool isUsed,
                             SymbolTable &symbols);
  FailureOr<Requested> findRequested(ForwardOp forward);
  void makeBackward(func::FuncOp func, ForwardOp forward,
                    const Requested &requested, SymbolTable &symbols);
};
} // namespace

static bool hasGradient(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

/// The gradients of the option, or all gradients with respect to operands that
/// are not constants.
FailureOr<Requested> MakeGradientPass::findRequested(ForwardOp forward) {
  Requested requested;
  if (forward.getQueryType().getElementTypeBitWidth() < 16 ||
      !forward.getScales().empty())
    return forward.emitError("there are no gradients of quantized attention: "
                             "expected f16, bf16 or f32 without 'scales', "
                             "found ")
           << forward.getQueryType().getElementType();
  if (gradients.empty()) {
    auto varies = [](Value value) {
      return value && !matchPattern(value, m_Constant());
    };
    requested.query = varies(forward.getQuery());
    requested.key = varies(forward.getKey());
    requested.value = varies(forward.getValue());
    requested.sinks = varies(forward.getSinks());
    requested.scale = varies(forward.getScaleValue());
    for (auto [index, capture] : llvm::enumerate(forward.getCaptures()))
      if (hasGradient(capture.getType()) && varies(capture))
        requested.captures.push_back(index);
    if (!requested.any())
      return forward.emitError(
          "all operands are constants: expected an operand "
          "with a gradient");
    return requested;
  }
  llvm::StringSet<> names;
  for (const std::string &name : gradients) {
    if (!names.insert(name).second)
      return forward.emitError("gradient '") << name << "' is requested twice";
    std::pair<StringRef, bool *> others[] = {{"q", &requested.query},
                                             {"k", &requested.key},
                                             {"v", &requested.value},
                                             {"sinks", &requested.sinks},
                                             {"scale", &requested.scale}};
    const auto *found = llvm::find_if(
        others, [&](const auto &other) { return other.first == name; });
    if (found != std::end(others)) {
      *found->second = true;
      continue;
    }
    bool isCapture = false;
    for (unsigned index = 0; index < forward.getCaptures().size(); ++index)
      if (forward.getCaptureName(index) == name) {
        requested.captures.push_back(index);
        isCapture = true;
      }
    if (!isCapture)
      return forward.emitError("expected a gradient among 'q', 'k', 'v', "
                               "'sinks', 'scale' and captured values such as '")
             << (forward.getCaptures().empty() ? "capture0"
                                               : forward.getCaptureName(0))
             << "', found '" << name << "'";
  }
  llvm::sort(requested.captures);
  return requested;
}

static RankedTensorType getLseType(ForwardOp forward) {
  auto query = forward.getQueryType();
  return RankedTensorType::get({query.getDimSize(0),
                                query.getDimSize(forward.getHeadDim()),
                                query.getDimSize(forward.getSequenceDim())},
                               Float32Type::get(forward.getContext()));
}

/// Adds the log-sum-exp to the results of the op.
static ForwardOp addLse(ForwardOp forward) {
  OpBuilder builder(forward);
  OperationState state(forward.getLoc(), forward->getName(),
                       forward->getOperands(),
                       {forward.getOutput().getType(), getLseType(forward)});
  state.propertiesAttr = forward->getPropertiesAsAttribute();
  state.addAttributes(forward->getDiscardableAttrDictionary().getValue());
  for (Region &region : forward->getRegions())
    state.addRegion()->takeBody(region);
  auto made = cast<ForwardOp>(builder.create(state));
  forward.getOutput().replaceAllUsesWith(made.getOutput());
  forward.erase();
  return made;
}

static Operation *getReturn(func::FuncOp func) {
  return func.getBody().front().getTerminator();
}

/// True if a function returns the output and LSE, which its gradients need.
static bool returnsOutputAndLse(func::FuncOp func, ForwardOp forward) {
  return forward.getLse() && getReturn(func)->getNumOperands() == 2;
}

/// Appends the output and LSE to the results of a function.
static void returnOutputAndLse(func::FuncOp func) {
  ForwardOp forward = *func.getOps<ForwardOp>().begin();
  if (!forward.getLse())
    forward = addLse(forward);
  Operation *ret = getReturn(func);
  for (Value result : forward->getResults()) {
    if (llvm::is_contained(ret->getOperands(), result))
      continue;
    (void)func.insertResult(func.getNumResults(), result.getType(), {});
    ret->insertOperands(ret->getNumOperands(), result);
  }
}

/// A function with callers is not changed: a copy returns the values that
/// gradients need.
LogicalResult MakeGradientPass::makeGradient(func::FuncOp func,
                                             ForwardOp forward, bool isUsed,
                                             SymbolTable &symbols) {
  FailureOr<Requested> requested = findRequested(forward);
  if (failed(requested))
    return failure();
  makeBackward(func, forward, *requested, symbols);
  ++numGradients;
  if (onlyBackward) {
    if (!isUsed)
      symbols.erase(func);
    return success();
  }
  if (returnsOutputAndLse(func, forward))
    return success();
  if (isUsed) {
    Block::iterator after = std::next(Block::iterator(func));
    func = func.clone();
    func.setName((func.getName() + "_forward").str());
    func.setPublic();
    symbols.insert(func, after);
  }
  returnOutputAndLse(func);
  return success();
}

/// The types of the gradients, in the order of attn.backward's results, and the
/// number of gradients of each kind.
static SmallVector<Type> getGradientTypes(ForwardOp forward,
                                          const Requested &requested,
                                          SmallVectorImpl<int32_t> &segments) {
  SmallVector<Type> types;
  auto add = [&](bool isRequested, Type type) {
    segments.push_back(isRequested);
    if (isRequested)
      types.push_back(
          isa<RankedTensorType>(type) ? type : RankedTensorType::get({}, type));
  };
  add(requested.query, forward.getQuery().getType());
  add(requested.key, forward.getKey().getType());
  add(requested.value, forward.getValue().getType());
  segments.push_back(requested.captures.size());
  for (int64_t index : requested.captures) {
    Type type = forward.getCaptures()[index].getType();
    types.push_back(
        isa<RankedTensorType>(type) ? type : RankedTensorType::get({}, type));
  }
  Type f32 = Float32Type::get(forward.getContext());
  add(requested.sinks, forward.getSinks() ? forward.getSinks().getType() : f32);
  add(requested.scale, f32);
  return types;
}

/// Creates the operands of attn.backward: q, k, v, then the results of the
/// forward op and their gradients, then the other operands of attn.forward.
/// Each is a function argument or a cloned constant. Returns the number of
/// operands before the others.
static unsigned addOperands(func::FuncOp backward, ForwardOp forward,
                            bool lseGradient,
                            SmallVectorImpl<Value> &operands) {
  OpBuilder builder = OpBuilder::atBlockBegin(backward.addEntryBlock());
  auto addArgument = [&](Type type, Location loc) {
    (void)backward.insertArgument(backward.getNumArguments(), type, {}, loc);
    operands.push_back(backward.getArguments().back());
  };
  auto add = [&](Value value) {
    if (Operation *op = value.getDefiningOp())
      operands.push_back(builder.clone(*op)->getResult(
          cast<OpResult>(value).getResultNumber()));
    else
      addArgument(value.getType(), value.getLoc());
  };
  llvm::for_each(forward->getOperands().take_front(kTensors), add);
  // The gradient of an f32 output has the type in which kernels multiply it.
  auto output = cast<RankedTensorType>(forward.getOutput().getType());
  Type lse = getLseType(forward),
       gradient = output.clone(forward.getValueType().getElementType());
  for (Type type : {Type(output), lse, gradient})
    addArgument(type, forward.getLoc());
  if (lseGradient)
    addArgument(lse, forward.getLoc());
  unsigned given = operands.size();
  llvm::for_each(forward->getOperands().drop_front(kTensors), add);
  return given;
}

/// Adds arguments for the transposed block lists; returns their number.
static int32_t addQueryBlocks(func::FuncOp backward, ForwardOp forward,
                              SmallVectorImpl<Value> &operands) {
  constexpr unsigned kLeading = 2; // batch entries and heads
  for (Value list : forward.getBlockLists()) {
    auto type = cast<RankedTensorType>(list.getType());
    SmallVector<int64_t> shape(type.getShape());
    std::fill(shape.begin() + kLeading, shape.end(), ShapedType::kDynamic);
    (void)backward.insertArgument(backward.getNumArguments(), type.clone(shape),
                                  {}, list.getLoc());
    operands.push_back(backward.getArguments().back());
  }
  return forward.getBlockLists().size();
}

void MakeGradientPass::makeBackward(func::FuncOp func, ForwardOp forward,
                                    const Requested &requested,
                                    SymbolTable &symbols) {
  OpBuilder builder(&getContext());
  builder.setInsertionPointAfter(func);
  Location loc = forward.getLoc();
  SmallVector<int32_t> segments;
  SmallVector<Type> results = getGradientTypes(forward, requested, segments);
  auto backward =
      func::FuncOp::create(builder, loc, (func.getName() + "_backward").str(),
                           builder.getFunctionType({}, results));
  symbols.insert(backward);
  SmallVector<Value> values;
  unsigned given = addOperands(backward, forward, lseGradient, values);
  int32_t transposed =
      queryBlocks ? addQueryBlocks(backward, forward, values) : 0;
  builder.setInsertionPointToEnd(&backward.getBody().front());

  OperationState state(loc, BackwardOp::getOperationName(), values, results);
  // Both ops use the same attribute names, but only the forward is invariant.
  auto segmentsName =
      ForwardOp::getOperandSegmentSizesAttrName(forward->getName());
  SmallVector<int32_t> operands(given, 1);
  if (!lseGradient)
    operands.push_back(0);
  for (NamedAttribute attr : forward->getAttrs()) {
    if (attr.getName() == forward.getInvariantAttrName())
      continue;
    if (attr.getName() != segmentsName) {
      state.attributes.append(attr);
      continue;
    }
    // The backward op has no scales.
    llvm::append_range(operands, cast<DenseI32ArrayAttr>(attr.getValue())
                                     .asArrayRef()
                                     .drop_front(kTensors + 1));
  }
  operands.push_back(transposed);
  state.addAttribute(segmentsName, builder.getDenseI32ArrayAttr(operands));
  state.addAttribute(BackwardOp::getResultSegmentSizeAttr(),
                     builder.getDenseI32ArrayAttr(segments));
  state.addAttribute("differentiated",
                     builder.getDenseI64ArrayAttr(requested.captures));
  if (deterministic)
    state.addAttribute("deterministic", builder.getUnitAttr());
  for (unsigned region = 0; region < 6; ++region)
    state.addRegion();
  auto made = cast<BackwardOp>(builder.create(state));
  IRMapping mapping;
  for (auto [from, to] : llvm::zip(forward->getRegions(), made->getRegions()))
    from.cloneInto(&to, mapping);
  func::ReturnOp::create(builder, loc, made->getResults());
}
