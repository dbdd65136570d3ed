//===- BackwardKernel.cpp - Kernel interface of attn.backward -------------===//
//
//
// Part of the Fovea project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VariantOp.h"

using namespace mlir;
using namespace fovea::attn;

/// Names of the operands before those of the variant.
static constexpr StringRef kOperandNames[] = {"q",   "k",  "v",   "o",
                                              "lse", "do", "dlse"};
enum : unsigned { kOutput = 3, kLse = 4, kOutputGradient = 5 };

static bool isRowValue(unsigned index) {
  return index == kLse || index > kOutputGradient;
}

std::string BackwardOp::getOperandName(unsigned index) {
  return index < getFirstVariantOperand() ? kOperandNames[index].str()
                                          : getVariantOperandName(*this, index);
}

std::string BackwardOp::getResultName(unsigned index) {
  Value result = getResult(index);
  if (result == getQueryGradient())
    return "dq";
  if (result == getKeyGradient())
    return "dk";
  if (result == getValueGradient())
    return "dv";
  if (result == getSinksGradient())
    return "dsinks";
  if (result == getScaleGradient())
    return "dscale";
  unsigned first = getCaptureGradients().front().getResultNumber();
  int64_t position = getDifferentiated()[index - first];
  return "d" + getCaptureName(position);
}

SmallVector<std::string> BackwardOp::getOperandDimNames(unsigned index) {
  if (index >= getFirstVariantOperand())
    return getVariantOperandDims(*this, index);
  if (index < kOutput)
    return getSequenceTensorDims(*this, index);
  if (isRowValue(index))
    return {"B", "Hq", "Sq"};
  SmallVector<std::string> dims = getSequenceTensorDims(*this, 0);
  dims.back() = "Dv";
  return dims;
}

SmallVector<std::string> BackwardOp::getResultDimNames(unsigned index) {
  Value result = getResult(index);
  Value bySequence[] = {getQueryGradient(), getKeyGradient(),
                        getValueGradient()};
  for (auto [which, gradient] : llvm::enumerate(bySequence))
    if (result == gradient)
      return getSequenceTensorDims(*this, which);
  if (result == getSinksGradient())
    return {"Hq"};
  if (result == getScaleGradient())
    return {};
  unsigned first = getCaptureGradients().front().getResultNumber();
  unsigned position = getDifferentiated()[index - first];
  return getVariantOperandDims(*this, getFirstVariantOperand() +
                                          (getScaleValue() ? 1 : 0) + position);
}

SmallVector<int64_t> BackwardOp::getOperandMemoryOrder(unsigned index) {
  return getMemoryOrder(*this, getOperand(index).getType(),
                        index < getFirstVariantOperand() && !isRowValue(index));
}

SmallVector<int64_t> BackwardOp::getResultMemoryOrder(unsigned index) {
  return getMemoryOrder(*this, getResult(index).getType(),
                        isResultCopied(index));
}

bool BackwardOp::isOperandCopied(unsigned index) {
  return index < getFirstVariantOperand() && !isRowValue(index);
}

bool BackwardOp::isResultCopied(unsigned index) {
  Value bySequence[] = {getQueryGradient(), getKeyGradient(),
                        getValueGradient()};
  return llvm::is_contained(bySequence, getResult(index));
}

WorkDims BackwardOp::getWorkDims() {
  // Key tiles, unless no gradient is accumulated per key.
  bool ofKeys = getKeyGradient() || getValueGradient();
  WorkDims dims = {"B", "Hq", "Sq", "", ""};
  if (ofKeys)
    dims = {"B", "Hkv", "Skv", "", ""};
  if (getSequence().getPlaces().packsKeys())
    dims.sequences = getSequence().getOperandDims(ofKeys).front().str();
  return dims;
}

SmallVector<std::pair<std::string, std::string>> BackwardOp::getDimMultiples() {
  return {{"Hq", "Hkv"}};
}

SmallVector<std::pair<std::string, int64_t>> BackwardOp::getDimLimits() {
  return getVariantLimits(*this);
}
SmallVector<DimCover> BackwardOp::getDimCovers() {
  return getVariantCovers(*this);
}
SmallVector<std::string> BackwardOp::getNonEmptyDims() {
  return getVariantNonEmptyDims(*this);
}
SmallVector<Contents> BackwardOp::getContents() {
  return getVariantContents(*this);
}
