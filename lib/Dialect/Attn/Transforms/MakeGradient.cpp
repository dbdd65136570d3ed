//===- MakeGradient.cpp - Functions that compute gradients ------*- C++ -*-===//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fovea/Dialect/Attn/Transforms/Passes.h"

#include "fovea/Dialect/Attn/IR/KernelFunction.h"

#include "mlir/IR/SymbolTable.h"

namespace fovea::attn {
#define GEN_PASS_DEF_ATTNMAKEGRADIENT
#include "fovea/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace fovea::attn

using namespace mlir;
using namespace fovea::attn;

namespace {
/// What gradients are asked for, in the order of attn.backward's results.
struct Asked {
  bool query = false, key = false, value = false, sinks = false, scale = false;
  SmallVector<int64_t> captures;

  bool any() const {
    return query || key || value || sinks || scale || !captures.empty();
  }
};

struct MakeGradientPass
    : fovea::attn::impl::AttnMakeGradientBase<MakeGradientPass> {
  using AttnMakeGradientBase::AttnMakeGradientBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    for (auto func :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      auto forward = dyn_cast_or_null<ForwardOp>(
          getKernelOp(func) ? getKernelOp(func).getOperation() : nullptr);
      if (!forward)
        continue;
      FailureOr<Asked> asked = findAsked(forward);
      if (failed(asked))
        return signalPassFailure();
      addLse(func, forward);
      makeBackward(func, forward, *asked, symbols);
      ++numGradients;
      if (onlyBackward)
        symbols.erase(func);
    }
  }

  FailureOr<Asked> findAsked(ForwardOp forward);
  void addLse(func::FuncOp func, ForwardOp &forward);
  void makeBackward(func::FuncOp func, ForwardOp forward, const Asked &asked,
                    SymbolTable &symbols);
};
} // namespace

static bool hasGradient(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

/// What the option names, or all that has a gradient.
FailureOr<Asked> MakeGradientPass::findAsked(ForwardOp forward) {
  Asked asked;
  if (gradients.empty()) {
    asked.query = asked.key = asked.value = true;
    asked.sinks = static_cast<bool>(forward.getSinks());
    asked.scale = static_cast<bool>(forward.getScaleValue());
    for (auto [index, capture] : llvm::enumerate(forward.getCaptures()))
      if (hasGradient(capture.getType()))
        asked.captures.push_back(index);
    return asked;
  }
  for (const std::string &name : gradients) {
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

/// A gradient needs the rows' log-sum-exp: the function returns it, too.
void MakeGradientPass::addLse(func::FuncOp func, ForwardOp &forward) {
  if (forward.getLse())
    return;
  auto query = forward.getQueryType();
  auto type = RankedTensorType::get(
      {query.getDimSize(0), query.getDimSize(forward.getHeadDim()),
       query.getDimSize(forward.getSequenceDim())},
      Float32Type::get(&getContext()));
  OpBuilder builder(forward);
  OperationState state(forward.getLoc(), forward->getName(),
                       forward->getOperands(),
                       {forward.getOutput().getType(), type});
  state.propertiesAttr = forward->getPropertiesAsAttribute();
  state.addAttributes(forward->getDiscardableAttrDictionary().getValue());
  for (Region &region : forward->getRegions())
    state.addRegion()->takeBody(region);
  auto made = cast<ForwardOp>(builder.create(state));
  auto ret = cast<func::ReturnOp>(func.getBody().front().getTerminator());
  builder.setInsertionPoint(ret);
  func::ReturnOp::create(builder, ret.getLoc(), made->getResults());
  ret.erase();
  forward.erase();
  forward = made;
  func.setFunctionType(builder.getFunctionType(
      func.getFunctionType().getInputs(), made->getResultTypes()));
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

void MakeGradientPass::makeBackward(func::FuncOp func, ForwardOp forward,
                                    const Asked &asked, SymbolTable &symbols) {
  OpBuilder builder(&getContext());
  builder.setInsertionPointAfter(func);
  Location loc = forward.getLoc();
  SmallVector<int32_t> segments;
  SmallVector<Type> results = getGradientTypes(forward, asked, segments);
  // Query, key, value, then what the forward gave, then its other operands.
  constexpr unsigned kTensors = 3;
  SmallVector<Type> types(
      ValueRange(forward->getOperands().take_front(kTensors)).getTypes());
  Type output = forward.getOutput().getType(), lse = forward.getLse().getType();
  llvm::append_values(types, output, lse, output);
  if (lseGradient)
    types.push_back(lse);
  unsigned given = types.size();
  llvm::append_range(
      types,
      ValueRange(forward->getOperands().drop_front(kTensors)).getTypes());
  auto backward =
      func::FuncOp::create(builder, loc, (func.getName() + "_backward").str(),
                           builder.getFunctionType(types, results));
  symbols.insert(backward);
  builder.setInsertionPointToStart(backward.addEntryBlock());

  OperationState state(loc, BackwardOp::getOperationName(),
                       backward.getArguments(), results);
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
