//===- MakeGradient.cpp - Functions that compute gradients ------*- C++ -*-===//
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

/// Query, key and value come first among operands.
static constexpr unsigned kTensors = 3;

namespace {
/// What gradients are asked for, in the order of attn.backward's results.
struct Asked {
  bool query = false, key = false, value = false, sinks = false, scale = false;
  SmallVector<int64_t> captures;

  bool any() const {
    return query || key || value || sinks || scale || !captures.empty();
  }
};

} // namespace

/// Says what a function is that has attention, but no gradients.
static LogicalResult refuse(Location at, const Twine &found) {
  return emitError(at)
         << "gradients are of functions that are one attn.forward, constants "
            "beside it, and the return of its results, each at most once; "
            "found "
         << found << " (attn-outline gives each attn op a function of its own)";
}

/// The attn.forward of a function that gradients can be of; null if it has
/// none. A function that has one among other things is an error: what it
/// computes has other gradients than its attention.
static FailureOr<ForwardOp> findForward(func::FuncOp func) {
  SmallVector<ForwardOp> all;
  func.walk([&](ForwardOp op) { all.push_back(op); });
  if (all.empty())
    return ForwardOp();
  if (all.size() > 1)
    return refuse(all[1].getLoc(), "another attn.forward");
  ForwardOp forward = all.front();
  if (!func.getBody().hasOneBlock() || forward->getParentOp() != func)
    return refuse(forward.getLoc(), "it within control flow");
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
  FailureOr<Asked> findAsked(ForwardOp forward);
  void makeBackward(func::FuncOp func, ForwardOp forward, const Asked &asked,
                    SymbolTable &symbols);
};
} // namespace

static bool hasGradient(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

/// What the option names, or all that has a gradient and is no constant.
FailureOr<Asked> MakeGradientPass::findAsked(ForwardOp forward) {
  Asked asked;
  if (gradients.empty()) {
    auto varies = [](Value value) {
      return value && !matchPattern(value, m_Constant());
    };
    asked.query = varies(forward.getQuery());
    asked.key = varies(forward.getKey());
    asked.value = varies(forward.getValue());
    asked.sinks = varies(forward.getSinks());
    asked.scale = varies(forward.getScaleValue());
    for (auto [index, capture] : llvm::enumerate(forward.getCaptures()))
      if (hasGradient(capture.getType()) && varies(capture))
        asked.captures.push_back(index);
    if (!asked.any())
      return forward.emitError("all operands are constants: there is nothing "
                               "that gradients could be by");
    return asked;
  }
  llvm::StringSet<> names;
  for (const std::string &name : gradients) {
    if (!names.insert(name).second)
      return forward.emitError("a gradient is asked for twice: by '")
             << name << "'";
    std::pair<StringRef, bool *> others[] = {{"q", &asked.query},
                                             {"k", &asked.key},
                                             {"v", &asked.value},
                                             {"sinks", &asked.sinks},
                                             {"scale", &asked.scale}};
    const auto *found = llvm::find_if(
        others, [&](const auto &other) { return other.first == name; });
    if (found != std::end(others)) {
      *found->second = true;
      continue;
    }
    bool isCapture = false;
    for (unsigned index = 0; index < forward.getCaptures().size(); ++index)
      if (("capture" + Twine(forward.getCaptureNumber(index))).str() == name) {
        asked.captures.push_back(index);
        isCapture = true;
      }
    if (!isCapture)
      return forward.emitError("gradients are by 'q', 'k', 'v', 'sinks', "
                               "'scale' and captured values such as "
                               "'capture0', found '")
             << name << "'";
  }
  llvm::sort(asked.captures);
  return asked;
}

static RankedTensorType getLseType(ForwardOp forward) {
  auto query = forward.getQueryType();
  return RankedTensorType::get({query.getDimSize(0),
                                query.getDimSize(forward.getHeadDim()),
                                query.getDimSize(forward.getSequenceDim())},
                               Float32Type::get(forward.getContext()));
}

/// The same op with the rows' log-sum-exp.
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

/// Whether a function gives what its gradients need.
static bool givesAll(func::FuncOp func, ForwardOp forward) {
  return forward.getLse() && getReturn(func)->getNumOperands() == 2;
}

/// Lets a function return the output and LSE, too, behind what it returns.
static void giveAll(func::FuncOp func) {
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

/// Callers see a function as it was: where there are some, what gradients need
/// is returned by another one.
LogicalResult MakeGradientPass::makeGradient(func::FuncOp func,
                                             ForwardOp forward, bool isUsed,
                                             SymbolTable &symbols) {
  FailureOr<Asked> asked = findAsked(forward);
  if (failed(asked))
    return failure();
  makeBackward(func, forward, *asked, symbols);
  ++numGradients;
  if (onlyBackward) {
    if (!isUsed)
      symbols.erase(func);
    return success();
  }
  if (givesAll(func, forward))
    return success();
  if (isUsed) {
    Block::iterator behind = std::next(Block::iterator(func));
    func = func.clone();
    func.setName((func.getName() + "_forward").str());
    func.setPublic();
    symbols.insert(func, behind);
  }
  giveAll(func);
  return success();
}

/// Types of the gradients, in the order of attn.backward's results, and how
/// many there are of each kind.
static SmallVector<Type> getGradientTypes(ForwardOp forward, const Asked &asked,
                                          SmallVectorImpl<int32_t> &segments) {
  SmallVector<Type> types;
  auto add = [&](bool isAsked, Type type) {
    segments.push_back(isAsked);
    if (isAsked)
      types.push_back(
          isa<RankedTensorType>(type) ? type : RankedTensorType::get({}, type));
  };
  add(asked.query, forward.getQuery().getType());
  add(asked.key, forward.getKey().getType());
  add(asked.value, forward.getValue().getType());
  segments.push_back(asked.captures.size());
  for (int64_t index : asked.captures) {
    Type type = forward.getCaptures()[index].getType();
    types.push_back(
        isa<RankedTensorType>(type) ? type : RankedTensorType::get({}, type));
  }
  Type f32 = Float32Type::get(forward.getContext());
  add(asked.sinks, forward.getSinks() ? forward.getSinks().getType() : f32);
  add(asked.scale, f32);
  return types;
}

/// The operands of the gradients' op: q, k, v, then what the forward gave, then
/// the others of attn.forward. Each is an argument of the function, but for
/// constants. How many come before the others is given back.
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
  // The gradient by an output in f32 is given as kernels multiply it.
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

void MakeGradientPass::makeBackward(func::FuncOp func, ForwardOp forward,
                                    const Asked &asked, SymbolTable &symbols) {
  OpBuilder builder(&getContext());
  builder.setInsertionPointAfter(func);
  Location loc = forward.getLoc();
  SmallVector<int32_t> segments;
  SmallVector<Type> results = getGradientTypes(forward, asked, segments);
  auto backward =
      func::FuncOp::create(builder, loc, (func.getName() + "_backward").str(),
                           builder.getFunctionType({}, results));
  symbols.insert(backward);
  SmallVector<Value> values;
  unsigned given = addOperands(backward, forward, lseGradient, values);
  builder.setInsertionPointToEnd(&backward.getBody().front());

  OperationState state(loc, BackwardOp::getOperationName(), values, results);
  // Attributes have the same names.
  auto segmentsName =
      ForwardOp::getOperandSegmentSizesAttrName(forward->getName());
  SmallVector<int32_t> operands(given, 1);
  if (!lseGradient)
    operands.push_back(0);
  for (NamedAttribute attr : forward->getAttrs()) {
    if (attr.getName() != segmentsName) {
      state.attributes.append(attr);
      continue;
    }
    llvm::append_range(operands, cast<DenseI32ArrayAttr>(attr.getValue())
                                     .asArrayRef()
                                     .drop_front(kTensors));
  }
  state.addAttribute(segmentsName, builder.getDenseI32ArrayAttr(operands));
  state.addAttribute(BackwardOp::getResultSegmentSizeAttr(),
                     builder.getDenseI32ArrayAttr(segments));
  state.addAttribute("differentiated",
                     builder.getDenseI64ArrayAttr(asked.captures));
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
